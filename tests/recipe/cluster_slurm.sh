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
AuthInfo=socket=$PWD/slurm/munge
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
[[ $(find cluster/log -name '*.slurm' | wc -l) -eq 4 ]] || fail 'the array has not four tasks'

echo "$failures failures"
[[ $failures -eq 0 ]]
