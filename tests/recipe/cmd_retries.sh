#!/usr/bin/env bash
# recipes/common/cmd.sh with commands that fail: retries, logs, what is missing at the end, and jobs of several ranks. Slurm,
# GridEngine and mpirun are scripts here, which do what the real ones do for cmd.sh.
#
#   cmd_retries.sh LINNET
# shellcheck source=tests/recipe/command.sh
. "$(dirname "$0")/command.sh"
mkdir "it's # &"
cd "it's # &"
cmd=$(realpath "$here/../../recipes/common/cmd.sh")
export LINNET_CMD_WAIT=0.1

# --- part N of four fails N - 1 times, so that part 4 needs three retries

cat > flaky << 'END'
#!/bin/bash
echo "attempt" >> attempts.$1
[ "$(wc -l < attempts.$1)" -ge "$1" ] || { echo "part $1 fails"; exit 3; }
echo "part $1 works"
END
chmod +x flaky
for part in 1 2 3 4; do printf '%s\n' "utt-$part-a x" "utt-$part-b x" "utt-$part-c x" > "list.$part"; done
echo 'utt-4-b done' > result.4
check 1 '1 of 4 parts failed' "$cmd" --parts 4 --jobs 2 --log logs/flaky --items "$PWD/list.{}" --results "$PWD/result.{}" \
  -- ./flaky '{}'
grep -q '3 of 4 parts failed; they run again (1 of 2)' out || fail "$(cat out)"
[[ $(cat attempts.1 attempts.2 attempts.3 attempts.4 | wc -l) -eq 9 ]] || fail "$(wc -l attempts.*)"
[[ $(cat logs/flaky.failed) == "4 $PWD/logs/flaky.4.log" ]] || fail "$(cat logs/flaky.failed)"
[[ $(cut -d ' ' -f 1,2 logs/flaky.missing | paste -s -d ,) == 'utt-4-a 4,utt-4-c 4' ]] || fail "$(cat logs/flaky.missing)"
[[ $(cat logs/flaky.3.log.1 logs/flaky.3.log.2 logs/flaky.3.log | paste -s -d ,) == 'part 3 fails,part 3 fails,part 3 works' ]] ||
  fail "$(ls logs)"
check 0 '1 of 4 parts to run' "$cmd" --parts 4 --log logs/flaky --items "$PWD/list.{}" --results "$PWD/result.{}" -- ./flaky '{}'
[[ ! -e logs/flaky.failed && ! -e logs/flaky.missing ]] || fail 'an old summary'
rm attempts.*
check 1 '3 of 4 parts failed' "$cmd" --parts 4 --retries 0 --log logs/flaky --items "$PWD/list.{}" -- ./flaky '{}' again
[[ $(wc -l < logs/flaky.missing) -eq 9 && ! -e logs/flaky.3.log.1 ]] || fail 'missing items, or logs of another command'
# Braces in the arguments may be none of cmd.sh's.
for way in '' --verbatim; do
  check 0 '1 of 1 parts to run' "$cmd" --parts 1 --log "logs/braces$way" ${way:+"$way"} -- echo 'augment.specaugment={}'
done
[[ $(cat logs/braces.1.log logs/braces--verbatim.1.log | paste -s -d ,) == 'augment.specaugment=1,augment.specaugment={}' ]] ||
  fail "$(cat logs/braces*.log)"
check 1 '--jobs x: must be a number above 0' "$cmd" --parts 1 --jobs x --log logs/no -- true
check 1 '--verbatim and --lines exclude each other' "$cmd" --lines flaky --verbatim --log logs/no -- true
check 2 '--quick: is not an option' "$cmd" --parts 1 --quick --log logs/no -- true
check 1 '--retries x: must be a whole number' "$cmd" --parts 1 --retries x --log logs/no -- true
check 1 '--ranks 0: must be a number above 0' "$cmd" --parts 1 --ranks 0 --log logs/no -- true

# --- a cluster that refuses jobs is asked once; one whose machines fail gets only the failed parts again

# shellcheck source=tests/recipe/fake_slurm.sh
. "$here/fake_slurm.sh"
printf '#!/bin/bash\necho "mpirun $*" >> "$FAKE/calls"\nfor r in 1 2 3; do "${@:3}" || exit; done\n' > bin/mpirun
chmod +x bin/mpirun
touch refuse
check 1 '2 of 2 parts failed' "$cmd" --via slurm --parts 2 --log logs/refused -- true
[[ $(wc -l < calls) -eq 1 ]] || fail "a refused job was submitted again: $(cat calls)"
rm -f refuse attempts.* calls
check 0 'they run again (2 of 2)' "$cmd" --via slurm --parts 3 --log logs/slurm -- ./flaky '{}'
[[ $(grep -o 'array=[0-9,]*' calls | paste -s -d ' ') == 'array=1,2,3 array=2,3 array=3' ]] || fail "$(cat calls)"

# --- a job of several ranks: interrupted before its time limit, queued again, continued

cat > train << 'END'
#!/bin/bash
echo "step" >> steps
[ "$(wc -l < steps)" -ge 3 ] || exit 143 # a signal; the checkpoint is saved
[ "$(wc -l < steps)" != 4 ] || exit 1
END
chmod +x train
rm -f calls
check 0 '1 of 1 parts to run' "$cmd" --via slurm --ranks 2 --threads 4 --requeue --parts 1 --log logs/train -- ./train
[[ $(wc -l < steps) -eq 3 && $(grep -c '^scontrol requeue 101$' calls) -eq 2 ]] || fail "$(cat steps calls)"
for option in --ntasks=2 --cpus-per-task=4 --requeue --signal=TERM@120 --open-mode=append; do
  grep -q -- "$option" calls || fail "sbatch without $option: $(cat calls)"
done
grep -qx 'srun --kill-on-bad-exit=1 --cpus-per-task=4 ./train' calls || fail "$(cat calls)"
[[ $(grep -c 'interrupted: queued again' logs/train.1.log) -eq 2 ]] || fail "$(cat logs/train.1.log)"
for threads in --threads=3 --options=--cpus-per-task=3 ''; do # also one process alone, if it has requested processors
  check 0 '1 of 1 parts to run' "$cmd" --via slurm --requeue ${threads:+"${threads%%=*}" "${threads#*=}"} --parts 1 --log "logs/one$threads" -- true
done
[[ $(grep '^srun .* true' calls | paste -s -d ,) == \
  'srun --kill-on-bad-exit=1 --cpus-per-task=3 true,srun --kill-on-bad-exit=1 --cpus-per-task=3 true,srun --kill-on-bad-exit=1 true' ]] ||
  fail "$(cat calls)"
touch queue
check 1 '1 of 1 parts failed' "$cmd" --via slurm --ranks 2 --requeue --retries 0 --parts 1 --log logs/failing -- ./train
[[ ! -e queue ]] || fail 'did not wait for a job in the queue'
printf '#!/bin/bash\necho asked >> "$FAKE/questions"\nexit 1\n' > bin/squeue
rm -f questions
check 1 '1 of 1 parts failed' "$cmd" --via slurm --requeue --retries 0 --parts 1 --log logs/silent -- false
[[ $(wc -l < questions) -eq 5 ]] || fail 'waits for a controller that does not answer'
[[ $(grep -c '^scontrol' calls) -eq 2 ]] || fail 'a failed job was queued again'

# --- a command that dies is queued again if its checkpoint has changed, until it dies without a new one

cat > dies << 'END'
#!/bin/bash
echo "attempt" >> deaths
[ "$(wc -l < deaths)" -gt "$1" ] || { echo "$RANDOM" > new && mv new checkpoint; }
[ "$(wc -l < deaths)" -le "$2" ] || exit 0
kill -KILL $$
END
chmod +x dies
progress=(--via slurm --requeue --progress "$PWD/checkpoint" --retries 0 --parts 1)
rm -f calls
check 0 '1 of 1 parts to run' "$cmd" "${progress[@]}" --log logs/dies -- ./dies 2 2
[[ $(wc -l < deaths) -eq 3 && $(grep -c '^scontrol requeue' calls) -eq 2 ]] || fail "$(cat deaths calls)"
[[ $(grep -c 'ended with 137 after a new checkpoint: queued again' logs/dies.1.log) -eq 2 ]] || fail "$(cat logs/dies.1.log)"
rm deaths
check 1 '1 of 1 parts failed' "$cmd" "${progress[@]}" --log logs/stuck -- ./dies 2 99
[[ $(wc -l < deaths) -eq 3 ]] || fail "a command without progress runs again: $(wc -l deaths)"

rm -f calls
check 0 '1 of 1 parts to run' "$cmd" --ranks 3 --requeue --parts 1 --log logs/local -- ./train
grep -qx 'mpirun -n 3 ./train' calls || fail "$(cat calls)"

# --- the same in GridEngine, whose notice comes to all processes of the job, and which tells the hosts and their slots. A
# job that ends with 99 after SIGUSR1 is queued again; after SIGUSR2 at its hard limit it ends, and qsub reports that.

cat > bin/qsub << 'END'
#!/bin/bash
echo "qsub $*" >> "$FAKE/calls"
status=99
read -r signal < "$FAKE/signal"
while [ $status = 99 ]; do # the job goes back into the queue
  rm -f "$FAKE/started"
  SGE_TASK_ID=1 PE_HOSTFILE=$FAKE/slots setsid bash "${@: -1}" & # a group of processes
  until [ -e "$FAKE/started" ] || ! kill -0 $! 2> /dev/null; do sleep 0.02; done
  [ -e "$FAKE/saved" ] || kill -"$signal" -- -$! 2> /dev/null
  wait $!
  status=$?
  [ $signal = USR1 ] || [ $status = 0 ] || { echo "Job 7.1 exited with exit code $status." >&2 && exit $status; }
done
END
cat > bin/mpirun << 'END'
#!/bin/bash
[ "$1" != --version ] || { cat "$FAKE/version" && exit; }
echo "mpirun $*" >> "$FAKE/calls"
[ "$3" = -machinefile ] && cp "$4" "$FAKE/hosts"
exec "${@:5}"
END
cat > train << 'END'
#!/bin/bash
trap 'touch "$FAKE/saved"; exit 143' TERM
touch "$FAKE/started"
[ ! -e "$FAKE/saved" ] || exit 0
for _ in {1..600}; do sleep 0.1; done
exit 1
END
chmod +x bin/qsub train
printf 'one 3 all.q@one UNDEFINED\ntwo 4 all.q@two UNDEFINED\none 2 long.q@one UNDEFINED\n' > slots
echo 'mpirun (Open MPI) 4.1.4' > version
echo USR1 > signal
grid=("$cmd" --via gridengine --threads 2 --requeue --retries 0 --parts 1)
rm -f calls
check 0 '1 of 1 parts to run' "${grid[@]}" --ranks 4 --pe orte --log logs/grid -- ./train
[[ $(grep -c 'interrupted: queued again' logs/grid.1.log) -eq 1 ]] || fail "$(cat logs/grid.1.log)"
[[ $(paste -s -d , hosts) == 'one slots=2,two slots=2' ]] || fail "$(cat hosts)"
grep -q -- '-pe orte 8 -r y -notify' calls || fail "$(cat calls)"
rm saved
echo 'HYDRA build details:' > version
check 0 '1 of 1 parts to run' "${grid[@]}" --ranks 4 --log logs/mpich -- ./train
[[ $(paste -s -d , hosts) == 'one:2,two:2' ]] || fail "$(cat hosts)"
rm saved
echo USR2 > signal
check 0 'a part that can continue has ended: it is submitted again' "${grid[@]}" --log logs/alone -- ./train
[[ -e saved && $(grep -c 'interrupted: queued again' logs/alone.1.log) -eq 1 ]] || fail "$(cat logs/alone.1.log)"
check 1 'the hosts have not 2 slots for each of 5 ranks: the parallel environment mpi' "${grid[@]}" --ranks 5 --log logs/few -- ./train

echo "$failures failures"
[[ $failures -eq 0 ]]
