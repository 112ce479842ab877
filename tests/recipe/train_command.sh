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

train 2 '--precision tf32: only GPUs have it' tf32 --precision tf32
train 1 'products of 8-bit integers are for recognition only' int8 --precision int8
train 0 'epoch   2' plain
grep -q '"kernels": "[^"]*", "precision": "float32"' plain/log.jsonl || fail "$(cat plain/log.jsonl)"

# --- a log of batches that another training left; the time of a whole training

mkdir left && echo 1 > left/batches.txt
train 0 'epoch   2' left
[[ ! -e left/batches.txt ]] || fail "an old batches.txt stays: $(cat left/batches.txt)"
mkdir long
cd long
# shellcheck disable=SC2034 # for the file
frames=4000 # so that validation takes some time
# shellcheck source=tests/recipe/forty_utterances.sh
. "$here/forty_utterances.sh"
cd ..
train 0 'epoch   2' timed --dev long/data
# Times have two decimals.
tr -d ',"' < timed/log.jsonl | awk '
  {for (i = 1; i < NF; i++) {if ($i ~ /^(train|dev)_seconds:/) {sum += $(i + 1); n++}; if ($i == "total_seconds:") total = $(i + 1)}}
  sum - total > 0.031 || total - sum > 0.031 {bad = 1}
  END {exit bad || n != 4}' || fail "times: $(cat timed/log.jsonl)"

# --- what is wrong with settings and files is said before the data are read

cp -r data unread
sed -i 's/feats.ark/nowhere.ark/' unread/feats.scp
# early TEXT OPTION...
early() {
  check 1 "$1" "$linnet" train --train unread --dev unread --exp early --config conf.json "${@:2}"
}
early 'nowhere.ark'
early 'conf.json with --set: config: "layers" is 0; it must be 1 to' --set model.layers=0
early 'conf.json with --set: features: "num_mel" is 0' --set features.num_mel=0
early 'conf.json with --set: input_dim is 4, but features have num_mel 5' --set features.num_mel=5
early 'training: shards is 3; it must be a power of two' --set shards=3
early 'training: minimum learning rate is 0.1; it must be 0 to 0.0001' --set min_learning_rate=0.1
early 'products of 8-bit integers are for recognition only' --precision int8
early 'training: intermediate CTC after layer 1 of 1' --set intermediate_ctc=1
early 'config: "causal_chunk"' --set model.causal_chunk=fast
early 'nope: No such file' --set teacher=nope
early 'nope: No such file or directory (training.frame_targets)' --set frame_targets=nope
early 'nope: No such file or directory (training.denominator)' --set objective=ctc-crf --set denominator=nope
early 'nope: No such file or directory (augment.noise.scp)' --set augment.noise.scp=nope
early 'nope: No such file' --initial nope
early 'nope: cannot be read as a folder: No such file or directory (--dev)' --dev nope
early 'conf.json: cannot be read as a folder: Not a directory (--train)' --train conf.json
early 'conf.json with --set: outputs is 9, but there are 3 symbols' --set model.outputs=9 --symbols <(printf '%s\n' A B)
[[ $(ls -A early) == .lock ]] || fail "$(ls -A early)"
train 0 'epoch   1' outputs --set model.outputs=3 --set epochs=1
train 1 'conf.json with --set: outputs is 9, but there are 3 symbols' outputs --set model.outputs=9
train 0 '"causal_chunk" auto:' chunk --set epochs=1 --set model.causal_chunk=auto --set model.attention=causal-linear \
  --verbose
[[ $(grep -c 'causal_chunk.* auto' out) -eq 1 ]] || fail "measured twice: $(cat out)"
for cmvn in global running speaker; do train 0 'epoch   1' "$cmvn" --set epochs=1 --set "features.cmvn=$cmvn"; done

# --- the configuration of an experiment is in its folder

train 0 'epoch   1' changed --set epochs=1 --set model.width=32
"$linnet" train --train data --dev data --exp repeated --config changed/config.json --threads 1 2> /dev/null || fail 'config.json'
cmp changed/model.safetensors repeated/model.safetensors || fail 'another model from config.json'
cmp changed/config.json repeated/config.json || fail 'config.json differs'

# --- a finished training, and its checkpoint where a model is wanted

train 0 'this training is finished: 2 of 2 epochs' plain
lacks continuing
train 1 'plain/checkpoint.safetensors: this is a checkpoint of a training; name model.safetensors' other \
  --initial plain/checkpoint.safetensors
check 1 'plain/checkpoint.safetensors: this is a checkpoint of a training; name model.safetensors' "$linnet" average \
  --output mean plain/checkpoint.safetensors

# --- initial weights of another network, or of other features

train 0 'features.frame_shift of this model is 10, that of the training is 20' initial --set features.frame_shift=20 \
  --initial plain/model.safetensors
train 1 'plain/model.safetensors: model.width of this model is 16, that of the training is 32' wide --set model.width=32 \
  --initial plain/model.safetensors
printf '%s\n' A B C > more.symbols
train 1 'plain/model.safetensors: it has 3 symbols, the training 4' more --symbols more.symbols \
  --initial plain/model.safetensors

# --- folders above --exp are made

train 0 'epoch   2' a/b/c
[[ -e a/b/c/model.safetensors ]] || fail 'a/b/c has no model'
train 1 'conf.json: cannot make the folder: File exists' conf.json/a

# --- symbols, and tokens that are none

train 0 'warning: --dev: 40 of 40 utterances are also in --train' common
cp -r data dev
sed -i 's/utterance-07 A B/utterance-07 A ZH/' dev/phones
train 1 'dev/phones: utterance utterance-07: "ZH" is not among the symbols, which are the labels' zh --dev dev
printf '%s\n' A B > symbols
train 1 'dev/phones: utterance utterance-07: "ZH" is not among the symbols: add it to symbols' zh --dev dev \
  --symbols symbols
train 0 'warning: --train: 40 of 80 utterances have the id of an earlier one' twice --train dev

# --- a lexicon: its phones are the symbols; words that it lacks

printf '%s\n' 'ONE A B' 'TOY T OY' > lexicon
awk '{print $1, "ONE", NR % 4 == 0 ? "RARE" : NR % 2 == 0 ? "FOO" : "TOY"}' data/phones > data/text
train 0 "data: 2 words are not in lexicon: 'FOO' (10), 'RARE' (10); to add them: linnet g2p --model G2P --complete lexicon" \
  words --lexicon lexicon
has "complete lexicon --text data/text --output FILE"
has 'data: 20 of 40 utterances are left out, 0.00 of 0.00 hours: 0 without labels, 20 with unknown words'
lacks 'utterance utterance-02'
check 0 OY "$linnet" info --symbols words/model.safetensors
sed -i 's/TOY/ONE/' data/text
train 0 'warning: data: 2 words' rarer --lexicon lexicon
check 0 OY "$linnet" info --symbols rarer/model.safetensors

printf '%s\n' 'TREE T R IY' > other.lexicon
train 1 'data: no utterance can be used: 40 have words that other.lexicon lacks, 0 have no line in text' unknown \
  --lexicon other.lexicon
sed -i 1d data/text
train 1 '39 have words that other.lexicon lacks, 1 have no line in text' unknown --lexicon other.lexicon

# --- transcripts that are all empty

sed 's/ .*//' data/phones > data/empty
sed '2,$s/ .*//' data/phones > data/one
train 1 'data: the lines of all 40 utterances in empty are empty' empty --labels empty
sed 's/ .*//' data/phones > dev/phones
check 1 'dev: the lines of all 40 utterances in phones are empty' "$linnet" train --train data --dev dev --exp empty \
  --config conf.json
train 0 'epoch   2' one --labels one

# --- values and keys of the configuration, which are those of --set or of the file

train 1 '--set: training.epochs is 0; it must be a whole number of 1 to 1000000' wrong --set epochs=0
train 1 '--set: training.epochs is "x"; it must be a whole number of 1 to 1000000' wrong --set training.epochs=x
train 1 '--set: training.schedule is "step"; it must be "plateau" or "cosine"' wrong --set schedule=step
train 1 '--set: training has no key "epoch"; did you mean "epochs"?' wrong --set epoch=3
train 1 '--set: augment.noise has no key "snr_lo"; did you mean "snr_low"?' wrong --set augment.noise.snr_lo=3
train 1 'conf.json with --set: config: "layers" is 0; it must be 1 to' wrong --set model.layers=0
train 1 '--set: training.checkpoint_seconds is -1; it must be a number of at least 0' wrong --set checkpoint_seconds=-1
train 0 '--set: training.intermediate_weight has no effect: training.intermediate_ctc is 0' without-intermediate \
  --set intermediate_weight=0.5
train 0 '--set: training.plateau_factor has no effect: training.schedule is "cosine"' cosine --set schedule=cosine \
  --set plateau_factor=0.5
lacks plateau_patience
train 0 'epoch   2' plateau --set plateau_factor=0.5
lacks 'has no effect'

# --- what differs from a checkpoint, by the names that users give it

others() { train 1 "checkpoint.safetensors: was made with other settings, $1: use the same settings and data" "${@:2}"; }
others 'epochs (with cosine) 2, not 5' cosine --set schedule=cosine --set plateau_factor=0.5 --set epochs=5
others 'schedule plateau, not cosine' plateau --set schedule=cosine
others 'optimizer radam, not adam' plain --set optimizer=adam
others 'clip_norm 1, not 5' plain --set clip_norm=5
others 'model "width": 16, not "width": 32' plain --set model.width=32
others 'augment {}, not {"specaugment":{"time_masks":2}}' plain --set augment.specaugment.time_masks=2
cp -r data relabelled
sed -i 's/utterance-07 A B/utterance-07 B A/' relabelled/phones
check 1 'other settings, other training data (ids, frames, labels or their order):' "$linnet" train --config conf.json \
  --train relabelled --dev data --exp plain
check 1 'other settings, other validation data (ids, frames, labels or their order):' "$linnet" train --config conf.json \
  --train data --dev relabelled --exp plain

# --- more values

sed 's/"epochs": 2/"epochs": -2/' conf.json > wrong.json
train 1 'wrong.json: training.epochs is -2; it must be a whole number of 1 to 1000000' wrong --config wrong.json \
  --set seed=2
train 1 'conf.json with --set: input_dim is 4, but features have num_mel 5' wrong --set features.num_mel=5
sed 's/"input_dim": 4, //' conf.json > derived.json
check 0 'epoch   2' "$linnet" train --train data --dev data --exp derived --config derived.json --threads 1
cmp plain/model.safetensors derived/model.safetensors || fail 'the model with a derived input_dim differs'
{ printf '\xef\xbb\xbf' && cat wrong.json; } > mark.json
train 1 'mark.json: training.epochs is -2' wrong --config mark.json --set seed=2
train 1 'no-such.json: No such file or directory' wrong --config no-such.json

# --- a folder where the configuration is wanted, and networks without a chunk

train 1 '.: is a folder; --config needs a file of JSON' wrong --config .
chunk() {
  check "$1" "$2" "$linnet" train --config conf.json --measure-chunk "${@:3}"
}
chunk 0 'causal_chunk ' --set model.attention=causal-linear
chunk 0 'causal_chunk ' --set model.layers=2 --set 'model.attention=["softmax", "causal-linear"]'
chunk 1 'attention is not causal-linear'
chunk 1 'attention is not causal-linear' --set model.attention=softmax
chunk 1 '"layers" is 0' --set model.layers=0

# --- a warm-up that does not end

train 0 'the learning rate rises over 50 steps, but the whole training has about' warm --set warmup_steps=50
train 0 'epoch   2' warmed --set warmup_steps=3
lacks 'rises over'

echo "$failures failures"
[[ $failures -eq 0 ]]
