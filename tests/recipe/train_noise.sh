#!/usr/bin/env bash
# Training with clips of noise that are read when they are drawn: the bytes of a training that holds all in memory, for
# any number of threads; clips that cannot be read at the start, or later.
#
#   train_noise.sh LINNET
# shellcheck source=tests/recipe/command.sh
. "$(dirname "$0")/command.sh"
make_tones

# --- nine clips, in three formats and rates

mkdir clips
formats=(wav flac ogg)
rates=(8000 16000 44100)
for i in 1 2 3 4 5 6 7 8 9; do
  clip=clips/c$i.${formats[i % 3]}
  sox -V1 -R -n -r "${rates[i % 3]}" -b 16 "$clip" synth "0.$i" pinknoise vol 0.5
  echo "c$i $clip" >> noise.scp
done
cat > conf.json << 'END'
{"model": {"input_dim": 8, "width": 16, "heads": 2, "feed_forward": 32, "layers": 1, "stack": 2},
 "features": {"num_mel": 8, "cmvn": "utterance", "sample_rate": 8000},
 "training": {"epochs": 4, "batch_frames": 60, "keep_models": 0, "checkpoint_seconds": 0},
 "augment": {"speeds": [0.9, 1.0, 1.1], "padding": {"probability": 0.7, "max_seconds": 1},
             "noise": {"scp": "noise.scp", "probability": 0.7}}}
END
training=("$linnet" train --train data --dev data --config conf.json)

# train STATUS TEXT EXP OPTION...
train() {
  check "$1" "$2" "${training[@]}" --threads 2 --exp "$3" "${@:4}"
}
same() { cmp "$1/model.safetensors" "$2/model.safetensors" || fail "$2: the model is not that of $1"; }

train 0 'training on 0.0' held
train 0 'training on 0.0' none --noise-memory 0
same held none
train 0 'training on 0.0' alone --noise-memory 0 --threads 1
same held alone
train 0 'training on 0.0' quiet --set augment.noise.probability=0
! cmp -s {held,quiet}/model.safetensors || fail 'noise changes nothing'
train 2 '--noise-memory -1: must be 0 or more' never --noise-memory -1

# Ten seconds of 8 kHz have 160 000 bytes, so 1 MiB holds six clips of them.
sed 's,clips/,long/,' noise.scp > long.scp
mkdir long
for clip in clips/*; do
  sox -V1 -R "$clip" "long/${clip##*/}" pad 0 10
done
train 0 'training on 0.0' long-held --set augment.noise.scp=long.scp
train 0 'training on 0.0' long-some --set augment.noise.scp=long.scp --noise-memory 1
same long-held long-some

# --- a training continues with the same clips, whatever their list is called, and not with others

train 0 'this training is finished: 4 of 4 epochs' held --set augment.noise.scp=./noise.scp
sed "s, , $PWD/," noise.scp > moved.scp
train 0 'this training is finished: 4 of 4 epochs' held --set augment.noise.scp=moved.scp
cp noise.scp whole.scp
sed -i 1d noise.scp
train 1 'was made with other settings, augment "noise":{"scp":"9 clips ' held
cp whole.scp noise.scp
cp clips/c1.flac c1.flac
sox -V1 -R c1.flac clips/c1.flac pad 0 0.5
train 1 'was made with other settings, augment "noise":{"scp":"9 clips ' held
cp c1.flac clips/c1.flac
train 0 'this training is finished' held

# A checkpoint of an earlier version has the path of the list where there are the clips now.
path=$(grep -ao '9 clips [0-9a-f]*' held/checkpoint.safetensors | sort -u)
sed 1d noise.scp > "$path"
train 0 'this training is finished: 4 of 4 epochs' held --set "augment.noise.scp=$path"
train 1 'was made with other settings, learning_rate 0.0001, not 0.001' held --set "augment.noise.scp=$path" --set learning_rate=1e-3

# --- a clip that cannot be opened at the start

echo 'c10 clips/none.wav' | cat noise.scp - > missing.scp
train 1 'missing.scp: c10: clips/none.wav: ' missing --set augment.noise.scp=missing.scp
echo 'no audio' > clips/text.wav
echo 'c10 clips/text.wav' | cat noise.scp - > text.scp
train 1 'text.scp: c10: clips/text.wav: ' text --set augment.noise.scp=text.scp

# --- clips that cannot be read later end the training, which can be continued

train 0 'training on 0.0' whole --set epochs=200

# spoil EXP SCRIPT: trains, and runs the script when there is a checkpoint. On a busy machine the training may have ended
# before the script has: then once more.
spoil() {
  local process status=0 i
  for i in {1..20}; do
    "${training[@]}" --threads 2 --noise-memory 0 --set epochs=200 --exp "$1" > "$1.log" 2>&1 &
    process=$!
    until [[ -e $1/checkpoint.safetensors ]] || ! kill -0 $process 2> /dev/null; do sleep 0.01; done
    bash -c "$2"
    wait $process || status=$?
    [[ $status -eq 0 ]] || break
    cp copy/* clips
    rm -r "$1"
  done
  [[ $status -eq 1 ]] || fail "$1: status $status: $(cat "$1.log")"
  grep -q 'noise.scp: c[1-9]: clips/c[1-9].*: bring the clip back and start again to continue' "$1.log" ||
    fail "$1: no message: $(cat "$1.log")"
  [[ -s $1/checkpoint.safetensors ]] || fail "$1: no checkpoint"
}
cp -r clips copy
# A clip is replaced at once: one that is cut while it is read would be short, with a warning, and change the model.
# shellcheck disable=SC2016 # a script
scripts=('rm clips/c*' 'for clip in clips/c*; do echo "no audio" > broken.wav && mv broken.wav "$clip"; done')
for i in 0 1; do
  spoil "spoilt$i" "${scripts[i]}"
  train 1 'noise.scp: c' "spoilt$i" --set epochs=200
  cp copy/* clips
  train 0 'training on 0.0' "spoilt$i" --noise-memory 0 --set epochs=200
  same whole "spoilt$i"
done

echo "$failures failures"
[[ $failures -eq 0 ]]
