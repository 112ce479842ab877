#!/usr/bin/env bash
# recipes/common/cmd.sh and features of a data folder through GridEngine: starts a cell with the real master and daemons on
# this machine. Exit code 77 (skipped): the programs (Debian packages gridengine-master, gridengine-exec and
# gridengine-client) are not installed or do not start.
#
#   cluster_gridengine.sh LINNET [MPI_MODULE]
#
# MPI_MODULE: a training has two ranks. They are on different hosts if the system permits namespaces.
# shellcheck source=tests/recipe/cluster.sh
. "$(dirname "$0")/cluster.sh"
# shellcheck source=tests/recipe/gridengine_cell.sh
. "$here/gridengine_cell.sh"
need qsub qconf qstat sox
enter_namespaces "$here/$(basename "$0")" "$linnet" "${@:2}"
start_cell
prefix=(timeout 1200)
cmd=("$recipes/common/cmd.sh" --via gridengine --retries 0)

# --- a command's status is not what GridEngine understands by 99 (queue it again) and 100 (hold it); commands are found in
# PATH, from any folder, and get the slots that they request

statuses() {
  local part
  mkdir "it's # &"
  cd "it's # &"
  printf '#!/bin/sh\necho "part $1, $NSLOTS slots"\nexit $((98 + $1))\n' > leave
  chmod +x leave
  PATH=$PWD:$PATH check 1 '2 of 2 parts failed; they run again (1 of 1)' "${cmd[@]}" --mem 10M --gpus 1 --threads 2 --retries 1 \
    --parts 2 --log logs/x -- leave '{}'
  for part in 1 2; do
    [[ $(cat logs/x.$part.log.1 logs/x.$part.log | paste -s -d ,) == "part $part, 2 slots,part $part, 2 slots" ]] || fail "part $part: $(cat logs/x.$part.log)"
  done
  mkdir 'a,b'
  cd 'a,b'
  check 1 'qsub takes no path with a comma' "${cmd[@]}" --parts 1 --log x -- true
}

# --- parts that GridEngine cannot start do not wait for an administrator

unstarted() {
  LINNET_CMD_WATCH=1 check 1 'GridEngine cannot start part 2: ' "${cmd[@]}" --parts 2 --options '-S /nonexistent' --log x -- true
}

# --- a part that is stopped at its hard limit continues; one that is deleted does not

# limited_to SECONDS: fails if the limit came before the part had started.
limited_to() {
  rm -rf x x.* started
  "${prefix[@]}" "${cmd[@]}" --requeue --options "-l h_rt=$1" --parts 1 --log x -- \
    bash -c '[[ ! -e started ]] || exit 0; touch started; exec sleep 3600' > out 2>&1 &&
    grep -q 'a part that can continue has ended' out && [[ $(sort -u x.1.log) == 'interrupted: queued again' ]]
}

limited() { limited_to 2 || limited_to 20 || limited_to 200 || fail "$(cat out x.1.log)"; }

deleted() {
  (wait_for 600 test -s id && qdel "$(< id)") &
  check 1 '1 of 1 parts failed' "${cmd[@]}" --requeue --parts 1 --log x -- bash -c 'echo $JOB_ID >> id; exec sleep 3600'
  [[ $(wc -l < id) -eq 1 ]] || fail 'a deleted job runs again'
}

# --- a training that gets a notice: checkpoint, back into the queue, the same model in the end

# rank PROGRAM ARGUMENT...: says where it runs, and runs the program.
cat > rank << 'END'
#!/bin/bash
echo "$JOB_ID" > id
hostname >> where
exec "$@"
END
chmod +x rank

# interrupted_training RANKS EPOCHS: succeeds if the notice came before the end of the training.
interrupted_training() {
  local training=("$linnet" train --train stored --dev stored --config conf.json --threads 1 --batches --set "epochs=$2")
  rm -rf whole again jobs where
  "${training[@]}" --exp whole 2> whole.log || fail "$(cat whole.log)"
  (wait_for 600 test -s again/batches.txt && qmod -sj "$(< id)") &
  check 0 '1 of 1 parts to run' "${cmd[@]}" --ranks "$1" --requeue \
    --options '-v OMPI_ALLOW_RUN_AS_ROOT=1,OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1,OMPI_MCA_mpi_yield_when_idle=1' --parts 1 --log jobs/train -- \
    ../rank "${training[@]}" --exp again
  wait $! || true
  grep -q 'training was interrupted; it can be continued' jobs/train.1.log
}

trained() { # RANKS
  make_stored '"shards": 2'
  interrupted_training "$1" $((160 / $1)) || interrupted_training "$1" 1600 || interrupted_training "$1" 16000 ||
    fail "not interrupted: $(cat jobs/train.1.log)"
  grep -q 'interrupted: queued again' jobs/train.1.log || fail "not queued again: $(cat jobs/train.1.log)"
  [[ $1 -eq 1 || $(sort -u where | wc -l) -eq ${#hosts[@]} ]] || fail "ranks on $(sort -u where)"
  cmp whole/model.safetensors again/model.safetensors || fail 'the model of the continued training differs'
  cmp whole/batches.txt again/batches.txt || fail 'the batches of the continued training differ'
}

ranks=1
[[ ! -e ${2-} ]] || ! command -v mpirun > /dev/null || ranks=2
scenario trained trained $ranks
scenario features check_features gridengine '-q all.q -l h_rt=3600' '-q nowhere'
scenario interrupted check_interrupt gridengine '-q all.q'
scenario statuses statuses
scenario unstarted unstarted
scenario limited limited
scenario deleted deleted
finish
echo "hosts ${hosts[*]}, $ranks ranks"
echo "$failures failures"
[[ $failures -eq 0 ]]
