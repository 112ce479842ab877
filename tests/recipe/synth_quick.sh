#!/usr/bin/env bash
# Runs every stage of recipes/synth --quick and uses its model and corpus: a training that is killed and resumed equals an
# uninterrupted one for any number of threads; transcription reads paths, pipes and raw samples.
#
#   synth_quick.sh LINNET
# shellcheck source=tests/recipe/command.sh
. "$(dirname "$0")/command.sh"
for tool in flite espeak-ng sox gnuplot; do
  command -v "$tool" > /dev/null || { echo "SKIPPED: $tool is not installed" && exit 77; }
done

# --- the recipe

LINNET=$linnet "$here/../../recipes/synth/run.sh" --quick --exp synth > recipe.log 2>&1 || {
  cat recipe.log
  exit 1
}
for file in model.safetensors log.jsonl training.svg training.png results.txt RESULTS.md; do
  [[ -s synth/$file ]] || fail "the recipe did not make $file"
done
rate=$(sed -n 's/^test: %PER \([0-9]*\)\..*/\1/p' synth/results.txt)
echo "phoneme error rate on test: $rate %, expected at most 75"
[[ ${rate:-100} -le 75 ]] || fail "the model learned nothing: PER $rate %"

# --- a corpus whose training data lack a phone; a recognition that fails

LINNET=$linnet "$here/../../recipes/synth/run.sh" --quick --hours 0.02 --exp tiny --stop-stage 2 > tiny.log 2>&1 ||
  fail "little speech: $(tail -n 3 tiny.log)"
[[ $("$linnet" info --symbols tiny/model.safetensors | wc -l) -eq 40 ]] || fail 'little speech: not 39 phones and blank'
printf '#!/bin/sh\ncase "$*" in transcribe*/test\ *) exit 1 ;; esac\nexec %s "$@"\n' "$linnet" > broken
chmod +x broken
! LINNET=$PWD/broken "$here/../../recipes/synth/run.sh" --quick --exp tiny --stage 3 --stop-stage 3 > broken.log 2>&1 ||
  fail "a failed recognition has results: $(cat tiny/results.txt)"
[[ ! -e tiny/results.txt ]] || fail "results of a failed recognition: $(cat tiny/results.txt)"

# --- killed at any time and resumed: the same bytes

train() { # EXP THREADS; replaces the shell that runs it
  exec "$linnet" train --train synth/data/dev --dev synth/data/test --exp "$1" --threads "$2" \
    --config "$here/../../recipes/synth/conf/quick.json" --set epochs=12 --set batch_frames=600 \
    --set checkpoint_seconds=0
}

(train whole 1) 2> whole.log
for kill in 1 2 3 4 5 6; do
  train parts 2 2>> parts.log &
  process=$!
  lines=$([[ -s parts/log.jsonl ]] && wc -l < parts/log.jsonl || echo 0)
  until [[ -s parts/log.jsonl && $(wc -l < parts/log.jsonl) -gt $lines ]] || ! kill -0 $process 2> /dev/null; do
    sleep "0.0$((1 + kill))"
  done
  kill -9 $process 2> /dev/null || true
  wait $process 2> /dev/null || true
done
(train parts 2) 2>> parts.log || fail "training does not continue: $(tail -n 1 parts.log)"
continued=$(grep -c '^continuing' parts.log || true)
echo "killed 6 times, continued $continued times after the first epoch"
[[ $continued -ge 3 ]] || fail 'training was hardly ever continued'
cmp whole/model.safetensors parts/model.safetensors || fail 'the model after kill -9 differs'
[[ $(wc -l < whole/log.jsonl) -eq 12 && $(wc -l < parts/log.jsonl) -eq 12 ]] || fail "logs of 12 epochs have $(wc -l < whole/log.jsonl) and $(wc -l < parts/log.jsonl) lines"

# --- two trainings in one folder

train busy 1 2> busy.log &
process=$!
until [[ -e busy/.lock ]] || ! kill -0 $process 2> /dev/null; do sleep 0.02; done
status=0
(train busy 1) 2> second.log || status=$?
wait $process || fail "training failed: $(cat busy.log)"
[[ $status -eq 0 ]] || grep -q 'another' second.log || fail "two trainings in one folder: $(cat second.log)"

# --- interrupted: a checkpoint exists, the exit code is 130

train stopped 1 2> stopped.log &
process=$!
until [[ -e stopped/checkpoint.safetensors ]] || ! kill -0 $process 2> /dev/null; do sleep 0.02; done
kill -INT $process 2> /dev/null || true
status=0
wait $process || status=$?
[[ $status -eq 130 || $status -eq 0 ]] || fail "status $status after SIGINT: $(cat stopped.log)" # 0: it was finished
(train stopped 2) 2>> stopped.log || fail "training does not continue: $(tail -n 1 stopped.log)"
cmp whole/model.safetensors stopped/model.safetensors || fail 'the model after SIGINT differs'

# --- transcription

model=synth/model.safetensors
"$linnet" transcribe -m $model synth/data/new.wav > path.txt
"$linnet" transcribe -m $model - < synth/data/new.wav > stdin.txt
sox synth/data/new.wav -t wav - | "$linnet" transcribe -m $model - > pipe.txt
sox synth/data/new.wav -t raw -e signed -b 16 - | "$linnet" transcribe -m $model --raw s16le - > raw.txt
[[ -s path.txt ]] || fail 'nothing was recognised'
for input in stdin pipe raw; do cmp path.txt $input.txt || fail "$input differs from path"; done
"$linnet" transcribe -m $model -f json synth/data/new.wav > new.json
python3 -c 'import json; r = json.load(open("new.json")); p = r["phones"]; assert p and all(a["start"] < a["end"] <= b["start"] + 1e-9 for a, b in zip(p, p[1:]))' 2> json.log ||
  ! command -v python3 > /dev/null || fail "new.json: $(cat json.log)"
files=(synth/data/test/audio/*)
"$linnet" transcribe -m $model --threads 1 "${files[@]}" > one.txt 2> /dev/null
"$linnet" transcribe -m $model --threads 3 "${files[@]}" > three.txt 2> /dev/null
cmp one.txt three.txt || fail 'the result depends on the number of threads'
[[ $(wc -l < one.txt) -eq ${#files[@]} ]] || fail 'a file has no line'
status=0
"$linnet" transcribe -m $model no-such-file.wav synth/data/new.wav > out.txt 2> errors.txt || status=$?
[[ $status -eq 1 && $(wc -l < out.txt) -eq 1 ]] && grep -q no-such-file.wav errors.txt || fail 'a missing file is not reported'

# --- averaging, float16, features

"$linnet" average --half --output half.safetensors $model
"$linnet" transcribe -m half.safetensors synth/data/new.wav > half.txt
cmp path.txt half.txt || echo 'note: float16 weights recognise something else'
"$linnet" features synth/data/test --out feats.ark --scp feats.scp 2> /dev/null
[[ $(wc -l < feats.scp) -eq ${#files[@]} ]] || fail 'features: utterances are missing'
mkdir -p stored
cp synth/data/test/{utt2spk,phones} feats.scp stored
"$linnet" train --train stored --dev stored --exp stored-exp --set epochs=1 \
  --config "$here/../../recipes/synth/conf/quick.json" 2> stored.log || fail "training on stored features: $(cat stored.log)"
"$linnet" transcribe -m $model --data synth/data/test > audio.txt
"$linnet" transcribe -m $model --data stored > stored.txt
cmp audio.txt stored.txt || fail 'stored features are recognised differently from audio'

[[ $failures -eq 0 ]] && echo 'all good'
[[ $failures -eq 0 ]]
