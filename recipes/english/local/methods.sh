#!/bin/bash
# Compares methods of training by small networks; see usage.
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=recipes/common/lib.sh
. "$here/../../common/lib.sh"

usage() {
	cat <<'END'
Usage: methods.sh --data DIR --out DIR [--rows "NAME..."] [--seeds "S..."] [--times DIR] [--jobs J]
                  [--quick]
       methods.sh --list

Trains a small network for each method and seed: the configuration conf/methods.json with a few keys changed, on the
training utterances of at most 60 phones that run.sh prepared, for 8 epochs from random weights. Prints a table: phone
error rates of every third utterance of the development sets as recorded, with noise 10 dB below the speech and with
the band of a telephone, deletions and insertions, boundaries of phones on speech whose times are known, and the
processor time of the training. A row stands for the mean of its seeds. Finished trainings are not repeated; those of other
data, keys or of another configuration are refused. First installs missing packages and builds linnet, unless $LINNET
names a linnet command.

  --data DIR     EXP/data of run.sh, after its stage 1
  --out DIR      folder for all results
  --rows NAMES   the rows to train, in this order (default: all)
  --seeds SEEDS  the seeds of each row (default "1 2")
  --times DIR    data folder with phones.ctm and words.ctm, as measure_boundaries.py --work writes it (needs python3)
  --jobs J       trainings at a time, each with one thread (default: one per processor)
  --quick        a tiny network and one epoch, only to see that everything runs
  --list         print the names of the rows and their keys
END
}

# Name, labels, training set, and what it changes. Labels and sets other than "phones" and "short" are made below.
methods() {
	cat <<'END'
base phones short
lr-1e-3 phones short learning_rate=1e-3
lr-4e-3 phones short learning_rate=4e-3
clip-0.3 phones short clip_norm=0.3
clip-none phones short clip_norm=0
plateau phones short schedule=plateau
layers-8 phones short model.layers=8
layers-12 phones short model.layers=12
width-256 phones short model.width=256 model.heads=8 model.feed_forward=1024
kernel-31 phones short model.convolution=31
stack-3 phones short model.stack=3
stack-2 phones short model.stack=2
masks-none phones short augment.specaugment.frequency_masks=0 augment.specaugment.time_masks=0
masks-strong phones short augment.specaugment.max_frequency=10 augment.specaugment.time_masks=8
speeds phones short augment.speeds=[0.9,1.0,1.1]
level phones short augment.level.probability=0.3
noise phones short augment.noise.scp=NOISE augment.noise.probability=0.3 augment.noise.snr_low=5 augment.noise.snr_high=25
babble phones short augment.noise.scp=BABBLE augment.noise.probability=0.3 augment.noise.snr_low=5 augment.noise.snr_high=25
room phones short augment.room.probability=0.3
band phones short augment.band.probability=0.3
padding phones short augment.padding.probability=0.3
joined phones joined
average phones short average_decay=0.995
consistency phones short consistency=0.2
consistency-masks phones short consistency=0.2 augment.specaugment.max_frequency=10 augment.specaugment.time_masks=8
intermediate phones short intermediate_ctc=2
frames-0.1 phones short frame_targets=TARGETS frame_weight=0.1
frames-0.3 phones short frame_targets=TARGETS frame_weight=0.3
states states short model.stack=2
biphones biphones short
pseudo phones pseudo
pseudo-true phones longer
base-11 phones short epochs=11
END
}

data='' out='' rows='' seeds='1 2' times='' jobs=$(nproc) list=''
take_options "data out rows seeds times jobs list! quick!" "$@"
[ -z "$list" ] || {
	methods
	exit
}
[ -n "$data" ] && [ -n "$out" ] || {
	usage >&2
	exit 2
}
need_file "$data/train/phones" "--data is EXP/data of run.sh after its stage 1"
rows=${rows:-$(methods | awk '{print $1}')}
longest=60 tiny=() # phones of the training utterances
conf=$here/../conf/methods.json
[ -z "$quick" ] || longest=13 tiny=(--set epochs=1 --set model.layers=1 --set model.width=32 --set model.heads=2 --set model.feed_forward=64)
build_linnet
mkdir -p "$out"

# part FROM TO CONDITION: the utterances of a data folder whose line in phones fits an awk condition
part() {
	[ -e "$2/wav.scp" ] && return
	mkdir -p "$2"
	into "$2/list" awk "$3 {print \$1}" "$1/phones"
	select_utterances "$1" "$2" "$2/list"
}

# Label files of other units: two states for each phone; phones after the class of the phone before.
other_labels() { # PHONES
	into "$1/states" awk '{printf "%s", $1; for (i = 2; i <= NF; i++) printf " %s_1 %s_2", $i, $i; print ""}' "$1/phones"
	into "$1/biphones" awk '
		BEGIN {
			split("P B T D K G:F V TH DH S Z SH ZH HH CH JH:M N NG:L R W Y", kinds, ":")
			for (k in kinds) {n = split(kinds[k], some, " "); for (i = 1; i <= n; i++) class[some[i]] = k}
		}
		{
			before = "start"
			printf "%s", $1
			for (i = 2; i <= NF; i++) {printf " %s-%s", before, $i; before = $i in class ? class[$i] : "vowel"}
			print ""
		}' "$1/phones"
}

# to_phones LABELS FILE: recognised units as phones
to_phones() {
	case $1 in
	states) awk '{out = $1; before = ""; for (i = 2; i <= NF; i++) {p = $i; sub(/_[12]$/, "", p)
		if (!($i ~ /_2$/ && before == p "_1")) out = out " " p; before = $i} print out}' "$2" ;;
	*) sed 's/ [a-z0-9]*-/ /g' "$2" ;;
	esac
}

# What the data of all rows are made of
data_settings() {
	echo "training utterances of at most $longest phones, train/phones $(cksum <"$data/train/phones")," \
		"dev/phones $(cksum <"$data/dev/phones")"
}

# Refuses a folder that was begun with other data.
check_data() {
	local file=$out/data.settings
	[ -e "$out/short" ] || into "$file" data_settings
	same_settings "$out" "$(cat "$file" 2>/dev/null || echo unknown)" "$(data_settings)" 'or choose another --out'
}

# row_of NAME: its line; what its training depends on, besides the seed and the data
row_of() { methods | awk -v row="$1" '$1 == row'; }

# row_settings NAME
row_settings() { echo "$(row_of "$1")${tiny[*]:+ ${tiny[*]}}; configuration $(cksum <"$conf")"; }

# prepare: the data that every row needs
prepare() {
	local folder
	check_data
	part "$data/train" "$out/short" "NF > 1 && NF <= $((longest + 1))"
	part "$data/dev" "$out/dev" 'NF > 1 && ++n % 3 == 0'
	for folder in short dev; do other_labels "$out/$folder"; done
	condition dev noise --snr 10 --noise "$data/noise-held-out.scp"
	condition dev band --low 300 --high 3400
}

# condition FROM TO OPTION...: a data folder as linnet-condition changes it
condition() {
	local program=${LINNET_CONDITION:-} to=$out/$2.new
	[ ! -e "$out/$2" ] || return 0
	[ -n "$program" ] || program=$(build_program linnet_condition linnet-condition)
	rm -rf "$to"
	mkdir -p "$to/audio"
	into "$to/list" numbered "$out/$1/wav.scp"
	"$program" --list "$to/list" --out "$to/audio" "${@:3}"
	into "$to/wav.scp" numbered_audio "$out/$1/wav.scp" "$(cd "$out" && pwd)/$2/audio"
	cp "$out/$1/phones" "$out/$1/utt2spk" "$to/"
	mv "$to" "$out/$2"
}

# babble: clips of three or four voices, of every ninth training utterance
babble() {
	[ ! -e "$out/babble" ] || return 0
	part "$out/short" "$out/voices" 'NR % 9 == 1'
	condition voices pairs --snr 0 --noise "$out/voices/wav.scp"
	condition pairs babble --snr 0 --noise "$out/pairs/wav.scp"
}

# join_lines FILE: of every four lines the first two as one, without the id of the second
join_lines() {
	awk 'NR % 4 == 1 {line = $0; next} NR % 4 == 2 {$1 = ""; $0 = line $0} {print} END {if (NR % 4 == 1) print line}' "$1"
}

# joined: the training data, with two of every four utterances as one, the second behind the first
joined() {
	local to=$out/joined.new id first second number=0
	[ ! -e "$out/joined" ] || return 0
	condition short plain
	rm -rf "$to"
	mkdir -p "$to/audio"
	join_lines "$out/plain/phones" >"$to/phones"
	join_lines "$out/plain/utt2spk" | awk '{print $1, $2}' >"$to/utt2spk"
	join_lines "$out/plain/wav.scp" | while read -r id first second; do
		if [ -n "$second" ]; then
			number=$((number + 1))
			sox "$first" "$second" "$to/audio/$number.wav"
			first=$(cd "$out" && pwd)/joined/audio/$number.wav
		fi
		echo "$id $first"
	done >"$to/wav.scp"
	mv "$to" "$out/joined"
}

# more_speech: longer utterances, with true phones ("longer") and with those that the first training recognises ("pseudo")
more_speech() {
	local folder file
	[ -e "$out/pseudo/phones" ] && return
	rm -rf "$out/long" "$out/longer" "$out/pseudo"
	part "$data/train" "$out/long" "NF > $((longest + 1)) && NF <= $((2 * longest + 1))"
	"$linnet" transcribe --phones --threads "$jobs" --model "$out/base-1/model.safetensors" --data "$out/long" \
		--output "$out/long/pseudo" 2>"$out/long/log"
	for folder in longer pseudo; do
		mkdir "$out/$folder"
		for file in wav.scp utt2spk; do sort "$out/short/$file" "$out/long/$file" >"$out/$folder/$file"; done
	done
	sort "$out/short/phones" "$out/long/phones" >"$out/longer/phones"
	sort "$out/short/phones" "$out/long/pseudo" >"$out/pseudo/phones"
}

# targets: times of the phones of the training data, by the first training
targets() {
	[ -e "$out/targets.ctm" ] || into "$out/targets.ctm" "$linnet" align --threads "$jobs" --data "$out/short" \
		--model "$out/base-1/model.safetensors" --unit phone --format ctm 2>"$out/targets.log"
}

# symbols SET LABELS: the units of the training and development labels. A small training set may lack some.
symbols() { cat "$out/$1/$2" "$out/dev/$2" | awk '{for (i = 2; i <= NF; i++) print $i}' | sort -u; }

# train NAME LABELS SET SEED KEY...: one training, and what it recognises, in OUT/NAME-SEED
train() {
	local exp=$out/$1-$4 keys=() key set
	for key in "${@:5}"; do
		key=${key/NOISE/$data/noise.scp}
		key=${key/BABBLE/$out/babble/wav.scp}
		keys+=(--set "${key/TARGETS/$out/targets.ctm}")
	done
	mkdir -p "$exp"
	into "$exp/training.settings" row_settings "$1"
	into "$exp/symbols" symbols "$3" "$2"
	"$linnet" train --train "$out/$3" --dev "$out/dev" --labels "$2" --symbols "$exp/symbols" --exp "$exp" --config "$conf" \
		--precision bfloat16 --threads 1 --set "seed=$4" ${keys[@]+"${keys[@]}"} ${tiny[@]+"${tiny[@]}"} 2>"$exp/log" ||
		die "$exp: $(tail -n 1 "$exp/log")"
	for set in dev noise band; do
		"$linnet" transcribe --phones --threads 1 --model "$exp/model.safetensors" --data "$out/$set" \
			--output "$exp/$set.$2" 2>"$exp/$set.log"
		[ "$2" = phones ] || to_phones "$2" "$exp/$set.$2" >"$exp/$set.phones"
		"$linnet" score --bootstrap 0 "$out/$set/phones" "$exp/$set.phones" >"$exp/$set.score"
	done
	[ -z "$times" ] || [ "$2" != phones ] || boundaries "$exp"
	into "$exp/training.done" date
}

# boundaries EXP: the table of the errors of times
boundaries() {
	mkdir -p "$1/recognizer"
	cp "$1/model.safetensors" "$1/recognizer/"
	echo "{\"model\": \"model.safetensors\", \"search\": \"words\", \"lexicon\": \"$(realpath "$data/lexicon.txt")\", \"beam\": 10}" \
		>"$1/recognizer/recognizer.json"
	into "$1/times.md" python3 "$here/measure_boundaries.py" "$linnet" --data "$times" --model "$1/recognizer" 2>"$1/times.log" ||
		die "$1: $(tail -n 1 "$1/times.log")"
}

wait_for_one() {
	wait -n || failed=1
	running=$((running - 1))
}

# train_all SEED ROW...: the trainings of these rows that have not finished, --jobs at a time
train_all() {
	local row fields=() running=0 failed=''
	for row in "${@:2}"; do
		[ -n "$(row_of "$row")" ] || die "--rows $row: there is no such row; see --list"
		[ ! -e "$out/$row-$1/training.done" ] ||
			same_settings "$out/$row-$1" "$(<"$out/$row-$1/training.settings")" "$(row_settings "$row")" \
				'remove this folder, or choose another --out'
	done
	for row in "${@:2}"; do
		read -r -a fields < <(row_of "$row")
		[ ! -e "$out/$row-$1/training.done" ] || continue
		[ "$running" -lt "$jobs" ] || wait_for_one
		say "training $row, seed $1"
		train "${fields[@]:0:3}" "$1" "${fields[@]:3}" &
		running=$((running + 1))
	done
	while [ "$running" -gt 0 ]; do wait_for_one; done
	[ -z "$failed" ] || die "not all trainings have finished"
}

# rate EXP SET: the phone error rate
rate() { awk '/^%PER/ {print $2}' "$1/$2.score"; }

# by_corpus EXP CORPUS: the error rate of the development utterances of one corpus
by_corpus() {
	select_utterances "$out/dev" "$out/dev-$2" "$data/$2/wav.scp"
	"$linnet" score --bootstrap 0 "$out/dev-$2/phones" <(select_lines "$out/dev-$2/phones" "$1/dev.phones") | awk '/^%PER/ {print $2}'
}

# boundary EXP WHAT: the mean size of errors of times of flite's speech, in ms
boundary() {
	[ -e "$1/times.md" ] && awk -F ' *[|] *' -v what="$2" '$3 == what {print $6; exit}' "$1/times.md" || echo -
}

# line EXP: the numbers of one training
line() {
	local corpus set
	printf '%s' "$(rate "$1" dev)"
	for corpus in librispeech-dev commonvoice speechocean762-dev; do printf ' %s' "$(by_corpus "$1" "$corpus")"; done
	for set in noise band; do printf ' %s' "$(rate "$1" $set)"; done
	printf ' %s' "$(awk '/^%PER/ {print $9, $7}' "$1/dev.score")"
	printf ' %s' "$(boundary "$1" 'phones, aligned, start')" "$(boundary "$1" 'phones, greedy, start')"
	printf ' %s %s\n' "$(log_values "$1" train_loss | tail -n 1)" "$(log_values "$1" dev_loss | tail -n 1)"
}

# table: a row for each method, with the mean of its seeds
table() {
	local row seed
	echo '| method | PER % of each seed | mean | LibriSpeech | Common Voice | speechocean762 | noise, 10 dB | telephone | deletions | insertions | aligned, ms | greedy, ms | train loss | dev loss |'
	echo '|---|---|---|---|---|---|---|---|---|---|---|---|---|---|'
	for row in $rows; do
		for seed in $seeds; do
			[ ! -e "$out/$row-$seed/training.done" ] || line "$out/$row-$seed"
		done | awk -v row="$row" '
			{for (i = 1; i <= NF; i++) if ($i == "-") missing[i] = 1; else sum[i] += $i; n = NF}
			{seeds = seeds (NR > 1 ? ", " : "") $1}
			END {
				if (!NR) exit
				printf "| %s | %s |", row, seeds
				for (i = 1; i <= n; i++) printf missing[i] ? " |" : " %.*f |", i <= 6 ? 2 : i <= 10 ? 0 : 3, sum[i] / NR
				print ""
			}'
	done
}

case " $rows " in *frames-*) need_targets=1 ;; *) need_targets='' ;; esac
case " $rows " in *pseudo*) need_speech=1 ;; *) need_speech='' ;; esac
prepare
case " $rows " in *" babble "*) babble ;; esac
case " $rows " in *" joined "*) joined ;; esac
[ -z "$need_targets$need_speech" ] || train_all 1 base
[ -z "$need_targets" ] || targets
[ -z "$need_speech" ] || more_speech
for seed in $seeds; do
	# shellcheck disable=SC2086
	train_all "$seed" $rows
done
table
