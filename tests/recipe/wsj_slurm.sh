#!/usr/bin/env bash
# Stage 3 of recipes/wsj through Slurm: its real controller and daemon, on this machine, on ports of their own. Exit code 77
# (skipped) where slurmctld, slurmd and munged (Debian package slurm-wlm) are not installed or cannot be started.
#
#   wsj_slurm.sh LINNET
# shellcheck source=tests/recipe/command.sh
. "$(dirname "$0")/command.sh"
skip() {
  echo "SKIPPED: $*"
  exit 77
}
for tool in slurmctld slurmd munged sbatch sinfo sox; do
  command -v "$tool" > /dev/null || skip "$tool is not installed"
done
[[ $(id -u) -eq 0 ]] || skip 'slurmd runs as root alone'
recipes=$(realpath "$here/../../recipes")
export LINNET=$linnet
daemons=()
stop() {
  [[ ${#daemons[@]} -eq 0 ]] || kill "${daemons[@]}" 2> /dev/null || true
  wait
  rm -rf "$work"
}
trap stop EXIT
mkdir slurm
chmod 755 "$work" # munged wants to reach its socket

# wait_for SECONDS COMMAND...
wait_for() {
  local end=$((SECONDS + $1))
  shift
  until "$@" > /dev/null 2>&1; do
    [[ $SECONDS -lt $end ]] || return 1
    sleep 0.2
  done
}

# --- a cluster of one machine

head -c 1024 /dev/urandom > slurm/key
chmod 400 slurm/key
munged --foreground --force --key-file "$PWD/slurm/key" --socket "$PWD/slurm/munge" --pid-file "$PWD/slurm/munge.pid" \
  --log-file "$PWD/slurm/munge.log" --seed-file "$PWD/slurm/seed" > slurm/munged.out 2>&1 &
daemons+=($!)
wait_for 10 test -S slurm/munge || skip "munged did not start: $(tail -n 1 slurm/munged.out)"
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
slurmctld -D > slurm/slurmctld.out 2>&1 &
daemons+=($!)
slurmd -D > slurm/slurmd.out 2>&1 &
daemons+=($!)
idle() { [[ $(sinfo --noheader --format %T) == idle ]]; }
wait_for 30 idle || skip "Slurm did not start: $(tail -qn 1 slurm/slurmctld.log slurm/slurmd.log slurm/slurmd.out 2> /dev/null | tr '\n' ' ')"

# --- features of a data folder, four parts

mkdir -p data/audio
for speaker in a b c d; do
  for i in 1 2 3; do
    sox -R -n -r 16000 -b 16 "data/audio/$speaker-$i.wav" synth "0.$((i + 3))" pinknoise vol 0.3
    echo "$speaker-$i audio/$speaker-$i.wav" >> data/wav.scp
    echo "$speaker-$i $speaker" >> data/utt2spk
    echo "$speaker-$i WORDS" >> data/text
  done
  echo "$speaker $speaker-1 $speaker-2 $speaker-3" >> data/spk2utt
done
features() { # STATUS TEXT OUT ARGUMENTS...
  check "$1" "$2" "$recipes/common/make_features.sh" --data data --out "$3" --parts 4 "${@:4}"
}
features 0 'good: 12 utterances of 4 speakers' local
features 0 'good: 12 utterances of 4 speakers' cluster --via slurm --options '--partition=test --time=5'
cat out
for part in 1 2 3 4; do cmp "local/feats.$part.ark" "cluster/feats.$part.ark" || fail "part $part differs"; done
[[ $(find cluster/log -name '*.slurm' | wc -l) -eq 4 ]] || fail 'not four tasks of an array'

# What fails is told, the rest is not computed again.
rm cluster/log/*.2.done cluster/feats.2.ark
mv data/audio/b-2.wav hidden.wav
features 1 '1 of 4 parts failed' cluster --via slurm --jobs 2
mv hidden.wav data/audio/b-2.wav
touch marker
features 0 'good: 12 utterances' cluster --via slurm --jobs 2
[[ $(find cluster -name 'feats.*.ark' -newer marker) == cluster/feats.2.ark ]] || fail 'more than the failed part ran'
features 1 'of 4 parts failed' cluster2 --via slurm --options '--partition=nowhere'

echo "$failures failures"
[[ $failures -eq 0 ]]
