#!/usr/bin/env bash
# The command line of `linnet features`: its files, output and exit status.
#
#   features_command.sh LINNET
# shellcheck source=tests/recipe/command.sh
. "$(dirname "$0")/command.sh"
prefix=("$linnet" features)

# make_wav NAME BYTES: a WAV whose header has no length; the samples are arbitrary bytes.
make_wav() {
  {
    printf 'RIFF\0\0\0\0WAVEfmt \20\0\0\0\1\0\1\0\200\76\0\0\0\175\0\0\2\0\20\0data\0\0\0\0'
    head -c "$2" "$linnet"
  } > "$1"
}

mkdir data
for i in 1 2 3 4 5 6; do
  make_wav "data/u$i.wav" $((10000 * i))
  echo "u$i u$i.wav" >> data/wav.scp
  echo "u$i s$((i % 2))" >> data/utt2spk
done

# Any number of threads gives the same bytes, in every form. 5000 i samples are 1 + (5000 i - 400) / 160 frames.
check 0 '6 utterances, 645 frames' -j 1 data -o one.ark --scp one.scp
check 0 '6 utterances, 645 frames' -j 3 data -o three.ark --scp three.scp
cmp one.ark three.ark || fail 'features depend on the number of threads'
[[ $(wc -l < one.scp) -eq 6 ]] || fail 'the script file has not six lines'
for form in cm cm2 cm3; do
  check 0 '6 utterances' data -o $form.ark --compress $form
  grep -qa "${form^^} " $form.ark || fail "$form.ark does not have the form $form"
done
check 0 '6 utterances' data -o wide.ark --double
grep -qa 'DM ' wide.ark || fail 'wide.ark does not have the form DM'
check 0 '6 utterances' data -o text.ark --text --num-mel 10
[[ $(awk '$1 == "]" || NF >= 10' text.ark | wc -l) -eq 645 ]] || fail 'not 645 rows in text.ark'

# Files and standard input give the same features as the folder.
check 0 '1 utterance,' data/u3.wav -o file.ark --text
"$linnet" features - -o pipe.ark --text < data/u3.wav 2> out || fail 'standard input'
"$linnet" features - --raw s16le -o raw.ark --text < <(tail -c 30000 data/u3.wav) 2> out || fail 'raw standard input'
cmp <(tail -n +2 file.ark) <(tail -n +2 pipe.ark) || fail 'standard input gives other features'
cmp file.ark <(sed 's/^stdin/u3/' raw.ark) || fail 'raw input gives other features'

# An entry of an archive, in wav.scp and as a file.
mkdir archived
{
  printf 'u2 RIFF\104\116\0\0WAVEfmt \20\0\0\0\1\0\1\0\200\76\0\0\0\175\0\0\2\0\20\0data\40\116\0\0'
  head -c 20000 "$linnet"
  printf 'u3 '
  cat data/u3.wav
} > archived/wav.ark
printf 'u2 wav.ark:3\nu3 wav.ark:20050\n' > archived/wav.scp
check 0 '2 utterances' archived -o archived.ark --text
cmp archived.ark <("$linnet" features data -o - --text 2> /dev/null | awk '/^u/ {on = /^u[23] /} on') ||
  fail 'entries of an archive give other features'
check 0 '1 utterance,' archived/wav.ark:20050 -o entry.ark --text
sed -n '2,$p' file.ark | cmp - <(sed -n '2,$p' entry.ark) || fail 'an entry of an archive as a file'
sed 's/$/ x/' archived/wav.scp | awk '{print $1, substr($1, 1, 1)}' > archived/utt2spk
sed 's/$/ WORDS/' <(cut -d ' ' -f 1 archived/wav.scp) > archived/text
echo 'u u2 u3' > archived/spk2utt
prefix=("$linnet")
check 0 'good: 2 utterances' validate-data archived
prefix=("$linnet" features)

# Normalisation, and statistics that one run writes and another reads.
check 0 '6 utterances' data -o norm.ark --cmvn utterance --cmvn-variance --text --num-mel 3
awk 'NF >= 3 { for (i = 1; i <= 3; i++) { sum[i] += $i; square[i] += $i * $i }; n++ }
  END { for (i = 1; i <= 3; i++) if (sum[i] / n > 1e-4 || sum[i] / n < -1e-4 || square[i] / n < .999 ||
    square[i] / n > 1.001) exit 1 }' norm.ark || fail 'normalised features are not normalised'
check 0 '6 utterances' data -o speaker.ark --cmvn speaker --cmvn-stats stats.ark --cmvn-scp stats.scp
[[ $(cut -d' ' -f1 stats.scp | tr '\n' ' ') == 's0 s1 ' ]] || fail 'statistics not of s0 and s1'
check 0 '6 utterances' data -o global.ark --cmvn global --cmvn-stats global
check 0 '6 utterances' data -o again.ark --cmvn global --cmvn-from global
cmp global.ark again.ark || fail 'given statistics give other features'
for kind in global running; do
	check 0 '1 utterance' data/u1.wav -o "$kind.txt" --text --cmvn "$kind" --cmvn-from global
done
cmp <(head -2 global.txt) <(head -2 running.txt) || fail 'the first frame is not normalised by the global statistics'
cmp -s <(sed -n 3p global.txt) <(sed -n 3p running.txt) && fail 'later frames have no running statistics'
check 0 '1 utterance' data/u1.wav -o prior.txt --text --cmvn running --cmvn-from global --cmvn-prior 1000000
paste <(head -3 global.txt) <(head -3 prior.txt) | awk 'NR > 1 { n = NF / 2; for (i = 1; i <= n; i++)
  if (($i - $(i + n)) ^ 2 > 1e-6) exit 1 }' || fail 'a prior of a million frames does not hold'
check 0 '1 utterance' data/u1.wav -o memory.txt --text --cmvn running --cmvn-from global --cmvn-memory 110
cmp <(head -9 running.txt) <(head -9 memory.txt) || fail 'frames before the limit differ'
cmp -s running.txt memory.txt && fail 'the weight of all frames has no maximum'
# Silence at the end changes running statistics, unless they count speech only: then all its frames have the same values.
make_wav quiet.wav 20000
head -c 20000 /dev/zero >> quiet.wav
for frames in all speech; do
  check 0 '1 utterance' quiet.wav -o $frames.txt --text --cmvn running --cmvn-frames $frames --cmvn-from global
  tail -n 3 $frames.txt | head -n 2 | uniq > $frames.last
done
[[ $(wc -l < all.last) -eq 2 ]] || fail "running statistics do not count silence: $(cat all.last)"
[[ $(wc -l < speech.last) -eq 1 ]] || fail "running statistics of speech count silence: $(cat speech.last)"

# A command that fails the second time, when features are computed.
mkdir twice
cp data/u1.wav twice
# shellcheck disable=SC2016 # $PWD is for the command
printf 'u1 %s/twice/u1.wav\nu2 [ ! -e seen ] && touch seen && cat %s/twice/u1.wav |\n' "$PWD" "$PWD" > twice/wav.scp
check 1 'u2' --run-commands twice -o twice.ark --cmvn global --num-frames twice.frames
[[ $(cut -d ' ' -f 1 twice.frames) == u1 ]] || fail "--num-frames lists what the archive lacks: $(cat twice.frames)"

# Noise differs between utterances of the same samples. A speaker without frames has no statistics.
mkdir noisy
cp data/u1.wav noisy
make_wav noisy/short.wav 100
printf 'd1 u1.wav\nd2 u1.wav\nd3 short.wav\n' > noisy/wav.scp
printf 'd1 s1\nd2 s1\nd3 s3\n' > noisy/utt2spk
for dither in 0 1; do
  check 1 'd3: 50 samples are too few' noisy -o dither.txt --text --dither $dither --cmvn-stats noisy.stats --cmvn-scp noisy.scp
  [[ $(cut -d ' ' -f 1 noisy.scp) == s1 ]] || fail "statistics of speakers: $(cat noisy.scp)"
  sed '/^d2/Q' dither.txt | tail -n +2 > first
  sed '1,/^d2/d' dither.txt > second
  same=1
  cmp -s first second || same=0
  [[ -s second && $same -eq $((1 - dither)) ]] || fail "--dither $dither: the noise of two utterances of the same samples"
done

# The command reports failed utterances and writes the others.
cp -r data some
echo 'u7 /nonexistent/u7.wav' >> some/wav.scp
echo 'u8 cat data/u1.wav |' >> some/wav.scp
: > some/u2.wav
check 1 '3 of 8 utterances failed' some -o some.ark --scp some.scp
grep -q 'u7: /nonexistent/u7.wav: No such file' out || fail 'u7 is not named'
grep -q 'u8: .*--run-commands' out || fail 'u8 is not named'
[[ $(cut -d' ' -f1 some.scp | tr '\n' ' ') == 'u1 u3 u4 u5 u6 ' ]] || fail 'the other utterances are missing'
echo 'u9 exit 3 |' >> some/wav.scp
check 1 '3 of 9 utterances failed' some -o run.ark --scp run.scp --run-commands
grep -q 'u9: the command failed with exit status 3: exit 3' out || fail "u9: $(cat out)"
grep -q '^u8 ' run.scp || fail 'the command was not run'
# A command may write more than its segments need; at the end of the audio it must not fail.
mkdir partly
echo 'r cat "'"$linnet"'" |' > partly/wav.scp
printf 'v1 r 0 1\nv2 r 2 3\n' > partly/segments
check 0 '2 utterances' partly -o partly.ark --run-commands --raw s16le
echo 'r cat data/u1.wav; kill -PIPE $$ |' > partly/wav.scp
printf 'v1 r 0 -1\n' > partly/segments
check 1 'exit status 141' partly -o partly.ark --run-commands --raw s16le
check 1 'none of 1 utterance could' some/u2.wav -o none.ark
[[ ! -e none.ark ]] || fail 'an archive without utterances exists'

# Wrong command lines.
check 2 '--out FILE is missing' data
check 2 '--scp and --num-frames both name same' data -o x.ark --scp same --num-frames same
check 2 '--out and --cmvn-stats both name x.ark' data -o x.ark --cmvn-stats x.ark
check 2 '--out and --cmvn-stats both write to standard output: name a file' data -o - --cmvn-stats -
check 0 's1 stats:' data -o y.ark --cmvn-stats stats --cmvn-scp -
[[ ! -e ./- ]] || fail 'a script file called -'
check 2 'DATA_FOLDER|FILE is missing' -o x.ark
check 2 'only one of --compress, --text and --double' data -o x.ark --text --double
check 2 'must be cm, cm2 or cm3' data -o x.ark --compress zip
check 2 'must be none, utterance' data -o x.ark --cmvn me
check 0 'cmvn-frames has no effect' data -o useless.ark --cmvn-frames speech
check 2 'cmvn-frames has no effect on the statistics of --cmvn-from' data -o x.ark --cmvn global --cmvn-from global \
  --cmvn-frames speech
check 0 '--dither-seed has no effect' data -o useless.ark --dither-seed 3
check 0 '--dither-seed has no effect' data -o useless.ark --dither-seed 0 --dither 0
check 2 '--run-commands needs a data folder' data/u1.wav -o x.ark --run-commands
check 2 'needs --cmvn global or running' data -o x.ark --cmvn-from global
check 2 'cmvn-prior 0' data -o x.ark --cmvn running --cmvn-prior 0
check 2 'cmvn-memory needs --cmvn running' data -o x.ark --cmvn global --cmvn-memory 7
check 2 'cmvn-memory 0.5' data -o x.ark --cmvn running --cmvn-memory 0.5
check 2 'would both have the key u1' data/u1.wav data/u1.wav -o x.ark
check 2 'is a folder' data data -o x.ark
check 1 'neither wav.scp nor feats.scp' . -o x.ark
check 1 'holds no bin' data -o x.ark --num-mel 300
check 1 'channel 1 does not exist' data/u1.wav -o x.ark --channel 1
[[ ! -e x.ark ]] || fail 'a wrong command line has made an archive'
mkdir cut
echo "u1 $PWD/data/u1.wav" > cut/wav.scp
echo 'p u1 0 400' > cut/segments
echo 'p s' > cut/utt2spk
check 0 'the part from 0.000 to 400.000 seconds is cut' cut -o cut/x.ark
[[ -z $(find . -name '*.tmp.*') ]] || fail 'temporary files are left'

echo "$failures failures"
[[ $failures -eq 0 ]]
