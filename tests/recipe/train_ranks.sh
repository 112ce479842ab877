#!/usr/bin/env bash
# `linnet train` by several processes over MPI: the bytes of one process, also when ranks are killed or stopped and
# another number continues; what is refused.
#
#   train_ranks.sh LINNET [KILLS]
#
# KILLS: how often a rank is killed at a random moment; 2 if it is missing.
# shellcheck source=tests/recipe/command.sh
. "$(dirname "$0")/command.sh"
kills=${2:-2}
# shellcheck source=tests/recipe/launcher.sh
. "$here/launcher.sh"
# shellcheck source=tests/recipe/forty_utterances.sh
. "$here/forty_utterances.sh"
# shellcheck source=tests/recipe/full_disk.sh
. "$here/full_disk.sh"
cat > conf.json << 'END'
{"model": {"input_dim": 4, "width": 16, "heads": 2, "feed_forward": 32, "layers": 1, "stack": 2},
 "features": {"num_mel": 4, "cmvn": "none"},
 "training": {"epochs": 6, "batch_frames": 64, "checkpoint_seconds": 0, "keep_models": 2, "shards": 8,
              "average_decay": 0.9}}
END
training=("$linnet" train --train data --dev data --config conf.json --threads 1)
"${training[@]}" --exp whole --batches 2> whole.log || fail "$(cat whole.log)"

# ranks N EXP OPTION...: trains with N ranks; their output goes to EXP.log.
ranks() {
  "${launcher[@]}" -n "$1" "${training[@]}" --exp "$2" "${@:3}" > "$2.log" 2>&1
}
same() { cmp whole/model.safetensors "$1/model.safetensors" || fail "$1: the model differs"; }
says() { grep -q -e "$2" "$1.log" || fail "$1: no '$2': $(cat "$1.log")"; }

# --- the same bytes

for n in 3 4; do
  ranks $n "by$n" --batches || fail "$n ranks: $(cat "by$n.log")"
  same "by$n"
  says "by$n" "$n ranks by .*float32, during the backward pass"
  [[ $(grep -c 'training on' "by$n.log") -eq 1 ]] || fail "several ranks print: $(cat "by$n.log")"
  grep -q "\"ranks\": $n, \"exchange_seconds\": .*, \"hidden_seconds\"" "by$n/log.jsonl" || fail "$(cat "by$n/log.jsonl")"
done

ranks 1 alone --mpi on || fail "1 rank: $(cat alone.log)"
same alone
says alone '^1 rank by Open MPI [^,]*$'

# With more parameters, ranks send large parts to each other in another way.
sed 's/"width": 16, "heads": 2, "feed_forward": 32/"width": 256, "heads": 4, "feed_forward": 1024/; s/"epochs": 6/"epochs": 1/' \
  conf.json > large.json
"${training[@]/conf.json/large.json}" --exp large 2> large.log || fail "$(cat large.log)"
for n in 2 3; do
  "${launcher[@]}" -n $n "${training[@]/conf.json/large.json}" --exp "large$n" > "large$n.log" 2>&1 || fail "$(cat "large$n.log")"
  cmp large/model.safetensors "large$n/model.safetensors" || fail "large$n: the model differs"
done

# More ranks than processors, each with two threads and two shards, and rounded sums.
many=(--set shards=16 --set batch_frames=160 --set epochs=2)
"${training[@]}" --exp exact "${many[@]}" 2> exact.log || fail "$(cat exact.log)"
many+=(--set wire_precision=bfloat16)
"${training[@]}" --exp rounded "${many[@]}" 2> rounded.log || fail "$(cat rounded.log)"
ranks 8 by8 "${many[@]}" --threads 2 || fail "8 ranks: $(cat by8.log)"
cmp rounded/model.safetensors by8/model.safetensors || fail '8 ranks: the model differs'
! cmp -s exact/model.safetensors by8/model.safetensors || fail 'bfloat16 changes nothing'
says by8 '8 ranks by .*bfloat16, during the backward pass'
grep -q '"ranks": 8' by8/log.jsonl || fail "$(cat by8/log.jsonl)"

# --- a loss that is not a number: features of one utterance are finite, but what one rank computes from them is not

mkdir huge
cp data/phones data/utt2spk huge/
sed '/^utterance-17 /{n; s/.*/  3e38 -3e38 3e38 0/}' feats.ark > huge.ark
grep -b '^utt' huge.ark | awk -F '[: ]' -v ark="$PWD/huge.ark" '{print $2, ark ":" $1 + length($2) + 1}' > huge/feats.scp
ranks 4 infinite --train huge && fail 'trains with a loss that is not finite'
says infinite '^linnet train: step [1-5]: the loss is not finite; utterances with such a loss: utterance-17$'
[[ $(grep -c 'not finite' infinite.log) -eq 1 ]] || fail "several ranks print: $(cat infinite.log)"
! grep -q interrupted infinite.log || fail "$(cat infinite.log)"

# --- a rank that is killed ends all; another number of ranks continues

running() { pgrep -d ' ' -r R,S,D,T -f -- "^$linnet train .*--exp $1\$"; } # EXP: its ranks

# kill_rank EXP N MILLISECONDS: starts N ranks and kills one of them, also rank 0, so long after rank 0 has begun. Counts it
# in $killed if the launcher says that the rank died of it. Succeeds if the training had finished before.
kill_rank() {
  local status=0 process i
  rm -f "$1/.lock"
  "${launcher[@]}" -n "$2" "${training[@]}" --exp "$1" > "$1.log" 2>&1 &
  process=$!
  until [[ -e $1/.lock ]] || ! kill -0 $process 2> /dev/null; do sleep 0.02; done
  sleep "$(awk "BEGIN { print $3 / 1000 }")"
  # shellcheck disable=SC2046
  set -- "$1" "$2" $(running "$1")
  [[ $# -le 2 ]] || kill -KILL "${@:3 + RANDOM % ($# - 2):1}" 2> /dev/null || true
  for ((i = 0; i < 600; i++)); do
    [[ -n $(running "$1") ]] || break
    sleep 0.1
  done
  [[ -z $(running "$1") ]] || fail "$1: ranks are left: $(cat "$1.log")"
  for ((i = 0; i < 100; i++)); do
    kill -0 $process 2> /dev/null || break
    sleep 0.1
  done
  kill -KILL $process 2> /dev/null && fail "$1: mpirun hangs after its ranks have ended: $(cat "$1.log")"
  wait $process || status=$?
  [[ $status -ne 0 ]] || return 0
  if grep -qE 'exited on signal 9|KILLED BY SIGNAL: 9|EXIT CODE: 9' "$1.log"; then
    killed=$((killed + 1))
  else
    fail "$1: status $status, but no rank was killed: $(cat "$1.log")"
  fi
  return 1
}
RANDOM=${SEED:-1}
rounds=0 killed=0
while [[ $killed -lt $kills && $rounds -lt 60 && $failures -eq 0 ]]; do
  rounds=$((rounds + 1))
  exp=killed$rounds
  for n in 2 4 3; do
    [[ $killed -lt $kills && $failures -eq 0 ]] || break
    kill_rank "$exp" $n $((RANDOM % 600)) && break
  done
  ranks 2 "$exp" || fail "after kills: $(cat "$exp.log")"
  same "$exp"
  [[ $(find "$exp" -name '*.tmp*') == '' ]] || fail "$exp: $(find "$exp" -name '*.tmp*') is left"
done
echo "killed $killed times in $rounds trainings"
[[ $killed -ge $kills ]] || fail "killed only $killed times"

# --- SIGTERM of one rank, or of all, stops all with a checkpoint

sed 's/"epochs": 6/"epochs": 100000/' conf.json > long.json
# stop EXP OPTION: sends SIGTERM to the ranks that pgrep OPTION finds.
stop() {
  local process status=0
  "${launcher[@]}" -n 2 "${training[@]/conf.json/long.json}" --exp "$1" > "$1.log" 2>&1 &
  process=$!
  until [[ -e $1/checkpoint.safetensors ]] || ! kill -0 $process 2> /dev/null; do sleep 0.05; done
  pkill -TERM ${2:+"$2"} -f -- "^$linnet train .*--exp $1\$" || fail "$1: no rank runs"
  wait $process || status=$?
  [[ $status -eq 130 || $status -eq 143 ]] || fail "$1: status $status after SIGTERM: $(cat "$1.log")"
  says "$1" 'training was interrupted; it can be continued'
}
stop newest -n
stop all ''

# --- a rank that hangs: the others end the job, which can be continued

hang() {
  local process status=0
  "${launcher[@]}" -n 3 "${training[@]/conf.json/long.json}" --rank-timeout 1 --exp "$1" > "$1.log" 2>&1 &
  process=$!
  until [[ -e $1/checkpoint.safetensors ]] || ! kill -0 $process 2> /dev/null; do sleep 0.05; done
  pkill -STOP -n -f -- "^$linnet train .*--exp $1\$" || fail "$1: no rank runs"
  wait $process || status=$?
  [[ $status -ne 0 ]] || fail "$1: a job with a rank that hangs succeeds: $(cat "$1.log")"
  says "$1" 'of 3: the other ranks did not answer in time: one of them, or the network, hangs; start all again to continue'
  [[ -z $(running "$1") ]] || fail "$1: ranks are left: $(cat "$1.log")"
  [[ -s $1/checkpoint.safetensors ]] || fail "$1: no checkpoint"
}
hang hangs
check 2 '--rank-timeout -1: must be 0 or more' "${training[@]}" --exp none --rank-timeout -1

# --- a disk that is full: the checkpoints before are intact, and logs lack nothing afterwards

"${training[@]}" --exp disk --set epochs=2 > disk.log 2>&1 || fail "$(cat disk.log)"
cp -r disk before
"${launcher[@]}" -n 2 ./limited 16 "${training[@]}" --exp disk > disk.log 2>&1 && fail 'trains without space'
says disk 'rank 0: disk/checkpoint.safetensors: cannot write: File too large'
for name in checkpoint checkpoint-previous; do
  cmp "before/$name.safetensors" "disk/$name.safetensors" || fail "a full disk changes $name"
done
ranks 4 disk || fail "after a full disk: $(cat disk.log)"
same disk
check_full_log log.jsonl "${launcher[@]}" -n 2
check_full_log batches.txt "${launcher[@]}" -n 2

# --- what is refused

"${launcher[@]}" -n 1 "${training[@]}" --exp other : -n 1 "${training[@]}" --exp other --set learning_rate=0.5 \
  > other.log 2>&1 && fail 'ranks with other settings train'
says other 'rank 1: differs from rank 0: learning_rate 0.5, not 0.0001'
ranks 3 usage --mpi maybe && fail 'ranks with a wrong option train'
[[ $(grep -c -e '--mpi maybe: must be auto, on or off' usage.log) -eq 1 ]] || fail "a usage error: $(cat usage.log)"
"${launcher[@]}" -n 1 "${training[@]}" --exp one : -n 1 "${training[@]}" --exp one --mpi maybe > one.log 2>&1 &&
  fail 'a rank with a wrong option trains'
says one '--mpi maybe: must be auto, on or off'
"${launcher[@]}" -n 2 bash -c '"$0" train --mpi "$OMPI_COMM_WORLD_RANK"' "$linnet" > each.log 2>&1 &&
  fail 'ranks with wrong options train'
[[ $(grep -c -e '--exp DIR are needed' each.log) -eq 2 ]] || fail "command lines that differ: $(cat each.log)"
mkdir -p full/model.safetensors/in-the-way
ranks 2 full && fail 'trains without writing the model'
says full 'rank 0: full/model.safetensors: '
ranks 2 nowhere --train missing && fail 'trains without data'
host=$(uname -n)
ranks 2 gpu --device cuda:99 && fail 'trains on a device that is not there'
for rank in 0 1; do
  says nowhere "^linnet train: rank $rank on $host: missing: cannot be read"
  says gpu "^linnet train: rank $rank on $host: .*omit --device"
done
check 1 'sees one: use the launcher of that library' env PMI_SIZE=4 "${training[@]}" --exp wrong
mkdir bin
cp "$linnet" bin/
check 1 'this build has no MPI' env OMPI_COMM_WORLD_SIZE=2 bin/linnet "${training[@]:1}" --exp none
check 2 '--mpi maybe: must be auto, on or off' "${training[@]}" --exp none --mpi maybe
check 0 '' env OMPI_COMM_WORLD_SIZE=2 "${training[@]}" --exp alone --mpi off
same alone

# --- as the recipes start it

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
check 0 '1 of 1 parts to run' "$here/../../recipes/common/cmd.sh" --ranks 2 --requeue --parts 1 --log jobs/train -- \
  "${training[@]}" --exp recipe
same recipe
grep -q '^2 ranks by' jobs/train.1.log || fail "$(cat jobs/train.1.log)"

# --- in GridEngine, whose notice comes to all processes of the job: qsub is a script here, and ends as after qdel

cat > bin/qsub << 'END'
#!/bin/bash
echo 'localhost 2 all.q@localhost UNDEFINED' > slots
SGE_TASK_ID=1 PE_HOSTFILE=$PWD/slots setsid bash "${@: -1}" & # a group of processes
until [[ -e grid/checkpoint.safetensors ]] || ! kill -0 $! 2> /dev/null; do sleep 0.05; done
kill -USR2 -- -$!
wait $!
echo $? > qsub.status
END
chmod +x bin/qsub
PATH=$PWD/bin:$PATH LINNET_CMD_WAIT=0.1 check 1 '1 of 1 parts failed' "$here/../../recipes/common/cmd.sh" --via gridengine --ranks 2 \
  --requeue --retries 0 --parts 1 --log jobs/grid -- "${training[@]/conf.json/long.json}" --exp grid
[[ $(< qsub.status) -eq 99 ]] || fail "status $(< qsub.status): $(cat jobs/grid.1.log)"
texts=('^2 ranks by' 'interrupted: queued again')
[[ $(mpirun --version) != *'Open MPI'* ]] || texts+=('training was interrupted; it can be continued') # MPICH ends at once
for text in "${texts[@]}"; do
  grep -q "$text" jobs/grid.1.log || fail "no '$text': $(cat jobs/grid.1.log)"
done

echo "$failures failures"
[[ $failures -eq 0 ]]
