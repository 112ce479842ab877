#!/usr/bin/env bash
# `linnet calibrate`: fits calibrations of phones and of words on results made here and stores them in a model;
# `transcribe` and a program (library_confidences.c) apply each of them.
#
#   calibrate_command.sh LINNET LIBRARY_CONFIDENCES
# shellcheck source=tests/recipe/command.sh
. "$(dirname "$0")/command.sh"
library=$(cd - > /dev/null && realpath "$2")

# The model that ships, without its calibrations: their keys are replaced by others of the same length.
LC_ALL=C sed 's/"confidence"/"c0nfidence"/; s/"word_confidence"/"word_c0nfidence"/' \
  "$here/../../models/english/phones.safetensors" > plain.safetensors
check 0 parameters "$linnet" info plain.safetensors

# --- fits: results with a confidence of .8 are right in half of all cases, those with .6 in a tenth

results() { # LIST NAME: results of 100 utterances of a token, and their reference
  local i token
  for i in {0..99}; do
    token=B
    [[ $((i % 2)) -eq 0 && $((i % 4)) -eq 0 || $((i % 20)) -eq 1 ]] && token=A
    printf '{"utterance": "u%02d", "%s": [{"%s": "A", "start": 0, "end": 1, "confidence": 0.%d}]}\n' "$i" "$1" "$2" \
      $((i % 2 == 0 ? 8 : 6)) >> "$1.json"
    printf 'u%02d %s\n' "$i" "$token" >> "$1.ref"
  done
}
results phones symbol
results words word
check 0 'confidence  right  phones' "$linnet" calibrate -m plain.safetensors -o phones.safetensors phones.ref phones.json
grep -qE '^ +0\.500 +0\.500 +50$' out && grep -qE '^ +0\.100 +0\.100 +50$' out || fail "the fit: $(cat out)"
check 0 'confidence  right   words' "$linnet" calibrate --words -m phones.safetensors -o both.safetensors words.ref words.json
cp plain.safetensors own.safetensors
check 0 'confidence  right  phones' "$linnet" calibrate -m own.safetensors -o own.safetensors phones.ref phones.json
cmp own.safetensors phones.safetensors || fail 'a model that is calibrated in place'
sed 's/ A$/ A1/; s/ B$/ B0/' phones.ref > stress.ref
"$linnet" calibrate -m plain.safetensors phones.ref phones.json > said
"$linnet" calibrate -m plain.safetensors stress.ref phones.json | cmp - said || fail 'stress in the reference'
check 0 'confidence  right  phones' "$linnet" calibrate -m plain.safetensors -o half.safetensors --half phones.ref phones.json
sizes="$(wc -c < half.safetensors) $(wc -c < phones.safetensors)"
[[ $((10 * ${sizes% *})) -lt $((6 * ${sizes#* })) ]] || fail "--half: sizes $sizes"
check 1 'both.safetensors: has a calibration of words already' "$linnet" calibrate --words -m both.safetensors words.ref words.json
check 1 'has a calibration of phones already' "$linnet" calibrate -m both.safetensors phones.ref phones.json
mkdir folder
recognizer='{"model": "../both.safetensors", "confidence": {"slope": %s, "offset": 0}}'
# shellcheck disable=SC2059
printf "$recognizer" 1 > folder/recognizer.json
check 0 'confidence  right  phones' "$linnet" calibrate -m folder phones.ref phones.json
check 2 'put the line that is then printed in recognizer.json, as "confidence"' "$linnet" calibrate -m folder -o new phones.ref phones.json
printf '{"model": "plain.safetensors", "ensemble_model": "own.safetensors"}' > ensemble.json
check 2 'is an ensemble, and the calibration is of both models together: omit --output' "$linnet" calibrate --words -m ensemble.json -o new words.ref words.json
check 0 'confidence  right   words' "$linnet" calibrate --words -m ensemble.json words.ref words.json
cp plain.safetensors other.safetensors
mkdir single
printf '{"model": "../other.safetensors", "lexicon": "../phones.ref"}' > single/recognizer.json
check 2 'is an input' "$linnet" calibrate -m single -o single/recognizer.json phones.ref phones.json
check 0 'confidence  right  phones' "$linnet" calibrate -m single -o other.safetensors phones.ref phones.json
cmp other.safetensors phones.safetensors || fail 'the model of a recognizer that is calibrated in place'
# shellcheck disable=SC2059
printf "$recognizer" 2 > folder/recognizer.json
check 1 'folder already has a calibration of phones ("confidence")' "$linnet" calibrate -m folder phones.ref phones.json
check 1 "utterance 'u00' is missing in the reference" "$linnet" calibrate -m plain.safetensors /dev/null phones.json
sed 's/"utterance" *: *"[^"]*", *//' phones.json > files.json
check 1 "HYP must come from 'linnet transcribe --data DIR" "$linnet" calibrate -m plain.safetensors phones.ref files.json
check 1 'phones.ref: must hold lines of' "$linnet" calibrate -m plain.safetensors phones.ref phones.ref
check 2 'HYP.json is missing' "$linnet" calibrate phones.ref

# refused TEXT SED LIST [OPTION]: results changed by a sed program are refused with the text.
refused() {
  sed "$2" "$3.json" > wrong.json
  check 1 "$1" "$linnet" calibrate -m plain.safetensors "${@:4}" "$3.ref" wrong.json
}
wrong="wrong.json: utterance 'u07': token 1 of \"phones\""
for confidence in -0.1 1.1 -1e300 '"0.5"' null; do
  refused "$wrong, 'A': \"confidence\" must be a number of 0 to 1" "8 s/0\.6/$confidence/" phones
done
refused "$wrong, 'A': \"confidence\" must be" '8 s/, "confidence": 0.6//' phones
refused "$wrong has no \"symbol\"" '8 s/symbol/label/' phones
refused "utterance 'u00': has no list \"words\": recognise words" '' phones --words
sed 's/$/\r/' phones.json > crlf.json
check 0 'confidence  right  phones' "$linnet" calibrate -m plain.safetensors phones.ref crlf.json

# --- transcribe reports the sigmoid of the fit, each for phones and for words

command -v flite > /dev/null || { echo 'SKIPPED: flite is not installed' && exit 77; }
flite -voice slt -t 'to see a tea by the sea' -o a.wav
printf 'A AH\nE EH\nSEA S IY\nTO T UW\n' > lexicon
fit=$(sed -n 's/^{"slope": \(.*\), "offset": \(.*\)}$/\1 \2/p' <("$linnet" calibrate -m plain.safetensors phones.ref phones.json))
# confidences MODEL LIST OPTION...: the confidences in a.wav
confidences() {
  "$linnet" transcribe -m "$1.safetensors" --format json "${@:3}" a.wav | sed "s/.*\"$2\":\[\([^]]*\)\].*/\1/" |
    grep -o '"confidence":[0-9.e-]*' | cut -d : -f 2
}
words=(--words --lexicon lexicon --unknown-penalty 1)
# compare MODEL: the library must report what the command writes
compare() {
  local kind
  confidences "$1" phones > said.greedy
  confidences "$1" phones --beam 50 > said.beam
  confidences "$1" words "${words[@]}" > said.words
  confidences "$1" phones "${words[@]}" > said.phones
  for kind in greedy beam words phones; do
    lexicon=()
    [[ $kind == greedy || $kind == beam ]] || lexicon=(lexicon)
    "$library" "$1.safetensors" a.wav $kind ${lexicon[@]+"${lexicon[@]}"} > found
    awk 'NR == FNR {said[FNR] = $1; n = FNR; next} said[FNR] - $1 != 0 {bad++}
      END {exit bad > 0 || FNR != n || n == 0}' "said.$kind" found ||
      fail "$1, $kind: the library reports $(paste -sd ' ' found), the command $(paste -sd ' ' "said.$kind")"
  done
}
ln -s "$here/../../models/english/phones.safetensors" shipped.safetensors
for model in plain both shipped; do compare $model; done
for model in plain phones both; do
  confidences $model phones > $model.phones
  confidences $model words "${words[@]}" > $model.words
done
[[ -s plain.phones && -s plain.words ]] || fail 'nothing was recognised'
cmp phones.words plain.words || fail 'the fit of phones changes words'
cmp phones.phones both.phones || fail 'the fit of words changes phones'
for unit in phones words; do
  paste -d ' ' plain.$unit both.$unit | awk -v fit="$fit" '
    BEGIN {split(fit, f, " ")}
    $1 > 0.001 && $1 < 0.999 {d = $2 - 1 / (1 + exp(-f[1] * log($1 / (1 - $1)) - f[2])); n++; if (d * d > 1e-6) bad++}
    END {exit bad > 0 || n == 0}' || fail "confidences of $unit: $(paste -d ' ' plain.$unit both.$unit) by $fit"
done

# --- the calibrations of a recognizer's file replace those of its model, whatever the search is

mkdir recognizer
printf '{"model": "../plain.safetensors", "search": "words", "lexicon": "../lexicon", "confidence": {"slope": %s, "offset": %s}}' \
  "${fit% *}" "${fit#* }" > recognizer/recognizer.json
"$linnet" transcribe -m recognizer --phones --format json a.wav > phones.json
"$linnet" transcribe -m phones.safetensors --format json a.wav | cmp - phones.json || fail 'transcribe --phones: calibrations of the file'
text=(--unit phone --text 'to sea a sea' --lexicon lexicon --text-rules none --format json a.wav)
"$linnet" align -m recognizer "${text[@]}" > phones.json
"$linnet" align -m phones.safetensors "${text[@]}" | cmp - phones.json || fail 'align: calibrations of the file'
# Words of an alignment, by a calibration that is not that of phones.
words=(--text 'to sea a sea' --text-rules none --format ctm a.wav)
recognizer='{"model": "../plain.safetensors", "search": "words", "lexicon": "../lexicon"%s}'
# shellcheck disable=SC2059 # a format
printf "$recognizer" '' > recognizer/recognizer.json
"$linnet" align -m recognizer "${words[@]}" > uncalibrated
# shellcheck disable=SC2059
printf "$recognizer" ', "word_confidence": {"slope": 2, "offset": -1}' > recognizer/recognizer.json
"$linnet" align -m recognizer "${words[@]}" | paste -d ' ' uncalibrated - | awk '
  $6 > 0.05 && $6 < 0.99 {d = $12 - 1 / (1 + exp(1 - 2 * log($6 / (1 - $6)))); n++; if (d * d > 1e-6) bad++}
  END {exit bad > 0 || NR != 4 || n == 0}' || fail 'align: "word_confidence" of the file'

echo "$failures failures"
[[ $failures -eq 0 ]]
