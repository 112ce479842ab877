#!/bin/bash
# The duplication task: linear, softmax and LSH attention learn to copy; see usage.
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=recipes/common/lib.sh
. "$here/../common/lib.sh"

usage() {
	cat <<'END'
Usage: run.sh [--quick] [--kinds "NAME..."] [--updates N] [--exp DIR] [--seed S] [--jobs J] [--kernels NAME]
              [--stage N] [--stop-stage N]

Trains causal transformers of 4 layers and 8 heads on the sequence duplication task of Katharopoulos et al. 2020,
section 4.1.1 (Fig. 2): a random sequence of 32 to 63 symbols out of 10 is repeated after a separator, at most 128
symbols with both separators. Batches of 64; RAdam with 1e-3, after 3000 updates 1e-4. The width is 256, 32 for each
head. Width and lengths are those of the authors' code. Builds the program first, unless $LINNET_EXPERIMENTS is a folder with it.

  1  training: EXP/KIND.log, EXP/KIND.result; finished kinds are not repeated, and an interrupted one continues from its
     last checkpoint (EXP/KIND.log.checkpoint, every 250 updates); results of other settings, another processor or another
     build of the program (EXP/KIND.settings) are refused
  2  EXP/copy.svg, EXP/copy.png, EXP/RESULTS.md

  --kinds NAMES   among linear, softmax, lsh-1, lsh-4, lsh-8 (default: linear softmax lsh-4)
  --updates N     number of updates (default 6000)
  --quick         100 updates of a tiny model, only to see that everything runs
  --exp DIR       folder for all results (default exp/copy)
  --seed S        seed of weights and data (default 1)
  --jobs J        threads (default: one per processor)
  --kernels NAME  CPU kernels, such as avx512-bf16, which round operands of products (default auto: without rounding)
  --stage N       begin with this stage (default 1)
  --stop-stage N  end after this stage (default 2)
END
}

kinds='linear softmax lsh-4' updates='' exp=exp/copy seed=1 jobs=$(nproc) kernels=auto stage=1 stop_stage=2
take_options "kinds updates exp seed jobs kernels stage stop-stage quick!" "$@"
check_stages 2
settings=(--seed "$seed" --kernels "$kernels" --updates "${updates:-$([ -n "$quick" ] && echo 100 || echo 6000)}")
[ -z "$quick" ] || settings+=(--width 32 --heads 4 --layers 1 --length 32 --batch 16 --decay 60)
read -r -d '' -a kinds <<<"$kinds" || true

train() {
	local attention=causal-$1
	case "$1" in lsh-*) attention=causal-lsh && set -- "$1" --rounds "${1#lsh-}" ;; esac
	into "$exp/$1.settings" echo "$machine; ${settings[*]}"
	into "$exp/$1.result" "$experiment" "${settings[@]}" --threads "$jobs" --attention "$attention" "${@:2}" --out "$exp/$1.log"
}

plot() {
	local kind separator=''
	echo 'set logscale y; set grid; set xlabel "updates"; set ylabel "cross entropy (nats)"'
	printf plot
	for kind in "${kinds[@]}"; do
		printf '%s "%s" using 1:2 with lines linewidth 2 title "%s"' "$separator" "$exp/$kind.log" "$kind"
		separator=,
	done
	echo
}

write_results() {
	local kind results=("${kinds[@]/#/"$exp/"}")
	results=("${results[@]/%/.result}")
	cat <<END
# Results of recipes/copy

- command: \`recipes/copy/run.sh $arguments\`
- commit: $(commit), seed $seed
- trained on $(recorded_machines "${results[@]}"); $jobs threads, kernels $kernels

Cross entropy (nats per symbol) and wrong symbols of 64 new sequences after training.

| attention | updates | cross entropy | errors % | parameters | s of training |
|---|---|---|---|---|---|
END
	for kind in "${kinds[@]}"; do
		awk -v kind="$kind" -v seconds="$(awk 'END {print $4}' "$exp/$kind.log")" \
			'{printf "| %s | %s | %s | %s | %s | %s |\n", kind, $2, $3, $4, $5, seconds}' "$exp/$kind.result"
	done
	printf '\n![loss against updates](copy.svg)\n'
}

# check KIND: refuses a result, or an interrupted training, of other settings
check() {
	check_settings "$exp/$1.result" "$machine; ${settings[*]}"
	[ ! -e "$exp/$1.log.checkpoint" ] ||
		same_settings "$exp/$1.log.checkpoint" "$(<"$exp/$1.settings")" "$machine; ${settings[*]}" 'or remove it'
}

mkdir -p "$exp"
if runs 1; then
	build_experiment copy
	machine=$(this_machine "$experiment")
	for kind in "${kinds[@]}"; do
		check "$kind"
		[ -s "$exp/$kind.result" ] || train "$kind"
	done
fi
if runs 2; then
	for kind in "${kinds[@]}"; do
		need_file "$exp/$kind.result" "run stage 1 first"
		check_options "$exp/$kind.result" "${settings[*]}"
	done
	plot | draw "$exp/copy" 900,600
	into "$exp/RESULTS.md" write_results
	cat "$exp/RESULTS.md"
fi
