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

Reproduces the table of the paper (Katharopoulos et al. 2020, Table 3: phoneme error rates on the validation set) from
LDC's discs: trains phoneme recognisers on train_si284, selects the model on dev93, scores it on eval92 and eval93. Builds
linnet in build/recipes first, unless $LINNET names it.

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
  --more-sets       also prepare and score the sets of 5000 words and dev_dt_05, dev_dt_20
  --allow-missing   skip utterances without readable audio or transcript, and sets that the copy lacks; --wsj0 or --wsj1
                    alone is enough. Without dev93 the model is selected on train_cv05, and trains on train_tr95
  --train SET       train_si284 (default), train_si84 or train_tr95
  --dev SET         the set that selects the model: test_dev93 (default), or train_cv05, which does not overlap with
                    train_tr95; search weights are always tuned on test_dev93
  --dict FILE       CMUdict (default: the Debian package pocketsphinx-en-us)
  --units KIND      39 (default) or stress
  --oov WAY         map (default), flite or g2p: see common/make_dictionary.sh --help
  --phone-order N   order of the phone n-gram (default 5)
                    Dictionary, units and oov belong to --exp: later runs may leave them out, but not change them

Training
  --encoder NAME    linear (default), softmax, lsh-4, blstm: conf/NAME.json; or the file of another configuration
  --set KEY=VALUE   overrides a key of the configuration; repeatable; the report lists them
  --device NAME     where training runs: cpu (default), cuda, cuda:N or auto
  --precision P     of the products: float32 (default); bfloat16, faster with hardware support; tf32, on GPUs
  --seed S          seed of the training (default 1)
  --ranks N         processes that train together (default 1), started by mpirun, or in a job by srun. The result depends on
                    the key shards, not on N. More than two on the CPU set it to 16 or, if N is larger, to a power of two
                    that is at least N; on GPUs, more than one set it to that power of two; --set shards=S prevails

Scoring
  --ref-filter PROGRAM, --hyp-filter PROGRAM
                    words pass through these before scoring, as through Kaldi's local/wer_ref_filter and wer_hyp_filter

Running
  --exp DIR         folder for all output (default exp/wsj)
  --jobs J          processes and threads (default: one per processor)
  --parts N         parts that features and recognition of a set are divided into (default 32)
  --via WAY         how to run those of features: local (default), parallel, slurm or gridengine
  --cmd-options TEXT  options for these: see common/cmd.sh --help
  --train-cmd TEXT, --decode-cmd TEXT
                    how to run training, and the parts of recognition: local (default), or a way and its options, such as
                    "slurm --mem 8G --gpus 1 --threads 4 --partition=long". Without --threads, training requests
                    as many as --jobs, and each part of recognition one
  --stage N, --stop-stage N   first and last stage (default 1 and 7)
END
}

wsj0=() wsj1=() audio=direct scale_counts=1 more_sets='' allow_missing='' train='' dev='' dict='' units='' oov='' phone_order=5
encoder=linear set=() device=cpu precision=float32 seed=1 ranks=1 exp=exp/wsj jobs=$(nproc) parts=32 via=local cmd_options=''
ref_filter='' hyp_filter='' train_cmd=local decode_cmd=local stage=1 stop_stage=7
take_options "wsj0+ wsj1+ audio scale-counts more-sets! allow-missing! train dev dict units oov phone-order encoder set+ device
	precision seed ranks ref-filter hyp-filter exp jobs parts via cmd-options train-cmd decode-cmd stage stop-stage" "$@"
check_stages 7
conf=$encoder
[ -f "$conf" ] || conf=$here/conf/$encoder.json
[ -f "$conf" ] || die "--encoder $encoder: must be a file or one of $(cd "$here/conf" && echo *.json | sed 's/\.json//g')"
name=$(basename "$conf" .json)
one_of --train "${train:-train_si284}" train_si284 train_si84 train_tr95
one_of --dev "${dev:-test_dev93}" test_dev93 train_cv05
[ "$dev" != train_cv05 ] || [ "$train" = train_tr95 ] ||
	die "--dev train_cv05: needs --train train_tr95, as ${train:-train_si284} has the same speakers"
one_of --audio "$audio" direct sph2pipe ffmpeg
one_of --units "${units:-39}" 39 stress
one_of --oov "${oov:-map}" map flite g2p
one_of --precision "$precision" float32 bfloat16 tf32
one_of --via "$via" local parallel slurm gridengine
check_way --train-cmd "$train_cmd"
check_way --decode-cmd "$decode_cmd"
check_ranks "$ranks"
[[ $scale_counts =~ ^[0-9]*\.?[0-9]+$ ]] || die "--scale-counts $scale_counts: must be a number"
data=$exp/data feats=$exp/feats out=$exp/$name
tests=(test_eval92 test_eval93 test_dev93_5k test_eval92_5k test_eval93_5k dev_dt_05 dev_dt_20)

# chosen OPTION VALUE PATTERN DEFAULT: the value, or that of the experiment, which PATTERN finds in lang/choices; an
# experiment has one of them.
chosen() {
	local before=''
	[ ! -e "$exp/lang/choices" ] || before=$(sed -n "s/$3/\1/p" "$exp/lang/choices")
	[ -z "$before" ] || [ -z "$2" ] || [ "$before" = "$2" ] ||
		die "$1 $2: $exp was begun with $before: choose another folder with --exp"
	echo "${2:-${before:-$4}}"
}

# The dictionary may have another path later, but not other contents.
choose_dictionary() {
	local before sum
	[ -e "$exp/lang/choices" ] || return 0
	before=$(sed -n 's/^dictionary .* (\([0-9]*\))$/\1/p' "$exp/lang/choices")
	[ -n "$dict" ] || dict=$(sed -n 's/^dictionary \(.*\) ([0-9]*)$/\1/p' "$exp/lang/choices")
	sum=$(cksum 2>/dev/null <"$dict" | cut -d ' ' -f 1) || die "--dict $dict: cannot be read"
	[ "$sum" = "$before" ] || die "--dict $dict: $exp was begun with another dictionary: choose another folder with --exp"
}

# dictionary OUT ARGUMENTS...
dictionary() {
	"$common/make_dictionary.sh" --out "$1" ${dict:+--dict "$dict"} --units "$units" --oov "$oov" \
		--extra "$here/conf/punctuation.dict" "${@:2}"
}

# has_utterances SET: whether stage 1 found any
has_utterances() { [ -s "$data/$1/text" ]; }

# The training and validation sets, unless options name them: without dev93, those of train_si284 without common speakers.
choose_sets() {
	local set found=()
	if [ -z "$dev" ] && [ -e "$data/local/counts" ] && ! has_utterances test_dev93; then
		dev=train_cv05 train=${train:-train_tr95}
		say "test_dev93 has no utterances: training on $train, choosing models and search weights on train_cv05"
		[ "$train" = train_tr95 ] || die "--train $train: has the speakers of train_cv05; leave it out"
	fi
	train=${train:-train_si284} dev=${dev:-test_dev93}
	tune=test_dev93
	[ ! -e "$data/local/counts" ] || has_utterances test_dev93 || tune=train_cv05
	for set in "${tests[@]}"; do ! has_utterances "$set" || found+=("$set"); done
	tests=(${found[@]+"${found[@]}"})
}

make_features() {
	local name options=(--options "$cmd_options" --via "$via" --root "$exp" --parts "$parts" --jobs "$(jobs_here "$via" "$jobs")") subset=()
	[ "$audio" = direct ] || options+=(--run-commands)
	[ -z "$allow_missing" ] || options+=(--allow-missing)
	for name in train_si84 train_tr95 train_cv05; do ! has_utterances $name || subset+=("$data/$name"); done
	has_utterances train_si284 || die "there are no training utterances in $data"
	"$common/make_features.sh" --data "$data/train_si284" --out "$feats/train_si284" "${options[@]}" \
		${subset[@]+--subset "${subset[@]}"}
	for name in test_dev93 ${tests[@]+"${tests[@]}"}; do
		! has_utterances "$name" || "$common/make_features.sh" --data "$data/$name" --out "$feats/$name" "${options[@]}"
	done
}

# For the report: the sets, the seed unless --set has one, and all keys that were set
training_settings() {
	local keys=(${shards:+"$shards"} ${set[@]+"${set[@]}"}) own_seed=", seed $seed"
	[[ " ${keys[*]}" != *\ seed=* && " ${keys[*]}" != *\ training.seed=* ]] || own_seed=''
	echo "$train, chosen on $dev$own_seed, device $device, $precision, commit $(commit)${keys[*]:+, --set ${keys[*]}}"
}

units=$(chosen --units "$units" '^units \([^ ]*\) .*' 39)
oov=$(chosen --oov "$oov" '^unknown words \([^ ]*\)$' map)
choose_dictionary
mkdir -p "$exp"
build_linnet
export LINNET=$linnet
[ "$device" = cpu ] || [ "$train_cmd" != local ] || "$linnet" info --device "$device" > /dev/null || die "--device $device: see above"
if runs 1; then
	discs=$(((${#wsj0[@]} > 0) + (${#wsj1[@]} > 0)))
	[ "$discs" = 2 ] || { [ "$discs" = 1 ] && [ -n "$allow_missing" ]; } ||
		die "--wsj0 DIR... or --wsj1 DIR... is missing: the discs of the corpus (with --allow-missing, one of them is enough)"
	"$here/local/prepare.sh" --out "$data" --audio "$audio" --scale-counts "$scale_counts" ${allow_missing:+--allow-missing} \
		${more_sets:+--more-sets} ${wsj0[@]+--wsj0 "${wsj0[@]}"} ${wsj1[@]+--wsj1 "${wsj1[@]}"}
	"$linnet" validate-data --no-audio "$data"/[dt]*_* >&2
fi
if runs 2; then
	need_file "$data/train_si284/text" "run stage 1 first"
	dictionary "$exp/lang" "$data"/[dt]*_*/text
	add_phones "$exp/lang" "$data"/[dt]*_*
fi
choose_sets
if runs 3; then
	need_file "$data/train_si284/phones" "run stage 2 first"
	make_features
fi
if runs 4; then
	need_file "$data/$train/phones" "run stage 2 first"
	"$here/local/language_models.sh" --data "$data" --phones "$data/$train/phones" --out "$exp/lm" --order "$phone_order" \
		${allow_missing:+--allow-missing}
	dictionary "$exp/lang-words" --words "$exp/lm/words" /dev/null
	into "$exp/lang-words/words.txt" awk '!/^</' "$exp/lang-words/lexicon.txt"
fi
if runs 5; then
	need_file "$feats/$train/feats.scp" "run stage 3 first"
	mkdir -p "$out"
	shards=$(shards_for "$ranks" "$device" "$conf" ${set[@]+"${set[@]}"})
	# what the training is begun with: train refuses to continue with another
	[ -e "$out/settings" ] && has_checkpoint "$out" || into "$out/settings" training_settings
	run_on --ranks "$ranks" "$train_cmd" "$jobs" "$out/train-job" "$linnet" train --device "$device" --precision "$precision" \
		--train "$feats/$train" --dev "$feats/$dev" --exp "$out" --config "$conf" --symbols "$exp/lang/units" --set "seed=$seed" \
		${shards:+--set "$shards"} ${set[@]+"${set[@]/#/--set=}"} --name "wsj-$name" \
		--provenance "WSJ0 and WSJ1 (LDC93S6, LDC94S13), $train; recipes/wsj, commit $(commit)"
fi
if runs 6; then
	need_file "$out/model.safetensors" "run stage 5 first"
	need_file "$exp/lm/phones.bin" "run stage 4 first"
	words=()
	[ ! -e "$exp/lm/trigram.bin" ] || words=(--lexicon "$exp/lang-words/words.txt" --word-lm "$exp/lm/trigram.bin")
	"$common/score_sets.sh" --model "$out/model.safetensors" --parts "$parts" --cmd "$decode_cmd" \
		--data "$feats" --dev "$tune" --tests "${tests[*]}" --units "$exp/lang/units" --lm "$exp/lm/phones.bin" \
		${words[@]+"${words[@]}"} ${ref_filter:+--ref-filter "$ref_filter"} ${hyp_filter:+--hyp-filter "$hyp_filter"} \
		--out "$out" --jobs "$jobs"
fi
if runs 7; then
	"$here/local/report.sh" --exp "$exp" --command "recipes/wsj/run.sh $arguments"
fi
