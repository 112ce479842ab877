#!/usr/bin/env bash
# Training with frame targets on the command line: their loss in the log, times that follow changes of speed and padding,
# and what is refused.
#
#   train_frame_targets.sh LINNET
# shellcheck source=tests/recipe/command.sh
. "$(dirname "$0")/command.sh"
make_tones
cat > conf.json << 'END'
{"model": {"input_dim": 8, "width": 16, "heads": 2, "feed_forward": 32, "layers": 1, "stack": 2, "dropout": 0},
 "features": {"num_mel": 8, "sample_rate": 8000},
 "training": {"epochs": 1, "batch_frames": 100, "keep_models": 0, "shards": 1}}
END

# train STATUS TEXT EXP SETTING...
data=data dev=data
train() {
  local keys=() key
  for key in "${@:4}"; do keys+=(--set "$key"); done
  check "$1" "$2" "$linnet" train --train "$data" --dev "$dev" --exp "$3" --config conf.json --threads 2 \
    ${keys[@]+"${keys[@]}"}
}

# align START LENGTH: a CTM in which each phone of the folder lasts LENGTH seconds, the first from START on.
align() {
  awk -v start="$1" -v length_="$2" \
    '{for (i = 2; i <= NF; i++) printf "%s 1 %.3f %.3f %s 0.9\n", $1, start + (i - 2) * length_, length_, $i}' data/phones
}

# The loss of the last epoch of a training.
frame_loss() {
  awk -F'"frame_loss": ' '{split($2, a, ","); loss = a[1]} END {print loss}' "$1/log.jsonl"
}

align 0.001 0.1 > tones.ctm
train 0 'epoch   1' plain
! grep frame_loss plain/log.jsonl || fail 'a loss without targets'
train 0 'epoch   1' targets frame_targets=tones.ctm epochs=2
[[ $(grep -c '"frame_loss": [0-9]' targets/log.jsonl) -eq 2 ]] || fail "no loss: $(cat targets/log.jsonl)"
! cmp -s plain/model.safetensors targets/model.safetensors || fail 'the targets change nothing'
train 1 'frame_weight 0.1, not 0.5' targets frame_targets=tones.ctm frame_weight=0.5
align 0.05 0.1 > later.ctm
train 1 'other settings, other frame targets:' targets frame_targets=later.ctm

# Stored features of slower speech, with slower times (none is the middle of a frame), are what a change of speed makes
# of audio.
mkdir slow
cp data/phones data/utt2spk slow
check 0 '' "$linnet" features --speed 0.8 --num-mel 8 --sample-rate 8000 --out slow/feats.ark --scp slow/feats.scp data
awk '{$3 /= 0.8; $4 /= 0.8; print}' tones.ctm > slow.ctm
same=(features.cmvn=none batch_frames=10000)
train 0 'epoch   1' faster frame_targets=tones.ctm 'augment.speeds=[0.8]' "${same[@]}"
data=slow train 0 'epoch   1' stored frame_targets=slow.ctm "${same[@]}"
cmp faster/model.safetensors stored/model.safetensors || fail 'speech at another speed has other targets'
[[ $(frame_loss faster) == "$(frame_loss stored)" ]] || fail 'speech at another speed has another loss'

# Two tones, each a phone, between silences of random lengths: they are learnt only if the targets move with them.
mkdir pairs
for i in 1 2 3 4 5 6; do
  sox -R -n -r 8000 -b 16 a.wav synth 0.3 sine 500 vol 0.3
  sox -R -n -r 8000 -b 16 b.wav synth 0.3 sine 1500 vol 0.3
  sox a.wav b.wav "pairs/u$i.wav"
  echo "u$i u$i.wav" >> pairs/wav.scp
  echo "u$i s1" >> pairs/utt2spk
  echo "u$i A B" >> pairs/phones
  printf 'u%d 1 0 0.3 A\nu%d 1 0.3 0.3 B\n' "$i" "$i" >> pairs.ctm
done
data=pairs dev=pairs train 0 'epoch  40' padded frame_targets=pairs.ctm frame_weight=3 epochs=40 learning_rate=0.01 \
  augment.padding.probability=1 augment.padding.max_seconds=1
awk -v loss="$(frame_loss padded)" 'BEGIN {exit !(loss < 2)}' ||
  fail "padded: loss $(frame_loss padded) per phone of 15 rows"

refuse() {
  echo "$1" > bad.ctm
  train 1 "$2" refused frame_targets=bad.ctm
}
refuse 'u1 1 0 0.1 A
u1 1 0.1 nan B' 'bad.ctm:2: start and duration must be seconds from 0 on, of utterance u1'
refuse 'u1 1 0.1x 0.1 A' 'bad.ctm:1: start and duration'
refuse 'u1 1 -0.1 0.1 A' 'bad.ctm:1: start and duration'
refuse 'u1 1 0.1 A' 'bad.ctm:1: must be: utterance channel start duration phone'
refuse ';; a comment
u1 1 0 0.1 Z' 'bad.ctm:2: is not a symbol of the training: Z'
refuse 'u1 1 0 0.1 <blk>' 'bad.ctm:1: is not a symbol of the training: <blk>'
refuse 'u1 1 0.2 0.1 A
u1 1 0 0.1 B' 'bad.ctm:2: the phones are not sorted by time in utterance u1'
refuse 'u1 1 0 0.1 A
u2 1 0 0.1 A
u1 1 0.1 0.1 B' 'bad.ctm:3: lines of other utterances lie between those of u1'
refuse '<blk> 1 0 0.1 A' 'bad.ctm:1: lines of other utterances'
refuse 'u1 1 7 1 A' 'bad.ctm: utterance u1: its phones end at 8.00 s, but it has 0.'
refuse 'other 1 0 0.1 A' 'bad.ctm: has no utterance of the training data'
refuse '' 'bad.ctm: has no utterance of the training data'
train 1 'nothing.ctm: No such file' refused frame_targets=nothing.ctm
train 1 'training.frame_targets is 3; it must be the name of a file' refused frame_targets=3
train 1 'training.frame_weight needs training.frame_targets' refused frame_weight=0.5
train 1 'training.frame_weight is 0; it must be above 0' refused frame_targets=tones.ctm frame_weight=0
head -n 3 tones.ctm > few.ctm
train 0 'few.ctm: lacks 5 of 6 utterances with labels' few frame_targets=few.ctm

echo "$failures failures"
[[ $failures -eq 0 ]]
