#!/bin/bash
# Runs the parts of a job here or on a cluster; see usage.
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=recipes/common/lib.sh
. "$here/lib.sh"

usage() {
	cat <<'END'
Usage: cmd.sh [--via WAY] [--jobs J] [--mem SIZE] [--gpus N] [--threads N] [--ranks N] [--pe NAME]
              [--requeue] [--notice S] [--progress FILE] [--options TEXT] [--retries N]
              [--items FILE [--results FILE]] [--verbatim]
              --parts N | --lines FILE --log PREFIX -- COMMAND [ARGUMENT...]

Runs COMMAND once for each part 1 ... N; the number of the part replaces {} in the arguments. The output of a part goes to
PREFIX.PART.log. PREFIX.PART.done marks a finished part, which does not run again while the command is the same. Failed
parts run again, and only these; PREFIX.PART.log.1, .2 ... are the logs of earlier attempts. At the end PREFIX.failed lists
the parts that failed, with their logs. An interrupt cancels the job on the cluster.

  --lines FILE    a part for each line of FILE; its fields replace {1}, {2} ... in the arguments
  --verbatim      replaces nothing in the arguments, nor in the names of files below
  --via WAY       local (default), parallel (GNU parallel), slurm or gridengine
  --jobs J        parts at a time (default: one per processor; for slurm and gridengine: all)
  --mem SIZE, --gpus N, --threads N
                  what each part requests from slurm (--mem, --gres=gpu, --cpus-per-task) or gridengine (-l mem_free, -l gpu,
                  -pe smp)
  --ranks N       each part is an MPI job of N processes, each with the requested GPUs and threads; --mem is then for each
                  processor. They run under mpirun; in slurm under srun; in gridengine under mpirun, on the hosts that
                  its parallel environment gives
  --pe NAME       this parallel environment of gridengine (default: mpi)
  --requeue       the command ends with code 143 after SIGTERM and can continue. slurm sends this signal before the time
                  limit; gridengine sends SIGUSR1 or SIGUSR2 (-notify), which become SIGTERM. Then, and when a machine
                  fails, the part is queued again and continues. qdel ends it for good
  --notice S      slurm sends the signal S seconds before the time limit (default 120); in gridengine the queue decides
  --progress FILE the checkpoint of the command; {} as above. If the command fails in another way, for example because it
                  was killed, and FILE has changed since the command started, slurm and gridengine queue the part again,
                  and it continues. If FILE has not changed, the part has failed
  --retries N     how often failed parts run again (default 2); not if no part of a job started
  --items FILE    lists what a part works on, such as utterances, in its first column; {} as above. If parts failed,
                  PREFIX.missing names these items, with part and log
  --results FILE  lists what a part has finished, in its first column: these are not missing
  --options TEXT  for parallel, sbatch or qsub, such as "--partition=long --time=60"; all machines must have access to the
                  folders of COMMAND and of its files. sbatch passes the whole environment to the parts, qsub only PATH;
                  gridengine takes more as "-v NAME"
END
}

via=local jobs='' mem='' gpus='' threads='' options='' parts='' log='' ranks='' pe=mpi requeue='' notice=120 progress='' retries=2 items='' results='' lines='' verbatim=''
submission='' watcher='' job=linnet-$(hostname)-$$-$RANDOM cancel_command=()
take_options "via jobs mem gpus threads options parts log ranks pe requeue! notice progress retries items results lines verbatim! ..." "$@"
[ -z "$lines" ] || {
	[ -z "$parts" ] || die "--parts and --lines exclude each other"
	[ -z "$verbatim" ] || die "--verbatim and --lines exclude each other"
	[ -s "$lines" ] || die "--lines $lines: is missing or empty"
	lines=$(realpath "$lines") parts=$(awk 'END {print NR}' "$lines")
}
[ ${#rest[@]} -gt 0 ] && [ -n "$parts" ] && [ -n "$log" ] || {
	usage >&2
	exit 2
}

notices='' # whether GridEngine sends them
[ "$via" != gridengine ] || notices=$requeue

# A step of slurm, which gets the signal before the time limit. Since 22.05 srun does not read SLURM_CPUS_PER_TASK, which
# sbatch may set to 1 if nothing was requested.
start_step() {
	local requested=" ${threads:+-c }$options"
	echo 'srun --kill-on-bad-exit=1'
	# shellcheck disable=SC2016
	[[ $requested != *" -c"* && $requested != *" --cpus-per-task"* ]] || echo '--cpus-per-task="$SLURM_CPUS_PER_TASK"'
}

# How the processes of a part are started.
launcher() {
	if [ "$via" = slurm ]; then
		[ -z "$ranks$requeue" ] || start_step
	elif [ "${ranks:-1}" = 1 ]; then
		:
	elif [ "$via" = gridengine ]; then
		echo "env OMPI_MCA_ras=^gridengine ${start_ranks[*]} $ranks -machinefile \"\$log.hosts\""
	else
		echo "${start_ranks[*]} $ranks"
	fi
	[ -z "$notices" ] || printf '%q\n' "$here/stop_on_notice.sh"
}

# The part of the program that finds out what GridEngine gives to several ranks: a line per host with the number of ranks
# on it, in the form of Open MPI or MPICH. All of a rank's threads have to be on one host.
write_hosts() {
	printf 'threads=%d ranks=%d pe=%q separator=:\n' "${threads:-1}" "$ranks" "$pe"
	cat <<'SCRIPT'
[[ $(mpirun --version 2>&1) != *'Open MPI'* ]] || separator=' slots='
awk -v threads="$threads" -v separator="$separator" '
	!($1 in slots) {hosts[++count] = $1}
	{slots[$1] += $2}
	END {for (i = 1; i <= count; i++) if (n = int(slots[hosts[i]] / threads)) print hosts[i] separator n}
' "${PE_HOSTFILE:?}" >"$log.hosts"
[ "$(awk -F '[:=]' '{n += $NF} END {print n + 0}' "$log.hosts")" -ge "$ranks" ] || {
	echo "the hosts have not $threads slots for each of $ranks ranks: the parallel environment $pe needs an" \
		"allocation_rule that is a multiple of $threads" >>"$log.log"
	exit 1
}
SCRIPT
}

# The part of the program that runs the command. GridEngine's notice (-notify) comes to all processes of the part: the
# script only remembers it, mpirun passes it on to its processes, and each command gets SIGTERM (stop_on_notice.sh).
write_run() {
	[ -z "$notices" ] || echo "noticed='' && trap 'noticed=yes' USR1 USR2"
	# shellcheck disable=SC2016
	printf '%s\n' 'size=$(cat "$log.log" 2>/dev/null | wc -c)' '"${command[@]}" >>"$log.log" 2>&1' 'status=$?'
	# srun ends with 0 if a machine fails
	# shellcheck disable=SC2016
	[ "$via" != slurm ] || printf '%s\n' '! tail -c +$((size + 1)) "$log.log" | grep -qE "^srun: .*(Node failure|step aborted)" || [ $status != 0 ] || status=1'
	# shellcheck disable=SC2016
	local finished='[ $status = 0 ]'
	[ "${ranks:-1}" = 1 ] || finished=false # mpirun also ends with 0 if the notice comes before it has started the ranks
	[ -z "$notices" ] || printf '[ -z "$noticed" ] || %s || status=143\n' "$finished"
	# shellcheck disable=SC2016
	[ "$via" != gridengine ] || printf '%s\n' 'case $status in 99 | 100) status=1 ;; esac # for GridEngine these mean other things'
}

# The part of the program that finds out whether the command has replaced its checkpoint.
write_progress() {
	printf 'progress=%q\n' "$progress"
	# shellcheck disable=SC2016
	[ -n "$verbatim" ] || printf '%s\n' 'progress=${progress//"{}"/$part}'
	# shellcheck disable=SC2016
	printf '%s\n' 'see() { stat -c "%i %Y" "$progress" 2>/dev/null; }' 'before=$(see)'
}

# The part of the program that queues the part again, and does not return, if the command can continue.
write_requeue() {
	local again='exit 99' # GridEngine then queues it again
	# shellcheck disable=SC2016
	[ "$via" != slurm ] || again='scontrol requeue "$SLURM_JOB_ID"; exit $status'
	printf 'again() {\n\techo "$1: queued again" >>"$log.log"\n\t%s\n}\n' "$again"
	# shellcheck disable=SC2016
	[ -z "$requeue" ] || printf '%s\n' '[ $status != 143 ] || again interrupted'
	# shellcheck disable=SC2016
	[ -z "$progress" ] || printf '%s\n' '[ $status = 0 ] || [ "$(see)" = "$before" ] || again "ended with $status after a new checkpoint"'
}

# The part of the program that puts the fields of a line into the arguments.
write_fields() {
	# The checksum makes another file another command.
	printf 'read -r -a fields < <(sed -n "${part}p" %q) # %s\n' "$lines" "$(cksum <"$lines")"
	# shellcheck disable=SC2016
	printf '%s\n' 'for field in "${!fields[@]}"; do command=("${command[@]//"{$((field + 1))}"/"${fields[field]}"}"); done'
}

# Prints the program of a part.
write_script() {
	local argument
	printf '#!/bin/bash\n# part: the first argument, or the index in an array of Slurm or GridEngine\n'
	# shellcheck disable=SC2016
	printf '%s\n' 'part=${1:-${SLURM_ARRAY_TASK_ID:-${SGE_TASK_ID:?}}}'
	# shellcheck disable=SC2016
	[ "$via" != gridengine ] || printf '%s\n' 'PATH=${LINNET_JOB_PATH:-$PATH} # the profile of the login shell has set another'
	printf 'cd %q && log=%q.$part && [ ! -e "$log.done" ] || exit 0\n' "$PWD" "$log"
	[ "$via" != gridengine ] || [ "${ranks:-1}" = 1 ] || write_hosts
	printf 'command=(%s' "$(launcher | paste -s -d ' ')"
	for argument; do printf ' %q' "$argument"; done
	echo ' )'
	# shellcheck disable=SC2016
	[ -n "$verbatim" ] || printf '%s\n' 'command=("${command[@]//"{}"/$part}")'
	[ -z "$lines" ] || write_fields
	[ -z "$progress" ] || write_progress
	write_run
	# shellcheck disable=SC2016
	printf '%s\n' '[ $status != 0 ] || : >"$log.done"'
	[ "$via" = local ] || [ "$via" = parallel ] || write_requeue
	# shellcheck disable=SC2016
	printf '%s\n' 'exit $status'
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
	[ -z "$watcher" ] || kill "$watcher" 2>/dev/null || true
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

# Waits for the end of unfinished jobs that were queued again. A controller that does not answer is asked five times.
# shellcheck disable=SC2317 # submit calls it
wait_for_queue() {
	local jobs failures=0
	while [ -n "$(unfinished)" ] && [ "$failures" -lt 5 ]; do
		if jobs=$(squeue --noheader --name="$job" 2>&1); then
			[ -n "$jobs" ] || return 0
			failures=0
		else
			failures=$((failures + 1))
		fi
		sleep "${LINNET_CMD_WAIT:-2}"
	done
}

# qdel_job: qsub itself may have deleted the job, as it does when it is interrupted.
# shellcheck disable=SC2317 # cancel calls it
qdel_job() {
	local answer
	answer=$(qdel "$job" 2>&1) || [[ $answer == *'does not exist'* ]] || {
		echo "$answer"
		return 1
	}
}

# Deletes tasks that GridEngine cannot start (state Eqw), and prints why. They would wait for an administrator, and qsub
# for them.
delete_errors() {
	local task reason
	{ qstat -j "$job" 2>/dev/null || true; } | awk '
		$1 == "job_number:" {number = $2}
		$1 " " $2 == "error reason" {task = number "." $3 + 0; sub(/^[^:]*: */, ""); print task, $0}' |
		while read -r task reason; do
			say "GridEngine cannot start part ${task#*.}: $reason"
			qdel "$task" >/dev/null || true
		done
}

# Calls delete_errors until it gets SIGTERM, or until this program ends.
watch_errors() {
	trap 'kill "$!" 2>/dev/null; exit' TERM
	while kill -0 $$ 2>/dev/null; do
		sleep "${LINNET_CMD_WATCH:-30}" &
		wait "$!"
		delete_errors
	done
}

# submit_gridengine OPTION...: submits the unfinished parts and waits for their end. GridEngine queues a part again that
# ends with 99 after a notice, but not when the notice is of the limit h_rt. Then qsub reports the 99, and the part is
# submitted again.
submit_gridengine() {
	export LINNET_JOB_PATH=$PATH
	while
		watch_errors &
		watcher=$!
		# shellcheck disable=SC2016
		submit bash -c 'exec "$@" 2>"$0"' "$log.errors" qsub -sync y -cwd -S /bin/bash -v LINNET_JOB_PATH -j y -o "$log.qsub" \
			-t "$(unfinished | sed -n '1p')-$(unfinished | tail -n 1)" "$@" -N "$job" "$log.sh"
		kill "$watcher" && wait "$watcher" || true
		watcher=''
		cat "$log.errors" >&2
		[ -n "$requeue$progress" ] && grep -q 'exited with exit code 99' "$log.errors"
	do say 'a part that can continue has ended: it is submitted again'; done
}

run_parts() {
	local some=() wanted=()
	read -r -a some <<<"$options" || true
	case "$via" in
	local) unfinished | xargs -P "${jobs:-$(nproc)}" -n 1 bash "$log.sh" ;;
	parallel) unfinished | parallel --quote ${jobs:+--jobs "$jobs"} ${some[@]+"${some[@]}"} bash "$log.sh" ;;
	slurm)
		wanted=(${mem:+--mem="$mem"} ${gpus:+--gres=gpu:"$gpus"} ${threads:+--cpus-per-task="$threads"})
		[ "${ranks:-1}" = 1 ] || wanted=(${mem:+--mem-per-cpu="$mem"} ${gpus:+--gpus-per-task="$gpus"}
			${threads:+--cpus-per-task="$threads"} --ntasks="$ranks")
		[ -z "$requeue$progress" ] || wanted+=(--requeue ${requeue:+--signal=TERM@"$notice"} --open-mode=append)
		cancel_command=(scancel --name="$job")
		submit sbatch --wait --quiet --array="$(unfinished | paste -s -d ,)${jobs:+%$jobs}" --output="$log.%a.slurm" \
			${wanted[@]+"${wanted[@]}"} ${some[@]+"${some[@]}"} --job-name="$job" "$log.sh"
		[ -z "$requeue$progress" ] || submit wait_for_queue
		;;
	gridengine)
		wanted=(${mem:+-l mem_free="$mem"} ${gpus:+-l gpu="$gpus"})
		[ "${threads:-1}" = 1 ] || wanted+=(-pe smp "$threads")
		[ "${ranks:-1}" = 1 ] || wanted=(${mem:+-l mem_free="$mem"} ${gpus:+-l gpu="$gpus"} -pe "$pe" $((ranks * ${threads:-1})))
		[ -z "$requeue" ] || wanted+=(-r y -notify)
		cancel_command=(qdel_job)
		submit_gridengine ${jobs:+-tc "$jobs"} ${wanted[@]+"${wanted[@]}"} ${some[@]+"${some[@]}"}
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
[ -z "$ranks" ] || [[ $ranks =~ ^[1-9][0-9]*$ ]] || die "--ranks $ranks: must be a number above 0"
[[ $notice =~ ^[1-9][0-9]*$ ]] || die "--notice $notice: must be a number of seconds above 0"
[[ $retries =~ ^[0-9]+$ ]] || die "--retries $retries: must be a whole number"
[ "${ranks:-1}" = 1 ] || [ "$via" = slurm ] || [ "$via" = gridengine ] || command -v mpirun >/dev/null ||
	die "--ranks $ranks: mpirun is not installed: install Open MPI or MPICH"
[[ $parts =~ ^[1-9][0-9]*$ ]] || die "--parts $parts: must be a number above 0"
mkdir -p "$(dirname "$log")"
log=$(cd "$(dirname "$log")" && pwd)/$(basename "$log")
[ "$via" != gridengine ] || [[ $PWD$log != *[,:\$]* ]] ||
	die "--via gridengine: qsub takes no path with a comma, colon or dollar sign, such as $PWD or $log"
write_script "${rest[@]}" >"$log.new"
# keep_logs: renames the logs of earlier attempts of unfinished parts.
keep_logs() {
	local part number
	for part in $(unfinished); do
		[ -e "$log.$part.log" ] || continue
		for ((number = 1; ; number++)); do [ -e "$log.$part.log.$number" ] || break; done
		mv "$log.$part.log" "$log.$part.log.$number"
	done
}

# Network file systems show new files late.
wait_for_files() {
	local _
	for _ in 1 2 3 4 5; do
		[ -n "$(unfinished)" ] || return 0
		[ "$via" = slurm ] || [ "$via" = gridengine ] || return 0
		sleep "${LINNET_CMD_WAIT:-2}"
	done
}

# Whether a part that did not finish has a log: it has started.
some_started() {
	local part
	for part in $(unfinished); do [ ! -e "$log.$part.log" ] || return 0; done
	return 1
}

# of_part PATTERN PART: the pattern with the number of the part
# shellcheck disable=SC2317 # list_missing calls it
of_part() { if [ -n "$verbatim" ]; then printf '%s\n' "$1"; else printf '%s\n' "${1//"{}"/$2}"; fi; }

# Lines "PART LOG" of the parts that failed.
# shellcheck disable=SC2317 # into calls it
list_failed() {
	local part
	for part in $(unfinished); do echo "$part $log.$part.log"; done
}

# Lines "ITEM PART LOG" of the items without results in the parts that failed.
# shellcheck disable=SC2317 # into calls it
list_missing() {
	local part all finished
	for part in $(unfinished); do
		all=$(of_part "$items" "$part") finished=/dev/null
		[ -z "$results" ] || finished=$(of_part "$results" "$part")
		[ -e "$finished" ] || finished=/dev/null
		list=$finished where="$part $log.$part.log" awk '
			BEGIN {while ((getline line <ENVIRON["list"]) > 0) {split(line, f); there[f[1]]}}
			!($1 in there) {print $1 " " ENVIRON["where"]}' "$all"
	done
}

# Prints what is missing, and fails.
summarize() {
	local part
	into "$log.failed" list_failed
	for part in $(unfinished | head -n 3); do
		say "part $part of $parts failed: $log.$part.log"
		[ ! -s "$log.$part.log" ] || tail -n 3 "$log.$part.log" | sed 's/^/  /' >&2
	done
	if [ -n "$items" ]; then
		into "$log.missing" list_missing
		say "$(wc -l <"$log.missing") items are missing: $log.missing"
	fi
	die "$(unfinished | wc -l) of $parts parts failed ($log.failed); the others are not run again"
}

cmp -s "$log.new" "$log.sh" || rm -f "$log".*.done "$log".*.log "$log".*.log.[0-9]*
mv "$log.new" "$log.sh"
rm -f "$log.failed" "$log.missing"
[ -n "$(unfinished)" ] || exit 0
say "$(unfinished | wc -l) of $parts parts to run, $via: $log.*.log"
for ((attempt = 0; attempt <= retries; attempt++)); do
	[ "$attempt" = 0 ] || say "$(unfinished | wc -l) of $parts parts failed; they run again ($attempt of $retries)"
	keep_logs
	run_parts || true
	wait_for_files
	[ -n "$(unfinished)" ] || exit 0
	some_started || break
done
summarize
