#!/usr/bin/env bash
# A training that is killed at any moment and continued: its batches.txt and model have the bytes of an uninterrupted one,
# also after damage to a checkpoint, and no files of the killed processes remain. A full disk ends it, and loses nothing.
#
#   train_resume.sh LINNET
# shellcheck source=tests/recipe/command.sh
. "$(dirname "$0")/command.sh"

# shellcheck source=tests/recipe/forty_utterances.sh
. "$here/forty_utterances.sh"
# shellcheck source=tests/recipe/full_disk.sh
. "$here/full_disk.sh"
cat > conf.json << 'END'
{"model": {"input_dim": 4, "width": 16, "heads": 2, "feed_forward": 32, "layers": 1, "stack": 2},
 "features": {"num_mel": 4, "cmvn": "none"},
 "training": {"epochs": 12, "batch_frames": 24, "checkpoint_seconds": 0, "keep_models": 2}}
END
training=("$linnet" train --train data --dev data --config conf.json --threads 1)
start() { # EXP OPTION...: in the background, as $process
  "${training[@]}" --batches --exp "$@" 2> "$1.log" &
  process=$!
}
train() { # EXP OPTION...
  start "$@"
  wait $process
}
train whole || fail "$(cat whole.log)"
[[ $(wc -l < whole/batches.txt) -eq 168 ]] || fail "$(wc -l < whole/batches.txt) batches"

# compare EXP: compares with the uninterrupted run.
compare() {
  cmp "whole/batches.txt" "$1/batches.txt" || fail "$1: batches.txt differs"
  cmp "whole/model.safetensors" "$1/model.safetensors" || fail "$1: the model differs"
  [[ $(find "$1" -name '*.tmp*') == '' ]] || fail "$1: $(find "$1" -name '*.tmp*') is left"
}

# --- killed repeatedly, each time a little later

kills=0
mkdir killed
for ((wait = 30; ; wait += 30)); do
  start killed
  sleep "$((wait / 1000)).$(printf %03d $((wait % 1000)))"
  kill -KILL $process 2> /dev/null || true
  wait $process 2> /dev/null && break
  [[ $? -eq 137 ]] || fail "the training failed: $(cat killed.log)"
  kills=$((kills + 1))
  touch killed/{checkpoint.safetensors,epoch-002.safetensors,config.json}.tmp.1
done
echo "killed $kills times"
compare killed

# --- checkpoints inside an epoch, or at its end only: then there is no previous one

for seconds in 0 1000000; do
  train "every$seconds" --set epochs=1 --set "checkpoint_seconds=$seconds" || fail "$(cat "every$seconds.log")"
  [[ -e every$seconds/checkpoint.safetensors ]] || fail "no checkpoint: $(ls "every$seconds")"
done
[[ -e every0/checkpoint-previous.safetensors ]] || fail "no checkpoint inside an epoch: $(ls every0)"
[[ ! -e every1000000/checkpoint-previous.safetensors ]] || fail "a checkpoint too early: $(ls every1000000)"

# --- a damaged checkpoint

start damaged
until [[ -e damaged/checkpoint-previous.safetensors ]] || ! kill -0 $process 2> /dev/null; do sleep 0.01; done
kill -KILL $process 2> /dev/null || true
wait $process 2> /dev/null || true
# If it was killed while it replaced a checkpoint, both names are one file, or the previous one has no name.
[[ -e damaged/checkpoint-previous.safetensors ]] ||
  cp damaged/checkpoint.safetensors damaged/checkpoint-previous.safetensors
cp damaged/checkpoint.safetensors damaged-copy
printf 'x' | dd of=damaged-copy bs=1 seek=5000 conv=notrunc status=none
mv damaged-copy damaged/checkpoint.safetensors
train damaged || fail "$(cat damaged.log)"
grep -q 'checksum is wrong: training continues from the previous checkpoint' damaged.log || fail "$(cat damaged.log)"
compare damaged

# --- a log that cannot be written

check_full_log log.jsonl
check_full_log batches.txt

# --- a log of batches without the first steps

train late --set epochs=2
rm late/batches.txt
check 0 'has lines for 0 of 28 steps' "$linnet" train --train data --dev data --exp late --config conf.json --batches \
  --set epochs=3
[[ $(wc -l < late/batches.txt) -eq 14 ]] || fail "$(wc -l < late/batches.txt) batches"

echo "$failures failures"
[[ $failures -eq 0 ]]
