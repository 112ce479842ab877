#!/bin/bash
# Decoding with and without language models; see usage.
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=recipes/common/lib.sh
. "$here/../../common/lib.sh"

usage() {
	cat <<'END'
Usage: decode.sh --model FILE --data DIR --out DIR --sets "SET..." [--beam N] [--lexicon FILE --text FILE [--word-beam N]]

Decodes the sets of DATA in several ways, of which each is a row of OUT/table.md: phone error rate, or word error rate, with
its 95 % interval (by speakers where there are several) and the real-time factor of the whole way from audio on one thread:
seconds of the processor, which other work does not change, over those of audio.

  greedy
  beam             prefix beam search
  beam and 4-gram  with a language model of the phones of DATA/train; its weight and the insertion bonus are those
                   with the fewest errors on DATA/dev (OUT/tuning.phones)
  words            with --lexicon and --text: words of the lexicon, with a trigram of the text; its weight and the bonus of a
                   word are those with the fewest errors on DATA/dev (OUT/tuning.words); their confidences are calibrated with
                   these: OUT/calibration, and in it model-half.safetensors, a copy of the model that holds the fit

$LINNET names the linnet command.
END
}

beam=50 lexicon='' text='' word_beam=200
take_options "model data out sets beam lexicon text word-beam" "$@"
[ -n "${model:-}" ] && [ -n "${data:-}" ] && [ -n "${out:-}" ] && [ -n "${sets:-}" ] && [ -n "${LINNET:-}" ] || {
	usage >&2
	exit 2
}
linnet=$LINNET
# The differences between the searches with a language model, by KIND: reference, options, and the weights and bonuses to try.
declare -A reference=([phones]=phones [words]=text) unit=([phones]=phone [text]=word)
declare -A weights=([phones]='0.3 0.4 0.5 0.6 0.7 0.8' [words]='0.2 0.4 0.6 0.8 1 1.2')
declare -A bonuses=([phones]='0 0.5 1 1.5 2' [words]='-1 0 1 2')
kinds=(phones)

# options_of KIND WEIGHT BONUS: sets options
options_of() {
	options=(--lm "$out/$1.bin" --lm-weight "$2")
	case "$1" in
	phones) options+=(--beam "$beam" --insertion-bonus "$3") ;;
	words) options+=(--beam "$word_beam" --words --lexicon "$lexicon" --word-bonus "$3") ;;
	esac
}

# estimate KIND ORDER TEXT
estimate() {
	"$linnet" ngram --order "$2" --discount-fallback --text "$3" --binary "$out/$1.bin" 2>"$out/$1.log" ||
		die "$3: $(tail -n 1 "$out/$1.log")"
}

# Prints lines "ERROR WEIGHT BONUS" of dev, the best first.
tune() {
	local w b rate options
	for w in ${weights[$1]}; do
		for b in ${bonuses[$1]}; do
			options_of "$1" "$w" "$b"
			"$linnet" decode --symbols "$out/symbols" "${options[@]}" --output "$out/tuning.hyp" "ark:$out/dev.ark" \
				2>"$out/tuning.log" || die "$1: $(tail -n 1 "$out/tuning.log")"
			rate=$(error_rate "$data/dev/${reference[$1]}" "$out/tuning.hyp" --unit "${unit[${reference[$1]}]}")
			echo "$rate $w $b"
		done
	done | sort -s -g
}

# decode_set METHOD SET OPTION...: writes hypotheses to OUT/METHOD-SET.hyp, messages to .log, and the time to .time
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

# row TITLE METHOD REFERENCE: prints a row of a table with all sets
row() {
	local set name by
	printf '| %s |' "$1"
	for set in $sets; do
		name=$out/$2-$set by=(--unit "${unit[$3]}")
		[ "$(awk '{print $2}' "$data/$set/utt2spk" | sort -u | wc -l)" -lt 2 ] || by+=(--by-speaker)
		"$linnet" score --utt2spk "$data/$set/utt2spk" "${by[@]}" "$data/$set/$3" "$name.hyp" >"$name.score"
		awk -v speed="$(speed "$2-$set")" '
			/^%[PW]ER/ {per = $2} /^95 % interval/ {interval = $4 " to " $6}
			END {printf " %s (%s) | %s |", per, interval, speed}' "$name.score"
	done
	echo
}

# header RATE
header() {
	local set
	printf '| |'
	for set in $sets; do printf ' %s %s %% | real-time factor |' "$set" "$1"; done
	printf '\n|---|'
	for set in $sets; do printf -- '---|---|'; done
	echo
}

table() {
	local weight bonus
	header PER
	row greedy greedy phones
	row "beam $beam" beam phones
	read -r _ weight bonus <"$out/tuning.phones"
	row "beam $beam and 4-gram of phones, weight $weight, bonus $bonus" phones phones
	[ -n "$lexicon" ] || return 0
	read -r _ weight bonus <"$out/tuning.words"
	echo
	header WER
	row "words, beam $word_beam, trigram, weight $weight, bonus $bonus" words text
}

mkdir -p "$out"
cut -d' ' -f2- "$data/train/phones" >"$out/train-phones"
estimate phones 4 "$out/train-phones"
if [ -n "$lexicon" ]; then
	need_file "$lexicon" "words need pronunciations"
	need_file "$text" "words need a text for their trigram: --text FILE, one sentence per line"
	estimate words 3 "$text"
	kinds+=(words)
fi
into "$out/symbols" "$linnet" info --symbols "$model"
"$linnet" posteriors --model "$model" --data "$data/dev" --out "$out/dev.ark" 2>"$out/posteriors.log"
for set in $sets; do
	decode_set greedy "$set"
	decode_set beam "$set" --beam "$beam"
done
for kind in "${kinds[@]}"; do
	into "$out/tuning.$kind" tune "$kind"
	read -r error weight bonus <"$out/tuning.$kind"
	say "$kind: $error % on dev with weight $weight and bonus $bonus"
	options_of "$kind" "$weight" "$bonus"
	for set in $sets; do decode_set "$kind" "$set" "${options[@]}"; done
done
if [ -n "$lexicon" ]; then
	read -r _ weight bonus <"$out/tuning.words"
	options_of words "$weight" "$bonus"
	"$here/calibrate.sh" --model "$model" --data "$data" --out "$out/calibration" --unit word -- "${options[@]}"
	say "calibration of words: $(tail -n 1 "$out/calibration/calibration")"
fi
into "$out/table.md" table
