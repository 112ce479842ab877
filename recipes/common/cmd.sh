#!/bin/bash
# Runs the parts of a job here or on a cluster; see usage.
set -euo pipefail
export LC_ALL=C
# shellcheck source=recipes/common/lib.sh
. "$(dirname "$0")/lib.sh"

usage() {
	cat <<'END'
Usage: cmd.sh [--via WAY] [--jobs J] [--mem SIZE] [--gpus N] [--threads N] [--options TEXT] --parts N --log PREFIX
              -- COMMAND [ARGUMENT...]

Runs COMMAND once for each part 1 ... N; the number of the part replaces {} in the arguments. The output of a part goes to
PREFIX.PART.log. PREFIX.PART.done marks a finished part, which does not run again while the command is the same. An
interrupt cancels the job on the cluster.

  --via WAY       local (default), parallel (GNU parallel), slurm or gridengine
  --jobs J        parts at a time (default: one per processor; for slurm and gridengine: all)
  --mem SIZE, --gpus N, --threads N
                  what each part requests from slurm (--mem, --gres=gpu, --cpus-per-task) or gridengine (-l mem_free, -l gpu,
                  -pe smp)
  --options TEXT  for parallel, sbatch or qsub, such as "--partition=long --time=60"; all machines must have access to the
                  folders of COMMAND and of its files
END
}

via=local jobs='' mem='' gpus='' threads='' options='' parts='' log=''
submission='' job=linnet-$(hostname)-$$-$RANDOM cancel_command=()
take_options "via jobs mem gpus threads options parts log ..." "$@"
[ ${#rest[@]} -gt 0 ] && [ -n "$parts" ] && [ -n "$log" ] || {
	usage >&2
	exit 2
}

# Prints the program of a part.
write_script() {
	local argument
	printf '#!/bin/bash\n# part: the first argument, or the index in an array of Slurm or GridEngine\n'
	# shellcheck disable=SC2016
	printf '%s\n' 'part=${1:-${SLURM_ARRAY_TASK_ID:-${SGE_TASK_ID:?}}}'
	printf 'cd %q && [ ! -e %q.$part.done ] || exit 0\ncommand=(' "$PWD" "$log"
	for argument; do printf ' %q' "$argument"; done
	# shellcheck disable=SC2016
	printf ' )\n"${command[@]//"{}"/$part}" >%q.$part.log 2>&1 && : >%q.$part.done\n' "$log" "$log"
}

unfinished() {
	local part
	for part in $(seq "$parts"); do [ -e "$log.$part.done" ] || echo "$part"; done
}

need_program() { command -v "$1" >/dev/null || die "--via $via: $1 is not installed"; }

# Removes the job from the cluster and ends. The name of the job is unique.
# shellcheck disable=SC2317 # a trap calls it
cancel() {
	trap '' INT TERM HUP
	kill "$submission" 2>/dev/null && wait "$submission" || true
	"${cancel_command[@]}" >&2 || say "cannot cancel the job $job; if it is still there, do so"
	say "interrupted: cancelled the job $job"
	exit 130
}

# submit COMMAND...: waits for a command that submits the job and waits for its end.
submit() {
	trap cancel INT TERM HUP
	"$@" >/dev/null &
	submission=$!
	wait "$submission" || true
	trap - INT TERM HUP
}

run_parts() {
	local some=() wanted=()
	read -r -a some <<<"$options" || true
	case "$via" in
	local) unfinished | xargs -P "${jobs:-$(nproc)}" -n 1 bash "$log.sh" ;;
	parallel) unfinished | parallel --quote ${jobs:+--jobs "$jobs"} ${some[@]+"${some[@]}"} bash "$log.sh" ;;
	slurm)
		wanted=(${mem:+--mem="$mem"} ${gpus:+--gres=gpu:"$gpus"} ${threads:+--cpus-per-task="$threads"})
		cancel_command=(scancel --name="$job")
		submit sbatch --wait --quiet --array="1-$parts${jobs:+%$jobs}" --output="$log.%a.slurm" \
			${wanted[@]+"${wanted[@]}"} ${some[@]+"${some[@]}"} --job-name="$job" "$log.sh"
		;;
	gridengine)
		wanted=(${mem:+-l mem_free="$mem"} ${gpus:+-l gpu="$gpus"} ${threads:+-pe smp "$threads"})
		cancel_command=(qdel "$job")
		submit qsub -sync y -cwd -j y -o "$log.qsub" -t "1-$parts" ${jobs:+-tc "$jobs"} \
			${wanted[@]+"${wanted[@]}"} ${some[@]+"${some[@]}"} -N "$job" "$log.sh"
		;;
	esac
}

case "$via" in
local) ;;
parallel) need_program parallel ;;
slurm) need_program sbatch ;;
gridengine) need_program qsub ;;
*) die "--via $via: must be local, parallel, slurm or gridengine" ;;
esac
[[ $parts =~ ^[1-9][0-9]*$ ]] || die "--parts $parts: must be a number above 0"
mkdir -p "$(dirname "$log")"
log=$(cd "$(dirname "$log")" && pwd)/$(basename "$log")
write_script "${rest[@]}" >"$log.new"
cmp -s "$log.new" "$log.sh" || rm -f "$log".*.done
mv "$log.new" "$log.sh"
[ -n "$(unfinished)" ] || exit 0
say "$(unfinished | wc -l) of $parts parts to run, $via: $log.*.log"
run_parts || true
for _ in 1 2 3 4 5; do # network file systems show new files late
	[ -n "$(unfinished)" ] || exit 0
	[ "$via" = slurm ] || [ "$via" = gridengine ] || break
	sleep 2
done
for part in $(unfinished | head -n 3); do
	say "part $part of $parts failed: $log.$part.log"
	[ ! -s "$log.$part.log" ] || tail -n 3 "$log.$part.log" | sed 's/^/  /' >&2
done
die "$(unfinished | wc -l) of $parts parts failed; the others are not run again"
