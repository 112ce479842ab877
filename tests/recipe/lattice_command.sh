#!/usr/bin/env bash
# Lattices of `linnet decode` and `linnet transcribe`: an independent reader, and Graphviz if it is there, read them and
# compare them with the n-best list; oracle error rates of `linnet score`.
#
#   lattice_command.sh LINNET
# shellcheck source=tests/recipe/command.sh
. "$(dirname "$0")/command.sh"
prefix=("$linnet")
model=$here/../../models/english/phones.safetensors

cat > symbols << 'END_OF_SYMBOLS'
<blk> 0
A 1
B 2
C" 3
END_OF_SYMBOLS
cat > post.txt << 'END_OF_POSTERIORS'
u1 [
-0.1 -3 -4 -5
-3 -0.5 -1.5 -4
-0.7 -1.2 -2 -3
-2 -1.5 -0.5 -2.5
-0.3 -3 -2 -2.5 ]
u2 [ ]
END_OF_POSTERIORS
for _ in {1..20}; do echo 'A A'; done > lines
echo B >> lines
"$linnet" ngram --order 2 --discount-fallback --text lines --arpa lm.arpa 2> /dev/null

# compare WHAT OPTION...: compares both formats with the n-best list of the same search.
compare() {
  local what=$1
  shift
  "$linnet" decode --symbols symbols --beam 40 --nbest 40 --format json --frame-shift 10 --lattice lat "$@" post.txt > nbest.json \
    2> /dev/null
  "$linnet" decode --symbols symbols --beam 40 --lattice dot --lattice-format dot "$@" post.txt > /dev/null 2>&1
  if command -v python3 > /dev/null; then
    python3 "$here/../golden/check_lattice.py" lat dot symbols nbest.json > out 2>&1 || fail "$what: $(tail -n 3 out)"
  else
    echo 'SKIPPED: python3, which reads lattices, is not installed'
  fi
  if command -v dot > /dev/null; then
    dot -Tsvg dot > dot.svg 2> out || fail "$what: Graphviz: $(cat out)"
  else
    echo 'SKIPPED: Graphviz is not installed'
  fi
}

compare 'without a language model'
compare 'with a language model' --lm lm.arpa --lm-weight 0.3 --insertion-bonus 0.5
[[ $(grep -c . lat) -gt 20 ]] || fail "the lattice has too few lines: $(cat lat)"

# --- oracle: the n-best list and the lattice agree, and have at most as many errors as the best hypothesis
printf 'u1 A C" B A\nu2 \n' > ref
"$linnet" decode --symbols symbols --beam 40 --nbest 40 --lattice lat post.txt > nbest 2> /dev/null
"$linnet" decode --symbols symbols --beam 40 post.txt > hyp 2> /dev/null
errors() { "$linnet" score --bootstrap 0 "$@" | sed -n 's/^%PER.*\[ \([0-9]*\) .*/\1/p'; }
best=$(errors ref hyp) list=$(errors --oracle nbest ref nbest)
lattice=$(errors --oracle lattice --symbols symbols ref lat)
[[ $list -eq $lattice && $list -le $best && $best -gt 0 ]] || fail "oracle: $lattice, list $list, best $best"
"$linnet" score --bootstrap 0 --oracle lattice --symbols symbols --ignore 'C"' ref - < lat > out
grep -qF '%PER 0.00 [ 0 / 3' out || fail "oracle without C: $(cat out)"
printf 'u1 1 3 2 1\nu2 \n' > ref.int # numbers as in the lattice
[[ $(errors --oracle lattice ref.int lat) -eq $lattice ]] || fail 'oracle of numbers'

printf 'u1 \n0\t1\t1\t0,x,\n1\n\n' > bad
printf 'u1 \n0\t1\t1\n1\t0\t1\n1\n\n' > cycle
printf 'u1 \n0\t1\t9\n1\n\n' > symbol
printf 'u7 \n0\t1\t1\n1\n\n' > extra
check 1 "bad:2: costs '0'" score --oracle lattice --symbols symbols ref bad
check 1 "utterance 'u1': the lattice has a cycle" score --oracle lattice --symbols symbols ref cycle
check 1 'holds symbol 9, but there are 4' score --oracle lattice --symbols symbols ref symbol
check 1 "the first is 'u7'" score --oracle lattice --symbols symbols ref extra
check 0 '2 not present in hyp' score --allow-extra --oracle lattice --symbols symbols ref extra
printf 'u7 \n0\t1\t1\n1\n\nu8 \n0\t1\t1\n1\n\nu1 \n0\t1\t1\n1\n\n' > extra
check 1 "2 of 3 hypotheses have no reference, the first is 'u7'" score --oracle lattice --symbols symbols ref extra
check 0 "2 hypotheses without a reference are ignored, the first is 'u7'" score --allow-extra --oracle lattice \
  --symbols symbols ref extra
check 1 "the first is 'u1': those of an utterance ID have the names ID-1, ID-2" score --oracle nbest ref hyp
check 2 '--oracle best: must be lattice or nbest' score --oracle best ref lat
check 2 'needs --oracle lattice' score --symbols symbols ref lat
check 2 '--lattice-format htk: must be kaldi or dot' decode --symbols symbols --lattice x --lattice-format htk post.txt
check 2 '--output and --lattice both write to standard output' decode --symbols symbols --lattice - post.txt
check 2 '--output and --lattice both write to standard output' decode --symbols symbols -o /dev/stdout --lattice - post.txt
check 2 '--lattice and --output both write to standard output' transcribe --model "$model" --lattice - post.txt
check 2 '--lattice and --lattice-symbols both write to standard output' decode --symbols symbols -o x --lattice - --lattice-symbols - \
  post.txt
check 1 'nowhere/lat: cannot write' decode --symbols symbols --lattice nowhere/lat post.txt

# --- a run that fails: neither results nor lattices are complete, and --resume, which cannot be used, is no advice
printf 'u3 [\n -1 -2' > truncated.txt
rm -f lat
check 1 'results are in out.hyp.partial' decode --symbols symbols -o out.hyp --lattice lat ark:post.txt ark:truncated.txt
! grep -q -e --resume out || fail "the advice: $(cat out)"
[[ ! -e out.hyp && ! -e lat ]] || fail 'an incomplete lattice, or result, was published'
check 1 'to continue, run the same command with --resume' decode --symbols symbols -o out.hyp ark:post.txt ark:truncated.txt
check 0 '2 utterances' decode --symbols symbols -o out.hyp --lattice lat ark:post.txt
[[ -s out.hyp && -s lat ]] || fail 'a complete lattice is missing'

# --- on audio: `transcribe --lattice` searches; its order is that of the inputs for any number of threads
count=20000
for name in a b c; do
  count=$((count + 9000))
  {
    printf 'RIFF\0\0\0\0WAVEfmt \20\0\0\0\1\0\1\0\200\76\0\0\0\175\0\0\2\0\20\0data\0\0\0\0'
    dd if="$linnet" bs=1 skip=$count count=$count 2> /dev/null
  } > $name.wav
done
"$linnet" transcribe --model "$model" -j 1 --lattice lat1 a.wav b.wav c.wav > hyp1 2> /dev/null
"$linnet" transcribe --model "$model" -j 3 --lattice lat3 a.wav b.wav c.wav > hyp3 2> /dev/null
cmp lat1 lat3 || fail 'lattices depend on threads'
[[ $(awk 'NF == 1 && /[a-z]/ {printf "%s", $1}' lat1) == abc ]] || fail "order: $(awk 'NF == 1' lat1)"
"$linnet" transcribe --model "$model" --beam 50 a.wav b.wav c.wav > hyp 2> /dev/null
cmp hyp hyp1 || fail '--lattice changes the result'
check 1 '1 of 2 files failed' transcribe --model "$model" -o hyp4 --lattice lat4 a.wav nowhere.wav
[[ -s hyp4 ]] && grep -qx 'a *' lat4 || fail 'the results of the other files are missing'

[[ $failures -eq 0 ]] && echo 'all good'
exit $((failures > 0))
