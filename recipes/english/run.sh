#!/bin/bash
# Models of English phones and words from all available speech; see usage.
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=recipes/common/lib.sh
. "$here/../common/lib.sh"
# shellcheck source=recipes/english/local/confidences.sh
. "$here/local/confidences.sh"

usage() {
	cat <<'END'
Usage: run.sh --data DIR [--live] [--librispeech DIR...] [--exp DIR] [--initial FILE] [--teacher FILE]
              [--set KEY=VALUE...] [--objective O] [--epochs N] [--seed S] [--jobs J] [--precision P] [--device D]
              [--ranks N] [--train-cmd TEXT] [--decode-cmd TEXT] [--prune X] [--ship DIR] [--ensemble FOLDER]
              [--stage N] [--stop-stage N] [--quick]

Makes a recognizer of English like the one that ships (models/english): trains one network from random weights, and makes
its language model, lexicon and calibrations. What ships has a longer history and a second model: see RESULTS.md. First
installs missing Debian packages and builds linnet, unless $LINNET names a linnet command.

  1  data folders, pronunciations of words that CMUdict lacks: EXP/data
  2  training: EXP/train; continues an interrupted training
  3  the mean of the best epochs' weights, if it is better on the development sets: EXP/final.safetensors
  4  calibration of phone confidences on these sets: EXP/calibration, and in it model-half.safetensors, the float16 copy to ship
  5  a pruned trigram of the words of --data/text/books.txt.xz, their pronunciations, the priors of the phones, and weights
     tuned on the development sets: EXP/words
  6  calibration of word confidences: EXP/words/calibration/model-half.safetensors replaces the copy to ship
  7  the folder that ships: EXP/english, or --ship
  8  its card, README.md: data and training, as far as stages 1 and 2 wrote them down, and EXP/table.md: error rates on the
     development sets, and false recognitions in noise, and EXP/conditions.md: the same for every sixth utterance under
     other conditions

  --data DIR         speechocean762/, librispeech/{train,dev}/, kathleen/, commonvoice/ (Kaldi data folders), noise/,
                     cmudict/cmudict.dict, text/books.txt.xz
  --live             the recognizer for live speech instead (models/english-live): a causal model with a look-ahead of 230 ms,
                     on the data of EXP/data; all results are in EXP/live. Start it from an offline model with --initial
  --librispeech DIR  more speech to train on: folders of LibriSpeech as published (train-clean-100 ...), or Kaldi data folders;
                     an utterance that --data has, too, is taken once
  --exp DIR          folder for all results (default exp/english)
  --initial FILE     start training from the weights of this model, which must have the same tensors and symbols, and may have
                     fewer layers
  --teacher FILE     with --live: the model also learns from the posteriors of this one, such as the offline model,
                     EXP/final.safetensors
  --set KEY=VALUE    set a key of the configuration, as in linnet train
  --objective O      ctc (default), or ctc-crf: discriminative training with a trigram of the phones of the training data,
                     EXP/train/phones.bin; start it from a trained model with --initial, and with a small learning_rate
  --epochs N         number of epochs (default: that of the configuration)
  --seed S           seed of training (default 1)
  --jobs J           threads (default: one per processor)
  --precision P      precision of products in training: float32, or bfloat16 (default), almost twice as fast on processors that
                     have it
  --device D         device for training (default: that of linnet)
  --ranks N          processes that train together (default 1), started by mpirun, or in a job by srun. The result depends on
                     the key shards, not on N. More than two on the CPU set it to 16 or, if N is larger, to a power of two
                     that is at least N; on GPUs, more than one set it to that power of two; --set shards=S prevails
  --train-cmd TEXT   how to run training: local (default), or a way and its options, such as "slurm --mem 8G --gpus 1": see
                     common/cmd.sh --help. Without --threads, it requests as many as --jobs
  --decode-cmd TEXT  the same for recognition in stages 3 to 7: in stage 3 in 32 parts, each with one thread unless TEXT names
                     more; trials of weights are an array of jobs; the rest are single jobs. Stage 8 measures time, and runs
                     here
  --prune X          threshold of pruning the trigram (default 6.5e-8: 13.6 MB)
  --ship DIR         the folder of stage 7 (default EXP/english; with --live EXP/english-live, beside which english must be)
  --ensemble FOLDER  a finished recognizer beside the folder of stage 7, such as english-live: its model takes part in
                     recognition with weight 0.4 and 0.06 s later (docs/decoding.md); stage 7 then tunes and calibrates both
                     together
  --stage N          begin with this stage (default 1)
  --stop-stage N     end after this stage (default 8)
  --quick            a tiny network, two epochs, no other conditions, only to see that every stage runs; with all of --data
                     it takes some ten minutes
END
}

data='' live='' librispeech=() exp=exp/english initial='' teacher='' set=() objective=ctc epochs='' seed=1 jobs=$(nproc)
precision=bfloat16 device='' ranks=1 train_cmd=local decode_cmd=local prune=6.5e-8 ship='' ensemble='' stage=1 stop_stage=8
take_options "data live! librispeech+ exp initial teacher set+ objective epochs seed jobs precision device ranks train-cmd
	decode-cmd prune ship ensemble stage stop-stage quick!" "$@"
check_stages 8
check_ranks "$ranks"
case $objective in ctc | ctc-crf) ;; *) die "--objective $objective: must be ctc or ctc-crf" ;; esac
check_way --train-cmd "$train_cmd"
check_way --decode-cmd "$decode_cmd"
[ -z "$teacher" ] || [ -n "$live" ] || die "--teacher FILE: needs --live"
conf=$here/conf/conv.json weights='1.0 1.1 1.2 1.4' scales='0.3 0.5 0.7' bonuses='-0.5 0.5' steps='-0.1 0.1'
tuning_beam=200 beam=1200 threshold=16 blank_penalty=0.5
[ -z "$live" ] || conf=$here/conf/live.json beam=800 threshold=15
[ -z "$quick" ] || conf=$here/conf/quick.json weights=0.6 scales=0.5 bonuses='' steps=0.1
root=$exp prepared=$exp/data name=english shared='' special=', "edge_silence": 0.08'
[ -z "$live" ] || exp=$exp/live name=english-live shared=../english/
[ -z "$live" ] || special=', "endpoint": {"restart_seconds": 6}, "partial_interval": 0.06, "emission_delay": 0.05'
[ -z "$live" ] || [ -z "$quick" ] || set=(model.attention=causal-linear model.convolution_lookahead=1 features.cmvn=running
	features.max_silence=0 features.edge_silence=0 ${set[@]+"${set[@]}"})
[ -z "$ensemble" ] || blank_penalty=1
[ -z "$ensemble" ] || [ -z "$live" ] || die "--ensemble $ensemble: the recognizer for live speech cannot have one"
ship=${ship:-$root/$name} sets=(speechocean762-dev librispeech-dev commonvoice)
attribution="speechocean762 (Zhang et al. 2021, OpenSLR 101, CC BY 4.0), LibriSpeech (Panayotov et al. 2015, OpenSLR 12 and 31, \
CC BY 4.0), Kathleen voice (CC0); noises of ESC-10 (Piczak 2015, CC BY 3.0) and Speech Commands (Warden 2018, CC BY 4.0); \
see models/english/README.md"

# note_command FOLDER: writes down for the card what makes the folder
note_command() { into "$1/command" echo "\`recipes/english/run.sh $arguments\`, commit $(commit)"; }

prepare() {
	[ -n "$data" ] || die "--data DIR is missing; see --help"
	LINNET=$linnet "$here/local/prepare.sh" --out "$prepared" --lexicon "$data/cmudict/cmudict.dict" \
		--speechocean762 "$data/speechocean762" --train "$data/librispeech/train" "$data/kathleen" \
		${librispeech[@]+"${librispeech[@]}"} --dev "librispeech-dev=$data/librispeech/dev" "commonvoice=$data/commonvoice" \
		--noise "$data/noise"
	rm -rf "$prepared/speechocean762-dev"
	mv "$prepared/speechocean762/dev" "$prepared/speechocean762-dev"
	note_command "$prepared"
}

# The n-gram of phones whose sequences CTC-CRF compares with the transcripts. 39 phones have no counts of 1 and 2.
phone_ngram() {
	"$linnet" ngram --order 3 --discount-fallback --text <(phone_sentences "$prepared/train") \
		--binary "$exp/train/phones.bin"
}

train() {
	local keys=() key shards
	need_file "$prepared/train/phones" "run stage 1 first"
	for key in ${set[@]+"${set[@]}"}; do keys+=(--set "$key"); done
	mkdir -p "$exp/train"
	has_checkpoint "$exp/train" || note_command "$exp/train"
	if [ "$objective" = ctc-crf ]; then
		[ -e "$exp/train/phones.bin" ] && has_checkpoint "$exp/train" || phone_ngram
		keys+=(--set "objective=$objective" --set "denominator=$exp/train/phones.bin")
	fi
	[ -z "$teacher" ] || keys+=(--set "teacher=$teacher")
	shards=$(shards_for "$ranks" "$device" "$conf" ${set[@]+"${set[@]}"})
	run_on --ranks "$ranks" "$train_cmd" "$jobs" "$exp/train/train-job" "$linnet" train --precision "$precision" \
		${device:+--device "$device"} ${shards:+--set "$shards"} --train "$prepared/train" \
		--dev "$prepared/dev" --exp "$exp/train" --config "$conf" --set "augment.noise.scp=$prepared/noise.scp" \
		--set "seed=$seed" ${epochs:+--set "epochs=$epochs"} ${keys[@]+"${keys[@]}"} \
		${initial:+--initial "$initial"} --name "$name-phonemes" --licence "CC BY 4.0" \
		--provenance "$attribution"
}

# decode MODEL: the error rate on the development sets
decode() {
	recognise_on "$decode_cmd" "$jobs" "$prepared/dev" "$exp/dev" --model "$1"
	error_rate "$prepared/dev/phones" "$exp/dev.hyp"
}

# Takes the average of the kept epochs or the best epoch, whichever has fewer errors.
choose_final() {
	local best mean
	need_file "$exp/train/model.safetensors" "run stage 2 first"
	"$linnet" average --output "$exp/average.safetensors" "$exp"/train/epoch-*.safetensors
	best=$(decode "$exp/train/model.safetensors")
	mean=$(decode "$exp/average.safetensors")
	say "phone error rate: best epoch $best %, average $mean %"
	cp "$exp/train/model.safetensors" "$exp/final.safetensors"
	! is_below "$mean" "$best" || cp "$exp/average.safetensors" "$exp/final.safetensors"
}

# by_decode_cmd JOB COMMAND...: runs a command of linnet where --decode-cmd says
by_decode_cmd() { run_on "$decode_cmd" "$jobs" "$1-job" "$linnet" "${@:2}"; }

# calibrate MODEL OUT REFERENCE [OPTION...]: writes OUT/model-half.safetensors
calibrate() {
	local unit=()
	mkdir -p "$2"
	[ "$3" = phones ] || unit=(--words)
	by_decode_cmd "$2/dev" transcribe --model "$1" --data "$prepared/dev" --format json --output "$2/dev.json" "${@:4}"
	into "$2/calibration" "$linnet" calibrate --model "$1" ${unit[@]+"${unit[@]}"} --half --output "$2/model-half.safetensors" \
		"$prepared/dev/$3" "$2/dev.json"
	say "$(tail -n 1 "$2/calibration")"
}

# Sets search to the options of the search for words, with a weight, a bonus and a scale of the priors.
search_options() {
	search=(--words --lexicon "$exp/words/lexicon.txt" --lm "$exp/words/lm.bin" --lm-weight "$1" --word-bonus "$2"
		--priors "$exp/words/priors.txt" --prior-scale "$3" --beam "$beam" --score-threshold "$threshold")
}

# trials POSTERIORS REFERENCE <LINES: searches with each line "WEIGHT BONUS SCALE" and the beam for tuning; prints lines
# "ERROR WEIGHT BONUS SCALE", the best first
trials() {
	local folder=$exp/words/trials beam=$tuning_beam search weight bonus scale rate
	rm -rf "$folder"
	mkdir "$folder"
	cat >"$folder/lines"
	search_options '{1}' '{2}' '{3}'
	run_on --lines "$folder/lines" "$decode_cmd" "$jobs" "$folder/log" "$linnet" decode --symbols "$exp/words/symbols" \
		"${search[@]}" --output "$folder/{1},{2},{3}.hyp" "$1"
	while read -r weight bonus scale; do
		rate=$(error_rate "$2" "$folder/$weight,$bonus,$scale.hyp" --unit word)
		echo "$rate $weight $bonus $scale"
	done <"$folder/lines" | sort -s -g
}

# Tries all weights and scales on every third utterance of the development sets.
tune_third() {
	local weight scale
	for weight in $weights; do
		for scale in $scales; do echo "$weight 0 $scale"; done
	done | trials "scp:$exp/words/third.scp" "$exp/words/third"
}

# Tries the best of these, and changes of one of its numbers, on all utterances.
tune() {
	local weight scale bonus step
	read -r _ weight _ scale <"$exp/words/tuning-third"
	{
		echo "$weight 0 $scale"
		for bonus in $bonuses; do echo "$weight $bonus $scale"; done
		for step in $steps; do
			echo "$(sum "$weight" "$step") 0 $scale"
			echo "$weight 0 $(sum "$scale" "$step")"
		done
	} | trials "ark:$exp/words/dev.ark" "$prepared/dev/text"
}

sum() { awk -v a="$1" -v b="$2" 'BEGIN {printf "%.3g\n", a + b}'; }

# priors MODEL: writes the mean posteriors of every fourth training utterance
priors() {
	local part=$exp/words/train
	mkdir -p "$part"
	into "$part/wav.scp" awk 'NR % 4 == 0' "$prepared/train/wav.scp"
	into "$part/utt2spk" select_lines "$part/wav.scp" "$prepared/train/utt2spk"
	by_decode_cmd "$exp/words/priors" posteriors --model "$1" --data "$part" --estimate-priors "$exp/words/priors.txt"
}

# pronunciations MODEL: writes how probable each pronunciation is into the lexicon, from the utterances of priors()
pronunciations() {
	local part=$exp/words/train plain=$exp/words/plain.txt
	[ -e "$plain" ] || cp "$exp/words/lexicon.txt" "$plain"
	select_lines "$part/wav.scp" "$prepared/train/text" | awk 'NF > 1' >"$part/text"
	into "$part/wav.scp" select_lines "$part/text" "$part/wav.scp"
	into "$part/utt2spk" select_lines "$part/text" "$part/utt2spk"
	rm -f "$exp/words/train.json"
	by_decode_cmd "$exp/words/train" align --model "$1" --skip-unknown --data "$part" --lexicon "$plain" --format json \
		--output "$exp/words/train.json" 2>"$exp/words/train.log" || say "not all utterances were aligned: see $exp/words/train.log"
	into "$exp/words/lexicon.txt" awk -f "$here/local/pronunciations.awk" "$plain" "$exp/words/train.json"
}

# Makes the language model, and the pronunciations of its words: from CMUdict, or guesses for words that the text has at
# least three times, without Roman numerals. Words that only the development sets have are not among them.
language() {
	rm -f "$exp/words/lm.settings"
	xz -dc "$data/text/books.txt.xz" >"$exp/words/books.txt"
	into "$exp/words/counts" awk '{for (i = 1; i <= NF; i++) count[$i]++} END {for (word in count) print word, count[word]}' \
		"$exp/words/books.txt"
	"$linnet" g2p --model "$prepared/g2p.bin" --complete "$data/cmudict/cmudict.dict" \
		--text <(awk -f "$here/local/guessed.awk" "$exp/words/counts") --output "$exp/words/all.txt"
	into "$exp/words/lexicon.txt" awk -f "$here/local/vocabulary.awk" "$exp/words/counts" "$exp/words/all.txt"
	"$linnet" ngram --order 3 ${quick:+--discount-fallback} --text "$exp/words/books.txt" --prune "$prune" --quantize \
		--binary "$exp/words/lm.bin"
	rm -f "$exp/words/books.txt" "$exp/words/all.txt" "$exp/words/plain.txt"
	into "$exp/words/lm.settings" language_settings
}

# What language model and lexicon depend on
language_settings() {
	echo "pruned with $prune, text $(cksum <"$data/text/books.txt.xz"), dictionary $(cksum <"$data/cmudict/cmudict.dict")," \
		"model of pronunciations $(cksum <"$prepared/g2p.bin")"
}

# Whether the language model was made of the same.
has_language() {
	[ -e "$exp/words/lm.bin" ] && [ "$(cat "$exp/words/lm.settings" 2>/dev/null)" = "$(language_settings)" ]
}

words() {
	local model=$exp/calibration/model-half.safetensors
	need_file "$model" "run stage 4 first"
	mkdir -p "$exp/words"
	if [ -n "$live" ]; then
		need_file "$root/words/lm.bin" "run stage 5 without --live first"
		ln -sf "$(realpath "$root/words/lm.bin")" "$(realpath "$root/words/lexicon.txt")" "$exp/words/"
	else
		need_file "$data/text/books.txt.xz" "--data names a folder with text/books.txt.xz"
		need_file "$data/cmudict/cmudict.dict" "--data names a folder with cmudict/cmudict.dict"
		need_file "$prepared/g2p.bin" "run stage 1 first"
		has_language || language
	fi
	into "$exp/words/symbols" "$linnet" info --symbols "$model"
	priors "$model"
	[ -n "$live" ] || pronunciations "$model"
	tune_words "$model"
}

# tune_words MODEL: tunes the search for words with its posteriors
tune_words() {
	by_decode_cmd "$exp/words/dev" posteriors --model "$1" --data "$prepared/dev" --out "$exp/words/dev.ark" --scp "$exp/words/dev.scp"
	into "$exp/words/third.scp" awk 'NR % 3 == 1' "$exp/words/dev.scp"
	into "$exp/words/third" select_lines "$exp/words/third.scp" "$prepared/dev/text"
	into "$exp/words/tuning-third" tune_third
	into "$exp/words/tuning" tune
	say "words: $(head -n 1 "$exp/words/tuning") (error, weight, bonus, scale of the priors)"
}

calibrate_words() {
	local weight bonus scale search
	need_file "$exp/words/tuning" "run stage 5 first"
	read -r _ weight bonus scale <"$exp/words/tuning"
	search_options "$weight" "$bonus" "$scale"
	calibrate "$exp/calibration/model-half.safetensors" "$exp/words/calibration" text "${search[@]}"
}

# Prints the card. That of a recognizer that ships with linnet was written by hand: only its tables are new, between lines
# "<!-- NAME -->" and "<!-- end -->".
card() {
	[ "$ship" -ef "$linnet_root/models/$name" ] || {
		LINNET=$linnet "$here/local/card.sh" --folder "$ship" --exp "$exp" --data "$prepared" --language "$root/words"
		return
	}
	awk -v folder="$exp" '
		/^<!-- end -->$/ {inside = 0}
		!inside
		/^<!-- [a-z]+ -->$/ && $2 != "end" {
			file = folder "/" $2 ".md"
			while ((getline line < file) > 0) {
				if (!inside) print ""
				inside = 1
				print line
			}
			if (inside) print ""
		}' "$linnet_root/models/$name/README.md"
}

# assemble_language FOLDER: installs lexicon and language model, which the recognizer for live speech shares
assemble_language() {
	need_file "$data/cmudict/LICENSE" "--data names a folder with cmudict/LICENSE"
	install -m 644 "$exp/words/lm.bin" "$1/words.bin"
	install -m 644 "$exp/words/lexicon.txt" "$prepared/g2p.bin" "$linnet_root/models/english/text.rules" "$1"
	install -m 644 "$data/cmudict/LICENSE" "$1/lexicon-licence.txt"
}

# write_settings [KEYS]: the settings of the recognizer, with more keys
write_settings() {
	local weight bonus scale
	read -r _ weight bonus scale <"$exp/words/tuning"
	cat >"$ship/recognizer.json" <<-END
		{"model": "phones.safetensors", "search": "words", "lexicon": "${shared}lexicon.txt",
		 "language_model": "${shared}words.bin", "g2p": "${shared}g2p.bin", "language_model_weight": $weight, "word_bonus": $bonus, "beam": $beam,
		 "score_threshold": $threshold, "priors": "priors.txt", "prior_scale": $scale, "blank_penalty": $blank_penalty$special${1:-}}
	END
}

# ensemble_keys PHONES WORDS: the keys of the ensemble, and its calibrations
ensemble_keys() {
	printf ',\n "ensemble_model": "../%s/phones.safetensors", "ensemble_weight": 0.4, "ensemble_delay": 0.06,\n' "$ensemble"
	printf ' "confidence": %s, "word_confidence": %s' "$1" "$2"
}

# calibrate_ensemble phones|words: the calibration of the recognizer that ships, whose confidences must be uncalibrated
calibrate_ensemble() {
	by_decode_cmd "$exp/words/ensemble" transcribe --model "$ship" --data "$prepared/dev" "--$1" --format json \
		--output "$exp/words/ensemble.json"
	compare_confidences "$ship" "$prepared/dev" "$1" "$exp/words/ensemble.json" |
		tee "$exp/words/ensemble.$1" | tail -n 1
}

# Writes the settings of the ensemble: its search is tuned, and its confidences are calibrated, on the development sets.
make_ensemble() {
	local unchanged='{"slope": 1, "offset": 0}' phones words
	write_settings "$(ensemble_keys "$unchanged" "$unchanged")"
	tune_words "$ship"
	write_settings "$(ensemble_keys "$unchanged" "$unchanged")"
	phones=$(calibrate_ensemble phones)
	words=$(calibrate_ensemble words)
	write_settings "$(ensemble_keys "$phones" "$words")"
}

# Makes the folder that ships, but for its card.
assemble() {
	local to=$ship bytes
	need_file "$exp/words/calibration/model-half.safetensors" "run stage 6 first"
	mkdir -p "$to"
	install -m 644 "$exp/words/calibration/model-half.safetensors" "$to/phones.safetensors"
	install -m 644 "$exp/words/priors.txt" "$to"
	[ -n "$live" ] || assemble_language "$to"
	if [ -n "$ensemble" ]; then make_ensemble; else write_settings; fi
	bytes=$(cat "$to"/* | wc -c)
	[ "$bytes" -le 30000000 ] || die "$to has $bytes bytes; it must have at most 30 MB: raise --prune and run from stage 5 again"
	say "$to: $bytes bytes"
}

# evaluate FOLDER OPTION...: makes the table of the development sets
evaluate() {
	local some=() name
	for name in "${sets[@]}"; do some+=("$name=$prepared/$name"); done
	LINNET=$linnet "$here/evaluate.sh" --model "$ship" --set "${some[@]}" --lexicon "$exp/words/lexicon.txt" \
		--noise "$prepared/noise-held-out.scp" ${live:+--endpoints} --threads "$jobs" --out "$exp/$1" "${@:2}"
}

# Scores all utterances as recorded, and every sixth utterance under other conditions.
table() {
	need_file "$ship/recognizer.json" "run stage 7 first"
	into "$exp/table.md" evaluate table
	[ -n "$quick" ] || into "$exp/conditions.md" evaluate conditions --every 6 --conditions
	into "$ship/README.md" card
	say "see $ship/README.md"
}

# What stage 7 needs beside the folder that it makes; the other stages take hours.
check_companions() {
	local beside
	beside=$(dirname "$(realpath -m "$ship")")
	[ -z "$live" ] || [ -e "$beside/english/recognizer.json" ] || die "$beside/english/recognizer.json is missing: the folder" \
		"english beside $ship has the lexicon and language model of both: make it first, without --live (--ship $beside/english)"
	[ -z "$ensemble" ] || { [ -e "$beside/$ensemble/recognizer.json" ] && [ -e "$beside/$ensemble/phones.safetensors" ]; } ||
		die "--ensemble $ensemble: $beside/$ensemble is no finished recognizer (recognizer.json, phones.safetensors): make it" \
			"first, with --live to the end of stage 7"
}

mkdir -p "$exp"
! runs 7 || check_companions
build_linnet
if runs 1; then prepare; fi
if runs 2; then train; fi
if runs 3; then choose_final; fi
if runs 4; then calibrate "$exp/final.safetensors" "$exp/calibration" phones; fi
if runs 5; then words; fi
if runs 6; then calibrate_words; fi
if runs 7; then assemble; fi
if runs 8; then table; fi
