#!/usr/bin/env bash
# Training on stored features: lengths from utt2num_frames, from the index beside the data, or from the archives; saved
# statistics; other speeds; blocks. Where nothing differs but the storage, the model has the same bytes.
#
#   train_stored.sh LINNET
# shellcheck source=tests/recipe/command.sh
. "$(dirname "$0")/command.sh"
command -v sox > /dev/null || {
  echo 'SKIPPED: sox is not installed'
  exit 77
}

# --- twelve utterances of two speakers, with their features at two speeds, in two archives

mkdir -p audio feats
for i in 01 02 03 04 05 06 07 08 09 10 11 12; do
  sox -R -n -r 8000 -b 16 "audio/u$i.wav" synth "0.$((10#$i % 5 + 3))" sine "$((300 + 100 * 10#$i))" vol 0.3
  echo "u$i audio/u$i.wav" >> audio/wav.scp
  echo "u$i s$((10#$i / 7))" >> audio/utt2spk
  echo "u$i A B" >> audio/phones
done
sed -i 's, audio/, ,' audio/wav.scp
cp audio/utt2spk audio/phones feats
bands=(--num-mel 8 --sample-rate 8000)
"$linnet" features "${bands[@]}" --out feats/one.ark --scp feats/feats.scp --num-frames frames audio 2> /dev/null
"$linnet" features "${bands[@]}" --speed 0.9 --out feats/slow.ark --scp feats/feats-0.9.scp audio 2> /dev/null
sed -i 's, feats/, ,' feats/feats.scp feats/feats-0.9.scp
[[ $(wc -l < frames) -eq 12 && $(head -n 1 frames) == 'u01 38' ]] || fail "$(cat frames)"
cat > conf.json << 'END'
{"model": {"input_dim": 8, "width": 16, "heads": 2, "feed_forward": 32, "layers": 1, "stack": 2},
 "features": {"num_mel": 8, "cmvn": "speaker", "sample_rate": 8000},
 "training": {"epochs": 3, "batch_frames": 100, "keep_models": 0}, "augment": {"speeds": [0.9, 1.0]}}
END

# train STATUS TEXT EXP FOLDER OPTION...
train() {
  check "$1" "$2" "$linnet" train --train "$4" --dev "$4" --exp "$3" --config conf.json --threads 2 --batches "${@:5}"
}
same() { cmp "$1/model.safetensors" "$2/model.safetensors" || fail "$2: the model is not that of $1"; }

train 0 'training on 0.0' audio.exp audio
train 0 'training on 0.0' heads feats
same audio.exp heads
[[ -s feats/.linnet-lengths && -s feats/.linnet-statistics ]] || fail "no index: $(ls -A feats)"

# --- the index is used while it is of the same archives, and checked

mv feats/one.ark one.hidden
cp -p one.hidden feats/one.ark
train 0 'training on 0.0' index feats
same audio.exp index
cp feats/.linnet-lengths lengths
printf '\377' | dd of=feats/.linnet-lengths bs=1 seek=40 conv=notrunc status=none
train 0 'training on 0.0' damaged feats
same audio.exp damaged
cmp lengths feats/.linnet-lengths || fail 'the damaged index was not made again'
touch -d '2001-01-01' feats/one.ark
train 0 'training on 0.0' touched feats
same audio.exp touched
! cmp -s lengths feats/.linnet-lengths || fail 'the index of older archives was used'

# --- utt2num_frames comes first, and is compared with what is read

rm feats/.linnet-*
cp frames feats/utt2num_frames
train 0 'training on 0.0' listed feats
same audio.exp listed
[[ ! -e feats/.linnet-lengths ]] || fail 'an index although there is utt2num_frames'
sed -i 's/^u03 .*/u03 41/' feats/utt2num_frames
train 1 'u03: its stored features have 58 frames, but utt2num_frames has 41' wrong feats --set features.cmvn=utterance
[[ $(grep -c 'but utt2num_frames has 41' out) -eq 1 ]] && ! grep -q 'unknown reason' out || fail "the message: $(cat out)"
rm feats/utt2num_frames

# --- a folder that cannot be written to, and missing speeds

rm -f feats/.linnet-*
mkdir feats/.linnet-lengths
train 0 'cannot write this index' unwritable feats
same audio.exp unwritable
rmdir feats/.linnet-lengths
mv feats/feats-0.9.scp .
train 0 'stored features of 1 of the speeds are missing (feats-SPEED.scp)' plain feats
! cmp -s audio.exp/model.safetensors plain/model.safetensors || fail 'speeds do nothing'
mv feats-0.9.scp feats

# --- augmentations of samples are refused, also beside a folder of audio

for key in level band padding room; do
  train 1 "feats: has stored features (feats.scp), but augment.$key needs audio: give a folder with wav.scp" wrong.exp \
    feats --set "augment.$key.probability=0.5"
done
echo "tone $PWD/audio/u01.wav" > noise.scp
train 1 'or remove augment.noise' wrong.exp feats --set augment.noise.scp=noise.scp
train 1 'feats: has stored features' wrong.exp feats --train audio --set augment.level.probability=0.5
train 0 'training on 0.0' off.exp feats --set augment.level.probability=0
same audio.exp off.exp
check 0 'training on 0.0' "$linnet" train --train audio --dev feats --exp dev.exp --config conf.json \
  --set augment.level.probability=0.5

# --- the recipes' features have lengths and speeds

awk '{utts[$2] = utts[$2] " " $1} END {for (s in utts) print s utts[s]}' audio/utt2spk | sort > audio/spk2utt
check 0 'good: 12 utterances of 2 speakers' env LINNET="$linnet" "$here/../../recipes/common/make_features.sh" --data audio \
  --out made/train --parts 2 --speeds 0.90 -- "${bands[@]}"
cmp frames made/train/utt2num_frames || fail 'utt2num_frames differs'
train 0 'training on 0.0' compressed made/train
! grep -q 'speeds are missing' out || fail "$(cat out)"
[[ ! -e made/train/.linnet-lengths ]] || fail 'an index in spite of utt2num_frames'

check 0 'good: 12 utterances of 2 speakers' env LINNET="$linnet" "$here/../../recipes/common/make_features.sh" --data audio \
  --out made/train --parts 2 -- "${bands[@]}" --low-frequency 100
[[ ! -e made/train/feats-0.9.scp ]] || fail "a list without its archives: $(head -n 1 made/train/feats-0.9.scp)"
# --- features are computed again if audio changes under the same name, and only then

again() {
  check 0 'good: 12 utterances of 2 speakers' env LINNET="$linnet" "$here/../../recipes/common/make_features.sh" --data audio \
    --out made/again --parts 2 -- "${bands[@]}"
}
again
cmp frames made/again/utt2num_frames || fail 'other lengths'
touch marker
again
[[ $(find made/again/ -name 'feats.*.ark' -newer marker | wc -l) -eq 0 ]] || fail 'features of the same audio again'
cp -p audio/u01.wav u01.wav
sox -R -n -r 8000 -b 16 audio/u01.wav synth 0.2 sine 900 vol 0.3
again
grep -qx 'u01 18' made/again/utt2num_frames || fail "stale features: $(head -n 1 made/again/utt2num_frames)"
cp -p u01.wav audio/u01.wav
again
cmp frames made/again/utt2num_frames || fail 'stale features of the old audio'
sed "s,^u01 .*,u01 cat $PWD/u01.wav |," audio/wav.scp > with-command
mv audio/wav.scp plain.scp
cp with-command audio/wav.scp
check 0 'good: 12 utterances of 2 speakers' env LINNET="$linnet" "$here/../../recipes/common/make_features.sh" --data audio \
  --out made/again --parts 2 --run-commands -- "${bands[@]}"
mv plain.scp audio/wav.scp
check 1 '--speeds fast: must be a number' env LINNET="$linnet" "$here/../../recipes/common/make_features.sh" --data audio \
  --out made/fast --speeds fast
mkdir empty
: > empty/utt2spk
: > empty/spk2utt
: > empty/wav.scp
: > empty/phones
check 1 'empty: has no utterances: utt2spk is empty' env LINNET="$linnet" "$here/../../recipes/common/make_features.sh" --data empty \
  --out made/empty
train 1 'empty: no utterance has labels' nothing empty

# --- blocks follow the archives, whatever the ids

awk '{id[NR] = $1; place[NR] = $2} END {for (i = 1; i <= NR; i++) print id[i], place[NR + 1 - i]}' feats/feats.scp > reversed
mkdir back
cp feats/utt2spk feats/phones back
sed "s, , $PWD/feats/," reversed > back/feats.scp
train 0 'training on 0.0' blocks back --set shuffle_block=4 --set batch_frames=1 --set features.cmvn=utterance
awk '$1 == 1 {print $2}' blocks/batches.txt > order
for first in 1 5 9; do # four utterances of one block follow each other: in the archive, u12 ... u09 come first
  sed -n "$first,$((first + 3))p" order | sed 's/^u//' | awk '{print int((12 - $1) / 4)}' | sort -u | wc -l
done > blocks.txt
[[ $(sort -u blocks.txt) == 1 ]] || fail "blocks: $(paste -s order)"
train 0 'training on 0.0' block-threads back --set shuffle_block=4 --set batch_frames=1 --set features.cmvn=utterance --threads 1
same blocks block-threads
train 1 'shuffle_block' blocks back --set shuffle_block=5 --set batch_frames=1 --set features.cmvn=utterance

echo "$failures failures"
[[ $failures -eq 0 ]]
