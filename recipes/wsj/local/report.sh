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

# The paper trains on train_si284.
paper_row() {
	local rate seconds set title=$1
	set=$(cut -d , -f 1 "$exp/$1/settings" 2>/dev/null) || set=train_si284
	[ "$set" = train_si284 ] || title="$1, $set"
	read -r rate seconds <<<"$(published "$1")"
	printf '| %s | %s | %s | %s | %s | %s |\n' "$title" "$(per "$1" test_eval92 greedy.units)" "$rate" \
		"$(log_values "$exp/$1" train_seconds | median)" "$seconds" "$(wc -l <"$exp/$1/log.jsonl")"
}

# rate_row NAME SEARCH KIND
rate_row() {
	local set row=''
	for set in test_dev93 test_eval92 test_eval93; do row+=" $(per "$1" "$set" "$2.$3") |"; done
	echo "| $1 | $2 | $3 |$row"
}

# Prints nothing if there was no search for words.
words_table() {
	local name
	[ -e "$exp/${names[0]}/test_eval92.words.words.score" ] || return 0
	cat <<END

## Word error rates

Percent, with the corpus's trigram of 20 000 words; noises do not count. eesen (Bi-LSTM, phones, WFST with the trigram):
10.87 on dev93, 7.28 on eval92.

| encoder | search | symbols | dev93 | eval92 | eval93 |
|---|---|---|---|---|---|
$(for name in "${names[@]}"; do rate_row "$name" words words; done)
END
}

checked() {
	local with
	with=$(grep -l '^sclite: the same' "$exp"/*/*.score 2>/dev/null | wc -l)
	echo "$with of $(find "$exp" -mindepth 2 -maxdepth 2 -name '*.score' | wc -l) scores were counted by NIST sclite as well, with the same result"
}

model_line() {
	echo "- $1: $(cat "$exp/$1/settings" 2>/dev/null || echo 'settings not recorded'); products of $(log_kernels "$exp/$1"), $("$linnet" info "$exp/$1/model.safetensors" | awk '$1 == "parameters" {print $2}') parameters, peak memory in training" \
		"$(log_values "$exp/$1" peak_megabytes | median) MB; weight and bonus of the phone n-gram $(cut -d ' ' -f 1,2 "$exp/$1/tuned.beam" | tr ' ' ','), chosen on dev93;" \
		"test sets scored $(wc -l <"$exp/$1/scored") times"
}

# Prints the sets, and the expected counts of incomplete ones.
counts() {
	awk -F '\t' '{printf "%s%s %d%s", (NR > 1 ? ", " : ""), $1, $2, ($2 != $3 ? " of " $3 " (incomplete)" : "")}' "$exp/data/local/counts"
}

write_report() {
	local name search kind
	cat <<END
# Phonemes of the Wall Street Journal corpus

- command: \`$command\`
- commit: $(commit), $("$linnet" --version)
- machine: $(processor), $(nproc) processors, $(uname -sr)
- utterances: $(counts)
- $(paste -s -d ';' "$exp/lang/choices" | sed 's/;/; /g')
- $(checked)

## Table 3 of the paper

Katharopoulos et al. 2020. PER here: eval92, greedy, all units of the model. Seconds per epoch are medians.

| encoder | PER % | published | s per epoch | published | epochs |
|---|---|---|---|---|---|
$(for name in "${names[@]}"; do paper_row "$name"; done)

## Phoneme error rates

Percent. units: what the model was trained on; folded: the 39 phones without stress, without noises. beam: with a phone
n-gram of the training transcripts. Missing utterances count as deleted.

| encoder | search | symbols | dev93 | eval92 | eval93 |
|---|---|---|---|---|---|
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
	if [ -s "$exp/$name/test_eval92.beam.units.score" ]; then names+=("$name"); else say "$name has no scores: run stage 6"; fi
done
[ ${#names[@]} -gt 0 ] || die "no encoder is trained and scored in $exp"
"$here/../../common/plot_training.sh" --out "$exp/training" "${names[@]/#/$exp/}"
into "$exp/RESULTS.md" write_report
into "$exp/index.html" awk -v folder="$exp" -f "$here/../../common/markdown_to_html.awk" "$exp/RESULTS.md"
say "see $exp/RESULTS.md and $exp/index.html"
