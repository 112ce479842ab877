#!/usr/bin/env bash
# Features of a data folder through Slurm: starts the real controller and daemon on this machine, on separate ports. Exit
# code 77 (skipped): slurmctld, slurmd and munged (Debian package slurm-wlm) are not installed or do not start.
#
#   cluster_slurm.sh LINNET [--node-failure] [--preemption] [--time-limit]
#
# The options add what takes minutes: a machine that fails, a job that preempts, a time limit that expires.
# shellcheck source=tests/recipe/cluster.sh
. "$(dirname "$0")/cluster.sh"
need slurmctld slurmd munged sbatch sinfo sox
mkdir slurm
chmod 755 "$work" # munged must reach its socket

head -c 1024 /dev/urandom > slurm/key
chmod 400 slurm/key
daemon munged --foreground --force --key-file "$PWD/slurm/key" --socket "$PWD/slurm/munge" --pid-file "$PWD/slurm/munge.pid" \
  --log-file "$PWD/slurm/munge.log" --seed-file "$PWD/slurm/seed"
wait_for 10 test -S slurm/munge || skip "munged did not start: $(tail -n 1 munged.out)"
host=$(hostname -s)
cat > slurm/slurm.conf << END
ClusterName=linnet
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$((20000 + $$ % 20000))
SlurmdPort=$((20001 + $$ % 20000))
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$PWD/slurm/munge,cred_expire=5
CredType=cred/munge
StateSaveLocation=$PWD/slurm/state
SlurmdSpoolDir=$PWD/slurm/spool
SlurmctldPidFile=$PWD/slurm/slurmctld.pid
SlurmdPidFile=$PWD/slurm/slurmd.pid
SlurmctldLogFile=$PWD/slurm/slurmctld.log
SlurmdLogFile=$PWD/slurm/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/builtin
SchedulerParameters=sched_interval=1
ReturnToService=2
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PartitionName=test Nodes=$host Default=YES MaxTime=INFINITE State=UP PriorityTier=1 GraceTime=60
PartitionName=urgent Nodes=$host MaxTime=INFINITE State=UP PriorityTier=2
END
export SLURM_CONF=$PWD/slurm/slurm.conf

# Two ranks, where the build has MPI and Slurm can start the processes of its library; otherwise one.
ranks=1 mpi=none
if [[ -n $(find "$(dirname "$linnet")/.." -name linnet-mpi.so) ]] && command -v mpirun > /dev/null && [[ $(nproc) -ge 2 ]]; then
  mpi=pmi2
  [[ $(mpirun --version) == *'Open MPI'* ]] && mpi=pmix
  if srun --mpi=list 2>&1 | grep -qw $mpi; then ranks=2; else mpi=none; fi
fi
echo "MpiDefault=$mpi" >> slurm/slurm.conf

mkdir slurm/state slurm/spool
daemon slurmctld -D
daemon slurmd -D
idle() { [[ $(sinfo --noheader --format %T) == idle ]]; }
wait_for 30 idle || skip "Slurm did not start: $(tail -qn 1 slurm/slurmctld.log slurm/slurmd.log slurmd.out 2> /dev/null | tr '\n' ' ')"

check_features slurm '--partition=test --time=5' '--partition=nowhere'
check_interrupt slurm '--partition=test --time=5'
[[ $(find cluster/log -name '*.slurm' | wc -l) -eq 4 ]] || fail 'the array has not four tasks'

# --- where Slurm binds a rank to its processors, it is bound to all that it has requested

SLURM_CPU_BIND=cores check 0 '1 of 1 parts to run' "$recipes/common/cmd.sh" --via slurm --ranks 1 --threads "$(nproc)" --options '--time=5' \
  --retries 0 --parts 1 --log bound -- nproc
[[ $(< bound.1.log) == "$(nproc)" ]] || fail "a rank that has requested $(nproc) processors has $(< bound.1.log)"

# --- a training that gets the signal of its time limit, and one of whose ranks dies: back into the queue, and the same
# model in the end

make_stored '"epochs": 400, "shards": 2, "checkpoint_seconds": 0'
export OMPI_MCA_btl_vader_single_copy_mechanism=none # containers forbid the others
options=(--train stored --dev stored --config conf.json --threads 1 --batches)
"$linnet" train "${options[@]}" --exp whole 2> whole.log || fail "$(cat whole.log)"

"$linnet" transcribe --model whole/model.safetensors --data stored --output whole.hyp 2> whole.log || fail "$(cat whole.log)"
check 0 '3 of 3 parts to run' "$recipes/common/decode.sh" --data stored --out parts --parts 3 --cmd 'slurm --threads 1 --time=5' -- \
  transcribe --model whole/model.safetensors
cmp whole.hyp parts.hyp || fail 'recognition in parts differs'

# check_training EXP ENDING COMMAND...: runs COMMAND when the training in EXP has made some steps; the log then has ENDING.
check_training() {
  (wait_for 60 test -s "$1/batches.txt" -a -s "$1/checkpoint.safetensors" && "${@:3}") &
  check 0 '1 of 1 parts to run' "$recipes/common/cmd.sh" --via slurm --ranks $ranks --requeue --progress "$PWD/$1/checkpoint.safetensors" \
    --options "--time=$minutes" --retries 0 --parts 1 --log "jobs/$1" -- "$linnet" train "${options[@]}" --exp "$1"
  grep -q "$2" "jobs/$1.1.log" || fail "$1: not queued again: $(cat "jobs/$1.1.log")"
  [[ $ranks -eq 1 ]] || grep -q '^2 ranks by' "jobs/$1.1.log" || fail "$1: not two ranks: $(cat "jobs/$1.1.log")"
  cmp "$whole"/model.safetensors "$1/model.safetensors" || fail "$1: the model of the continued training differs"
  cmp "$whole"/batches.txt "$1/batches.txt" || fail "$1: the batches of the continued training differ"
}
minutes=5 whole=whole
# Sends the signal to the first job.
# shellcheck disable=SC2317 # check_training calls it
send_signal() { scancel --signal=TERM "$(squeue --noheader --format %A --states=R | head -n 1)"; }
check_training warned 'interrupted: queued again' send_signal
grep -q 'training was interrupted; it can be continued' jobs/warned.1.log || fail "$(cat jobs/warned.1.log)"
check_training died 'ended with [0-9]* after a new checkpoint: queued again' pkill -KILL -n -f -- "^$linnet train .*--exp died\$"

# shellcheck disable=SC2317 # check_training calls it
preempt() { srun --partition=urgent --mpi=none --ntasks="$(nproc)" sleep 1; }

# The job that has gone back into the queue gets more time.
# shellcheck disable=SC2317 # check_training calls it
lift_limit() {
  wait_for 300 grep -q 'interrupted: queued again' jobs/limited.1.log
  wait_for 30 scontrol update JobId="$(squeue --noheader --format %A | head -n 1)" TimeLimit=60
}

# A training that lasts longer than the minute of three after which the signal comes
check_limit() {
  local minutes=3 whole=long options=("${options[@]}" --set epochs=20000 --set checkpoint_seconds=30)
  "$linnet" train "${options[@]}" --exp long 2> long.log || fail "$(cat long.log)"
  check_training limited 'interrupted: queued again' lift_limit
}

for case in "${@:2}"; do
  case $case in
  --node-failure) # Slurm queues the job again, but srun ends with 0. The daemon then takes the machine back.
    check_training failed 'srun: error: Node failure' scontrol update NodeName="$host" State=DOWN Reason=test
    ;;
  --preemption) check_training preempted 'interrupted: queued again' preempt ;;
  --time-limit) check_limit ;;
  esac
done

echo "$ranks ranks, $failures failures"
[[ $failures -eq 0 ]]
