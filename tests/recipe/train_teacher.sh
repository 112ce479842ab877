#!/usr/bin/env bash
# Training with a teacher on the command line: a causal model with running CMVN learns from one with CMVN by utterance,
# the loss in the log, and what is refused.
#
#   train_teacher.sh LINNET
# shellcheck source=tests/recipe/command.sh
. "$(dirname "$0")/command.sh"
make_tones
cat > conf.json << 'END'
{"model": {"input_dim": 8, "width": 16, "heads": 2, "feed_forward": 32, "layers": 1, "stack": 2, "dropout": 0},
 "features": {"num_mel": 8, "sample_rate": 8000, "frame_length": 25},
 "training": {"epochs": 1, "batch_frames": 100, "keep_models": 0},
 "augment": {"speeds": [0.9, 1.1], "padding": {"probability": 1}, "specaugment": {}}}
END

# train STATUS TEXT EXP SETTING...
train() {
  local keys=() key
  for key in "${@:4}"; do keys+=(--set "$key"); done
  check "$1" "$2" "$linnet" train --train data --dev data --exp "$3" --config conf.json --threads 2 ${keys[@]+"${keys[@]}"}
}

train 0 'epoch   1' offline
train 0 'epoch   1' speaker features.cmvn=speaker
live=(model.attention=causal-linear features.cmvn=running) taught=("${live[@]}" teacher=offline/model.safetensors)
train 0 'epoch   1' live "${live[@]}"
! grep distillation live/log.jsonl || fail 'a loss without a teacher'
train 0 'epoch   1' taught "${taught[@]}" epochs=2
[[ $(grep -c '"distillation": [0-9]' taught/log.jsonl) -eq 2 ]] || fail "no loss: $(cat taught/log.jsonl)"
! cmp -s live/model.safetensors taught/model.safetensors || fail 'the teacher changes nothing'
train 1 'teacher_weight 0.5, not 0.6' taught "${taught[@]}" teacher_weight=0.6
train 1 'other settings, another teacher:' taught "${live[@]}" teacher=live/model.safetensors

# The teacher of the same weights gets the same features, whatever the normalisation is, if there are no masks.
for cmvn in none utterance global running; do
  settings=(epochs=1 learning_rate=1e-12 min_learning_rate=0 "features.cmvn=$cmvn" augment.specaugment.frequency_masks=0
    augment.specaugment.time_masks=0)
  train 0 'epoch   1' "$cmvn" "${settings[@]}"
  train 0 'epoch   1' "$cmvn-same" "${settings[@]}" teacher="$cmvn/model.safetensors"
  grep -q '"distillation": 0.0000' "$cmvn-same/log.jsonl" || fail "$cmvn: $(cat "$cmvn-same/log.jsonl")"
done

train 1 'training.teacher is 3; it must be the name of a file' refused teacher=3
train 1 'training.teacher_weight needs training.teacher' refused teacher_weight=0.5
train 1 'training.teacher_weight is 0; it must be above 0' refused "${taught[@]}" teacher_weight=0
train 1 'nothing.safetensors: No such file' refused teacher=nothing.safetensors
train 1 'speaker/model.safetensors: this model normalises by speaker' refused teacher=speaker/model.safetensors
train 1 'offline/model.safetensors: model.stack of the teacher is 2, that of the training is 3' refused "${taught[@]}" \
  model.stack=3
train 1 'offline/model.safetensors: features.frame_length of the teacher is 25' refused "${taught[@]}" \
  features.frame_length=20

echo "$failures failures"
[[ $failures -eq 0 ]]
