#!/bin/bash
# Decoding with and without language models; see usage.
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=recipes/common/lib.sh
. "$here/../../common/lib.sh"

usage() {
	cat <<'END'
Usage: decode.sh --model FILE --data DIR --out DIR --sets "SET..." [--beam N]

Decodes the sets of DATA in several ways, of which each is a row of OUT/table.md: phone error rate with its 95 % interval
(by speakers where there are several) and the real-time factor of the whole way from audio to phones on one thread: seconds
of the processor, which other work does not change, over those of audio.

  greedy
  beam             prefix beam search
  beam and 4-gram  with a language model of the phones of DATA/train; its weight and the insertion bonus are those of
                   least error on DATA/dev (OUT/tuning)

Needs $LINNET, the command.
END
}

beam=50
take_options "model data out sets beam" "$@"
[ -n "${model:-}" ] && [ -n "${data:-}" ] && [ -n "${out:-}" ] && [ -n "${sets:-}" ] && [ -n "${LINNET:-}" ] || {
	usage >&2
	exit 2
}
linnet=$LINNET
weights='0.3 0.4 0.5 0.6 0.7 0.8' bonuses='0 0.5 1 1.5 2'

estimate_phones() {
	cut -d' ' -f2- "$data/train/phones" >"$out/train-phones"
	"$linnet" ngram --order 4 --discount-fallback --text "$out/train-phones" --binary "$out/phones.bin" 2>"$out/ngram.log"
}

# Lines "ERROR WEIGHT BONUS" of dev, the best first.
tune_phones() {
	local w b
	for w in $weights; do
		for b in $bonuses; do
			"$linnet" decode --symbols "$out/symbols" --beam "$beam" --lm "$out/phones.bin" --lm-weight "$w" \
				--insertion-bonus "$b" --output "$out/tuning.hyp" "ark:$out/dev.ark" 2>/dev/null
			echo "$(error_rate "$data/dev/phones" "$out/tuning.hyp") $w $b"
		done
	done | sort -n
}

# decode_set METHOD SET OPTION...: hypotheses in OUT/METHOD-SET.hyp, what was said in .log, the time in .time
decode_set() {
	local name=$out/$1-$2 set=$2 TIMEFORMAT='%U %S'
	shift 2
	{ time "$linnet" transcribe --threads 1 --model "$model" --data "$data/$set" --output "$name.hyp" "$@" \
		2>"$name.log"; } 2>"$name.time" || die "$set: not all utterances were recognised: see $name.log"
}

# speed METHOD-SET: the real-time factor
speed() {
	awk 'FILENAME ~ /time$/ {spent = $1 + $2} {for (i = 2; i <= NF; i++) if ($i == "s" && $(i + 1) == "of") audio = $(i - 1)}
		END {printf "%.4f", spent / audio}' "$out/$1.time" "$out/$1.log"
}

# row TITLE METHOD: a row of the table, of all sets
row() {
	local set name unit
	printf '| %s |' "$1"
	for set in $sets; do
		name=$out/$2-$set unit=()
		[ "$(awk '{print $2}' "$data/$set/utt2spk" | sort -u | wc -l)" -lt 2 ] || unit=(--by-speaker)
		"$linnet" score --utt2spk "$data/$set/utt2spk" ${unit[@]+"${unit[@]}"} "$data/$set/phones" "$name.hyp" >"$name.score"
		awk -v speed="$(speed "$2-$set")" '
			/^%PER/ {per = $2} /^95 % interval/ {interval = $4 " to " $6}
			END {printf " %s (%s) | %s |", per, interval, speed}' "$name.score"
	done
	echo
}

table() {
	local set
	printf '| |'
	for set in $sets; do printf ' %s PER %% | real-time factor |' "$set"; done
	printf '\n|---|'
	for set in $sets; do printf -- '---|---|'; done
	echo
	row greedy greedy
	row "beam $beam" beam
	row "beam $beam and 4-gram of phones, weight $weight, bonus $bonus" phones
}

mkdir -p "$out"
estimate_phones
into "$out/symbols" "$linnet" info --symbols "$model"
"$linnet" posteriors --model "$model" --data "$data/dev" --out "$out/dev.ark" 2>"$out/posteriors.log"
into "$out/tuning" tune_phones
read -r error weight bonus <"$out/tuning"
say "4-gram of phones: $error % on dev with weight $weight and insertion bonus $bonus"
# A method is a line here and a row of the table.
for set in $sets; do
	decode_set greedy "$set"
	decode_set beam "$set" --beam "$beam"
	decode_set phones "$set" --beam "$beam" --lm "$out/phones.bin" --lm-weight "$weight" --insertion-bonus "$bonus"
done
into "$out/table.md" table
