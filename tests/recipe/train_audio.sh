#!/usr/bin/env bash
# Training on recordings: lengths from headers and from the index beside the data, recordings in memory or decoded each
# time, saved statistics, damaged files. Where the samples were in between does not change a byte of the model.
#
#   train_audio.sh LINNET
# shellcheck source=tests/recipe/command.sh
. "$(dirname "$0")/command.sh"
command -v sox > /dev/null || {
  echo 'SKIPPED: sox is not installed'
  exit 77
}

# --- twelve utterances of two speakers, in four formats and rates; four more are parts of one recording

mkdir audio parts
formats=(wav flac ogg wav)
rates=(8000 16000 44100 22050)
for i in 01 02 03 04 05 06 07 08 09 10 11 12; do
  n=$((10#$i))
  file=u$i.${formats[n % 4]}
  sox -V1 -R -n -r "${rates[n % 4]}" -b 16 "audio/$file" synth "0.$((n % 5 + 3))" sine "$((300 + 100 * n))" vol 0.3
  echo "u$i $file" >> audio/wav.scp
  echo "u$i s$((n / 7))" >> audio/utt2spk
  echo "u$i A B" >> audio/phones
done
sox -V1 -R -n -r 16000 -b 16 parts/long.ogg synth 3 sine 300:900 vol 0.3
echo 'long long.ogg' > parts/wav.scp
printf 'p%d long %s\n' 1 '0 0.7' 2 '0.7 1.4' 3 '1.4 2.25' 4 '2.25 3' > parts/segments
sed 's/ .*/ s3/' parts/segments > parts/utt2spk
sed 's/ .*/ B A/' parts/segments > parts/phones
cat > conf.json << 'END'
{"model": {"input_dim": 8, "width": 16, "heads": 2, "feed_forward": 32, "layers": 1, "stack": 2},
 "features": {"num_mel": 8, "cmvn": "speaker", "sample_rate": 8000},
 "training": {"epochs": 3, "batch_frames": 100, "keep_models": 0},
 "augment": {"speeds": [0.9, 1.0, 1.1], "padding": {"probability": 0.5}}}
END

# train STATUS TEXT EXP OPTION...: trains on both folders
train() {
  check "$1" "$2" "$linnet" train --train audio --train parts --dev audio --exp "$3" --config conf.json --threads 2 \
    --batches "${@:4}"
}
same() { cmp "$1/model.safetensors" "$2/model.safetensors" || fail "$2: the model is not that of $1"; }

check 1 'linnet train: nowhere.json: No such file' "$linnet" train --train audio --dev audio --exp wrong.exp \
  --config nowhere.json
train 0 'training on 0.0' held.exp
[[ $(find audio parts -name '.linnet-*' | wc -l) -eq 3 ]] || fail "indices: $(ls -A audio parts)"

# --- no memory for audio, and another number of threads

train 0 'training on 0.0' none.exp --audio-memory 0
same held.exp none.exp
train 0 'training on 0.0' alone.exp --audio-memory 0 --threads 1
same held.exp alone.exp
train 2 '--audio-memory -1: must be 0 or more' never.exp --audio-memory -1

# --- lengths of headers are those of the samples, also when these are resampled

"$linnet" features --num-mel 8 --sample-rate 8000 --out feats.ark --scp feats.scp --num-frames frames audio 2> /dev/null
mkdir feats
cp audio/utt2spk audio/phones feats
sed "s, , $PWD/," feats.scp > feats/feats.scp
for data in audio feats; do
  check 0 'training on 0.0' "$linnet" train --train $data --dev $data --exp of-$data --config conf.json --batches \
    --set augment.speeds=[1] --set augment.padding.probability=0
done
cmp of-audio/batches.txt of-feats/batches.txt || fail 'batches of recordings and of their features differ'

# --- recordings that 16 bits would round to nothing, or clip, are learned like their features

# floats NAME PROGRAM...: the folder NAME, with recordings of floats that the program makes of INPUT OUTPUT
floats() {
  mkdir "$1" "$1-feats"
  cp audio/utt2spk audio/phones "$1" && cp audio/utt2spk audio/phones "$1-feats"
  while read -r id file; do
    "${@:2}" "audio/$file" "$1/$id.wav"
    echo "$id $id.wav"
  done < audio/wav.scp > "$1/wav.scp"
  "$linnet" features --num-mel 8 --sample-rate 8000 --out "$1-feats/feats.ark" --scp "$1-feats/feats.scp" "$1" 2> /dev/null
  for data in "$1" "$1-feats"; do
    check 0 'training on 0.0' "$linnet" train --train "$data" --dev "$data" --exp "of-$data" --config conf.json \
      --set augment.speeds=[1] --set augment.padding.probability=0
    grep -o '"dev_loss": [0-9.]*' "of-$data/log.jsonl" > "losses-$data"
  done
  paste "losses-$1" "losses-$1-feats" > losses
  awk '!($2 > 0 && $2 < 1.01 * $4 && $2 > 0.99 * $4) {exit 1} END {exit NR != 3}' losses ||
    fail "$1: losses of recordings and of their features: $(cat losses)"
}
one_sided() { sox -V1 "$1" -e floating-point -b 32 "$2" vol -80dB dcshift -0.00004; }
quiet() { sox -V1 "$1" -e floating-point -b 32 "$2" vol -80dB; }
loud() { ffmpeg -v error -i "$1" -af volume=50dB -c:a pcm_f32le "$2" < /dev/null; }
floats quiet quiet
floats one-sided one_sided
! command -v ffmpeg > /dev/null || floats loud loud

# --- the index is used while it is of the same files, and checked

cp audio/.linnet-audio-lengths lengths
cp audio/.linnet-statistics statistics
printf '\377' | dd of=audio/.linnet-audio-lengths bs=1 seek=40 conv=notrunc status=none
train 0 'training on 0.0' damaged.exp
same held.exp damaged.exp
cmp lengths audio/.linnet-audio-lengths || fail 'the damaged index was not made again'
touch -d '2001-01-01' audio/u01.flac
train 0 'training on 0.0' touched.exp
same held.exp touched.exp
! cmp -s lengths audio/.linnet-audio-lengths || fail 'the index of older files was used'
! cmp -s statistics audio/.linnet-statistics || fail 'the statistics of older files were used'
cp audio/.linnet-statistics statistics
train 0 'training on 0.0' other.exp --set features.low_frequency=100
! cmp -s statistics audio/.linnet-statistics || fail 'the statistics of other features were used'

# --- a folder that cannot be written to

rm audio/.linnet-*
mkdir audio/.linnet-audio-lengths
train 0 'audio/.linnet-audio-lengths: cannot write this index' unwritable.exp
same held.exp unwritable.exp
rmdir audio/.linnet-audio-lengths

# --- damaged files: one that ends early, one whose header claims hours, none

mv audio/u05.flac whole.flac
head -c "$(($(stat -c %s whole.flac) / 2))" whole.flac > audio/u05.flac
train 0 'no audio after' short.exp
{ head -c 21 whole.flac && printf '\377' && tail -c +23 whole.flac; } > audio/u05.flac
train 0 'training on 0.0' huge.exp
rm audio/u05.flac audio/.linnet-audio-lengths
train 1 'utterance u05' missing.exp
grep -q 'u05.flac' out || fail "the file has no name: $(cat out)"
[[ ! -e audio/.linnet-audio-lengths ]] || fail 'an index with the length of a file that could not be read'
cp whole.flac audio/u05.flac

# --- long windows at a slower speed

train 0 'training on 0.0' window.exp --set features.frame_length=250 --set features.frame_shift=5 \
  --set augment.speeds=[0.8] --set augment.padding.probability=0 --set augment.padding.max_seconds=0

# --- settings out of range, and lists of noises

# refuse KEY VALUE MESSAGE
refuse() {
  train 1 "--set: augment.$1 is $3" wrong.exp --set augment.noise.scp=noise.scp --set "augment.$1=$2"
}
refuse specaugment.time_masks 2000 '2000; it must be a whole number of 0 to 1000'
refuse specaugment.max_time_part 1.5 '1.5; it must be a number of 0 to 1'
refuse noise.snr_low -150 '-150; it must be a number of -100 to 100'
refuse noise.snr_low 30 '30; it must be at most augment.noise.snr_high, which is 20'
refuse noise.probability 2 '2; it must be a number of 0 to 1'
refuse level.gain_low 21 '21; it must be at most augment.level.gain_high, which is 20'
refuse band.max_low 3400 '3400; it must be below augment.band.min_high, which is 3400'
refuse band.max_low -1 '-1; it must be a number of at least 0'
refuse band.min_high 8000 '8000; it must be at most augment.band.max_high, which is 7500'
refuse padding.max_seconds 601 '601; it must be a number of 0 to 600'
refuse padding.level_low 0 '0; it must be at most augment.padding.level_high, which is -25'
refuse room.time_low 0 '0; it must be a number of 0.05 to 2'
refuse room.time_low 1 '1; it must be at most augment.room.time_high, which is 0.5'
train 1 '--set: augment.speeds must be a list of at most 8 numbers of 0.8 to 1.25' wrong.exp --set augment.speeds=[2]
train 1 '--set: augment has no key "echo"; known: speeds' wrong.exp --set augment.echo=1
sed 's/"padding": {/"noise": {"scp": "noise.scp", "snr_low": 30}, &/' conf.json > wrong.json
train 1 'wrong.json: augment.noise.snr_low is 30; it must be at most augment.noise.snr_high' wrong.exp --config wrong.json
: > noise.scp
train 1 'noise.scp: the list of augment.noise.scp is empty' wrong.exp --set augment.noise.scp=noise.scp
mkdir 'a  folder'
cp audio/u01.flac 'a  folder/a noise.flac'
echo 'noise a  folder/a noise.flac' > noise.scp
train 0 'training on 0.0' noise.exp --set augment.noise.scp=noise.scp
echo 'noise' > noise.scp
train 1 'noise.scp:1: noise is not followed by a file' wrong.exp --set augment.noise.scp=noise.scp
echo 'noise cat audio/u01.flac |' > noise.scp
train 1 'noise.scp: noise: is a command' wrong.exp --set augment.noise.scp=noise.scp

echo "$failures failures"
[[ $failures -eq 0 ]]
