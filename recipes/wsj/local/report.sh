#!/bin/bash
# The report of the WSJ recipe; see usage.
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=recipes/common/lib.sh
. "$here/../../common/lib.sh"

usage() {
	cat <<'END'
Usage: report.sh --exp DIR [--command TEXT]

Compares the trained and scored encoders in EXP with the published figures. Writes EXP/RESULTS.md, EXP/index.html (one
page, with the plots) and EXP/training.svg.
END
}

exp='' command=recipes/wsj/run.sh
take_options "exp command" "$@"
[ -n "$exp" ] || {
	usage >&2
	exit 2
}

# Table 3 of the paper: PER %, seconds per epoch.
published() {
	case "$1" in
	blstm) echo '10.94 1047' ;;
	softmax) echo '5.12 2711' ;;
	lsh-4) echo '9.33 2250' ;;
	linear) echo '8.08 824' ;;
	*) echo '- -' ;;
	esac
}

per() { rate_of "$exp/$1/$2.$3.score"; }

# units_of NAME: the number of units of the model, without the blank
units_of() { "$linnet" info --symbols "$exp/$1/model.safetensors" | awk '!/^</ {n++} END {print n + 0}'; }

# The paper trains on train_si284; its figures are those of the validation set.
paper_row() {
	local rate seconds set title=$1
	set=$(cut -d , -f 1 "$exp/$1/settings" 2>/dev/null) || set=train_si284
	[ "$set" = train_si284 ] || title="$1, $set"
	read -r rate seconds <<<"$(published "$1")"
	printf '| %s | %s | %s | %s | %s | %s | %s |\n' "$title" "$(units_of "$1")" "$(per "$1" test_dev93 greedy.units)" "$rate" \
		"$(log_values "$exp/$1" train_seconds | median)" "$seconds" "$(wc -l <"$exp/$1/log.jsonl")"
}

# rate_row NAME SEARCH KIND
rate_row() {
	local set row=''
	for set in "${sets[@]}"; do row+=" $(per "$1" "$set" "$2.$3") |"; done
	echo "| $1 | $2 | $3 |$row"
}

# The head of a table of error rates.
rate_head() {
	printf '| encoder | search | symbols |'
	printf ' %s |' "${sets[@]#test_}"
	printf '\n|---|---|---|'
	for _ in "${sets[@]}"; do printf -- '---|'; done
	echo
}

# eesen's published word error rates, in the columns of the table
eesen_row() {
	local set row=''
	for set in "${sets[@]}"; do
		case "$set" in
		test_dev93) row+=' 10.87 |' ;;
		test_eval92) row+=' 7.28 |' ;;
		*) row+=' - |' ;;
		esac
	done
	echo "| eesen, published | WFST | words |$row"
}

# Prints nothing if there was no search for words.
words_table() {
	local name
	ls "$exp"/*/test_*.words.words.score >/dev/null 2>&1 || return 0
	cat <<END

## Word error rates

Percent, with the corpus's trigram of 20 000 words; noises do not count. eesen is a Bi-LSTM on 71 units (phones with stress)
and a WFST with the trigram; it publishes no figure for eval93.

$(rate_head)
$(for name in "${names[@]}"; do rate_row "$name" words words; done)
$(eesen_row)
END
}

checked() {
	local with
	with=$(grep -l '^sclite: the same' "$exp"/*/*.score 2>/dev/null | wc -l)
	echo "$with of $(find "$exp" -mindepth 2 -maxdepth 2 -name '*.score' | wc -l) scores were counted by NIST sclite as well, with the same result"
}

model_line() {
	echo "- $1: $(cat "$exp/$1/settings" 2>/dev/null || echo 'settings not recorded'); $(units_of "$1") units; products of $(log_kernels "$exp/$1"), $("$linnet" info "$exp/$1/model.safetensors" | awk '$1 == "parameters" {print $2}') parameters, peak memory in training" \
		"$(log_values "$exp/$1" peak_megabytes | median) MB; weight and bonus of the phone n-gram $(cut -d ' ' -f 1,2 "$exp/$1/tuned.beam" | tr ' ' ','), chosen on $(tuned_on);" \
		"test sets scored $(wc -l <"$exp/$1/scored" 2>/dev/null || echo 0) times"
}

# The set on which search weights were tuned
tuned_on() { if [ -s "$exp/data/test_dev93/text" ]; then echo dev93; else echo train_cv05; fi; }

# Lines of set, utterances with features, published utterances
usable() {
	local set found expected
	while IFS=$'\t' read -r set found expected _; do
		[ ! -e "$exp/feats/$set/feats.scp" ] || found=$(wc -l <"$exp/feats/$set/feats.scp")
		printf '%s\t%s\t%s\n' "$set" "$found" "$expected"
	done <"$exp/data/local/counts"
}

# Prints the sets, and the expected counts of incomplete ones.
counts() {
	usable | awk -F '\t' '{
		incomplete = $3 != "-" && $2 != $3 ? " of " $3 " (incomplete)" : ""
		printf "%s%s %d%s", (NR > 1 ? ", " : ""), $1, $2, incomplete}'
}

# The length of the features, a frame every 10 ms
hours() {
	awk '{
		set = FILENAME
		sub(/\/frames$/, "", set)
		sub(/.*\//, "", set)
		printf "%s%s %.2f hours (%d frames)", (NR > 1 ? ", " : ""), set, $2 / 360000, $2}' "$exp"/feats/*/frames
}

write_report() {
	local name search kind
	cat <<END
# Phonemes of the Wall Street Journal corpus

- command: \`$command\`
- commit: $(commit), $("$linnet" --version)
- machine: $(processor), $(nproc) processors, $(uname -sr)
- utterances: $(counts)
- features: $(hours)
- $(paste -s -d ';' "$exp/lang/choices" | sed 's/;/; /g')
- $(checked)

## Table 3 of the paper

Katharopoulos et al. 2020. The published figures are error rates of the validation set, so dev93 stands beside them: greedy,
all units of the model. Models are chosen on this set. The paper does not say how many units it has: 41 (39 phones and two
noises) or 71 (with stress). Seconds per epoch are medians.

| encoder | units | dev93 PER % (validation) | published (validation) | s per epoch | published | epochs |
|---|---|---|---|---|---|---|
$(for name in "${names[@]}"; do paper_row "$name"; done)

## Phoneme error rates

Percent. units: what the model was trained on; folded: the 39 phones without stress, without noises. beam: with a phone
n-gram of the training transcripts. Missing utterances count as deleted. dev93 is the validation set, eval92 and eval93 are
test sets. eesen reports 91.7 % of tokens right (71 units) on 5 % of the speakers of the training set, and no phoneme error
rate of these sets.

$(rate_head)
$(for name in "${names[@]}"; do for search in greedy beam; do for kind in units folded; do rate_row "$name" $search $kind; done; done; done && words_table)

## Training

$(for name in "${names[@]}"; do model_line "$name"; done)

![training](training.svg)
END
}

build_linnet
names=()
for model in "$exp"/*/model.safetensors; do
	name=$(basename "$(dirname "$model")")
	if ls "$exp/$name"/*.beam.units.score >/dev/null 2>&1; then names+=("$name"); else say "$name has no scores: run stage 6"; fi
done
sets=(test_dev93 test_eval92 test_eval93)
while IFS=$'\t' read -r set found _; do
	[[ " ${sets[*]} " == *" $set "* || $set == train_* || $found == 0 ]] || sets+=("$set")
done <"$exp/data/local/counts"
has_dev=$(awk -F '\t' '$1 == "test_dev93" {print $2 + 0}' "$exp/data/local/counts")
[ "${has_dev:-1}" != 0 ] || sets+=(train_cv05)
[ ${#names[@]} -gt 0 ] || die "no encoder is trained and scored in $exp"
"$here/../../common/plot_training.sh" --out "$exp/training" "${names[@]/#/"$exp"/}"
into "$exp/RESULTS.md" write_report
into "$exp/index.html" awk -v folder="$exp" -f "$here/../../common/markdown_to_html.awk" "$exp/RESULTS.md"
say "see $exp/RESULTS.md and $exp/index.html"
