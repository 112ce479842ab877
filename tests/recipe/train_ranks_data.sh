#!/usr/bin/env bash
# The first start of a training by several processes over MPI: they divide among them the reading of lengths and of
# statistics for CMVN, and these have the bytes of one process. A rank that cannot read its part ends all.
#
#   train_ranks_data.sh LINNET
# shellcheck source=tests/recipe/command.sh
. "$(dirname "$0")/command.sh"
# shellcheck source=tests/recipe/launcher.sh
. "$here/launcher.sh"
command -v cc > /dev/null || { echo 'SKIPPED: there is no C compiler' && exit 77; }
cc -O2 -o count_reads "$here/count_reads.c"

frames=500
# shellcheck source=tests/recipe/forty_utterances.sh
. "$here/forty_utterances.sh"
corpus=$(stat -c %s feats.ark)
cat > conf.json << 'END'
{"model": {"input_dim": 4, "width": 16, "heads": 2, "feed_forward": 32, "layers": 1, "stack": 2},
 "features": {"num_mel": 4, "cmvn": "speaker"},
 "training": {"epochs": 1, "batch_frames": 4000, "keep_models": 0, "shards": 4}}
END

# train N EXP OPTION...: prints the bytes that N ranks read together
train() {
  mkdir -p "$2.reads"
  "${launcher[@]}" -n "$1" ./count_reads "$2.reads/rank" "$linnet" train --train data --dev data --config conf.json --threads 1 \
    --exp "$2" "${@:3}" > "$2.log" 2>&1 || return
  cat "$2.reads"/* | awk '{sum += $1} END {print sum}'
}

# check_starts N: N ranks together read the corpus twice more at the first start than at the second, whatever N is: for the
# lengths (text has no headers) and for the statistics.
check_starts() {
  local first second more
  rm -f data/.linnet-*
  first=$(train "$1" "first-$1") || fail "$1 ranks: $(cat "first-$1.log")"
  second=$(train "$1" "second-$1") || fail "$1 ranks: $(cat "second-$1.log")"
  more=$(awk "BEGIN {print ($first - $second) / $corpus}")
  echo "$1 ranks: the first start reads the corpus $more times more"
  awk "BEGIN {exit !($more > 2 && $more < 3)}" || fail "$1 ranks: $first bytes at first, then $second, of $corpus"
  [[ $(find data -name '.linnet-*' | wc -l) -eq 2 ]] || fail "$1 ranks leave $(ls -A data)"
  cp data/.linnet-statistics "statistics-$1"
  cp data/.linnet-lengths "lengths-$1"
}

for n in 1 2 4; do check_starts $n; done
for n in 2 4; do
  for what in statistics lengths; do cmp "$what-1" "$what-$n" || fail "$n ranks: other $what"; done
  cmp first-1/model.safetensors "first-$n/model.safetensors" || fail "$n ranks: another model"
done

# --- a rank that cannot read

rm -f data/.linnet-*
cp -r data lost
sed -i "/^utterance-39/s,feats.ark,missing.ark," lost/feats.scp
train 4 lost.exp --train lost && fail 'trains without an archive'
grep -q 'missing.ark' lost.exp.log || fail "no message: $(cat lost.exp.log)"

# --- ranks whose data differ

cp -r data other
sed -i '$d' other/feats.scp
start=(-n 1 "$linnet" train --dev data --config conf.json --threads 1 --exp differ)
"${launcher[@]}" "${start[@]}" --train data : "${start[@]}" --train other > differ.log 2>&1 && fail 'ranks with other data train'
grep -q 'rank 1: differs from rank 0: training data' differ.log || fail "no message: $(cat differ.log)"

echo "$failures failures"
[[ $failures -eq 0 ]]
