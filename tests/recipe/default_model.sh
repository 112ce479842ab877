#!/usr/bin/env bash
# The default model and recognizer: phones, and words if the whole recognizer is there; error rates on real speech
# (LINNET_DATA; skipped without it).
#
#   default_model.sh LINNET DATA
set -euo pipefail
export LC_ALL=C

if [[ $# -ne 2 || $1 == --help ]]; then
  sed -n '2,5s/^# \{0,1\}//p' "$0"
  exit 2
fi
linnet=$(realpath "$1")
data=${LINNET_DATA:-$2}/ljspeech
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset LINNET_MODEL

[[ $("$linnet" info "$here/../../models/english/phones.safetensors") == *'CC BY 4.0'* ]] || {
  echo 'FAILED: linnet info does not print the licence of the model'
  exit 1
}
command -v flite > /dev/null || { echo 'SKIPPED: flite is not installed' && exit 77; }
flite -voice slt -t 'the sun is shining over the water' -o "$work/flite.wav"
phones=$("$linnet" transcribe --phones "$work/flite.wav")
echo "flite: $phones"
[[ $(wc -w <<< "$phones") -ge 12 ]] || { echo 'FAILED: expected at least 12 phones of 22' && exit 1; }
live=("$linnet" transcribe --live --live-speed 0 --format json)
"${live[@]}" "$work/flite.wav" > "$work/live"
"${live[@]}" --model "$here/../../models/english-live" --second-pass "$here/../../models/english" "$work/flite.wav" > "$work/named"
cmp "$work/live" "$work/named" || { echo 'FAILED: the second pass of the default live recognizer is not models/english' && exit 1; }
"${live[@]}" --model english-live --second-pass english "$work/flite.wav" > "$work/named"
cmp "$work/live" "$work/named" || { echo 'FAILED: --second-pass english is not the installed recognizer' && exit 1; }
printf 'THE DH AH0\nSON S AH1 N\n' > "$work/lexicon" # models/english would find SUN
"${live[@]}" --lexicon "$work/lexicon" "$work/flite.wav" | grep -v '"partial"' > "$work/live"
grep -q '"word":"SON"' "$work/live" || { echo "FAILED: the second pass has another lexicon: $(cat "$work/live")" && exit 1; }
[[ $("${live[@]}" --model "$here/../../models/english-live/" "$work/flite.wav" | grep -v '"partial"' | md5sum) == "$(grep -v '"partial"' "$work/named" | md5sum)" ]] ||
  { echo 'FAILED: the live recognizer by another name of its folder has no second pass' && exit 1; }

# The words of a lattice are those of the second pass.
mkdir "$work/second"
cp "$work/lexicon" "$work/second/lexicon.txt"
echo '{"model": "'"$here"'/../../models/english/phones.safetensors", "search": "words", "lexicon": "lexicon.txt"}' > "$work/second/recognizer.json"
"$linnet" transcribe --second-pass "$work/second" --lattice "$work/lattice" --lattice-symbols "$work/symbols" "$work/flite.wav" > "$work/text"
[[ $(wc -l < "$work/symbols") -le 4 ]] || { echo 'FAILED: the symbols of a lattice are those of the first pass' && exit 1; }
"$linnet" transcribe --second-pass "$work/second" --lattice "$work/lattice" --lattice-format dot "$work/flite.wav" > "$work/text"
grep -q 'label = "SON' "$work/lattice" || { echo 'FAILED: the words of a lattice are not those of the second pass' && exit 1; }

# With --endpoints, the live recognizer finds the pauses for models/english; another recognizer finds its own, and gets
# hotwords of a pipe in both passes.
flite -voice kal16 -t 'the song was over at noon' -o "$work/other.wav"
(tail -c +45 "$work/flite.wav" && head -c 64000 /dev/zero && tail -c +45 "$work/other.wav") > "$work/long.raw"
long=("$linnet" transcribe --endpoints --format json --raw s16le)
"${long[@]}" "$work/long.raw" > "$work/divided"
"${long[@]}" --model "$here/../../models/english-live" --second-pass "$here/../../models/english" "$work/long.raw" > "$work/named"
cmp "$work/divided" "$work/named" || { echo 'FAILED: --endpoints does not take both recognizers that ship' && exit 1; }
"${long[@]}" --model "$work/second" --hotwords <(echo SON) "$work/long.raw" > "$work/divided"
"${long[@]}" --model "$work/second" --second-pass "$work/second" --hotwords <(echo SON) "$work/long.raw" > "$work/named"
cmp "$work/divided" "$work/named" || { echo 'FAILED: --endpoints does not recognise each segment again' && exit 1; }
"${long[@]}" --model "$work/second" --second-pass none "$work/long.raw" > "$work/once"
! cmp -s "$work/divided" "$work/once" || { echo 'FAILED: --second-pass none has two passes' && exit 1; }

[[ -s $data/text ]] || { echo "SKIPPED: there is no real speech in $data" && exit 77; }
head -n 30 "$data/text" > "$work/text"
head -n 30 "$data/utt2spk" > "$work/utt2spk"
awk -v folder="$data" 'NR <= 30 {print $1, folder "/" $2}' "$data/wav.scp" > "$work/wav.scp"
lexicon=$data/../cmudict/cmudict.dict
awk -v skipped="$work/skipped" -f "$here/../../recipes/common/possessive.awk" -f "$here/../../recipes/common/words_to_phones.awk" "$lexicon" "$work/text" > "$work/phones"
for file in wav.scp utt2spk text; do
  awk 'NR == FNR {keep[$1]; next} $1 in keep' "$work/phones" "$work/$file" > "$work/kept" && mv "$work/kept" "$work/$file"
done
"$linnet" transcribe --phones --data "$work" --output "$work/hyp" 2> /dev/null
"$linnet" score "$work/phones" "$work/hyp"
rate=$("$linnet" score --bootstrap 0 "$work/phones" "$work/hyp" | awk '/^%PER/ {print int($2)}')
[[ $rate -le 35 ]] || { echo "FAILED: PER $rate %, expected at most 35" && exit 1; }

[[ -e $here/../../models/english/recognizer.json ]] || { echo 'SKIPPED: words, which need all of models/english' && exit 77; }
size=$(du -cb "$here"/../../models/english/* | awk 'END {print $1}')
[[ $size -le 30000000 ]] || { echo "FAILED: models/english has $size bytes; it must have at most 30 MB" && exit 1; }
"$linnet" transcribe --data "$work" --output "$work/words" 2> "$work/err"
[[ ! -s $work/err ]] || ! grep -q warning "$work/err" || { echo "FAILED: $(cat "$work/err")" && exit 1; }
"$linnet" transcribe --model "$here/../../models/english" --data "$work" --output "$work/named" 2> /dev/null
cmp "$work/words" "$work/named" || { echo 'FAILED: the default model is not this folder' && exit 1; }
"$linnet" score --unit word "$work/text" "$work/words"
rate=$("$linnet" score --bootstrap 0 --unit word "$work/text" "$work/words" | awk '/^%WER/ {print int($2)}')
[[ $rate -le 25 ]] || { echo "FAILED: WER $rate %, expected at most 25" && exit 1; }

# Alignment: pronunciations of the folder; all words, in order, within 12 s, few of them doubtful.
read -r id text < "$work/text"
audio=$(awk -v id="$id" '$1 == id {print $2}' "$work/wav.scp")
unset LINNET_LEXICON
"$linnet" align --text "$text" --format ctm "$audio" > "$work/aligned"
[[ $(awk '{print $5}' "$work/aligned" | paste -sd ' ') == "$text" ]] || { echo "FAILED: words: $(cat "$work/aligned")" && exit 1; }
awk '$3 < last - 1e-6 || $4 <= 0 || $3 + $4 > 12 {bad = 1} {last = $3 + $4} END {exit bad || last < 5}' "$work/aligned" ||
  { echo "FAILED: times: $(cat "$work/aligned")" && exit 1; }
"$linnet" align --text "$text" --format json "$audio" | grep -o '"doubtful":true' > "$work/doubtful" || true
[[ $(wc -l < "$work/doubtful") -le 3 ]] || { echo "FAILED: $(wc -l < "$work/doubtful") words are doubtful" && exit 1; }
rm "$work/phones"
"$linnet" align --data "$work" --format ctm > "$work/all"
[[ $(awk -v id="$id" '$1 == id' "$work/all" | cut -d' ' -f2-) == "$(cut -d' ' -f2- "$work/aligned")" ]] ||
  { echo 'FAILED: a data folder of words gives other times' && exit 1; }
