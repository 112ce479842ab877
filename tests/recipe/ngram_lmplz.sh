#!/bin/bash
# Compares linnet ngram with KenLM's lmplz on real text: n-grams of all orders, with the log10 probabilities and back-off
# weights that tests/golden/check_lmplz.py stored. Skipped if the text is missing.
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
linnet=$1
text=$here/../../../shared/data/text/english.txt
if [ ! -e "$text" ]; then
  echo "SKIPPED: $text is missing"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for order in 1 2 3 4 5 6; do
  "$linnet" ngram --order "$order" --text "$text" --arpa "$work/arpa" 2> "$work/log" || { cat "$work/log" && exit 1; }
  for n in $(seq "$order"); do
    awk -F '\t' -v n="$n" '/^\\/ {inside = $0 == "\\" n "-grams:"; next} inside && NF > 1' "$work/arpa" | sort -t $'\t' -k 2,2 |
      awk -F '\t' -v order="$order" -v n="$n" '
        FNR == NR {if ($1 == order && $2 == n) {total = $3; value[$4] = $5; weight[$4] = $6; wanted++}; next}
        FNR - 1 in value {
          seen++
          if (($1 - value[FNR - 1]) ^ 2 > 1e-8 || ($3 - weight[FNR - 1]) ^ 2 > 1e-8)
            print "order " order ": " $0 ", lmplz says " value[FNR - 1] ", " weight[FNR - 1]
        }
        END {if (FNR != total || seen != wanted || !wanted) print "order " order ": " FNR " of " total " " n "-grams"}' \
        "$here/../golden/lmplz_english.tsv" -
  done
done > "$work/different"
head -n 20 "$work/different"
[ ! -s "$work/different" ] || exit 1
echo 'six models equal those of lmplz'
