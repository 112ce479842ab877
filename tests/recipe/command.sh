# Functions that the tests of commands share. Scripts source this file with their arguments; the first is linnet.
# shellcheck shell=bash
set -euo pipefail
export LC_ALL=C

# Without arguments, or with --help: prints the comment at the top of the script.
if [[ $# -lt 1 || $1 == --help ]]; then
  awk 'NR > 1 && (!/^#/ || /^# shellcheck/) {exit} NR > 1 {sub(/^# ?/, ""); print}' "$0"
  exit 2
fi
# shellcheck disable=SC2034 # for the script that sources this
linnet=$(realpath "$1")
# shellcheck disable=SC2034
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
unset LINNET_MODEL LINNET_LEXICON
failures=0
prefix=() # arguments before the commands that check runs

fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}

# check WANTED_STATUS WANTED_TEXT COMMAND...: the output of the command, on either stream, must have the text.
check() {
  local wanted=$1 text=$2 status=0
  shift 2
  ${prefix[@]+"${prefix[@]}"} "$@" > out 2>&1 < /dev/null || status=$?
  if [[ $status -ne $wanted ]] || ! grep -qF -- "$text" out; then
    fail "$*: status $status, expected $wanted and '$text' in:"
    cat out
  fi
}

# The data folder "data": six tones at 8 kHz, with phones. Without sox, the test is skipped.
make_tones() {
  local i
  command -v sox > /dev/null || {
    echo 'SKIPPED: sox is not installed'
    exit 77
  }
  mkdir data
  for i in 1 2 3 4 5 6; do
    sox -R -n -r 8000 -b 16 "data/u$i.wav" synth "0.$((i % 3 + 4))" sine "$((300 + 100 * i))" vol 0.3
    echo "u$i u$i.wav" >> data/wav.scp
    echo "u$i s1" >> data/utt2spk
    echo "u$i A B$([ $((i % 2)) = 0 ] || echo ' A C')" >> data/phones
  done
}
