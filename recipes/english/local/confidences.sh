# Confidences of a recognizer against what was said. The English scripts source this file; $linnet is the command.
# shellcheck shell=bash disable=SC2154 # the script sets linnet

# compare_confidences FOLDER SET phones|words RESULTS: a table of how many tokens of the JSON lines RESULTS, by confidence,
# are right in the Kaldi data folder SET, its expected calibration error, and on the last line the best calibration. The
# recognizer in FOLDER must leave the confidences as they are.
compare_confidences() {
	local unit=() reference=phones
	[ "$3" = phones ] || unit=(--words) reference=text
	"$linnet" calibrate --model "$1" ${unit[@]+"${unit[@]}"} "$2/$reference" "$4"
}
