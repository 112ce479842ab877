#!/usr/bin/env bash
# The first start of a training by several processes over MPI: they divide among them the reading of lengths and of
# statistics for CMVN, and these have the bytes of one process. In an epoch each rank reads its own utterances only. A rank
# that cannot read its part ends all. The same for clips of noise.
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
cat > conf.json << 'END'
{"model": {"input_dim": 4, "width": 16, "heads": 2, "feed_forward": 32, "layers": 1, "stack": 2},
 "features": {"num_mel": 4, "cmvn": "speaker"},
 "training": {"epochs": 1, "batch_frames": 4000, "keep_models": 0, "shards": 4}}
END

# count FOLDER COMMAND...: counts the bytes that this rank reads, in FOLDER/RANK.PID
cat > count << 'END'
#!/bin/bash
exec ./count_reads "$1/${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}" "${@:2}"
END
chmod +x count

# train N DATA EXP OPTION...: prints the bytes that N ranks read together
train() {
  mkdir -p "$3.reads"
  "${launcher[@]}" -n "$1" ./count "$3.reads" "$linnet" train --train "$2" --dev "${dev:-$2}" --config conf.json \
    --threads 1 --audio-memory 0 --exp "$3" "${@:4}" > "$3.log" 2>&1 || return
  cat "$3.reads"/* | awk '{sum += $1} END {print sum}'
}

# check_starts DATA BYTES LEAST MOST INDEX: the first start of 1, 2 and 4 ranks together reads BYTES between LEAST and
# MOST times more than their second, and leaves the same files and models.
check_starts() {
  local n file first second more
  for n in 1 2 4; do
    rm -f "$1"/.linnet-*
    first=$(train $n "$1" "$1.first-$n") || fail "$n ranks: $(cat "$1.first-$n.log")"
    second=$(train $n "$1" "$1.second-$n") || fail "$n ranks: $(cat "$1.second-$n.log")"
    more=$(awk "BEGIN {print ($first - $second) / $2}")
    echo "$1, $n ranks: the first start reads the corpus $more times more"
    awk "BEGIN {exit !($more >= $3 && $more < $4)}" || fail "$1, $n ranks: $first bytes at first, then $second, of $2"
    [[ $(find "$1" -name '.linnet-*' | wc -l) -eq 2 ]] || fail "$n ranks leave $(ls -A "$1")"
    for file in .linnet-statistics "$5"; do
      cp "$1/$file" "$file-$n"
      cmp "$file-1" "$file-$n" || fail "$1, $n ranks: another $file"
    done
    cmp "$1.first-1/model.safetensors" "$1.first-$n/model.safetensors" || fail "$1, $n ranks: another model"
  done
}

# Of stored features, all twice: for the lengths (text has no headers) and for the statistics.
check_starts data "$(stat -c %s feats.ark)" 2 3 .linnet-lengths

# Of recordings, headers for the lengths, and all once for the statistics.
if command -v sox > /dev/null; then
  mkdir sounds
  for i in $(seq 10 25); do
    sox -R -n -r 16000 -b 16 "sounds/u$i.wav" synth "$((i / 3))" sine "$((i * 50))" vol 0.3
    echo "u$i u$i.wav" >> sounds/wav.scp
    echo "u$i s$((i / 13))" >> sounds/utt2spk
    echo "u$i a" >> sounds/phones
  done
  check_starts sounds "$(cat sounds/*.wav | wc -c)" 0.95 1.2 .linnet-audio-lengths

  # Each rank checks a part of the clips of noise, and reads those that it draws.
  printf 'c%d sounds/u%d.wav\n' 1 10 2 11 3 12 4 13 > noise.scp
  for n in 1 2 4; do
    train $n sounds "noise-$n" --noise-memory 0 --set augment.noise.scp=noise.scp > bytes || fail "$(cat "noise-$n.log")"
    cmp noise-1/model.safetensors "noise-$n/model.safetensors" || fail "noise, $n ranks: another model"
  done
  ! cmp -s sounds.first-1/model.safetensors noise-1/model.safetensors || fail 'noise changes nothing'
  echo 'c5 missing.wav' >> noise.scp
  train 4 sounds no-clip --set augment.noise.scp=noise.scp > bytes && fail 'trains without a clip'
  grep -q 'noise.scp: c5: missing.wav: ' no-clip.log || fail "no message: $(cat no-clip.log)"
else
  echo 'without sox, starts with recordings are not tested'
fi

# --- in an epoch, each rank reads its own utterances: more than they have, by what buffers read beyond their ends

mkdir one
for file in feats.scp phones utt2spk; do head -n 1 "data/$file" > "one/$file"; done
dev=one train 1 data start > bytes || fail "$(cat start.log)" # writes lengths and statistics
for n in 1 2 4; do
  for epochs in 1 5; do
    dev=one train $n data "part$n-$epochs" --set epochs=$epochs > bytes || fail "$n ranks: $(cat "part$n-$epochs.log")"
  done
  for ((rank = 0; rank < n; rank++)); do
    cat "part$n"-{1,5}.reads/$rank.* | awk -v all="$(stat -c %s feats.ark)" -v n=$n '
      {read[NR] = $1} END {printf "%.3f\n", n * (read[2] - read[1]) / 4 / all}' > share
    echo "$n ranks: in an epoch, rank $rank reads $(< share) of its share of the archive"
    awk '{exit !($1 > 0.95 && $1 < 1.7)}' share || fail "rank $rank of $n reads $(< share) of its share"
  done
done

# --- a rank that cannot read

rm -f data/.linnet-*
cp -r data lost
sed -i "/^utterance-39/s,feats.ark,missing.ark," lost/feats.scp
train 4 data lost.exp --train lost && fail 'trains without an archive'
grep -q 'missing.ark' lost.exp.log || fail "no message: $(cat lost.exp.log)"

# --- ranks whose data differ

cp -r data other
sed -i '$d' other/feats.scp
start=(-n 1 "$linnet" train --dev data --config conf.json --threads 1 --exp differ)
"${launcher[@]}" "${start[@]}" --train data : "${start[@]}" --train other > differ.log 2>&1 && fail 'ranks with other data train'
grep -q 'rank 1: differs from rank 0: training data' differ.log || fail "no message: $(cat differ.log)"

echo "$failures failures"
[[ $failures -eq 0 ]]
