#!/bin/bash
# The height-averaging task: convolutions alone against one attention layer; see usage.
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=recipes/common/lib.sh
. "$here/../common/lib.sh"

usage() {
	cat <<'END'
Usage: run.sh [--quick] [--kinds "NAME..."] [--epochs N] [--exp DIR] [--seed S] [--jobs J] [--stage N] [--stop-stage N]

Trains Fleuret's two networks (slides "Fast Attention Models"): five convolutions, and four with an attention layer
between them. A signal has two triangles and two rectangles; in the target, the heights of each pair are replaced by
their mean. Adam 1e-3, batches of 100 out of 25 000 signals. About five minutes per network on two cores. Builds the program first,
unless $LINNET_EXPERIMENTS is a folder with it.

  1  training: EXP/KIND.{log,result,examples,matrix}; finished kinds are not repeated; results of other settings, another
     processor or another build of the program (EXP/KIND.settings) are refused
  2  EXP/error.svg, EXP/signals.svg, EXP/matrix.svg (and .png), EXP/RESULTS.md

  --kinds NAMES   none and kinds of attention (default: none softmax linear)
  --epochs N      number of epochs (default 40)
  --quick         2 epochs of 500 signals, only to see that everything runs
  --exp DIR       folder for all results (default exp/shapes)
  --seed S        seed of weights and data (default 1)
  --jobs J        threads (default: one per processor)
  --stage N       begin with this stage (default 1)
  --stop-stage N  end after this stage (default 2)
END
}

kinds='none softmax linear' epochs='' exp=exp/shapes seed=1 jobs=$(nproc) stage=1 stop_stage=2
take_options "kinds epochs exp seed jobs stage stop-stage quick!" "$@"
check_stages 2
settings=(--seed "$seed" --epochs "${epochs:-$([ -n "$quick" ] && echo 2 || echo 40)}")
[ -z "$quick" ] || settings+=(--sequences 500)
read -r -d '' -a kinds <<<"$kinds" || true

train() {
	into "$exp/$1.settings" echo "$machine; ${settings[*]}"
	into "$exp/$1.result" "$experiment" "${settings[@]}" --threads "$jobs" --attention "$1" --log "$exp/$1.log" \
		--examples "$exp/$1.examples" --matrix "$exp/$1.matrix"
}

title() { [ "$1" = none ] && echo 'convolutions alone' || echo "$1 attention"; }

plot_error() {
	local kind separator=''
	echo 'set logscale xy; set grid; set xlabel "epochs"; set ylabel "mean squared error of new signals"'
	printf plot
	for kind in "${kinds[@]}"; do
		printf '%s "%s" using 1:3 with lines linewidth 2 title "%s"' "$separator" "$exp/$kind.log" "$(title "$kind")"
		separator=,
	done
	echo
}

plot_signals() {
	local kind i
	echo "set multiplot layout ${#kinds[@]},2; set grid; set yrange [-2:27]; set key below font ',8'"
	for kind in "${kinds[@]}"; do
		for i in 0 1; do
			cat <<END
set title "$(title "$kind")"
plot "$exp/$kind.examples" index $i using 1:2 with lines title "input", \
	"" index $i using 1:3 with lines title "target", \
	"" index $i using 1:4 with lines linewidth 2 title "output"
END
		done
	done
	echo 'unset multiplot'
}

plot_matrices() {
	local kind
	echo "set multiplot layout 1,${#matrices[@]}; set size square; set palette gray negative; unset key"
	echo 'set xrange [-0.5:99.5]; set yrange [99.5:-0.5]; set xlabel "attended position"; set ylabel "position"'
	for kind in "${matrices[@]}"; do
		echo "set title \"$(title "$kind")\"; plot \"$exp/$kind.matrix\" matrix with image title \"$kind\""
	done
	echo 'unset multiplot'
}

write_results() {
	local kind results=("${kinds[@]/#/"$exp/"}")
	results=("${results[@]/%/.result}")
	cat <<END
# Results of recipes/shapes

- command: \`recipes/shapes/run.sh $arguments\`
- commit: $(commit), seed $seed
- trained on $(recorded_machines "${results[@]}"); $jobs threads

| network | parameters | mean squared error of 1000 new signals | s of training |
|---|---|---|---|
END
	for kind in "${kinds[@]}"; do
		awk -v title="$(title "$kind")" '{printf "| %s | %s | %s | %s |\n", title, $2, $3, $4}' "$exp/$kind.result"
	done
	printf '\n![error against epochs](error.svg)\n\n![input, target, output](signals.svg)\n'
	[ ${#matrices[@]} = 0 ] || printf '\nWhat each position of the first signal attends to:\n\n![attention](matrix.svg)\n'
}

mkdir -p "$exp"
if runs 1; then
	build_experiment shapes
	machine=$(this_machine "$experiment")
	for kind in "${kinds[@]}"; do
		check_settings "$exp/$kind.result" "$machine; ${settings[*]}"
		[ -s "$exp/$kind.result" ] || train "$kind"
	done
fi
if runs 2; then
	matrices=()
	for kind in "${kinds[@]}"; do
		need_file "$exp/$kind.result" "run stage 1 first"
		check_options "$exp/$kind.result" "${settings[*]}"
		[ ! -s "$exp/$kind.matrix" ] || matrices+=("$kind")
	done
	plot_error | draw "$exp/error" 900,600
	plot_signals | draw "$exp/signals" 1000,"$((300 * ${#kinds[@]}))"
	[ ${#matrices[@]} = 0 ] || plot_matrices | draw "$exp/matrix" "$((500 * ${#matrices[@]})),520"
	into "$exp/RESULTS.md" write_results
	cat "$exp/RESULTS.md"
fi
