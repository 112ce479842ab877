#!/bin/bash
# Plots of training logs; see usage.
set -euo pipefail
export LC_ALL=C
# shellcheck source=recipes/common/lib.sh
. "$(dirname "$0")/lib.sh"

usage() {
	cat <<'END'
Usage: plot_training.sh --out PREFIX EXP...

Draws loss and phoneme error rate against epochs and against wall time, one curve for each folder that linnet train
wrote (EXP/log.jsonl), into PREFIX.svg and PREFIX.png. Needs gnuplot.
END
}

out=''
take_options "out ..." "$@"
[ -n "$out" ] && [ ${#rest[@]} -gt 0 ] || {
	usage >&2
	exit 2
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Columns: epoch, minutes, training loss, validation loss, validation PER.
columns() {
	awk 'function value(key) {
			if (!match($0, "\"" key "\": [-0-9.e+]+"))
				return "nan"
			return substr($0, RSTART + length(key) + 4, RLENGTH - length(key) - 4)
		}
		{ print value("epoch"), value("total_seconds") / 60, value("train_loss"), value("dev_loss"), value("dev_per") }' \
		"$(as_path "$1")/log.jsonl"
}

# title EXP: its last name, or its whole path if another folder has the same name
title() {
	local exp name same=0
	name=$(basename "$1")
	for exp in "${rest[@]}"; do [ "$(basename "$exp")" != "$name" ] || same=$((same + 1)); done
	[ "$same" = 1 ] || name=$1
	echo "${name//_/ }"
}

plots() {
	local i separator=''
	for i in "${!rest[@]}"; do
		printf '%s "%s/%s" using %s:%s with linespoints pointsize 0.4 title "%s"' \
			"$separator" "$work" "$i" "$1" "$2" "$(title "${rest[i]}")"
		separator=,
	done
}

for i in "${!rest[@]}"; do
	exp=${rest[i]}
	[ -s "$exp/log.jsonl" ] || die "$exp/log.jsonl is missing or empty"
	columns "$exp" >"$work/$i"
done

plot() {
	cat <<END
set multiplot layout 2,2
set grid
set ylabel "phoneme error rate (%)"
set xlabel "epochs"
plot $(plots 1 5)
set xlabel "minutes of training"
plot $(plots 2 5)
set ylabel "validation loss per phoneme (nats)"
set xlabel "epochs"
plot $(plots 1 4)
set xlabel "minutes of training"
plot $(plots 2 4)
unset multiplot
END
}

plot | draw "$out" 1000,800
