#!/usr/bin/env bash
# `linnet posteriors`, `linnet decode` and `linnet transcribe --beam`, with and without a language model: their output,
# which must agree.
#
#   decode_command.sh LINNET
# shellcheck source=tests/recipe/command.sh
. "$(dirname "$0")/command.sh"
prefix=("$linnet")
model=$here/../../models/english/phones.safetensors

# same WHAT FILE FILE
same() {
  cmp -s "$2" "$3" || fail "$1: $(diff "$2" "$3" | head -n 4)"
}

# make_wav NAME SKIP BYTES: a WAV whose header has no length; the samples are arbitrary bytes.
make_wav() {
  {
    printf 'RIFF\0\0\0\0WAVEfmt \20\0\0\0\1\0\1\0\200\76\0\0\0\175\0\0\2\0\20\0data\0\0\0\0'
    dd if="$linnet" bs=1 skip="$2" count="$3" 2> /dev/null
  } > "$1"
}

# --- archives made by hand: A and then B are certain except in the last frame
cat > symbols << 'END'
<blk> 0
A 1
B 2
END
cat > post.txt << 'END'
u1 [
-0.01 -5 -6
-5 -0.01 -6
-0.01 -5 -6
-2 -1.5 -0.5 ]
u2 [ ]
END
"$linnet" decode --symbols symbols ark:post.txt > hyp 2> /dev/null
printf 'u1 A B\nu2 \n' > expected
same 'text' expected hyp
"$linnet" decode --symbols symbols --nbest 2 ark:- < post.txt > hyp 2> /dev/null
printf 'u1-1 A B\nu1-2 A A\nu2-1 \n' > expected
same 'n-best' expected hyp
"$linnet" decode --symbols symbols --format json --frame-shift 30 post.txt > hyp 2> /dev/null
grep -qF '{"symbol":"B","start":0.075,"end":0.120,"confidence":0.6065}' hyp || fail "JSON: $(cat hyp)"
"$linnet" decode --symbols symbols --insertion-bonus -9 post.txt > hyp 2> /dev/null
grep -qx 'u1 ' hyp || fail "insertion bonus: $(cat hyp)"
"$linnet" decode --symbols symbols --nbest 9 post.txt > hyp 2> /dev/null
grep -q '^u1-[0-9] B A$' hyp || fail "n-best of all symbols: $(cat hyp)"
"$linnet" decode --symbols symbols --top-symbols 1 --nbest 9 post.txt > hyp 2> /dev/null
grep -q '^u1-[0-9] B' hyp || fail "n-best of --top-symbols 1: $(cat hyp)"
! grep -q '^u1-[0-9] B A$' hyp || fail "--top-symbols 1: B comes before A: $(cat hyp)" # no row but the last appends B

# Inputs named as for Kaldi's programs.
printf 'u1 A B\nu2 \n' > expected
for input in ark,t:post.txt ark,s,cs:post.txt; do
  "$linnet" decode --symbols symbols "$input" > hyp 2> err || fail "$input: $(cat err)"
  same "$input" expected hyp
done
"$linnet" decode --symbols symbols --run-commands 'ark,t:cat post.txt | tee copy |' > hyp 2> err || fail "a command: $(cat err)"
same 'a command' expected hyp
check 1 'cat post.txt |: is a command; if you trust it, run it with --run-commands' decode --symbols symbols 'ark:cat post.txt |'
check 1 'ark:post.txt: u1: an utterance of this name came before: name each archive once' decode --symbols symbols ark:post.txt \
  ark:post.txt
check 1 'ark:cat post.txt; exit 3 |: the command failed' decode --symbols symbols --run-commands 'ark:cat post.txt; exit 3 |'
printf 'u1 [\n-1 -2 -3\n-1 nan -2 ]\n' > nan.txt
printf 'u1 [\n0.25 0.5 0.25\n0.98 0.01 0.01 ]\n' > probabilities.txt
check 1 'u1: has probabilities: write their natural logarithms' decode --symbols symbols probabilities.txt
check 1 "u1: row 1, column 1 ('A') is nan, which is no log-posterior" decode --symbols symbols nan.txt

# Names of the blank in other systems, with and without indices.
printf '<blank> 0\nA 1\nB 2\n' > blank.indexed
for blank in '<blank>' '<pad>' '[PAD]' _; do
  printf '%s\nA\nB\n' "$blank" > blank.named
  for table in blank.indexed blank.named; do
    "$linnet" decode --symbols "$table" post.txt > hyp 2> err || fail "blank $blank in $table: $(cat err)"
    printf 'u1 A B\nu2 \n' > expected
    same "blank $blank in $table" expected hyp
  done
done
printf 'phi 0\nA 1\nB 2\n' > blank.other
check 0 "blank.other:1: 'phi' is reserved for the blank" decode --symbols blank.other post.txt
printf 'phi\nA\nB\n' > blank.other
check 1 'its first line must be the blank' decode --symbols blank.other post.txt

printf '<blk>\nA\n' > few
printf 'u1 [\n0 0 0\n0 0 ]\n' > ragged.txt
check 2 '--beam 0' decode --beam 0 --symbols symbols post.txt
check 2 '--nbest 0' decode --nbest 0 --symbols symbols post.txt
check 2 '--beam x: invalid numeric value' decode --beam x --symbols symbols post.txt
check 2 '--beam=x: invalid numeric value' decode --beam=x --symbols symbols post.txt
check 2 '-b x: invalid numeric value' decode --symbols symbols -b x post.txt
check 2 '--boom: unknown option' decode --symbols symbols --boom x post.txt
check 2 '--symbols FILE is missing' decode post.txt
: > empty.ark
check 0 'empty.ark: has no utterances' decode --symbols symbols post.txt ark:empty.ark
check 0 'empty.ark: has no utterances' decode --symbols symbols scp:empty.ark
"$linnet" decode --symbols symbols --format ctm --frame-shift 40 post.txt > hyp 2> /dev/null
printf 'u1 1 0.000 0.100 A 0.9900\nu1 1 0.100 0.060 B 0.6065\n' > expected
same 'CTM' expected hyp
for format in json ctm stm; do
  check 2 "post.txt: u1: the times of --format $format need the frame shift" decode --symbols symbols \
    --format $format post.txt
done
check 2 '--frame-shift 0: must be above 0' decode --symbols symbols --frame-shift 0 post.txt
"$linnet" decode --symbols symbols --format ctm ark:- < post.txt > hyp 2> err && fail 'times of a pipe'
grep -qF 'ark:-: u1: the times of --format ctm need the frame shift' err || fail "times of a pipe: $(cat err)"
# Each archive has a file with its frame shift; the option replaces it.
sed 's/^u/v/' post.txt > other.txt
echo 0.04 > post.txt.frame_shift
echo ' 0.02 ' > other.txt.frame_shift
"$linnet" decode --symbols symbols --format ctm other.txt ark:post.txt > hyp 2> /dev/null
{
  awk '{printf "v1 1 %.3f %.3f %s %s\n", $3 / 2, $4 / 2, $5, $6}' expected
  cat expected
} > expected.both
same 'two frame shifts' expected.both hyp
"$linnet" decode --symbols symbols --format ctm --frame-shift 40 other.txt 2> /dev/null | sed 's/^v/u/' > hyp
same '--frame-shift beside a file' expected hyp
echo 30 ms > post.txt.frame_shift
check 1 'post.txt.frame_shift: must hold only the seconds from one row to the next' decode --symbols symbols \
  --format ctm post.txt
check 0 '2 utterances' decode --symbols symbols post.txt
rm post.txt.frame_shift other.txt.frame_shift
check 2 '--format srt' decode --symbols symbols --format srt post.txt
check 2 '--format ctm writes the best hypothesis only' decode --symbols symbols --format ctm --nbest 2 post.txt
check 2 '--format ctm writes the best hypothesis only' transcribe --phones --format ctm --nbest 2 post.txt
check 2 '--format xml' decode --symbols symbols --format xml post.txt
check 1 'the rows have 3 posteriors, but few has 2 symbols' decode --symbols few post.txt
check 1 'ragged.txt' decode --symbols symbols ragged.txt
check 1 'nowhere' decode --symbols symbols scp:nowhere
check 1 'nowhere' decode --symbols nowhere post.txt
check 2 '--beam -7' transcribe --phones --beam -7 post.txt

# --- a language model of a text with A A, but without A B
for _ in {1..20}; do echo 'A A'; done > lines
echo B >> lines
"$linnet" ngram --order 3 --discount-fallback --text lines --arpa lm.arpa --binary lm.bin 2> /dev/null
for lm in lm.arpa lm.bin; do
  "$linnet" decode --symbols symbols --lm "$lm" post.txt > hyp 2> /dev/null
  printf 'u1 A A\nu2 \n' > expected
  same "--lm $lm" expected hyp
done
"$linnet" decode --symbols symbols --lm lm.bin --lm-weight 0.01 post.txt > hyp 2> /dev/null
printf 'u1 A B\nu2 \n' > expected
same 'a language model of little weight' expected hyp
# The reported score is the one that `linnet ngram` prints for the sentence; --lm-weight multiplies it.
echo 'A A' > line
"$linnet" ngram --model lm.bin --perplexity line > perplexity
"$linnet" decode --symbols symbols --lm lm.bin --lm-weight 2.5 --format json --frame-shift 10 post.txt 2> /dev/null |
  sed -n '1s/.*"score":\([^,]*\),"acoustic":\([^,]*\),"language":\([^,]*\),.*/\1 \2 \3/p' > scores
awk 'NR == FNR {if ($1 == "log10") log10 = $3; next}
  {a = $3 - log10 * log(10); b = $1 - $2 - 2.5 * $3; exit !(log10 < 0 && a * a < 1e-7 && b * b < 1e-7)}' \
  perplexity scores || fail "scores: $(cat perplexity scores)"

sed 's/A/C/g; s/B/D/' lines > others
"$linnet" ngram --order 3 --discount-fallback --text others --arpa others.arpa 2> /dev/null
check 1 "others.arpa: its words are not the symbols, such as 'A'" decode --symbols symbols --lm others.arpa post.txt
sed 's/B/D/' lines > some
"$linnet" ngram --order 3 --discount-fallback --text some --arpa some.arpa 2> /dev/null
check 0 "some.arpa: 1 of 2 symbols are missing, such as 'B'" decode --symbols symbols --lm some.arpa post.txt
check 1 "nowhere: No such file or directory; 'linnet ngram' makes" decode --symbols symbols --lm nowhere post.txt
check 1 'post.txt:6: ' decode --symbols symbols --lm post.txt post.txt
check 2 'name it with --lm FILE' decode --symbols symbols --lm-weight 2 post.txt
check 2 '--lm-weight -2: must be' decode --symbols symbols --lm lm.bin --lm-weight -2 post.txt
check 2 'add --beam N' transcribe --phones --lm lm.bin post.txt
for option in --top-symbols --symbol-threshold --score-threshold; do
  check 2 "$option: greedy decoding drops no hypotheses: add --beam N" transcribe --phones "$option" 5 post.txt
done
check 1 'post.txt: not a supported audio format' transcribe --phones --beam 5 --top-symbols 5 post.txt
check 2 "'-' appears 2 times" transcribe - a.wav -
mkdir one two
: > one/same.wav
: > two/same.wav
for format in ctm stm; do
  check 2 "two inputs have the name 'same', so --format $format" transcribe --format "$format" one/same.wav two/same.wav
done
check 1 'one/same.wav: is empty: record or copy it again' transcribe --format json one/same.wav two/same.wav

# --- a model on audio: both ways to its posteriors agree
command -v flite > /dev/null || { echo 'SKIPPED: flite is not installed' && exit $((failures > 0 ? 1 : 77)); }
mkdir data
flite -voice slt -t 'the sun is shining' -o data/a.wav
flite -voice slt -t 'over the water' -o data/b.wav
printf 'a a.wav\nb b.wav\n' > data/wav.scp
"$linnet" posteriors --model "$model" --data data --out post.ark --scp post.scp --estimate-priors priors 2> /dev/null
"$linnet" info --symbols "$model" > symbols
[[ $("$linnet" info --symbols --json "$model") == '{"file": "'*'", "symbols": ["<blk>"'* ]] || fail 'symbols as JSON'
"$linnet" decode --symbols symbols ark:post.ark > hyp 2> /dev/null
"$linnet" decode --symbols symbols scp:post.scp > hyp.scp 2> /dev/null
"$linnet" transcribe --model "$model" --data data --beam 50 > hyp.transcribe 2> /dev/null
same 'script file' hyp hyp.scp
same 'transcribe' hyp hyp.transcribe
# Times agree, too, on all ways; only a pipe has no frame shift.
spans() { "$linnet" "$@" --format ctm 2> err | cut -d ' ' -f 1-5; }
spans transcribe --model "$model" --data data --beam 50 > expected
for input in ark:post.ark scp:post.scp; do
  spans decode --symbols symbols $input > hyp.ctm || fail "times of $input: $(cat err)"
  same "times of $input" expected hyp.ctm
done
mkdir -p moved/inside
cp post.ark post.ark.frame_shift moved/inside
sed -n 's| post.ark| inside/post.ark|; 2p' post.scp > moved/one.scp
spans decode --symbols symbols scp:moved/one.scp > hyp.ctm
grep '^b ' expected > expected.one
same 'times of one utterance elsewhere' expected.one hyp.ctm
[[ $(cat post.ark.frame_shift) == 0.03 ]] || fail "frame shift: $(cat post.ark.frame_shift)"
"$linnet" posteriors --model "$model" --data data --out - > piped.ark 2> err
same 'an archive on standard output' post.ark piped.ark
grep -qF 'one every 30 ms' err || fail "the frame shift of a pipe: $(cat err)"
[[ ! -e -.frame_shift && ! -e piped.ark.frame_shift ]] || fail 'a frame shift beside a pipe'
check 2 'ark:piped.ark: a: the times of --format ctm need the frame shift' decode --symbols symbols \
  --format ctm ark:piped.ark
check 2 '--out and --estimate-priors both write to standard output' posteriors --model "$model" --data data --out - --estimate-priors -
check 2 "'-' appears 2 times" decode --symbols symbols ark:- ark,t:-
check 2 'cannot point into an archive on standard output' posteriors --model "$model" --data data --out - --scp x.scp
# Audio without samples, or shorter than a frame, is no error and has an empty result. A file without bytes is an error.
make_wav none.wav 1 0
make_wav short.wav 1 700
: > bytes.wav
for options in '' '--beam 8'; do
  # shellcheck disable=SC2086
  "$linnet" transcribe --model "$model" $options none.wav short.wav > hyp 2> errors || fail "no frames: $(cat errors)"
  printf 'none.wav\t\nshort.wav\t\n' > expected
  same "no frames, $options" expected hyp
done
check 0 '{"file":"none.wav","seconds":0.000,"phones":[]}' transcribe --model "$model" --format json none.wav
check 1 'bytes.wav: is empty' transcribe --model "$model" bytes.wav
# A language model over phones, estimated from the names of the symbols, changes the result, in the same way on both ways.
tail -n +2 symbols | cut -d' ' -f1 | paste -sd ' ' > lines
"$linnet" ngram --order 2 --discount-fallback --text lines --arpa phones.arpa 2> /dev/null
"$linnet" decode --symbols symbols --lm phones.arpa --lm-weight 0.8 --insertion-bonus 2 ark:post.ark > hyp.lm \
  2> /dev/null
"$linnet" transcribe --model "$model" --data data --beam 50 --lm phones.arpa --lm-weight 0.8 --insertion-bonus 2 \
  > hyp.transcribe 2> /dev/null
same 'transcribe with a language model' hyp.lm hyp.transcribe
cmp -s hyp hyp.lm && fail 'a language model over phones changes nothing'
# Stored features from a data folder, from an archive, and in a pipe that has no files.
mkdir stored
"$linnet" features --out stored/feats.ark --scp stored/feats.scp data 2> /dev/null
printf 'a a\nb b\n' > stored/utt2spk
"$linnet" posteriors --model "$model" --data stored --out expected.ark 2> err || fail "stored features: $(cat err)"
"$linnet" posteriors --model "$model" --features ark:stored/feats.ark --out got.ark 2> err || fail "--features: $(cat err)"
same '--features' expected.ark got.ark
"$linnet" decode --symbols symbols ark:expected.ark > expected 2> /dev/null
"$linnet" features --out - data 2> /dev/null | "$linnet" posteriors --model "$model" --features ark:- --out - 2> /dev/null \
  | "$linnet" decode --symbols symbols ark:- > got 2> /dev/null || fail 'a pipe'
same 'a pipe' expected got
mkdir narrow
"$linnet" features --num-mel 10 --out narrow/feats.ark --scp narrow/feats.scp data 2> /dev/null
cp stored/utt2spk narrow/
check 1 'a: the features have 10 values, but the model expects 40' posteriors --model "$model" --data narrow --out got.ark
printf 'short [\n1 2 3 ]\n' > short.txt
check 1 'short: ' posteriors --model "$model" --features ark:short.txt --out got.ark
check 1 'is a command; if you trust it' posteriors --model "$model" --features 'ark:cat short.txt |' --out got.ark
check 2 '--features short.txt: takes the place of --data' posteriors --model "$model" --features short.txt --data data --out got.ark
check 2 "'x.wav' is one argument too many" posteriors --model "$model" --features short.txt --out got.ark x.wav
check 2 '--channel: --features reads no audio' posteriors --model "$model" --features short.txt --out got.ark --channel 0

"$linnet" posteriors --model "$model" --data data --priors priors --text --out scaled.txt 2> /dev/null
"$linnet" posteriors --model "$model" --data data --text --out plain.txt 2> /dev/null
# Each symbol has a prior, and their sum is 1. Each row changes by the logarithms of the priors.
paste -d ' ' <(cut -d ' ' -f 1 symbols) <(cut -d ' ' -f 2 priors) > expected
same 'symbols of priors' expected priors
awk '{sum += $2} END {exit !(NR == 40 && sum > 0.99999 && sum < 1.00001)}' priors || fail "priors: $(cat priors)"
awk 'NR == FNR {prior[++n] = log($2); next}
  FILENAME == "plain.txt" {if (NF >= n) plain[FNR] = $0; next}
  NF >= n {split(plain[FNR], x, " "); rows++
    for (i = 1; i <= n; i++) {d = x[i] - prior[i] - $i; if (d * d > 1e-8) bad++}}
  END {exit !(rows > 0 && !bad)}' priors plain.txt scaled.txt || fail 'priors'
# What is estimated does not depend on the division.
"$linnet" posteriors --model "$model" --data data --priors priors --out divided.ark \
  --estimate-priors priors.again 2> /dev/null
same '--estimate-priors with --priors' priors priors.again
# A prior near 0 counts as 1e-8.
awk '{print $1, (NR == 2 ? "1e-30" : 1)}' priors > tiny
"$linnet" posteriors --model "$model" --data data --priors tiny --text --out tiny.txt 2> /dev/null
awk 'NR == FNR {if (NF >= 40) plain[FNR] = $2; next}
  NF >= 40 {d = plain[FNR] - log(1e-8) - $2; rows++; if (d * d > 1e-6) bad++}
  END {exit !(rows > 0 && !bad)}' plain.txt tiny.txt || fail "a prior near 0: $(sed -n 2p plain.txt tiny.txt)"
# A vector of Kaldi, and counts, say the same.
awk 'BEGIN {printf " ["} {printf " %s", $2} END {print " ]"}' priors > vector
"$linnet" posteriors --model "$model" --data data --priors vector --text --out vector.txt 2> /dev/null
same 'priors as a vector' scaled.txt vector.txt
# Searches divide by them, too, and find what they find in posteriors that were divided before.
"$linnet" posteriors --model "$model" --data data --priors priors --prior-scale 0.5 --out half.ark 2> /dev/null
spans decode --symbols symbols --lm phones.arpa ark:half.ark > expected
spans decode --symbols symbols --lm phones.arpa --priors priors ark:post.ark > hyp.ctm || fail "--priors: $(cat err)"
same 'decode --priors' expected hyp.ctm
spans decode --symbols symbols --lm phones.arpa ark:post.ark > hyp.plain
cmp -s expected hyp.plain && fail 'priors change nothing'
spans transcribe --model "$model" --data data --beam 50 --lm phones.arpa --priors priors --prior-scale 0.5 > hyp.ctm \
  || fail "--priors: $(cat err)"
same 'transcribe --priors' expected hyp.ctm
"$linnet" decode --symbols symbols --lattice half.lat ark:half.ark > /dev/null 2> err
"$linnet" decode --symbols symbols --priors priors --lattice priors.lat ark:post.ark > /dev/null 2> err
cut -f 1-3 half.lat > half.states
cut -f 1-3 priors.lat > priors.states
same 'the states of a lattice with --priors' half.states priors.states
sed 's/^AA /AX /' priors > others
check 1 "priors: others:23: 'AX' where the symbol 'AA' is expected" decode --symbols symbols --priors others ark:post.ark
check 1 'vector:1: ' decode --symbols symbols --priors vector ark:post.ark
check 2 '--prior-scale 1: the priors are missing' decode --symbols symbols --prior-scale 1 ark:post.ark
check 2 '--prior-scale 1: the priors are missing' posteriors --model "$model" --data data --prior-scale 1 --out x.ark
check 2 '--prior-scale nan: must be 0 to 100' posteriors --model "$model" --data data --priors priors --prior-scale nan --out x.ark
check 2 '--scp: needs --out' posteriors --model "$model" --data data --scp x.scp --estimate-priors x
check 2 '--prior-scale 3: must be 0 to 2' decode --symbols symbols --priors priors --prior-scale 3 ark:post.ark
check 2 '--priors priors: greedy decoding takes no priors' transcribe --model "$model" --priors priors data/a.wav
# A symbol of prior 0 is impossible, not probable: no frame has it, and the result does not have it.
awk 'NR % 2 == 0 {$2 = 0} {print}' priors > seen
"$linnet" posteriors --model "$model" --data data --priors seen --out seen.ark 2> err
grep -qF 'seen: 20 symbols with prior 0 cannot be recognised' err || fail "priors of 0: $(cat err)"
"$linnet" posteriors --model "$model" --data data --priors seen --text --out seen.txt 2> /dev/null
awk 'NF >= 40 {for (i = 1; i <= 40; i++) if (i % 2 ? $i < -1e4 : $i > -9e9) bad++; rows++}
  END {exit !(rows > 0 && !bad)}' seen.txt || fail "priors of 0: $(sed -n 2p seen.txt)"
"$linnet" decode --symbols symbols --format ctm ark:seen.ark 2> /dev/null | cut -d ' ' -f 5 | sort -u > said
awk 'NR % 2 == 0 {print $1}' symbols | sort > impossible
[[ -s said && -z $(comm -12 said impossible) ]] || fail "impossible symbols: $(comm -12 said impossible)"
: > nothing.raw
check 1 'none of 1 utterance could be used, the first is nothing.raw' posteriors --model "$model" --raw s16le \
  --out x.ark nothing.raw
# Results are the same, in the order of the archive, on any number of threads.
for i in {1..40}; do sed "s/^u1/v$i/; /^u2/d" post.txt; done > many.txt
printf '<blk>\nA\nB\n' > three
"$linnet" decode --symbols three --threads 1 --nbest 2 --lattice one.lat many.txt post.txt > hyp 2> /dev/null
"$linnet" decode --symbols three --jobs 5 --nbest 2 --lattice five.lat many.txt post.txt > hyp.jobs 2> err
same '--jobs' hyp hyp.jobs
same 'lattices with --jobs' one.lat five.lat
grep -q '^42 utterances, 164 frames' err || fail "--jobs: $(cat err)"
sed 's/^-0.01 -5 -6$/-1 -5 ]/' many.txt > ragged.txt
check 1 'v1: the rows have 2 posteriors' decode --symbols three --jobs 5 post.txt ragged.txt
printf ' [ 1 2 3 ]\n' > bad
check 1 'the model has 40 symbols' posteriors --model "$model" --data data --priors bad --out x.ark
printf '<blk> 1\n' > bad
check 1 'bad: 1 priors of 40 symbols' posteriors --model "$model" --data data --priors bad --out x.ark
check 1 'seen: the prior of symbol 1 is 0, must be above 0' decode --symbols symbols --priors seen ark:post.ark
check 2 '--out FILE or --estimate-priors FILE is missing' posteriors --model "$model" --data data

[[ $failures -eq 0 ]] && echo 'all good'
exit $((failures > 0))
