#!/usr/bin/env bash
# Features of a data folder through Slurm: starts the real controller and daemon on this machine, on separate ports. Exit
# code 77 (skipped): slurmctld, slurmd and munged (Debian package slurm-wlm) are not installed or do not start.
#
#   cluster_slurm.sh LINNET
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
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/builtin
SchedulerParameters=sched_interval=1
ReturnToService=2
MpiDefault=none
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=test Nodes=$host Default=YES MaxTime=INFINITE State=UP
END
export SLURM_CONF=$PWD/slurm/slurm.conf
mkdir slurm/state slurm/spool
daemon slurmctld -D
daemon slurmd -D
idle() { [[ $(sinfo --noheader --format %T) == idle ]]; }
wait_for 30 idle || skip "Slurm did not start: $(tail -qn 1 slurm/slurmctld.log slurm/slurmd.log slurmd.out 2> /dev/null | tr '\n' ' ')"

check_features slurm '--partition=test --time=5' '--partition=nowhere'
check_interrupt slurm '--partition=test --time=5'
[[ $(find cluster/log -name '*.slurm' | wc -l) -eq 4 ]] || fail 'the array has not four tasks'

# --- a training that gets the signal of its time limit: checkpoint, back into the queue, the same model in the end

make_stored '"epochs": 400'
options=(--train stored --dev stored --config conf.json --threads 1 --batches)
"$linnet" train "${options[@]}" --exp whole 2> whole.log || fail "$(cat whole.log)"
jobs_of_test() { squeue --noheader --format %A "$@"; }
# Sends the signal to the first job that has trained some steps.
send_signal() {
  wait_for 60 test -s again/batches.txt && scancel --signal=TERM "$(jobs_of_test --states=R | head -n 1)"
}
send_signal &
check 0 '1 of 1 parts to run' "$recipes/common/cmd.sh" --via slurm --ranks 1 --requeue --options '--time=5' --retries 0 --parts 1 \
  --log jobs/train -- "$linnet" train "${options[@]}" --exp again
grep -q 'training was interrupted; it can be continued' jobs/train.1.log || fail "not interrupted: $(cat jobs/train.1.log)"
grep -q 'interrupted: queued again' jobs/train.1.log || fail "not queued again: $(cat jobs/train.1.log)"
cmp whole/model.safetensors again/model.safetensors || fail 'the model of the continued training differs'
cmp whole/batches.txt again/batches.txt || fail 'the batches of the continued training differ'

echo "$failures failures"
[[ $failures -eq 0 ]]
