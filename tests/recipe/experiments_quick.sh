#!/usr/bin/env bash
# Runs the recipes of the experiments with --quick: tables, plots, and results that must hold even so.
#
#   experiments_quick.sh FOLDER-OF-PROGRAMS
set -euo pipefail
export LC_ALL=C

if [[ $# -ne 1 || $1 == --help ]]; then
  sed -n '2,4s/^# \{0,1\}//p' "$0"
  exit 2
fi
LINNET_EXPERIMENTS=$(realpath "$1")
export LINNET_EXPERIMENTS
recipes=$(realpath "$(dirname "$0")/../../recipes")
command -v gnuplot > /dev/null || { echo 'SKIPPED: gnuplot is not installed' && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

fail() {
  echo "FAILED: $*"
  exit 1
}

# rows FILE NUMBER: the table must have at least NUMBER rows with a number
rows() {
  local count
  count=$(grep -c '^| .*[0-9]' "$1/RESULTS.md")
  [[ $count -ge $2 ]] || fail "$1: $count rows of results, expected $2"
}

plots() {
  local name=$1
  shift
  for plot; do
    grep -q '</svg>' "$name/$plot.svg" || fail "$name: $plot.svg is not a picture"
    [[ -s $name/$plot.png ]] || fail "$name: $plot.png is empty"
  done
}

# smaller WHAT A B
smaller() {
  awk -v a="$2" -v b="$3" 'BEGIN {exit !(a < b)}' || fail "$1: $2 is not below $3"
}

"$recipes/copy/run.sh" --quick --exp copy --kinds 'linear softmax lsh-1' > copy.out
rows copy 3
plots copy copy
for kind in linear softmax lsh-1; do # a random choice among 11 symbols has 2.4 nats
  smaller "copy, $kind" "$(awk '{print $3}' "copy/$kind.result")" 2.6
done

# refuse RECIPE OPTION...: results of other settings are not taken for those of these
refuse() {
  ! "$recipes/$1/run.sh" "${@:2}" > refused.out 2>&1 || fail "$* took results of other settings"
  grep -q 'was made with other settings' refused.out || fail "$*: $(cat refused.out)"
}
refuse copy --quick --exp copy --kinds linear --seed 2

"$recipes/shapes/run.sh" --quick --exp shapes > shapes.out
refuse shapes --quick --exp shapes --epochs 7
rows shapes 3
plots shapes error signals matrix
awk '{sum = 0; for (i = 1; i <= NF; i++) sum += $i; if (sum < 0.98 || sum > 1.02) exit 1}' shapes/softmax.matrix ||
  fail 'shapes: the rows of the attention matrix do not sum to 1'

"$recipes/attention-cost/run.sh" --quick --exp cost > cost.out
refuse attention-cost --exp cost
rows cost 22
plots cost kinds memory forms steps

# Results of another program are not taken for those of this one, but a report of them can be written.
for name in copy/linear.result shapes/linear.result cost/linear.cost; do
  settings=${name%.*}.settings
  [[ $(< "$settings") == *"linnet-"*' with the checksum '*'; --'* ]] || fail "$settings: $(< "$settings")"
  cp "$settings" settings
  sed -i 's/checksum [0-9]*/checksum 1/' "$settings"
  recipe=${name%/*} options=()
  [[ $recipe != cost ]] || recipe=attention-cost
  [[ $recipe != copy ]] || options=(--kinds linear)
  refuse "$recipe" --quick --exp "${name%/*}" --stop-stage 1
  "$recipes/$recipe/run.sh" --quick --exp "${name%/*}" --stage 2 ${options[@]+"${options[@]}"} > report.out
  grep -q 'with the checksum 1;' "${name%/*}/RESULTS.md" || fail "the machine of $recipe: $(cat "${name%/*}/RESULTS.md")"
  mv settings "$settings"
done

# Results of a version that did not note the machine: the same report, but no more training beside them.
cp copy/linear.settings settings
sed -i 's/.*; --/--/' copy/linear.settings
"$recipes/copy/run.sh" --quick --exp copy --kinds linear --stage 2 > report.out
grep -q 'trained on unknown machine;' copy/RESULTS.md || fail "results without a machine: $(cat copy/RESULTS.md)"
refuse copy --quick --exp copy --kinds linear --stage 2 --seed 2
refuse copy --quick --exp copy --kinds linear --stop-stage 1
mv settings copy/linear.settings

# Finished steps do not run again; a missing program is an error.
before=$(stat -c %Y copy/linear.result)
"$recipes/copy/run.sh" --quick --exp copy --kinds linear > /dev/null
[[ $(stat -c %Y copy/linear.result) == "$before" ]] || fail 'copy: trained twice'
if "$LINNET_EXPERIMENTS/linnet-copy" --attention linear --out x 2> refused; then
  fail 'copy: attention that sees the answer was accepted'
fi
grep -q 'must be causal' refused || fail "copy: $(cat refused)"

# The first signal lets an update of seconds finish; the second one, of either kind, does not.
"$LINNET_EXPERIMENTS/linnet-copy" --layers 2 --width 1024 --threads 1 --out slow 2> /dev/null & process=$!
until [[ -e slow.partial ]]; do sleep 0.05; done
sleep 0.3
kill -INT "$process"
sleep 0.3
kill -TERM "$process"
status=0
wait "$process" || status=$?
[[ $status -eq 143 && ! -e slow.checkpoint ]] || fail "two signals: status $status, $(ls)"
echo 'the experiments run to the end'
