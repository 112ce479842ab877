#!/bin/bash
# Time and memory of the kinds of attention against the length; see usage.
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=recipes/common/lib.sh
. "$here/../common/lib.sh"

usage() {
	cat <<'END'
Usage: run.sh [--quick] [--exp DIR] [--stage N] [--stop-stage N]

Measures attention alone, with 6 heads of width 32 on one thread, with the batch inversely proportional to the length
(Katharopoulos et al. 2020, Fig. 1): time and memory of forward and backward per sequence of 2^9 to 2^16 frames for every
kind; the four forms of causal linear attention; and one step of the recurrences after up to 2^20 frames. Slopes are
fitted to log-log points. The search for the length at which one kind overtakes another begins at 2^3 frames. It takes
about a quarter of an hour.
Builds the program first, unless $LINNET_EXPERIMENTS is a folder with it.

  1  measurements: EXP/*.cost; does not repeat existing ones, and refuses those of another processor or of another build
     of the program (EXP/*.settings)
  2  EXP/kinds.svg, EXP/memory.svg, EXP/forms.svg, EXP/steps.svg (and .png), EXP/RESULTS.md

  --quick         short sequences and measurements, only to see that everything runs
  --exp DIR       folder for all results (default exp/attention-cost)
  --stage N       begin with this stage (default 1)
  --stop-stage N  end after this stage (default 2)
END
}

exp=exp/attention-cost stage=1 stop_stage=2
take_options "exp stage stop-stage quick!" "$@"
check_stages 2

kinds=(linear causal-linear softmax causal-softmax lsh-1 lsh-4)
forms=(state parallel-state attention chunked)
steps=(causal-linear causal-softmax)
limits=() short_limits=(--shortest 8 --longest 256) step_limits=(--shortest 32 --longest 1048576)
if [ -n "$quick" ]; then
	limits=(--shortest 32 --longest 256 --seconds 0.001)
	short_limits=(--shortest 8 --longest 16 --seconds 0.001)
	step_limits=("${limits[@]}")
fi

# measure NAME OPTION...
measure() {
	local settings="$machine; ${*:2}"
	check_settings "$exp/$1.cost" "$settings"
	[ -s "$exp/$1.cost" ] || {
		say "measuring $1"
		into "$exp/$1.settings" echo "$settings"
		into "$exp/$1.cost" "$experiment" --threads 1 "${@:2}"
	}
}

# measure_lengths NAME OPTION...
measure_lengths() {
	measure "$1" "${limits[@]}" "${@:2}"
	measure "short-$1" "${short_limits[@]}" "${@:2}"
}

measure_kind() {
	case "$1" in
	lsh-*) measure_lengths "$1" --kind lsh --rounds "${1#lsh-}" ;;
	*) measure_lengths "$1" --kind "$1" ;;
	esac
}

# slope FILE COLUMN: slope of the line through the points on log-log axes
slope() {
	awk -v column="$2" '!/^#/ {x = log($1); y = log($column); n++; sx += x; sy += y; sxx += x * x; sxy += x * y}
		END {printf "%.2f", (n * sxy - sx * sy) / (n * sxx - sx * sx)}' "$exp/$1.cost"
}

# plot COLUMN YLABEL XLABEL NAME...
plot() {
	local column=$1 name separator=''
	printf 'set logscale x 2; set logscale y; set grid; set key left top; set ylabel "%s"; set xlabel "%s"\nplot' "$2" "$3"
	for name in "${@:4}"; do
		printf '%s "%s" using 1:%s with linespoints title "%s (slope %s)"' \
			"$separator" "$exp/$name.cost" "$column" "$name" "$(slope "$name" "$column")"
		separator=,
	done
	echo
}

# table UNIT NAME...: milliseconds at each length
table() {
	local name
	awk '!/^#/ {printf "| %s ", $1} END {print "|"}' "$exp/$2.cost" | sed "s/^/| $1 /; s/\$/ slope | slope of memory |/"
	awk '!/^#/ {printf "|---"} END {print "|---|---|---|"}' "$exp/$2.cost"
	for name in "${@:2}"; do
		awk -v name="$name" -v time="$(slope "$name" 2)" -v memory="$(slope "$name" 3)" \
			'!/^#/ {row = row sprintf(" %.4g |", $2 * 1e3)} END {print "| " name " |" row " " time " | " memory " |"}' \
			"$exp/$name.cost"
	done
}

# The first measured length from which the first name stays faster than the second by 5 %, which is more than
# measurements vary.
crossover() {
	paste <(cat "$exp/short-$1.cost" "$exp/$1.cost") <(cat "$exp/short-$2.cost" "$exp/$2.cost") |
		awk '!/^#/ {if (1.05 * $2 <= $5) {if (!at) at = $1} else at = 0} END {print at ? at : "none measured"}'
}

write_results() {
	cat <<END
# Results of recipes/attention-cost

- command: \`recipes/attention-cost/run.sh $arguments\`
- commit: $(commit)
- measured on $(recorded_machines "$exp"/*.cost); 1 thread; 6 heads of 32

Forward and backward, ms per sequence:

$(table frames "${kinds[@]}")

![time](kinds.svg) ![memory](memory.svg)

Memory comprises inputs, outputs, their gradients, values saved for backward, and scratch. No kind stores a matrix of
frames by frames, so the memory of all kinds grows linearly; softmax attention differs in time only.

Forms of causal linear attention:

$(table frames "${forms[@]}")

![forms](forms.svg)

One step of a recurrence in ms, after the given number of frames:

$(table frames "${steps[@]/#/step-}")

![steps](steps.svg)

Sequences of fewer frames:

$(table frames "${kinds[@]/#/short-}" "${forms[@]/#/short-}")

Crossover: the shortest of these lengths from which on the first kind is at least 5 % faster than the second:

- linear against softmax: $(crossover linear softmax)
- causal-linear against causal-softmax: $(crossover causal-linear causal-softmax)
- lsh-4 against softmax: $(crossover lsh-4 softmax)
- chunked against the attention form: $(crossover chunked attention)
END
}

mkdir -p "$exp"
if runs 1; then
	build_experiment attention-cost
	machine=$(this_machine "$experiment")
	for name in "${kinds[@]}"; do measure_kind "$name"; done
	for name in "${forms[@]}"; do measure_lengths "$name" --kind causal-linear --form "$name"; done
	for name in "${steps[@]}"; do measure "step-$name" "${step_limits[@]}" --kind "$name" --steps; done
fi
if runs 2; then
	for name in "${kinds[@]}" "${forms[@]}" "${kinds[@]/#/short-}" "${forms[@]/#/short-}" "${steps[@]/#/step-}"; do need_file "$exp/$name.cost" "run stage 1 first"; done
	plot 2 'seconds per sequence' frames "${kinds[@]}" | draw "$exp/kinds" 900,600
	plot 3 'bytes per sequence' frames "${kinds[@]}" | draw "$exp/memory" 900,600
	plot 2 'seconds per sequence' frames "${forms[@]}" | draw "$exp/forms" 900,600
	plot 2 'seconds per step' 'frames before' "${steps[@]/#/step-}" | draw "$exp/steps" 900,600
	into "$exp/RESULTS.md" write_results
	cat "$exp/RESULTS.md"
fi
