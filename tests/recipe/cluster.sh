# Functions that the tests of recipes/common/cmd.sh on a cluster of one machine share. Scripts source this file with their
# arguments, as command.sh. Exit code 77 (skipped): the cluster's programs are not installed or do not start.
# shellcheck shell=bash
# shellcheck source=tests/recipe/command.sh
. "$(dirname "$0")/command.sh"
export LINNET=$linnet
export LINNET_CMD_WAIT=0.2
recipes=$(realpath "$here/../../recipes")
daemons=() stop_signal=TERM

skip() {
  echo "SKIPPED: $*"
  exit 77
}

# need PROGRAM...
need() {
  local program
  for program; do command -v "$program" > /dev/null || skip "$program is not installed"; done
  [[ $(id -u) -eq 0 ]] || skip 'needs root, whose jobs the daemons run'
}

stop() {
  [[ ${#daemons[@]} -eq 0 ]] || kill -s $stop_signal "${daemons[@]}" 2> /dev/null || true
  wait 2> /dev/null
  rm -rf "$work"
}
trap stop EXIT

# daemon COMMAND...: runs until the script ends
daemon() {
  "$@" > "$(basename "$1").out" 2>&1 &
  daemons+=($!)
}

# wait_for SECONDS COMMAND...
wait_for() {
  local end=$((SECONDS + $1))
  shift
  until "$@" > /dev/null 2>&1; do
    [[ $SECONDS -lt $end ]] || return 1
    sleep 0.2
  done
}

features() { # STATUS TEXT OUT ARGUMENTS...
  check "$1" "$2" "$recipes/common/make_features.sh" --data data --out "$3" --parts 4 "${@:4}"
}

make_data() {
  local speaker i
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
}

# check_features WAY OPTIONS REFUSED_OPTIONS: features of a data folder in four parts, computed by cmd.sh --via WAY.
# OPTIONS are for the cluster, which refuses REFUSED_OPTIONS.
check_features() {
  local part
  make_data
  features 0 'good: 12 utterances of 4 speakers' local
  features 0 'good: 12 utterances of 4 speakers' cluster --via "$1" --options "$2"
  cat out
  for part in 1 2 3 4; do cmp local/archives-*/feats.$part.ark cluster/archives-*/feats.$part.ark || fail "part $part differs"; done

  # A failed part is reported; the other parts do not run again.
  rm cluster/log/*.2.done cluster/archives-*/feats.2.ark
  mv data/audio/b-2.wav hidden.wav
  features 1 '1 of 4 parts failed' cluster --via "$1" --options "$2" --jobs 2 --retries 0
  mv hidden.wav data/audio/b-2.wav
  touch marker
  features 0 'good: 12 utterances' cluster --via "$1" --options "$2" --jobs 2
  [[ $(find cluster -name 'feats.*.ark' -newer marker) == cluster/archives-*/feats.2.ark ]] || fail 'more than the failed part ran'
  features 1 'of 4 parts failed' refused --via "$1" --options "$3"
}

# make_stored KEY: makes the folder "stored" with features of six utterances, and conf.json for a small training on them
# with one more key.
make_stored() {
  local i
  mkdir stored
  for i in 1 2 3 4 5 6; do
    echo "u$i A B" >> stored/phones
    echo "u$i u$i" >> stored/utt2spk
    printf 'u%d  [ 1 0.%d\n 1 0\n 0 1\n 0 2 ]\n' "$i" "$i" >> stored/feats.ark
  done
  awk '/\[/ {print $1, "feats.ark:" bytes + length($1) + 1} {bytes += length($0) + 1}' stored/feats.ark > stored/feats.scp
  cat > conf.json << END
{"model": {"input_dim": 2, "width": 16, "heads": 2, "feed_forward": 32, "layers": 1},
 "features": {"num_mel": 2, "cmvn": "none"}, "training": {"batch_frames": 8, "keep_models": 0, $1}}
END
}

# check_interrupt WAY OPTIONS: an interrupt cancels the job, and its parts do not go on.
check_interrupt() {
  local process status=0
  # shellcheck disable=SC2317 # wait_for calls it
  gone() { ! kill -0 "$(< pid.1)"; }
  "$recipes/common/cmd.sh" --via "$1" --options "$2" --parts 2 --log slow -- bash -c 'echo $$ > pid.{}; exec sleep 3600' \
    > out 2>&1 &
  process=$!
  wait_for 300 test -s pid.1 || fail "the job did not start: $(cat out)"
  kill -TERM $process
  wait $process || status=$?
  [[ $status -eq 130 ]] || fail "status $status after an interrupt"
  grep -q 'interrupted: cancelled the job' out || fail "the job is not cancelled: $(cat out)"
  grep -q 'cannot cancel' out && fail "$(cat out)"
  wait_for 300 gone || fail 'a job went on after an interrupt'
}

# scenario NAME COMMAND...: runs the command beside the others, in a folder of this name.
declare -A scenarios
scenario() {
  mkdir "$1"
  (
    cd "$1"
    "${@:2}"
    exit "$failures"
  ) > "$1.log" 2>&1 < /dev/null &
  scenarios[$1]=$!
}

# Waits for all scenarios. Prints the output of those that failed.
finish() {
  local name
  for name in "${!scenarios[@]}"; do
    wait "${scenarios[$name]}" || fail "$name: $(cat "$name.log")"
  done
}
