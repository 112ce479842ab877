#!/usr/bin/env bash
# Runs recipes/images with --quick on a few synthetic images in the format of MNIST.
#
#   images_quick.sh FOLDER-OF-PROGRAMS
set -euo pipefail
export LC_ALL=C

if [[ $# -ne 1 || $1 == --help ]]; then
  sed -n '2,4s/^# \{0,1\}//p' "$0"
  exit 2
fi
LINNET_EXPERIMENTS=$(realpath "$1")
export LINNET_EXPERIMENTS
recipe=$(realpath "$(dirname "$0")/../../recipes/images/run.sh")
[[ -e $LINNET_EXPERIMENTS/linnet-images-generate ]] || { echo 'SKIPPED: built without libpng' && exit 77; }
command -v gnuplot > /dev/null || { echo 'SKIPPED: gnuplot is not installed' && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

fail() {
  echo "FAILED: $*"
  exit 1
}

# images COUNT: IDX of 8 x 8 pixels: a white square whose corner moves from image to image
images() {
  awk -v count="$1" 'BEGIN {
    printf "%c%c\10\3", 0, 0
    printf "%c%c%c%c%c%c%c\10%c%c%c\10", 0, 0, 0, count, 0, 0, 0, 0, 0, 0
    for (i = 0; i < count; i++)
      for (y = 0; y < 8; y++)
        for (x = 0; x < 8; x++) {
          inside = x >= i % 5 && x < i % 5 + 4 && y >= i % 3 && y < i % 3 + 4
          printf "%c", inside ? 127 : 0
        }
  }'
}

mkdir data
images 20 | gzip > data/train-images-idx3-ubyte.gz
images 9 > data/t10k-images-idx3-ubyte

run() { "$recipe" --quick --data data --exp exp --jobs 2 --rate 1e-2 --scale 2 "$@"; }

run --updates 20 --kinds 'linear softmax lsh-1' --speed 'mnist length' > run.out
[[ $(grep -c '^| mnist | .* | .* |' exp/RESULTS.md) -ge 7 ]] || fail "speed: $(cat exp/RESULTS.md)"
for picture in linear-samples linear-completions softmax-samples lsh-1-samples lsh-1-completions bits length; do
  [[ $(head -c 8 "exp/$picture.png" | od -An -tx1 | tr -d ' ') == 89504e470d0a1a0a ]] || fail "$picture.png is no PNG"
done

# A training that is interrupted, here by a smaller number of updates, ends with the same bytes.
run --updates 40 --kinds linear --stop-stage 2
"$recipe" --quick --data data --exp whole --jobs 1 --rate 1e-2 --scale 2 --updates 40 --kinds linear --stop-stage 2
cmp exp/linear.model whole/linear.model || fail 'the continued training ends with other weights'
awk -F '\t' '$2 != 40 || !($3 > 0 && $3 < 8) {exit 1}' exp/linear.result || fail "linear: $(cat exp/linear.result)"

# So does one that a signal ends in between.
quick=("$LINNET_EXPERIMENTS/linnet-images-train" --train exp/data/train-images-idx3-ubyte --test exp/data/t10k-images-idx3-ubyte
  --layers 1 --heads 1 --width 8 --feed-forward 8 --components 2 --threads 1 --updates 3000)
"${quick[@]}" --out through
"${quick[@]}" --out stopped & trainer=$!
until [[ $(wc -l < stopped.log) -ge 2 ]]; do sleep 0.01; done 2> /dev/null
kill -TERM "$trainer"
wait "$trainer" && fail 'a signal did not end the training'
[[ $? -eq 143 && -s stopped.checkpoint && ! -e stopped.result ]] || fail "an interrupted training: $(ls)"
"${quick[@]}" --out stopped
cmp stopped.model through.model || fail 'the training after a signal ends with other weights'

# A finished training that continues between two reports has the mean of fewer updates in its first line.
run --updates 15 --kinds linear --exp uneven --stop-stage 2
run --updates 20 --kinds linear --exp uneven --stop-stage 2
awk '$1 == 20 {loss[FILENAME] = $2} END {a = loss[ARGV[1]]; b = loss[ARGV[2]]; exit !(b > 0.75 * a && b < 1.25 * a)}' \
  whole/linear.log uneven/linear.log || fail "the log of a continued training: $(cat uneven/linear.log)"

# A budget of time ends a training at its first report.
run --updates 1000 --seconds 1e-3 --kinds linear --exp timed --stop-stage 2
[[ $(cut -f 2 timed/linear.result) -eq 10 ]] || fail "10 updates expected: $(cat timed/linear.result)"

# The picture depends neither on the batch nor on the number of threads.
generate() { "$LINNET_EXPERIMENTS/linnet-images-generate" --model exp/linear.model --count 7 "$@"; }
generate --batch 1 --threads 2 --out a.png
generate --batch 5 --threads 1 --out b.png
generate --seed 2 --out c.png
cmp a.png b.png || fail 'samples depend on the batch'
! cmp -s a.png c.png || fail 'samples do not depend on the seed'

# Bits of linear attention do not depend on later values.
"$LINNET_EXPERIMENTS/linnet-images-prefix" --model exp/linear.model --test exp/data/t10k-images-idx3-ubyte --scale 2 \
  --count 5 > prefix
awk -F '\t' '$1 != 5 || $2 - $3 > 2e-4 || $3 - $2 > 2e-4 || $6 != 0 || !($2 > 0) {exit 1}' prefix || fail "prefixes: $(cat prefix)"

# Without a state, the same values come out. The reference kernels round in the same way everywhere.
for kind in linear softmax; do
  generate --model "exp/$kind.model" --kernels reference --out a.png
  generate --model "exp/$kind.model" --kernels reference --whole --out b.png
  cmp a.png b.png || fail "$kind: samples depend on the state"
done
complete() { generate --kernels reference --complete data/t10k-images-idx3-ubyte --scale 2 "$@"; }
complete --out a.png
complete --whole --out b.png
cmp a.png b.png || fail 'completions depend on the state'

# Colours: two records of CIFAR-10, from a list of two files.
seq 1000 1700 > numbers
(printf '\3' && head -c 3072 numbers) > record
"$LINNET_EXPERIMENTS/linnet-images-train" --train record,record --test record --scale 8 --layers 1 --heads 2 --width 16 \
  --feed-forward 32 --batch 2 --updates 3 --out colours
"$LINNET_EXPERIMENTS/linnet-images-generate" --model colours.model --complete record --scale 8 --out colours.png
awk -F '\t' '$5 != 1 || !($3 > 0 && $3 < 12) {exit 1}' colours.result || fail "colours: $(cat colours.result)"

# A record that begins as IDX does, and grey images that are no squares.
(printf '\0\0\10\3' && head -c 3069 numbers) > black
"$LINNET_EXPERIMENTS/linnet-images-train" --train black --test black --scale 8 --layers 1 --heads 2 --width 16 \
  --feed-forward 32 --batch 2 --updates 1 --out black
(printf '\0\0\10\3\0\0\0\2\0\0\0\3\0\0\0\5' && head -c 30 numbers) > oblong
"$LINNET_EXPERIMENTS/linnet-images-train" --train oblong --test oblong --layers 1 --heads 2 --width 16 --feed-forward 32 --batch 2 \
  --updates 1 --out oblong
"$LINNET_EXPERIMENTS/linnet-images-generate" --model oblong.model --complete oblong --zoom 1 --count 2 --out oblong.png

# Weights of an earlier training: with a learning rate that changes nothing they remain. A training that stops before its
# last update goes on from its own checkpoint.
mkdir rates
run --updates 5 --kinds linear --exp rates/begun --stop-stage 2
"$recipe" --quick --data data --exp rates/same --jobs 1 --scale 2 --updates 5 --kinds linear --initial rates/begun --rate 1e-30 \
  --stop-stage 2
cmp rates/begun/linear.model rates/same/linear.model || fail 'the initial weights are not those of --initial'
run --updates 5 --kinds linear --exp rates/more --initial rates/begun --seed 2 --stop-stage 2
run --updates 10 --kinds linear --exp rates/more --initial rates/begun --seed 2 --stop-stage 2
run --updates 10 --kinds linear --exp rates/through --initial rates/begun --seed 2 --stop-stage 2
cmp rates/more/linear.model rates/through/linear.model || fail 'a continued training with --initial ends with other weights'
grep -q 'initial weights with the checksum [0-9]*$' rates/more/linear.settings || fail "$(cat rates/more/linear.settings)"

# refused TEXT COMMAND...
refused() {
  if "${@:2}" > /dev/null 2> refused; then fail "accepted: ${*:2}"; fi
  grep -q -- "$1" refused || fail "${*:2}: $(cat refused)"
}
refused 'must be causal' "$LINNET_EXPERIMENTS/linnet-images-train" --train exp/data/train-images-idx3-ubyte \
  --test exp/data/t10k-images-idx3-ubyte --out x --attention linear
refused 'neither IDX' "$LINNET_EXPERIMENTS/linnet-images-train" --train run.out --test run.out --out x
head -c 3073 numbers > labels # the first is 49, the letter 1
refused 'record 0 has the label 49' "$LINNET_EXPERIMENTS/linnet-images-train" --train labels --test labels --out x
images 20 | head -c 500 > short || true
refused 'not that of' "$LINNET_EXPERIMENTS/linnet-images-train" --train short \
  --test exp/data/t10k-images-idx3-ubyte --out x
refused 'made with other settings' run --updates 50 --kinds linear --seed 2 --stop-stage 2
refused 'linear.result was made with other settings: --batch 10 --rate 1e-2 .* now they are: --batch 10 --rate 1e-3 ' \
  run --updates 40 --kinds linear --rate 1e-3 --stop-stage 2
refused 'linear.result was made with other settings' run --kinds linear --batch 5 --stage 5
refused 'made with other settings: .* now they are: .* initial weights' run --updates 40 --kinds linear --initial rates/begun \
  --stop-stage 2
refused 'rates/softmax.checkpoint is missing: --initial must name' run --kinds softmax --exp other-kind --initial rates
refused '--initial exp: is --exp' run --kinds linear --initial exp
refused 'is a checkpoint of another network' "${quick[@]}" --out x --attention causal-softmax --initial through.checkpoint
refused 'nothing.checkpoint: No such file' "${quick[@]}" --out x --initial nothing.checkpoint

# Another folder of the same form: neither its images nor results of the first ones are taken.
mkdir other
images 20 > other/train-images-idx3-ubyte
images 8 > other/t10k-images-idx3-ubyte
for stage in 1 2 3 5; do
  refused '--data other: exp was begun with other images: choose another folder with --exp' \
    run --kinds linear --data other --stage $stage
done
mv exp/data unpacked
refused 'linear.result was made with other settings: .* images with the checksum [0-9]*; now they are: .* images with the checksum' \
  run --kinds linear --data other --stop-stage 2
rm exp/linear.result
refused 'linear.checkpoint was made with other settings' run --kinds linear --data other --stage 2
rm -r exp/data
mv unpacked exp/data
run --updates 40 --kinds linear --stop-stage 2

# A report without rows of lengths.
sed -i.all '/^length/d' exp/speed.tsv
run --kinds linear --stage 5 > run.out 2> err
grep -q 'exp/speed.tsv has no rows of length, so there is no length.svg' err || fail "no lengths: $(cat err)"
! grep -q 'length.svg' exp/RESULTS.md || fail "no lengths: $(cat exp/RESULTS.md)"
grep -v '^length .*softmax' exp/speed.tsv.all > exp/speed.tsv
run --kinds linear --stage 5 > run.out
mv exp/speed.tsv.all exp/speed.tsv

# Rows of PyTorch; the program here only has their form.
printf '#!/bin/sh\nprintf "torch\\t0\\t16\\t1\\t1\\t2\\t2\\t0.5\\t0.5\\n"\n' > python && chmod +x python
run --speed mnist --torch ./python --stage 4 --stop-stage 4
for row in 'torch-linear 1' 'torch-linear 3' 'torch-stateful-softmax 1' 'torch-softmax 1'; do
  [[ $(grep -c "^mnist $row.*torch" exp/speed.tsv) == 1 ]] || fail "$row: $(cat exp/speed.tsv)"
done
compare=("${recipe%/*}/local/compare_torch.sh" --torch ./python --steps 2 --rounds 1 --batches '1 3' --out compare.tsv)
"${compare[@]}" > compared
[[ $(grep -c '^| [13] | [0-9.]' compared) == 2 ]] || fail "compare_torch.sh: $(cat compared)"
cp compare.tsv compare.old && "${compare[@]}" > compared.again
cmp compare.tsv compare.old && cmp compared compared.again || fail 'compare_torch.sh repeats measurements'

refused 'compare.tsv was made with other settings: .*checksum .*; --images mnist --steps 2; now they are: ' "${compare[@]}" --images cifar
refused 'compare.tsv was made with other settings' "${compare[@]}" --steps 3
sed -i 's/checksum [0-9]*/checksum 1/' compare.settings
refused 'compare.tsv was made with other settings: .* checksum 1;' "${compare[@]}"

# Rows of another processor or of another program are not continued, but a report of them can be written.
cp exp/speed.settings speed.settings
[[ $(< speed.settings) == *'with the checksum '*'; --heads 2 '* ]] || fail "speed.settings: $(< speed.settings)"
sed 's/^[^;]*/Another processor, family 25/' speed.settings > exp/speed.settings
refused 'speed.tsv was made with other settings: Another processor, family 25; .* now they are: ' run --kinds linear --speed mnist --stage 4
run --updates 40 --kinds linear --speed mnist --stage 5 > run.out
grep -q 'Measured on Another processor, family 25; linnet-images-speed with the checksum' exp/RESULTS.md ||
  fail "the machine of the table: $(cat exp/RESULTS.md)"
sed 's/checksum [0-9]*/checksum 1/' speed.settings > exp/speed.settings
refused 'speed.tsv was made with other settings: .* checksum 1;' run --kinds linear --speed mnist --stage 4 --stop-stage 4
sed 's/^.*; --heads/--heads/' speed.settings > exp/speed.settings # of a version that did not note the machine
refused 'speed.tsv was made with other settings: --heads 2 ' run --kinds linear --speed mnist --stage 4 --stop-stage 4
refused 'speed.tsv was made with other settings: --heads 2 ' run --kinds linear --speed mnist --stage 5
sed 's/side 4/side 28/' speed.settings > exp/speed.settings
refused 'speed.tsv was made with other settings: .* side 28' run --kinds linear --speed mnist --stage 4 --stop-stage 4
rm exp/linear.settings
refused 'linear.result has no exp/linear.settings, so its settings are unknown: remove exp/linear.\*' \
  run --kinds linear --stage 2 --stop-stage 2

# The folder may have another name later, but no comma; options are checked before anything runs.
refused '--exp a,b: must have no comma' run --exp a,b
refused '--speed lenght: must be one of mnist cifar length' run --exp nothing --speed 'mnist lenght'
[[ ! -e a,b && ! -e nothing ]] || fail 'refused options had an effect'
mkdir elsewhere
mv whole elsewhere/moved
[[ $(cat elsewhere/moved/data/train elsewhere/moved/data/test) != */* ]] || fail "paths: $(cat elsewhere/moved/data/train)"
(cd elsewhere && "$recipe" --quick --exp moved --jobs 1 --rate 1e-2 --scale 2 --updates 50 --kinds linear --stage 2 --stop-stage 3) ||
  fail 'the folder has another name'
echo "$PWD/whole/data/train-images-idx3-ubyte" > elsewhere/moved/data/train # as earlier versions
(cd elsewhere && "$recipe" --quick --exp moved --jobs 1 --rate 1e-2 --scale 2 --updates 60 --kinds linear --stage 2 --stop-stage 2) ||
  fail 'a folder of an earlier version'
echo 'the recipe runs to the end'
