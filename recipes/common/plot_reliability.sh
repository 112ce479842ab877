#!/bin/bash
# Reliability curves; see usage.
set -euo pipefail
export LC_ALL=C
# shellcheck source=recipes/common/lib.sh
. "$(dirname "$0")/lib.sh"

usage() {
	cat <<'END'
Usage: plot_reliability.sh --out PREFIX [--unit phone|word] NAME=FILE...

Draws the share of phones, or words, that are right against their confidence, one curve for each FILE with lines
"confidence share number" (as `linnet calibrate` prints them), into PREFIX.svg and PREFIX.png. Needs gnuplot.
END
}

out='' unit=phone
take_options "out unit ..." "$@"
[ -n "$out" ] && [ ${#rest[@]} -gt 0 ] || {
	usage >&2
	exit 2
}

# The data become part of the program, so that it needs no file names.
program() {
	local number=0 curve curves=''
	for curve; do
		number=$((number + 1))
		need_file "${curve#*=}" "it should hold a reliability curve"
		echo "\$curve$number << END"
		cat "${curve#*=}"
		echo END
		curves+=", \$curve$number using 1:2 with linespoints pointtype 7 pointsize 0.6 title \"${curve%%=*}\""
	done
	cat <<END
set xrange [0:1]
set yrange [0:1]
set size square
set grid
set key left top
set xlabel "confidence"
set ylabel "share of ${unit}s that are right"
plot x with lines dashtype 2 linecolor "gray" notitle$curves
END
}

program "${rest[@]}" | draw "$out" 560,560
