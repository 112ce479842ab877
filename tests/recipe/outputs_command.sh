#!/usr/bin/env bash
# No output replaces an input; what --output means; what a full disk leaves; the keys of archives.
#
#   outputs_command.sh LINNET
# shellcheck source=tests/recipe/command.sh
source "$(dirname "$0")/command.sh"
make_tones
export LINNET_MODEL=$here/../../models/english/phones.safetensors

# --- outputs that are inputs

# spares FILE COMMAND...: the command is refused, and the file stays as it was.
spares() {
  local file=$1
  shift
  cp "$file" before
  check 2 'which it would replace: name another file' "$linnet" "$@"
  cmp "$file" before || fail "$*: has changed $file"
}
spares_all() {
  local file
  while read -r file words; do
    # shellcheck disable=SC2086 # words of a command line
    [[ -z $file ]] || spares "$file" $words
  done
}
cp data/u1.wav a.wav
cp data/u2.wav b.wav
ln -s a.wav link.wav
printf 'TONE 2\n' > hotwords
printf 'u1 A B\nu2 A C\n' | tee ref hyp > text
printf 'u1 s1\nu2 s1\n' > utt2spk
printf 'A AH0\nB B\n' > lexicon
printf 'a b a b\nb a\n' > sentences
printf '{"recognizer":1}\n' > settings.json
printf '<b> 0\nA 1\n' > symbols
printf 'u1  [\n -9 -0.1 ]\n' > posteriors
printf 'u1 posteriors:3\n' > posteriors.scp
printf 'u1  [\n -9 -0.1 ]\n' > features
cp data/phones data/text
cp "$LINNET_MODEL" model.safetensors
cp model.safetensors second.safetensors
spares_all << 'END'
a.wav features -o a.wav a.wav
a.wav features -o ./link.wav a.wav
a.wav features -o x.ark --scp a.wav a.wav
b.wav features -o b.wav a.wav
data/wav.scp features -o x.ark --scp data/wav.scp data
data/utt2spk features -o x.ark --num-frames data/utt2spk data
data/u3.wav posteriors --data data -o data/u3.wav
b.wav posteriors --out a.wav b.wav
features posteriors --features ark:features -o features
model.safetensors posteriors -m model.safetensors -o model.safetensors a.wav
a.wav transcribe --beam 4 --lattice a.wav a.wav
a.wav transcribe --beam 4 --lattice x.lat --lattice-symbols a.wav a.wav
hotwords transcribe --hotwords hotwords -o hotwords a.wav
data/text transcribe --data data -o data/text
data/u1.wav transcribe --recursive --beam 4 --lattice data/u1.wav data
data/phones align --data data --output data/phones -f ctm
sentences ngram -t sentences -a sentences
sentences ngram -b sentences sentences
lexicon g2p --train lexicon -o lexicon
text g2p --model model.g2p --complete lexicon --text text -o text
ref score --per-utt ref ref hyp
hyp score --confusions hyp ref hyp
utt2spk score --utt2spk utt2spk --per-speaker utt2spk ref hyp
posteriors decode -s symbols -o posteriors ark:posteriors
posteriors decode -s symbols -o posteriors scp:posteriors.scp
symbols decode -s symbols -o symbols posteriors
model.safetensors average -o model.safetensors model.safetensors second.safetensors
ref calibrate -o ref ref settings.json
END
# Files beside outputs and inputs.
cp a.wav talk.partial
mkdir parted
cp a.wav parted/talk.partial
echo 'u1 talk.partial' > parted/wav.scp
echo 'u1 s1' > parted/utt2spk
echo 0.03 > posteriors.frame_shift
cp a.wav beside.frame_shift
spares_all << 'END'
talk.partial transcribe -o talk talk.partial
talk.partial transcribe -o ./talk b.wav talk.partial
parted/talk.partial transcribe --data parted -o parted/talk
talk.partial decode -s symbols -o talk talk.partial
posteriors.frame_shift decode -s symbols -o posteriors.frame_shift ark:posteriors
posteriors.frame_shift decode -s symbols -o posteriors.frame_shift scp:posteriors.scp
beside.frame_shift features -o beside beside.frame_shift
beside.frame_shift posteriors -o beside beside.frame_shift
END
for words in '--out x --estimate-priors x.frame_shift' '--scp x.frame_shift --out ./x'; do
  # shellcheck disable=SC2086 # words of a command line
  check 2 'both name' "$linnet" posteriors $words a.wav
done
check 2 '--out and --num-frames both name x.frame_shift' "$linnet" features --out x --num-frames x.frame_shift a.wav
check 2 'both name x.partial: name two files' "$linnet" transcribe --beam 4 -o x --lattice x.partial a.wav
rm posteriors.frame_shift

# The files of a recognizer: of the one that ships, of $LINNET_MODEL, of a settings file, and of a second pass.
mkdir -p private/bin private/share/linnet/models/english parts
cp "$linnet" private/bin
shipped=private/share/linnet/models/english
cp model.safetensors $shipped/phones.safetensors
printf 'TONE T OW N\n' | tee parts/words > parts/own
printf 'tone\n' > parts/phrases
touch parts/lm parts/priors parts/g2p.bin parts/text.rules
cat > $shipped/recognizer.json << 'END'
{"model": "phones.safetensors", "ensemble_model": "../../../../../second.safetensors", "search": "words",
 "lexicon": "../../../../../parts/words", "language_model": "../../../../../parts/lm",
 "hotwords": "../../../../../parts/phrases", "priors": "../../../../../parts/priors"}
END
printf '{"model": "model.safetensors", "second_pass": "%s"}\n' $shipped > first.json
# spares_recognizer OPTION...: of the recognizer that the options name
spares_recognizer() {
  local part
  for part in parts/words parts/lm parts/phrases parts/priors second.safetensors $shipped/phones.safetensors \
    $shipped/recognizer.json; do
    spares "$part" transcribe "$@" -o "$part" a.wav
    spares "$part" transcribe "$@" --lattice "$part" -o x a.wav
  done
}
spares_aligner() {
  local part
  for part in parts/words parts/g2p.bin parts/text.rules second.safetensors; do spares "$part" align "$@" -t TONE -o "$part" a.wav; done
  spares second.safetensors posteriors "$@" -o second.safetensors a.wav
  spares second.safetensors posteriors "$@" --features ark:features -o second.safetensors
}
kept=$LINNET_MODEL installed=$linnet
unset LINNET_MODEL
linnet=private/bin/linnet
spares_recognizer
spares_aligner
linnet=$installed
for LINNET_MODEL in $shipped $shipped/recognizer.json; do
  export LINNET_MODEL
  spares_recognizer
  spares_aligner
done
for LINNET_MODEL in /dev/null "$kept"; do
  spares_recognizer -m $shipped/recognizer.json
  spares_aligner -m $shipped/recognizer.json
done
spares_recognizer -m first.json
spares_recognizer -m model.safetensors --second-pass $shipped
export LINNET_LEXICON=parts/own
spares parts/own transcribe -m model.safetensors --words -o parts/own a.wav
spares parts/own decode -s symbols --words -o parts/own posteriors
spares parts/own align -m model.safetensors -t TONE -o parts/own a.wav
unset LINNET_LEXICON
cp ref ref.ref.trn
check 2 '--trn ref.ref.trn: is an input' "$linnet" score --trn ref ref.ref.trn hyp
check 2 '--per-utt and --confusions both name ./x: name two files' "$linnet" score --per-utt x --confusions ./x ref hyp
mkdir folder
for words in 'decode -s symbols -o folder posteriors' 'decode -s symbols -o folder/ posteriors' \
  'decode -s symbols -o none/ posteriors' 'features -o folder a.wav' 'posteriors --scp none/ -o x.ark a.wav' \
  'transcribe --beam 4 --lattice folder a.wav' 'score --per-utt folder/ ref hyp' 'plot -o folder a.wav' \
  'average -o folder model.safetensors second.safetensors'; do
  # shellcheck disable=SC2086 # words of a command line
  check 2 ': is a folder: name a file in it' "$linnet" $words
done
mkdir folder/p.ref.trn folder/a.txt
check 2 '--trn folder/p.ref.trn: is a folder, but has to be a file: rename it, or change --trn' "$linnet" score --trn folder/p ref hyp
check 2 '--output-dir folder/a.txt: is a folder' "$linnet" transcribe --output-dir folder a.wav
rm -r folder/*
[[ ! -e none && ! -e folder/.partial && ! -e x && ! -e x.ark && ! -e x.lat ]] || fail 'a refused command has written something'

# A pattern takes the first input for the output.
cp model.safetensors epoch-1.safetensors
cp model.safetensors epoch-2.safetensors
cp epoch-1.safetensors before
for option in --output -o; do
  check 2 'the next name, epoch-2.safetensors, differs only in numbers' "$linnet" average $option epoch-*.safetensors
done
cmp epoch-1.safetensors before || fail 'a pattern has replaced an input'
cp model.safetensors epoch-3.safetensors
"$linnet" average --output=epoch-3.safetensors epoch-1.safetensors epoch-2.safetensors || fail '--output=FILE'
"$linnet" average epoch-1.safetensors epoch-2.safetensors --output epoch-3.safetensors || fail '--output at the end'
rm epoch-3.safetensors
"$linnet" average --output mean.safetensors epoch-*.safetensors || fail 'the first mean'
"$linnet" average --output mean.safetensors epoch-*.safetensors || fail 'a mean that exists'

# What may lie beside an input, or replace one.
for _ in 1 2; do
  check 0 '6 utterances' "$linnet" features -o data/feats.ark --scp data/feats.scp --num-frames data/utt2num_frames data
  check 0 '' "$linnet" transcribe --data data -o data/hyp
  check 0 '1 utterance,' "$linnet" features -o /dev/null --num-frames /dev/null a.wav
done
rm data/feats.*
"$linnet" g2p --train lexicon --output model.g2p --order 2 > /dev/null 2>&1
check 0 'words added' "$linnet" g2p --model model.g2p --complete lexicon --text text --output lexicon
mkdir results
cp a.wav results/a.txt
check 2 '--output-dir results/a.txt: is an input' "$linnet" transcribe --output-dir results results/a.txt
cmp a.wav results/a.txt || fail '--output-dir has replaced an input'

# --- files and folders

# names FOLDER NAME...: the files in a folder.
names() {
  [[ $(ls "$1") == "$(printf '%s\n' "${@:2}")" ]] || fail "$1 has $(ls "$1"), not ${*:2}"
}
transcribe() { "$linnet" transcribe "$@" > out 2>&1 || fail "transcribe $*: $(cat out)"; }
transcribe --format srt -o grid a.wav b.wav
names grid a.srt b.srt
transcribe -o grid a.wav
transcribe --format json -o grid/ b.wav
names grid a.srt a.txt b.json b.srt
transcribe --format srt -o slash/ a.wav
names slash a.srt
transcribe --format srt -o single a.wav
[[ -f single ]] || fail 'the result of one file is no file'
transcribe --output-dir many/a/b a.wav b.wav
names many/a/b a.txt b.txt
check 0 'skipped 1 of 2 inputs' "$linnet" transcribe --format json --resume -o grid a.wav b.wav
check 2 'x.srt: is one file, but --format srt writes one recording per file' "$linnet" transcribe -f srt -o x.srt a.wav b.wav
check 2 'single: cannot make the folder' "$linnet" transcribe -f srt -o single a.wav b.wav
cp a.wav grid/c.txt
check 2 '--output grid/c.txt: is an input' "$linnet" transcribe -o grid grid/c.txt
mkdir old.srt
transcribe --format srt -o old.srt a.wav b.wav
names old.srt a.srt b.srt

# --- keys of archives

cp b.wav 'Interview 1.wav'
cp b.wav Interview_1.wav
for command in posteriors features; do
  "$linnet" $command --text -o keys.ark a.wav 'Interview 1.wav' data/u3.wav 2> err || fail "$command: $(cat err)"
  [[ $(grep -o '^[^ ]\+' keys.ark | tr '\n' ' ') == 'a Interview_1 u3 ' ]] || fail "$command: keys $(grep -o '^[^ ]*' keys.ark)"
  check 2 'data/u1.wav and ./data/u1.wav would both have the key u1' "$linnet" $command -o no.ark data/u1.wav a.wav ./data/u1.wav
  check 2 'would both have the key Interview_1' "$linnet" $command -o no.ark 'Interview 1.wav' Interview_1.wav
done
"$linnet" posteriors --text -o keys.ark --recursive data 2> /dev/null
grep -q '^u1 ' keys.ark || fail "keys of a folder: $(grep -o '^[^ ]*' keys.ark)"
mkdir links
cp a.wav links
ln -s /nonexistent/b.wav links/b.wav # as of a disk that is not there
check 1 'links/b.wav: No such file' "$linnet" transcribe --recursive links -o links.txt
check 1 'the name is not UTF-8' "$linnet" transcribe --format json -o latin --resume a.wav $'M\xfcller.wav'

# --- full disks

for i in {100..199}; do ln a.wav "copy$i.wav"; done
transcribe --threads 1 --format json -o whole.json copy*.wav
# on_disk OPTIONS COMMANDS: with a new disk in the folder "disk".
on_disk() { unshare -Urm bash -c "mount -t tmpfs -o $1 tmpfs disk && linnet=$linnet && $2"; }
mkdir disk
# shellcheck disable=SC2016 # of the inner shell
if on_disk size=4k true 2> /dev/null; then
  # Results in the right order need no second copy, others do.
  check 0 '100 files' on_disk size=8k '"$linnet" transcribe --threads 1 -f json -o disk/x.json copy*.wav && cmp disk/x.json whole.json'
  check 1 'x.json.partial: holds the results' on_disk size=8k 'tac whole.json > disk/x.json.partial &&
    "$linnet" transcribe --resume -f json -o disk/x.json copy*.wav'
  check 0 'skipped 100 of 100' on_disk size=8k 'tac whole.json > disk/x.json.partial &&
    ! "$linnet" transcribe --resume -f json -o disk/x.json copy*.wav 2> /dev/null && mount -o remount,size=1M disk &&
    "$linnet" transcribe --resume -f json -o disk/x.json copy*.wav && cmp disk/x.json whole.json'
  check 0 'results are in disk/x.json.partial; make space, then run the same command with --resume' on_disk size=4k '
    ! "$linnet" transcribe --threads 1 -f json -o disk/x.json copy*.wav && [[ ! -e disk/x.json ]] && mount -o remount,size=1M disk &&
    "$linnet" transcribe --resume -f json -o disk/x.json copy*.wav && cmp disk/x.json whole.json'
  # A folder: nothing is recognised in vain.
  check 0 'stopped: 3 of 100 results are in disk' on_disk nr_inodes=4 '
    ! "$linnet" transcribe --threads 1 --output-dir disk copy*.wav && ls disk && mount -o remount,nr_inodes=1000 disk &&
    "$linnet" transcribe --resume --output-dir disk copy*.wav && [[ $(ls disk | wc -l) -eq 100 ]]'
  [[ $(grep -c 'cannot write' out) -eq 1 ]] || fail "--output-dir on a full disk: $(cat out)"
  grep -q '^3 files, 1.5 s' out || fail "the audio of failed files counts: $(cat out)"
fi

exit $((failures > 0))
