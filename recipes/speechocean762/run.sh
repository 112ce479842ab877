#!/bin/bash
# Phoneme recognition on speechocean762; see usage.
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=recipes/common/lib.sh
. "$here/../common/lib.sh"

usage() {
	cat <<'END'
Usage: run.sh --corpus DIR [--lexicon FILE --extra DIR... --unseen DIR... --text FILE] [--encoder NAME] [--exp DIR] [--seed S]
              [--jobs J] [--precision P] [--device D] [--epochs N] [--set KEY=VALUE...] [--ranks N] [--train-cmd TEXT]
              [--decode-cmd TEXT] [--stage N] [--stop-stage N]
       run.sh --features-only --pack FILE --corpus DIR [OPTIONS]
       run.sh --from-features FILE [--encoder NAME] [OPTIONS]

Trains and scores phoneme recognisers on speechocean762 (OpenSLR 101: read English by Mandarin speakers, half of them
children). Development set: the 12 training speakers of dev_speakers. First installs missing Debian packages
and builds linnet, unless $LINNET names a linnet command.

  1  data folders: EXP/data/{train,dev,test,...}
  2  training: EXP/NAME/; continues an interrupted training
  3  the mean of the best epochs' weights, if it is better on dev: EXP/NAME/final.safetensors
  4  phoneme error rates on dev, test (once) and the unseen sets, by age: EXP/NAME/*.score
  5  calibration of confidences on dev: EXP/NAME/calibration/, and in it model-half.safetensors, the float16 copy to ship
  6  decoding greedy, by a prefix beam, and with a 4-gram of phones tuned on dev: EXP/NAME/decode/; with --text to words,
     too, whose confidences are calibrated: decode/calibration/model-half.safetensors is then the copy to ship
  7  EXP/NAME/RESULTS.md with plots

  --corpus DIR    the folder speechocean762 as OpenSLR publishes it, or with other audio formats
  --lexicon FILE  CMUdict, for the folders below and for words
  --text FILE     sentences, one a line: decode to words of the lexicon, too, with a trigram of them
  --extra DIR     a Kaldi data folder (wav.scp, text, utt2spk) to train on as well
  --unseen DIR    a Kaldi data folder to test on; the last parts of the paths of all folders are their names, so they must
                  differ, and none may be train, dev, test or raw
  --encoder NAME  a configuration of conf/:
                    paper       9 layers x 6 heads, one output per frame, post-norm, RAdam: the network of the paper
                    paper-conv  the same with convolution modules, pre-norm
                    stacked     9 layers, frames stacked by 3, pre-norm
                    conv        6 layers with convolution modules, frames stacked by 3 (default)
                  or an encoder of the table of kinds (conf/table.json, 6 layers, frames stacked by 3, 20 epochs):
                    linear, softmax, lsh-1, lsh-4, mixed (every third layer softmax), each also as NAME-conv, with
                    convolution modules; blstm, 3 x 320 per direction, which has none
  --exp DIR       folder for all results (default exp/speechocean762)
  --epochs N      number of epochs (default: that of the configuration)
  --set KEY=VALUE set a key of the configuration, as in linnet train
  --seed S        seed of training (default 1)
  --jobs J        threads (default: one per processor)
  --precision P   precision of products in training: float32 (default), or bfloat16, almost twice as fast on processors that
                  have it
  --device D      device for training and recognition (default: that of linnet)
  --ranks N       processes that train together (default 1), started by mpirun, or in a job by srun. The result depends on the
                  key shards, not on N. More than two on the CPU set it to 16 or, if N is larger, to a power of two that is at
                  least N; on GPUs, more than one set it to that power of two; --set shards=S prevails
  --train-cmd TEXT   how to run training: local (default), or a way and its options, such as "slurm --mem 8G --gpus 1": see
                  common/cmd.sh --help. Without --threads, it requests as many as --jobs
  --decode-cmd TEXT  the same for recognition: in stages 3 and 4 in 32 parts, each with one thread unless TEXT names more,
                  in stage 5 by one job, as training. Stage 6 measures time, and runs here
  --stage N       begin with this stage (default 1)
  --stop-stage N  end after this stage (default 7; with --from-features 4)

Training on a machine without audio libraries (a linnet built with -DLINNET_AUDIO=OFF is enough, named by $LINNET):

  --features-only        where the audio is: stage 1, features of train, dev and test, and one file of all that the other
                         machine needs: features of a byte per value, labels, speakers, symbols, configurations
  --pack FILE            that file, at most 60 MB: .tar, .tar.gz or .tar.xz (the smallest)
  --test-utterances N    only N of the test utterances, at equal distances, for a smaller file
  --from-features FILE   on the other machine: replaces stage 1 by unpacking FILE into EXP/data

Training from stored features uses SpecAugment, but not the changes of speed in conf/, which need audio. So
the error is somewhat higher than after a training from audio.
END
}

# table_settings NAME: sets settings to the differences between an encoder of the table and conf/table.json
table_settings() {
	local kind=${1%-conv}
	[ "$kind" = "$1" ] || settings=(--set model.convolution=15)
	case "$kind" in
	linear | softmax) settings+=(--set "model.attention=$kind") ;;
	lsh-[1-9]) settings+=(--set model.attention=lsh --set "model.lsh_rounds=${kind#lsh-}") ;;
	mixed) settings+=(--set 'model.attention=["linear","linear","softmax","linear","linear","softmax"]') ;;
	blstm) [ "$1" = blstm ] && settings=(--set model.encoder=blstm --set model.width=320 --set model.layers=3) ;;
	*) return 1 ;;
	esac
}

corpus='' lexicon='' text='' encoder=conv exp=exp/speechocean762 seed=1 jobs=$(nproc) precision=float32 device='' ranks=1 train_cmd=local decode_cmd=local epochs='' set=() stage=1 stop_stage=''
features_only='' pack='' test_utterances='' from_features='' extra=() unseen=()
take_options "corpus lexicon text extra+ unseen+ encoder exp seed jobs precision device ranks train-cmd decode-cmd epochs set+
	stage stop-stage features-only! pack test-utterances from-features" "$@"
[ -z "$features_only" ] || [ -n "$pack" ] || die "--features-only needs --pack FILE"
stop_stage=${stop_stage:-$([ -n "$from_features" ] && echo 4 || echo 7)}
check_stages 7
check_ranks "$ranks"
check_way --train-cmd "$train_cmd"
check_way --decode-cmd "$decode_cmd"
data=$exp/data out=$exp/$encoder conf_folder=$here/conf
[ -z "$from_features" ] || conf_folder=$data/conf
unseen_sets=()
distinct_names 'train dev test raw' ${extra[@]+"${extra[@]}"} ${unseen[@]+"${unseen[@]}"}
for folder in ${unseen[@]+"${unseen[@]}"}; do unseen_sets+=("$(basename "$folder")"); done

# Sets conf and settings to the configuration of --encoder. Stored features have one speed only.
choose_conf() {
	conf=$conf_folder/$encoder.json settings=()
	if [ ! -e "$conf" ]; then
		conf=$conf_folder/table.json
		table_settings "$encoder" || die "--encoder $encoder: must be one of those that --help lists"
	fi
	[ -z "$from_features" ] || settings+=(--symbols "$data/units" --set 'augment.speeds=[]')
}

# decode MODEL SET NAME: writes hypotheses to $out/NAME.hyp
decode() { recognise_on "$decode_cmd" "$jobs" "$data/$2" "$out/$3" --model "$1" ${device:+--device "$device"}; }

# Takes the average of the kept epochs or the best epoch, whichever has fewer errors on dev.
choose_final() {
	local best mean
	"$linnet" average --output "$out/average.safetensors" "$out"/epoch-*.safetensors
	decode "$out/model.safetensors" dev dev-best
	decode "$out/average.safetensors" dev dev-average
	best=$(error_rate "$data/dev/phones" "$out/dev-best.hyp")
	mean=$(error_rate "$data/dev/phones" "$out/dev-average.hyp")
	say "dev PER: best epoch $best %, average of $(find "$out" -name 'epoch-*' | wc -l) epochs $mean %"
	if is_below "$mean" "$best"; then
		mv "$out/average.safetensors" "$out/final.safetensors"
	else
		rm "$out/average.safetensors"
		cp "$out/model.safetensors" "$out/final.safetensors"
	fi
}

score_set() {
	decode "$out/final.safetensors" "$1" "$1"
	"$linnet" score --utt2spk "$data/$1/utt2spk" --by-speaker --per-speaker "$out/$1.speakers" \
		--confusions "$out/$1.confusions" --per-utt "$out/$1.utterances" "$data/$1/phones" "$out/$1.hyp" >"$out/$1.score"
	say "$1: $(grep '^%PER' "$out/$1.score")"
}

# score_age NAME LOW HIGH: scores test speakers aged LOW to HIGH years
score_age() {
	awk -v low="$2" -v high="$3" '
		FILENAME == ARGV[1] {if ($2 >= low && $2 <= high) speaker[$1]; next}
		FILENAME == ARGV[2] {if ($2 in speaker) utterance[$1]; next}
		$1 in utterance' "$data/test/spk2age" "$data/test/utt2spk" "$data/test/phones" >"$out/test-$1.phones"
	[ -s "$out/test-$1.phones" ] || return 0
	"$linnet" score --allow-extra "$out/test-$1.phones" "$out/test.hyp" >"$out/test-$1.score" 2>/dev/null
}

table() {
	local set
	echo '| set | PER % | 95 % interval | phones | insertions, deletions, substitutions |'
	echo '|---|---|---|---|---|'
	for set in dev test test-adults test-teens test-children ${unseen_sets[@]+"${unseen_sets[@]}"}; do
		[ -e "$out/$set.score" ] || continue
		awk -v set="$set" '
			/^%PER/ {split($0, f, /[][ ,\/]+/); per = f[2]; n = f[4]; ins = f[5]; del = f[7]; sub_ = f[9]}
			/^95 % interval/ {interval = $4 " to " $6}
			END {printf "| %s | %s | %s | %s | %s, %s, %s |\n", set, per, interval, n, ins, del, sub_}' "$out/$set.score"
	done
}

write_results() {
	cat <<END
# speechocean762, encoder $encoder

- command: \`recipes/speechocean762/run.sh $arguments\`
- commit: $(commit), seed $seed
- processor: $(processor), $jobs threads, products of $(log_kernels "$out")
- $(wc -l <"$data/train/phones") training utterances; $(wc -l <"$out/log.jsonl") epochs, $(log_values "$out" train_seconds | median) s per epoch (median)

$(table)

One thread, from audio to phones, in several ways; weight and bonus were chosen on dev:

$(cat "$out/decode/table.md")

![training](training.svg)

Calibrated confidences are the share of phones that are right:

![reliability](calibration/reliability.svg)
$([ ! -e "$out/decode/calibration/reliability.svg" ] || printf '\n![reliability of words](decode/calibration/reliability.svg)')

| epoch | train loss | dev loss | dev PER % | s |
|---|---|---|---|---|
$(awk 'function value(key) {
		if (!match($0, "\"" key "\": [-0-9.e+]+")) return ""
		return substr($0, RSTART + length(key) + 4, RLENGTH - length(key) - 4) }
	{printf "| %s | %s | %s | %s | %s |\n", value("epoch"), value("train_loss"), value("dev_loss"), value("dev_per"), value("train_seconds")}' "$out/log.jsonl")
END
}

mkdir -p "$out"
build_linnet
if runs 1 && [ -n "$from_features" ]; then
	need_file "$from_features" "run.sh --features-only --pack makes it"
	LINNET=$linnet "$here/local/pack_features.sh" --unpack "$from_features" --out "$data"
fi
choose_conf
if runs 1 && [ -z "$from_features" ]; then
	[ -n "$corpus" ] || die "--corpus DIR is missing: the folder speechocean762 of OpenSLR 101"
	"$here/local/prepare.sh" --corpus "$corpus" --out "$data" --lexicon "$lexicon" \
		${extra[@]+--extra "${extra[@]}"} ${unseen[@]+--unseen "${unseen[@]}"}
	echo "speechocean762 (Zhang et al. 2021, OpenSLR 101, CC BY 4.0)${extra[*]:+ and other folders; see models/english/README.md}" \
		>"$data/provenance"
fi
if [ -n "$features_only" ]; then
	LINNET=$linnet "$here/local/pack_features.sh" --data "$data" --conf "$conf_folder" --out "$exp/features" --pack "$pack" \
		--jobs "$jobs" ${test_utterances:+--test-utterances "$test_utterances"}
	exit
fi
if runs 2; then
	need_file "$data/provenance" "run stage 1 first"
	mkdir -p "$out"
	shards=$(shards_for "$ranks" "$device" "$conf" ${set[@]+"${set[@]}"})
	run_on --ranks "$ranks" "$train_cmd" "$jobs" "$out/train-job" "$linnet" train --precision "$precision" \
		${device:+--device "$device"} --train "$data/train" --dev "$data/dev" --exp "$out" --config "$conf" \
		${settings[@]+"${settings[@]}"} --set "seed=$seed" ${epochs:+--set "epochs=$epochs"} ${shards:+--set "$shards"} \
		${set[@]+"${set[@]/#/--set=}"} --name english-phonemes --licence "CC BY 4.0" --provenance "$(cat "$data/provenance")"
fi
if runs 3; then
	need_file "$out/model.safetensors" "run stage 2 first"
	choose_final
fi
if runs 4; then
	need_file "$out/final.safetensors" "run stage 3 first"
	for set in dev test ${unseen_sets[@]+"${unseen_sets[@]}"}; do score_set "$set"; done
	score_age children 0 12
	score_age teens 13 17
	score_age adults 18 200
fi
if runs 5; then
	need_file "$out/final.safetensors" "run stage 3 first"
	LINNET=$linnet "$here/local/calibrate.sh" --model "$out/final.safetensors" --data "$data" --out "$out/calibration" \
		--jobs "$jobs" --cmd "$decode_cmd"
	say "calibration: $(tail -n 1 "$out/calibration/calibration")"
fi
if runs 6; then
	need_file "$out/calibration/model-half.safetensors" "run stage 5 first"
	LINNET=$linnet "$here/local/decode.sh" --model "$out/calibration/model-half.safetensors" --data "$data" \
		--out "$out/decode" --sets "dev test${unseen_sets[*]:+ ${unseen_sets[*]}}" \
		${text:+--lexicon "$lexicon" --text "$text"}
fi
if runs 7; then
	need_file "$out/test.score" "run stage 4 first"
	need_file "$out/decode/table.md" "run stage 6 first"
	"$here/../common/plot_training.sh" --out "$out/training" "$out"
	into "$out/RESULTS.md" write_results
	say "see $out/RESULTS.md"
fi
