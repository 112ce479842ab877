#!/usr/bin/env bash
# recipes/speechocean762 with --features-only and --from-features: packs a small part of the corpus, then trains and scores
# in another folder, with a command without audio libraries. Exit code 77 (skipped) without real speech (LINNET_DATA, or DATA).
#
#   packed_features.sh LINNET LINNET_WITHOUT_AUDIO DATA
# shellcheck source=tests/recipe/command.sh
. "$(dirname "$0")/command.sh"
deaf=$(realpath "$2")
corpus=${LINNET_DATA:-$3}/speechocean762
recipe=$here/../../recipes/speechocean762/run.sh
skip() {
  echo "SKIPPED: $*"
  exit 77
}

# --- a command without audio libraries

if command -v ldd > /dev/null; then
  ldd "$deaf" > libraries
  ! grep -E 'fftw|sndfile|soxr' libraries || fail 'the command has audio libraries'
fi
head -c 64000 "$linnet" > noise.raw
printf 'RIFF....WAVE' > some.wav
check 1 'has no libsndfile and cannot read audio files' "$deaf" transcribe --model "$here/../../models/english/phones.safetensors" some.wav
check 1 'has no FFTW and cannot compute filterbank features' "$deaf" features --raw s16le --out x.ark noise.raw
check 1 'this build has no soxr' "$deaf" features --raw s16le --raw-rate 8000 --out x.ark noise.raw

# --- options

check 0 'not the changes of speed' bash "$recipe" --help
export LINNET=$linnet
check 1 '--features-only needs --pack FILE' bash "$recipe" --features-only
check 1 'run.sh --features-only --pack makes it' bash "$recipe" --from-features nowhere.tar

# --- one utterance of a hundred, packed

[[ -s $corpus/train/wav.scp ]] || skip "no real speech in $corpus"
mkdir -p here/train here/test there
for file in {train,test}/{wav.scp,text,utt2spk}; do awk 'NR % 100 == 1' "$corpus/$file" > "here/$file"; done
cp "$corpus/test/spk2age" here/test
ln -s "$(realpath "$corpus")"/{WAVE,resource} here

# Sets of other folders do not take the place of the recipe's own, or of each other.
mkdir -p more/{dev,eval} again/eval
for folder in more/dev more/eval again/eval; do cp here/test/{text,utt2spk} "$folder" && sed "s# # $PWD/here/#" here/test/wav.scp > "$folder/wav.scp"; done
printf 'ZZZ Z\n' > lexicon
prepare() { check "$1" "$2" bash "${recipe%/*}/local/prepare.sh" --corpus here --out sets --lexicon lexicon "${@:3}"; }
prepare 1 'more/dev: another set, or the recipe itself, already uses the name dev: choose another one, for a folder by a link' --unseen more/dev
prepare 1 'more/dev: another set, or the recipe itself, already uses the name dev' --extra more/dev
prepare 1 'again/eval: another set, or the recipe itself, already uses the name eval' --extra more/eval --unseen again/eval
check 1 'more/dev: another set, or the recipe itself, already uses the name dev' bash "$recipe" --corpus here --exp refused --unseen more/dev
[[ ! -e sets && ! -e refused ]] || fail 'refused sets were written'
prepare 0 'eval: 0 utterances' --unseen more/eval
[[ ! -e sets/raw && -s sets/dev/phones ]] || fail "sets: $(ls sets sets/dev)"
check 0 'pack.tar.gz' bash "$recipe" --features-only --pack there/pack.tar.gz --test-utterances 5 --corpus here --exp here/exp
[[ $(wc -c < there/pack.tar.gz) -le 1000000 ]] || fail "$(wc -c < there/pack.tar.gz) bytes for some 30 utterances"

# --- training from it, without audio and audio libraries

rm -r here
cd there
export LINNET=$deaf
check 0 'test: %PER' bash "$recipe" --from-features pack.tar.gz --epochs 1
grep '%PER' out
[[ $(find . -name '*.opus' -o -name wav.scp) == '' ]] || fail 'there is audio'
[[ $(wc -l < exp/speechocean762/data/test/phones) -eq 5 ]] || fail 'not five test utterances'
grep -q '^provenance *speechocean762' <("$deaf" info exp/speechocean762/conv/final.safetensors) || fail 'no provenance in the model'

# SpecAugment changes the loss of stored features. A second run without it shows that nothing else does.
loss() { # NAME SET...
  "$deaf" train --train exp/speechocean762/data/train --dev exp/speechocean762/data/dev --exp "$1" --set epochs=1 \
    --set model.layers=1 --set seed=1 "${@:2}" 2> log || fail "training: $(cat log)"
  sed 's/.*"train_loss": \([^,]*\),.*/\1/' "$1/log.jsonl"
}
plain=$(loss plain) again=$(loss again) masked=$(loss masked --set augment.specaugment.time_masks=3)
[[ $plain == "$again" && $plain != "$masked" ]] || fail "losses: $plain, $again, with masks $masked"

echo "$failures failures"
[[ $failures -eq 0 ]]
