#!/bin/bash
# Reliability of the confidences of a recognizer; see usage.
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=recipes/common/lib.sh
. "$here/../../common/lib.sh"
# shellcheck source=recipes/english/local/confidences.sh
. "$here/confidences.sh"

usage() {
	cat <<'END'
Usage: reliability.sh --model FOLDER --set NAME=DIR... --out DIR [--threads J]

Draws how many phones and words of a recognizer are right against their confidences, as its recognizer.json calibrates
them: OUT/phones.svg and OUT/words.svg, with a curve for each Kaldi data folder (wav.scp, utt2spk, phones and text).
Tenths with fewer than 20 tokens are left out. Prints a table of expected calibration errors. $LINNET names the linnet
command. Needs gnuplot.
END
}

model='' out='' set=() threads=$(nproc)
take_options "model out set+ threads" "$@"
[ -n "$model" ] && [ -n "$out" ] && [ ${#set[@]} -gt 0 ] && [ -n "${LINNET:-}" ] || {
	usage >&2
	exit 2
}
linnet=$LINNET
need_file "$model/recognizer.json" "--model names the folder of a recognizer"
mkdir -p "$out/plain"

# linnet calibrate refuses a recognizer that has calibrations. This one has none, so the confidences count as they are.
weights=$(realpath "$model")/$(sed -n 's/.*"model": *"\([^"]*\)".*/\1/p' "$model/recognizer.json" | sed -n 1p)
echo "{\"model\": \"$weights\", \"confidence\": {\"slope\": 1, \"offset\": 0}}" >"$out/plain/recognizer.json"

# measure NAME DIR phones|words: writes OUT/NAME-UNIT with the curve, and prints the expected calibration error
measure() {
	local base=$out/$1-$3
	"$linnet" transcribe --threads "$threads" --model "$model" --data "$2" "--$3" --format json --output "$base.json" 2>"$base.log" ||
		die "$1: not all utterances were recognised: see $base.log"
	into "$base.calibration" compare_confidences "$out/plain" "$2" "$3" "$base.json"
	into "$base" awk '/^expected/ {exit} /^ *[0-9]/ && $3 >= 20' "$base.calibration"
	awk '/^expected/ {printf " %.3f |", $NF; exit}' "$base.calibration"
}

echo '| set | expected calibration error, phones | words |'
echo '|---|---|---|'
for entry in "${set[@]}"; do
	[[ $entry == *=* ]] || die "--set $entry: must be NAME=DIR"
	printf '| %s |' "${entry%%=*}"
	for kind in phones words; do measure "${entry%%=*}" "${entry#*=}" $kind; done
	echo
done
for kind in phones words; do
	curves=()
	for entry in "${set[@]}"; do curves+=("${entry%%=*}=$out/${entry%%=*}-$kind"); done
	"$here/../../common/plot_reliability.sh" --out "$out/$kind" --unit "${kind%s}" "${curves[@]}"
done
