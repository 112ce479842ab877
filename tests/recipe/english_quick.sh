#!/usr/bin/env bash
# Runs every stage of recipes/english on corpora of synthetic speech in the published layouts. The model of pronunciations
# guesses the phones of words that the dictionary lacks; no utterance is skipped.
#
#   english_quick.sh LINNET LINNET_CONDITION
# shellcheck source=tests/recipe/command.sh
. "$(dirname "$0")/command.sh"
condition=$(realpath "$2")
for tool in flite sox xz; do
  command -v "$tool" > /dev/null || { echo "SKIPPED: $tool is not installed" && exit 77; }
done

# The words of a small language with CMUdict's pronunciations. The texts have one more word, "tide".
cat > dictionary << 'END'
a AH0
boat B OW1 T
by B AY1
goat G OW1 T
gate G EY1 T
hide HH AY1 D
note N OW1 T
ride R AY1 D
road R OW1 D
side S AY1 D
tail T EY1 L
take T EY1 K
the DH AH0
toad T OW1 D
wide W AY1 D
END
sentences=('a boat by the gate' 'the goat by the wide road' 'take a note' 'hide the toad' 'ride by the side'
  'the wide tide' 'a tail by the gate' 'take the boat' 'the tide by the road' 'hide a note by the goat')

# folder DIR VOICE FIRST COUNT: a Kaldi data folder of COUNT sentences
folder() {
  mkdir -p "$1/audio"
  local i id
  for ((i = $3; i < $3 + $4; i++)); do
    id=$2-$i
    flite -voice "$2" -t "${sentences[i % 10]}" -o "$1/audio/$id.wav"
    echo "$id audio/$id.wav" >> "$1/wav.scp"
    echo "$id ${sentences[i % 10]}" | tr '[:lower:]' '[:upper:]' | sed "s/^[^ ]*/$id/" >> "$1/text"
    echo "$id $2" >> "$1/utt2spk"
  done
}

mkdir -p data/{cmudict,text,speechocean762/resource} noises/esc10
ln -s ../noises data/noise
cp dictionary data/cmudict/cmudict.dict
echo 'free' > data/cmudict/LICENSE
for _ in {1..30}; do printf '%s\n' "${sentences[@]}" 'gate xii'; done | tr '[:lower:]' '[:upper:]' | xz > data/text/books.txt.xz
folder data/librispeech/train rms 0 10
folder data/librispeech/dev awb 3 3
# published DIR SENTENCE...: LibriSpeech as published, READER/CHAPTER/, with utterances rms-0 ...
published() {
  mkdir -p "$1/rms/0"
  local i=0 sentence
  for sentence in "${@:2}"; do
    sox -q "data/librispeech/train/audio/rms-$((i % 10)).wav" "$1/rms/0/rms-$i.flac"
    echo "rms-$i $sentence" | tr '[:lower:]' '[:upper:]' | sed "s/^[^ ]*/rms-$i/" >> "$1/rms/0/rms-0.trans.txt"
    i=$((i + 1))
  done
}
published published/train-clean-100 "${sentences[@]}" 'the wide tide' # one more than the folder above
ln -s published/train-clean-100 train-clean-100
folder data/kathleen slt 0 10
folder data/commonvoice kal16 1 2
for part in train test; do
  folder "data/speechocean762/$part" kal 0 4
  sed -i "s/^kal/$part/; s,audio/,$part/audio/," "data/speechocean762/$part"/{wav.scp,text,utt2spk}
done
echo "train-0 dev-speaker" > data/speechocean762/train/utt2spk
sed -n '2,$s/ .*/ other-speaker/p' data/speechocean762/train/wav.scp >> data/speechocean762/train/utt2spk
echo dev-speaker > data/speechocean762/dev_speakers
echo 'kal 30' > data/speechocean762/test/spk2age
awk 'NR == FNR {$0 = toupper($0); phones = ""; for (i = 2; i <= NF; i++) phones = phones " " $i; word[$1] = phones; next}
  {for (i = 2; i <= NF; i++) print $1 "." i - 2 "\t" ($i in word ? substr(word[$i], 2) : "T_B AY1_I D_E")}' dictionary \
  data/speechocean762/{train,test}/text > data/speechocean762/resource/text-phone
for i in 1 2 3; do sox -q -n -r 16000 -b 16 data/noise/noise-$i.wav synth 2 pinknoise vol 0.1; done
for fold in 1 5; do sox -q -n -r 16000 -b 16 data/noise/esc10/rain-$fold-100-A.wav synth 2 brownnoise vol 0.1; done

LINNET=$linnet LINNET_CONDITION=$condition "$here/../../recipes/english/run.sh" --quick --data data --exp exp \
  --librispeech train-clean-100 > recipe.log 2>&1 || {
  cat recipe.log
  exit 1
}
[[ $(wc -l < exp/data/train/phones) -eq 27 ]] || fail "$(wc -l < exp/data/train/phones) training utterances, expected 24 and 3 noises"
grep -qF 'train-clean-100: 10 of 11 utterances are in an earlier folder, too, and are taken once' recipe.log ||
  fail "nothing is said about utterances that two folders have: $(cat recipe.log)"
grep -q '^rms-0 .*wav$' exp/data/train/wav.scp && grep -q '^rms-10 .*flac$' exp/data/train/wav.scp ||
  fail "utterances of both folders: $(grep rms exp/data/train/wav.scp)"
[[ ! -s exp/data/train-1/skipped ]] || fail "utterances were skipped: $(cat exp/data/train-1/skipped)"
grep -qi '^tide' exp/data/lexicon.txt || fail 'the lexicon has no guess for "tide"'
[[ $(wc -l < exp/data/noise-held-out.scp) -eq 2 ]] || fail "held out: $(cat exp/data/noise-held-out.scp)"
[[ $("$linnet" info exp/words/calibration/model-half.safetensors) == *'CC BY 4.0'* ]] || fail 'the model has no licence'
[[ $(grep -c '^| .* | as recorded |' exp/table.md) -eq 3 ]] || fail "three sets are expected in the table: $(cat exp/table.md)"
[[ $(grep -c '^| digital silence | \(phones\|words\) |' exp/table.md) -eq 2 ]] || fail "no false alarms: $(cat exp/table.md)"
! grep -wE -e '-?(inf|nan)' exp/table.md || fail 'a number of the table is infinite or not a number'
awk '{print $1}' exp/words/lexicon.txt | sort > words
for word in TIDE BOAT; do grep -qx $word words || fail "the recognizer's lexicon lacks $word"; done
! grep -qx XII words || fail 'the pronunciation of a Roman numeral was guessed'
"$linnet" transcribe --model exp/english --data exp/data/dev --output hyp 2> err || fail "the folder that ships: $(cat err)"
[[ $(wc -l < hyp) -eq $(wc -l < exp/data/dev/text) ]] || fail "the folder that ships: $(cat hyp err)"
cut -d ' ' -f 1 exp/words/symbols | cmp -s - <(cut -d ' ' -f 1 exp/english/priors.txt) || fail "priors of other symbols: $(cat exp/english/priors.txt)"
grep -q '"priors": "priors.txt", "prior_scale": 0.[0-9]' exp/english/recognizer.json || fail "priors: $(cat exp/english/recognizer.json)"
grep -q '^| commonvoice |' exp/english/README.md || fail 'the card of the folder that ships has no table'
grep -q '^| Data | by `recipes/english/run.sh .* --librispeech train-clean-100`, commit .*: 24 utterances of speech and 3 noises' \
  exp/english/README.md && ! grep -q '10.4 hours' exp/english/README.md || fail "the card: $(cat exp/english/README.md)"
# Two processes train the same model, and three that of one with as many shards.
# train FOLDER OPTION...
train() {
  mkdir "$1"
  cp -r exp/data "$1"
  check 0 'training on' env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
    OMPI_MCA_btl_vader_single_copy_mechanism=none LINNET="$linnet" "$here/../../recipes/english/run.sh" --quick --data data --exp "$1" \
    --stage 2 --stop-stage 2 "${@:2}"
}
# shellcheck source=tests/recipe/launcher.sh
if (. "$here/launcher.sh") > /dev/null; then
  train two --ranks 2
  cmp exp/train/model.safetensors two/train/model.safetensors || fail 'two ranks: another model'
  grep -q '"ranks": *2' two/train/log.jsonl || fail "not two ranks: $(tail -n 1 two/train/log.jsonl)"
  train three --ranks 3
  train sixteen --set shards=16
  cmp three/train/model.safetensors sixteen/train/model.safetensors || fail 'three ranks: not the model of 16 shards'
  grep -q '"ranks": *3' three/train/log.jsonl || fail "not three ranks: $(tail -n 1 three/train/log.jsonl)"
else
  echo 'without MPI, a training by two processes is not tested'
fi
# Recognition by a cluster gives the same results; Slurm is a script here.
cp -r exp cluster
# shellcheck source=tests/recipe/fake_slurm.sh
(. "$here/fake_slurm.sh" && LINNET_CMD_WAIT=0.1 LINNET=$linnet "$here/../../recipes/english/run.sh" --quick --data data --exp cluster \
  --decode-cmd 'slurm --threads 2 --partition=long' --stage 3 --stop-stage 6) > recipe.log 2>&1 || fail "--decode-cmd: $(cat recipe.log)"
for file in final.safetensors calibration/dev.json words/{priors.txt,lexicon.txt,tuning-third,tuning,calibration/dev.json}; do
  cmp "exp/$file" "cluster/$file" || fail "--decode-cmd: another $file"
done
# two models in parts, two calibrations, priors, pronunciations, posteriors, and two arrays of trials
[[ $(grep -c -- '--cpus-per-task=2 --partition=long' calls) -eq 9 && $(wc -l < calls) -eq 9 ]] || fail "$(cat calls)"
# The recognizer for live speech takes data and language from the offline one, and begins with its weights,
# and learns from it.
LINNET=$linnet LINNET_CONDITION=$condition "$here/../../recipes/english/run.sh" --quick --live --data data --exp exp --stage 2 \
  --initial exp/train/model.safetensors --teacher exp/final.safetensors > live.log 2>&1 || fail "--live: $(tail -n 5 live.log)"
"$linnet" info exp/english-live/phones.safetensors > about
grep -q '^causal  *frame by frame, with a look-ahead' about || fail 'not causal'
grep -q '"distillation"' exp/live/train/log.jsonl || fail 'the teacher taught nothing'
"$linnet" transcribe --live --live-speed 0 --model exp/english-live data/commonvoice/audio/kal16-1.wav > hyp 2> err ||
  fail "live: $(cat err)"
grep -q '^| Training | by `recipes/english/run.sh .* --live .*`, commit [^ ]*: 2 epochs' exp/english-live/README.md ||
  fail "the card of the recognizer for live speech: $(cat exp/english-live/README.md)"
[[ ! -e exp/english-live/words.bin ]] || fail 'the language model is there twice'
# What stage 7 needs beside its folder is missed before the training.
mkdir exp/half
cp exp/live/words/calibration/model-half.safetensors exp/half/phones.safetensors
check 1 'elsewhere/english/recognizer.json is missing' env LINNET="$linnet" "$here/../../recipes/english/run.sh" --live \
  --data data --exp exp --ship elsewhere/live --stage 2
check 1 '--ensemble half: ' env LINNET="$linnet" "$here/../../recipes/english/run.sh" --data data --exp exp --ensemble half --stage 2
# Both models together.
check 0 'words: ' env LINNET="$linnet" LINNET_CONDITION="$condition" "$here/../../recipes/english/run.sh" --quick --data data \
  --exp exp --ensemble english-live --stage 7 --stop-stage 7
grep -q '"ensemble_model": "../english-live/phones.safetensors", "ensemble_weight": 0.4' exp/english/recognizer.json &&
  grep -q '"confidence": {"slope": .*}, "word_confidence": {"slope": ' exp/english/recognizer.json ||
  fail "the ensemble: $(cat exp/english/recognizer.json)"
"$linnet" transcribe --model exp/english --data exp/data/dev --output both 2> err || fail "the ensemble: $(cat err)"
"$linnet" transcribe --model exp/english --ensemble-weight 0 --data exp/data/dev --output one 2> err || fail "one of two: $(cat err)"
# An id of two utterances, and development data in the training, are refused.
published published/wrong 'take a note'
for folder in 'published/wrong|has other words in an earlier folder' 'data/librispeech/dev|is also in a folder of --train'; do
  check 1 "${folder#*|}" env LINNET="$linnet" "$here/../../recipes/english/run.sh" --data data --exp refused \
    --librispeech "${folder%%|*}" --stop-stage 1
done
# So are names that the script has for itself, and two sets of one name.
prepare() {
  check "$1" "$2" env LINNET="$linnet" "$here/../../recipes/english/local/prepare.sh" --out prepared --lexicon dictionary \
    --g2p exp/data/g2p.bin --train data/librispeech/train "${@:3}"
}
for name in dev train train-1 noise raw speechocean762 a/b ''; do
  prepare 1 "--dev $name=data/commonvoice: '$name' cannot be a name" --dev "$name=data/commonvoice"
done
prepare 1 'a: another set, or the recipe itself, already uses the name a' --dev a=data/commonvoice a=data/librispeech/dev
[[ ! -e prepared ]] || fail "refused sets were written: $(ls prepared)"
prepare 0 'prepared/dev: 5 utterances' --dev a=data/commonvoice b=data/librispeech/dev
prepare 0 'no development set is named, so there is no prepared/dev'
[[ ! -e prepared/dev && -s prepared/train/phones ]] || fail "without development sets: $(ls prepared)"
# Times: those of an alignment have no error.
mkdir timed
for file in text utt2spk; do cp "data/commonvoice/$file" timed; done
sed "s,audio/,$PWD/data/commonvoice/&," data/commonvoice/wav.scp > timed/wav.scp
"$linnet" align --model exp/english --data timed --format ctm --output timed/words.ctm 2> err || fail "align: $(cat err)"
LINNET=$linnet "$here/../../recipes/english/evaluate.sh" --model exp/english --set timed=timed --lexicon exp/data/lexicon.txt \
  --out times > times.md 2> err || fail "evaluate.sh: $(cat err)"
grep -q '^| timed | words, aligned, start | \([0-9]*\) of \1 | 0 | 0 | 0 | 100 / 100 / 100 |$' times.md || fail "times: $(cat times.md)"
evaluate() {
  check 1 "$1" env LINNET="$linnet" "$here/../../recipes/english/evaluate.sh" --set timed=timed --out refused "${@:2}"
}
evaluate 'nothere is missing: --model names a model, or the folder of a recognizer' --model nothere
evaluate 'timed/recognizer.json is missing: --model names' --model timed
evaluate '--lm-weight 2: needs --lm FILE' --model exp/english --lm-weight 2
evaluate '--beam 20: needs --lm FILE' --model exp/final.safetensors --lexicon exp/data/lexicon.txt --beam 20
evaluate '--prior-scale 1: needs --priors FILE' --lm exp/words/lm.bin --lexicon exp/data/lexicon.txt --prior-scale 1
evaluate '--lm exp/words/lm.bin: needs --lexicon FILE' --lm exp/words/lm.bin
touch timed/segments
evaluate 'timed/segments: segments are not read here: write each to an audio file of its own' --model exp/english
for place in train dev; do
  touch "data/librispeech/$place/segments"
  check 1 "data/librispeech/$place/segments: segments are not read here" env LINNET="$linnet" \
    "$here/../../recipes/english/run.sh" --data data --exp refused --stop-stage 1
  rm "data/librispeech/$place/segments"
done
rm timed/segments
if command -v gnuplot > /dev/null; then
  LINNET=$linnet "$here/../../recipes/english/local/reliability.sh" --model exp/english --set dev=exp/data/dev --out curves \
    > curves.md 2> err || fail "reliability.sh: $(cat err)"
  grep -q '^| dev | 0\.[0-9]* | 0\.[0-9]* |$' curves.md && [[ -s curves/phones.svg && -s curves/words.svg ]] ||
    fail "reliability.sh: $(cat curves.md err)"
fi
# The comparison of methods: a row as it is, rows of other data and units, and rows that need the first training.
rows=(base babble states biphones frames-0.1 pseudo pseudo-true)
command -v sox > /dev/null && rows+=(joined)
methods=(env LINNET="$linnet" LINNET_CONDITION="$condition" "$here/../../recipes/english/local/methods.sh" --data "$PWD/exp/data" --out methods)
"${methods[@]}" --quick --times timed --rows "${rows[*]}" --seeds 1 > methods.md 2> err || fail "methods.sh: $(cat err)"
[[ $(grep -c '^| .* | [0-9.]* | [0-9.]* |' methods.md) -eq ${#rows[@]} ]] ||
  fail "${#rows[@]} rows are expected: $(cat methods.md err)"
# What was trained otherwise is not taken for a training of now.
check 0 "$(grep '^| base |' methods.md)" "${methods[@]}" --quick --rows base --seeds 1
check 1 'methods was made with other settings: training utterances of at most 13 phones' "${methods[@]}" --rows base --seeds 1
sed -i 's/model.width=32/model.width=64/' methods/base-1/training.settings
check 1 'methods/base-1 was made with other settings: base phones short --set epochs=1' "${methods[@]}" --quick --rows base --seeds 1
# Ids with a "/", in all conditions.
mkdir slashes
for file in text utt2spk wav.scp phones; do sed 's#^#of/#' "exp/data/commonvoice/$file" > "slashes/$file"; done
sed 's#^#of/#' exp/data/noise-held-out.scp > slashes/noises
LINNET=$linnet LINNET_CONDITION=$condition "$here/../../recipes/english/evaluate.sh" --model exp/final.safetensors --set slashes=slashes \
  --noise slashes/noises --conditions --out slashes/out > slashes.md 2> err || fail "ids with a slash: $(cat err)"
[[ $(grep -c '^| slashes | ' slashes.md) -eq 17 && $(grep -c ' | phones | ' slashes.md) -eq 3 ]] || fail "ids with a slash: $(cat slashes.md)"
"$here/../../recipes/english/evaluate.sh" --help > /dev/null || fail 'evaluate.sh --help'
# A trial whose result cannot be scored ends the tuning.
cp exp/words/tuning before
printf '#!/bin/bash\n[ "$1" != score ] || exit 1\nexec %q "$@"\n' "$linnet" > no-score
chmod +x no-score
LINNET=$PWD/no-score LINNET_CONDITION=$condition "$here/../../recipes/english/run.sh" --quick --data data \
  --exp exp --stage 5 --stop-stage 5 > recipe.log 2>&1 && fail 'trials without a score'
cmp before exp/words/tuning || fail "trials without a score: $(cat exp/words/tuning)"
size=$(wc -c < exp/words/lm.bin)
LINNET=$linnet LINNET_CONDITION=$condition "$here/../../recipes/english/run.sh" --quick --data data --exp exp --prune 0.1 \
  --stage 5 --stop-stage 5 > recipe.log 2>&1 || fail "another --prune: $(cat recipe.log)"
[[ $(wc -c < exp/words/lm.bin) -lt $size ]] || fail "--prune 0.1 has no effect on a model of $size bytes"
# Another text.
for _ in {1..30}; do printf '%s\n' "${sentences[@]:0:3}"; done | tr '[:lower:]' '[:upper:]' | xz > data/text/books.txt.xz
LINNET=$linnet LINNET_CONDITION=$condition "$here/../../recipes/english/run.sh" --quick --data data --exp exp --prune 0.1 \
  --stage 5 --stop-stage 5 > recipe.log 2>&1 || fail "another text: $(cat recipe.log)"
grep -q ^GATE exp/words/lexicon.txt && ! grep -q ^HIDE exp/words/lexicon.txt || fail "another text: $(cat exp/words/lexicon.txt)"
[[ $failures -eq 0 ]] && echo 'all good'
[[ $failures -eq 0 ]]
