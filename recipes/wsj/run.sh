#!/bin/bash
# Phoneme recognition on the Wall Street Journal corpus; see usage.
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
common=$here/../common
# shellcheck source=recipes/common/lib.sh
. "$common/lib.sh"

usage() {
	cat <<'END'
Usage: run.sh --wsj0 DIR... --wsj1 DIR... [--dict FILE] [--encoder NAME] [OPTIONS]

Reproduces the table of the paper (Katharopoulos et al. 2020, Table 3) from LDC's discs: trains phoneme recognisers on
the 81 hours of train_si284, selects the model on dev93, scores it on eval92 and eval93. Builds linnet first, unless
$LINNET names it.

  1  data folders: EXP/data/{train_si84,train_si284,train_tr95,train_cv05,test_dev93,test_eval92,test_eval93}
  2  dictionary: EXP/lang; phones of all utterances
  3  filterbanks and statistics of speakers: EXP/feats; skips parts that are finished
  4  language models, of words and of phones: EXP/lm; pronunciations of their words: EXP/lang-words
  5  training: EXP/NAME; resumes an interrupted training
  6  phoneme error rates, greedy and with a phone n-gram, word error rates with the corpus's trigram: EXP/NAME/*.score
  7  EXP/RESULTS.md and EXP/index.html with all encoders that are scored

Corpus
  --wsj0 DIR..., --wsj1 DIR...   the discs, in any layout: see local/prepare.sh --help
  --audio KIND      direct (default), sph2pipe or ffmpeg
  --scale-counts X  expect X times the published numbers of utterances (default 1)
  --allow-missing   skip utterances that lack audio or transcript
  --train SET       train_si284 (default), train_si84 or train_tr95
  --dev SET         the set that selects the model: test_dev93 (default), or train_cv05, which does not overlap with
                    train_tr95; search weights are always tuned on test_dev93
  --dict FILE       CMUdict (default: the Debian package pocketsphinx-en-us)
  --units KIND      39 (default) or stress
  --oov WAY         map (default), flite or g2p: see common/make_dictionary.sh --help
  --phone-order N   order of the phone n-gram (default 5)

Training
  --encoder NAME    linear (default), softmax, lsh-4, blstm: conf/NAME.json; or the file of another configuration
  --set KEY=VALUE   overrides a key of the configuration; repeatable
  --device NAME     where training runs: cpu (default), cuda, cuda:N or auto
  --precision P     of the products: float32 (default); bfloat16, faster with hardware support; tf32, on GPUs
  --seed S          seed of the training (default 1)

Running
  --exp DIR         folder for all output (default exp/wsj)
  --jobs J          processes and threads (default: one per processor)
  --parts N         parts that the features of a set are divided into (default: 4 per job)
  --via WAY         how to run these parts: local (default), parallel, slurm or gridengine
  --cmd-options TEXT  options for these: see common/cmd.sh --help
  --stage N, --stop-stage N   first and last stage (default 1 and 7)
END
}

wsj0=() wsj1=() audio=direct scale_counts=1 allow_missing='' train=train_si284 dev=test_dev93 dict='' units=39 oov=map phone_order=5
encoder=linear set=() device=cpu precision=float32 seed=1 exp=exp/wsj jobs=$(nproc) parts='' via=local cmd_options=''
stage=1 stop_stage=7
take_options "wsj0+ wsj1+ audio scale-counts allow-missing! train dev dict units oov phone-order encoder set+ device precision
	seed exp jobs parts via cmd-options stage stop-stage" "$@"
check_stages 7
conf=$encoder
[ -f "$conf" ] || conf=$here/conf/$encoder.json
[ -f "$conf" ] || die "--encoder $encoder: must be a file or one of $(cd "$here/conf" && echo *.json | sed 's/\.json//g')"
name=$(basename "$conf" .json)
one_of --train "$train" train_si284 train_si84 train_tr95
one_of --dev "$dev" test_dev93 train_cv05
[ "$dev" != train_cv05 ] || [ "$train" = train_tr95 ] ||
	die "--dev train_cv05: needs --train train_tr95, as $train has the same speakers"
one_of --audio "$audio" direct sph2pipe ffmpeg
one_of --units "$units" 39 stress
one_of --oov "$oov" map flite
one_of --precision "$precision" float32 bfloat16 tf32
one_of --via "$via" local parallel slurm gridengine
[[ $jobs =~ ^[1-9][0-9]*$ ]] || die "--jobs $jobs: must be a number above 0"
[[ $scale_counts =~ ^[0-9]*\.?[0-9]+$ ]] || die "--scale-counts $scale_counts: must be a number"
data=$exp/data feats=$exp/feats out=$exp/$name
tests=(test_dev93 test_eval92 test_eval93)

# dictionary OUT ARGUMENTS...
dictionary() {
	"$common/make_dictionary.sh" --out "$1" ${dict:+--dict "$dict"} --units "$units" --oov "$oov" "${@:2}"
}

make_features() {
	local name options=(--options "$cmd_options" --via "$via")
	[ "$via" != local ] || options+=(--jobs "$jobs")
	[ "$audio" = direct ] || options+=(--run-commands)
	for name in train_si284 "${tests[@]}"; do
		"$common/make_features.sh" --data "$data/$name" --out "$feats/$name" --parts "${parts:-$((4 * jobs))}" "${options[@]}"
	done
	for name in train_si84 train_tr95 train_cv05; do
		select_utterances "$feats/train_si284" "$feats/$name" "$data/$name/utt2spk"
	done
}

mkdir -p "$exp"
build_linnet
export LINNET=$linnet
[ "$device" = cpu ] || "$linnet" info --device "$device" > /dev/null || die "--device $device: see above"
if runs 1; then
	[ ${#wsj0[@]} -gt 0 ] && [ ${#wsj1[@]} -gt 0 ] || die "--wsj0 DIR... or --wsj1 DIR... is missing: the discs of the corpus"
	"$here/local/prepare.sh" --out "$data" --audio "$audio" --scale-counts "$scale_counts" ${allow_missing:+--allow-missing} \
		--wsj0 "${wsj0[@]}" --wsj1 "${wsj1[@]}"
	"$linnet" validate-data --no-audio "$data"/t* >&2
fi
if runs 2; then
	need_file "$data/train_si284/text" "run stage 1 first"
	dictionary "$exp/lang" "$data"/t*/text
	add_phones "$exp/lang" "$data"/t*
fi
if runs 3; then
	need_file "$data/train_si284/phones" "run stage 2 first"
	make_features
fi
if runs 4; then
	need_file "$data/$train/phones" "run stage 2 first"
	"$here/local/language_models.sh" --data "$data" --phones "$data/$train/phones" --out "$exp/lm" --order "$phone_order"
	dictionary "$exp/lang-words" --words "$exp/lm/words" /dev/null
	into "$exp/lang-words/words.txt" grep -v '^<' "$exp/lang-words/lexicon.txt"
fi
if runs 5; then
	need_file "$feats/$train/feats.scp" "run stage 3 first"
	mkdir -p "$out"
	"$linnet" train --threads "$jobs" --device "$device" --precision "$precision" --train "$feats/$train" --dev "$feats/$dev" \
		--exp "$out" --config "$conf" --symbols "$exp/lang/units" --set "seed=$seed" ${set[@]+"${set[@]/#/--set=}"} --name "wsj-$name" \
		--provenance "WSJ0 and WSJ1 (LDC93S6, LDC94S13), $train; recipes/wsj, commit $(commit)"
	# what the training was begun with: train refuses to continue with another
	[ -e "$out/settings" ] ||
		into "$out/settings" echo "$train, chosen on $dev, seed $seed, device $device, $precision, commit $(commit)"
fi
if runs 6; then
	need_file "$out/model.safetensors" "run stage 5 first"
	need_file "$exp/lm/phones.bin" "run stage 4 first"
	"$common/score_sets.sh" --model "$out/model.safetensors" --data "$feats" --dev test_dev93 --tests "test_eval92 test_eval93" \
		--units "$exp/lang/units" --lm "$exp/lm/phones.bin" --lexicon "$exp/lang-words/words.txt" --word-lm "$exp/lm/trigram.bin" \
		--out "$out" --jobs "$jobs"
fi
if runs 7; then
	"$here/local/report.sh" --exp "$exp" --command "recipes/wsj/run.sh $arguments"
fi
