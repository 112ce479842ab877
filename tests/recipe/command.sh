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
