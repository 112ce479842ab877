#!/usr/bin/env bash
# Options, messages and files of `linnet train`, on stored features.
#
#   train_command.sh LINNET
# shellcheck source=tests/recipe/command.sh
. "$(dirname "$0")/command.sh"

# shellcheck source=tests/recipe/forty_utterances.sh
. "$here/forty_utterances.sh"
cat > conf.json << 'END'
{"model": {"input_dim": 4, "width": 16, "heads": 2, "feed_forward": 32, "layers": 1, "stack": 2},
 "features": {"num_mel": 4, "cmvn": "none"},
 "training": {"epochs": 2, "batch_frames": 100, "keep_models": 1}}
END

# train STATUS TEXT EXP OPTION...
train() {
  check "$1" "$2" "$linnet" train --train data --dev data --exp "$3" --config conf.json --threads 1 "${@:4}"
}
has() { grep -qF -- "$1" out || fail "'$1' is not in: $(cat out)"; }
lacks() { ! grep -qF -- "$1" out || fail "'$1' is in: $(cat out)"; }

# --- precision

train 1 'products in TF32 are for GPUs only' tf32 --precision tf32
train 1 'products of 8-bit integers are for recognition only' int8 --precision int8
train 0 'epoch   2' plain
grep -q '"kernels": "[^"]*", "precision": "float32"' plain/log.jsonl || fail "$(cat plain/log.jsonl)"

# --- a finished training, and its checkpoint where a model is wanted

train 0 'this training is finished: 2 of 2 epochs' plain
lacks continuing
train 1 'plain/checkpoint.safetensors: this is a checkpoint of a training; name model.safetensors' other \
  --initial plain/checkpoint.safetensors
check 1 'plain/checkpoint.safetensors: this is a checkpoint of a training; name model.safetensors' "$linnet" average \
  --output mean plain/checkpoint.safetensors

# --- folders above --exp are made

train 0 'epoch   2' a/b/c
[[ -e a/b/c/model.safetensors ]] || fail 'a/b/c has no model'
train 1 'conf.json: cannot make the folder: File exists' conf.json/a

echo "$failures failures"
[[ $failures -eq 0 ]]
