#!/usr/bin/env bash
# `linnet plot`: pictures have the right format and texts for any file name; errors, also without gnuplot.
#
#   plot_command.sh LINNET
# shellcheck source=tests/recipe/command.sh
. "$(dirname "$0")/command.sh"
prefix=("$linnet")
export LINNET_MODEL=$here/../../models/english/phones.safetensors

# A WAV whose header has no length; the samples are arbitrary bytes.
name=$'it\'s a "quote" `touch injected` $(touch injected)\n_under_score & <b> \\101'
{
  printf 'RIFF\0\0\0\0WAVEfmt \20\0\0\0\1\0\1\0\200\76\0\0\0\175\0\0\2\0\20\0data\0\0\0\0'
  dd if="$linnet" bs=1 skip=20000 count=48000 2> /dev/null
} > "$name.wav"
head -c 200 /dev/zero > short.raw

prefix=()
check 1 'apt-get install gnuplot-nox' env PATH="$work/bin" "$linnet" plot "$name.wav" --output missing.svg
prefix=("$linnet")
[[ ! -e missing.svg ]] || fail 'a picture without gnuplot'
check 2 'must end in .svg or .png' plot "$name.wav" --output x.gif
check 2 '--nbest: unknown option' plot --nbest 2 "$name.wav"
check 2 'one argument too many' plot "$name.wav" other.wav
check 2 'the end must be above the start' plot --start 2 --end 1 "$name.wav"
check 2 '--width 5' plot --width 5 "$name.wav"
check 1 'words need pronunciations' plot --text 'a word' "$name.wav"
check 1 'too short to draw' plot --raw s16le short.raw
check 1 'too short to draw' plot --start 1e300 "$name.wav"
check 1 'nowhere.wav' plot nowhere.wav
check 2 'only one of --text and --phones' plot --text a --phones A "$name.wav"
check 2 '--lexicon: needs --text' plot --lexicon x.txt "$name.wav"
check 2 '--g2p: needs --text' plot --phones A --g2p x.bin "$name.wav"

# gnuplot exits with 0 even if its disk is full; the disk can also be full when the picture gets its name.
mkdir bin
for picture in '<svg>' '<svg></svg>'; do
  printf '#!/bin/sh\ncat > /dev/null\necho "%s"\n' "$picture" > "bin/$((${#picture} > 5))"
done
chmod +x bin/*
with_gnuplot() { # NUMBER WANTED_STATUS WANTED_TEXT ARGUMENTS...
  ln -sf "$1" bin/gnuplot
  PATH=$work/bin:$PATH check "$2" "$3" plot "$name.wav" --output "${@:4}"
}
with_gnuplot 0 1 'gnuplot could not write the whole picture' cut.svg
with_gnuplot 1 1 'gnuplot could not write the whole picture' other.png
[[ ! -e cut.svg && ! -e other.png ]] || fail 'a truncated picture exists'
if [[ -w /dev/full ]]; then
  ln -s /dev/full full.svg
  with_gnuplot 1 1 'No space left on device' full.svg
  [[ -L full.svg ]] || fail 'the link to a device was replaced'
fi
rm -r bin
if ! command -v gnuplot > /dev/null; then
  echo 'SKIPPED: gnuplot is not installed'
  exit $((failures > 0 ? 1 : 77))
fi

# texts FILE: the texts of an SVG, one per line; fails if it is not XML.
texts() {
  python3 -c 'import sys, xml.etree.ElementTree as tree
for e in tree.parse(sys.argv[1]).iter("{http://www.w3.org/2000/svg}text"): print("".join(e.itertext()).strip())' "$1"
}

# A text is drawn with its phones.
"$linnet" plot "$name.wav" --phones 'P AA1 K T' --output aligned.svg || fail 'plot --phones'
"$linnet" plot "$name.wav" || fail 'plot'
"$linnet" plot --beam 5 --start 0.2 --end 0.9 --width 400 --height 300 --output part.PNG.png "$name.wav" || fail 'plot PNG'
[[ -s $name.svg ]] || fail 'there is no picture with the name of the input'
mkdir -p tree/inner
cp "$name.wav" tree/inner/deep.wav
"$linnet" plot --recursive tree || fail 'plot --recursive'
[[ -s deep.svg ]] || fail 'there is no picture of a recording in a folder'
[[ $(head -c 4 part.PNG.png | od -An -tx1 | tr -d ' ') == 89504e47 ]] || fail 'the picture is not a PNG'
if command -v python3 > /dev/null; then
  texts aligned.svg > seen || fail 'the picture is not XML'
  for phone in P AA K T '<blk>' seconds posterior; do
    grep -qxF "$phone" seen || fail "'$phone' is missing in: $(sort -u seen | tr '\n' ';')"
  done
  grep -qxF "it's a \"quote\" \`touch injected\` \$(touch injected)?_under_score & <b> \\101" seen ||
    fail "title: $(grep quote seen)"
  # With greedy decoding, the phones are those of `transcribe`.
  texts "$name.svg" > seen || fail 'the picture is not XML'
  "$linnet" transcribe "$name.wav" > phones 2> /dev/null
  for phone in $(tail -n 1 phones | sed 's/.*\t//'); do
    grep -qxF "$phone" seen || fail "'$phone' is missing in: $(sort -u seen | tr '\n' ';')"
  done
fi
# Trainings in folders of the same name are two curves.
mkdir -p one/exp two/exp
for folder in one two; do
  for epoch in 1 2; do echo "{\"epoch\": $epoch, \"total_seconds\": $epoch, \"dev_per\": ${#folder}$epoch}"; done > $folder/exp/log.jsonl
done
sed -i 's/: 3/: 7/' two/exp/log.jsonl
cat > gnuplot << 'END'
#!/bin/bash
cat > program
cat "$(sed -n 's/^plot *"\([^"]*\)".*/\1/p' program | head -n 1)" > first
END
chmod +x gnuplot
PATH="$PWD:$PATH" "$here/../../recipes/common/plot_training.sh" --out new/curves one/exp two/exp || fail 'plot_training.sh'
[[ -d new ]] || fail 'the folder of the curves is missing'
grep -q 'title "one/exp", .* title "two/exp"' program || fail "titles: $(cat program)"
grep -q ' 31$' first || fail "the first curve: $(cat first)"
[[ ! -e injected ]] || fail 'a name was executed'
[[ -z $(find . -name '*.tmp.*') ]] || fail 'temporary files are left'

[[ $failures -eq 0 ]] && echo 'all good'
exit $((failures > 0))
