#!/usr/bin/env bash
# Compares `linnet score` with NIST sclite on random utterances with many ties: counts and alignment of each utterance,
# sums of each speaker, totals. Exit code 77 (skipped): sclite (Debian package sctk) is not installed.
#
#   score_sclite.sh LINNET [SEED]
set -euo pipefail
export LC_ALL=C

if [[ $# -lt 1 || $1 == --help ]]; then
  sed -n '2,6s/^# \{0,1\}//p' "$0"
  exit 2
fi
linnet=$1
seed=${2:-1}
utterances=3000

if command -v sclite > /dev/null; then
  sclite=(sclite)
elif command -v sctk > /dev/null; then
  sclite=(sctk sclite)
else
  echo "SKIPPED: sclite is not installed (Debian package sctk)"
  exit 77
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Few different tokens give ties. One utterance in 50 is empty on one side, one in 60 is missing, one in 40 is long.
awk -v seed="$seed" -v utterances="$utterances" '
  function below(n) { return int(rand() * n) }
  function tokens(n, alphabet,   text) {
    for (text = ""; n > 0; n--) text = text phone[1 + below(alphabet)] " "
    return text
  }
  # The reference with tokens replaced, deleted and inserted.
  function spoil(text, alphabet,   word, n, i, result) {
    n = split(text, word, " ")
    for (i = 1; i <= n; i++) {
      if (rand() < 0.2) result = result tokens(1, alphabet)
      if (rand() < 0.2) continue
      result = result (rand() < 0.3 ? tokens(1, alphabet) : word[i] " ")
    }
    return result
  }
  BEGIN {
    srand(seed)
    split("aa b ch dh er f zh", phone, " ")
    for (i = 0; i < utterances; i++) {
      alphabet = 2 + below(6)
      length_most = i % 40 == 0 ? 150 : 3 + below(12)
      reference = tokens(i % 50 == 1 ? 0 : below(length_most + 1), alphabet)
      hypothesis = i % 2 ? spoil(reference, alphabet) : tokens(i % 50 == 2 ? 0 : below(length_most + 1), alphabet)
      speaker = "s" below(9)
      id = sprintf("utt-%05d", i)
      lost = i % 60 == 7
      print id, reference > "ref"
      print id, speaker > "utt2spk"
      if (!lost) print id, hypothesis > "hyp"
      print reference "(" speaker "-" id ")" > "expected.ref.trn"
      print (lost ? "" : hypothesis) "(" speaker "-" id ")" > "expected.hyp.trn"
    }
  }'

"$linnet" score --utt2spk utt2spk --per-utt per_utt --per-speaker per_speaker --confusions confusions --trn ours \
  ref hyp > summary
cmp ours.ref.trn expected.ref.trn
cmp ours.hyp.trn expected.hyp.trn
"${sclite[@]}" -f 0 -s -l 100000 -i rm -r expected.ref.trn trn -h expected.hyp.trn trn -o pralign rsum stdout > sclite.out

# Lines "ID correct substituted deleted inserted STEPS" of both programs.
awk '
  function steps(reference, hypothesis,   r, h, n, i, text) {
    n = split(reference, r, " ")
    if (split(hypothesis, h, " ") != n) return "?"
    for (i = 1; i <= n; i++)
      text = text (r[i] ~ /^\*/ ? "I" : h[i] ~ /^\*/ ? "D" : r[i] == h[i] ? "C" : "S")
    return text
  }
  function flush_utterance() { if (id != "") print id, counts, steps(reference, hypothesis) }
  /^id: / { flush_utterance(); id = $2; gsub(/[()]/, "", id); sub(/^[^-]*-/, "", id); reference = hypothesis = "" }
  /^Scores: / { counts = $6 " " $7 " " $8 " " $9 }
  /^REF: / { reference = substr($0, 5) }
  /^HYP: / { hypothesis = substr($0, 5) }
  END { flush_utterance() }' sclite.out | sort > theirs.utterances
awk '
  $2 == "op" { steps = ""; for (i = 3; i <= NF; i++) steps = steps $i }
  $2 == "#csid" { print $1, $3, $4, $6, $5, steps }' per_utt | sort > ours.utterances
test "$(wc -l < ours.utterances)" -eq "$utterances"
diff theirs.utterances ours.utterances > difference || { head -20 difference; echo "FAILED: utterances differ"; exit 1; }

# Lines "SPEAKER utterances tokens correct sub del ins errors wrong" of both programs; sclite's Sum is Linnet's ALL.
tr -d '|' < sclite.out | awk '
  $1 ~ /^(s[0-9]|Sum)$/ && NF == 9 { $1 = $1; sub(/^Sum/, "ALL"); print }' | sort > theirs.speakers
awk -F '\t' 'NR > 1 { printf "%s %d %d %d %d %d %d %d %.0f\n", $1, $2, $3, $4, $5, $7, $6, $5 + $6 + $7, $9 * $2 / 100 }' \
  per_speaker | sort > ours.speakers
test "$(wc -l < ours.speakers)" -eq 10
diff theirs.speakers ours.speakers || { echo "FAILED: speakers or totals differ"; exit 1; }

# The summary and the confusions have the same totals.
read -r _ _ tokens _ sub del ins errors wrong < <(grep '^ALL ' ours.speakers)
percent=$(awk -v e="$errors" -v n="$tokens" 'BEGIN { printf "%.2f", 100 * e / n }')
grep -qxF "%PER $percent [ $errors / $tokens, $ins ins, $del del, $sub sub ]" summary
grep -q "^%SER .* \[ $wrong / $utterances \]$" summary
grep -qxF "Scored $utterances utterances, 50 not present in hyp." summary
test "$(awk '{ n += $1 } END { print n }' confusions)" -eq "$errors"

echo "$utterances utterances equal: $(head -1 summary)"
