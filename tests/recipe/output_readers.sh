#!/usr/bin/env bash
# Independent programs read the output of `linnet transcribe` and `linnet align` on speech of flite: TextGrid with
# Praat, SubRip and WebVTT with ffmpeg, all of them and the stored ones of tests/golden/outputs with the Python packages
# of golden/check_outputs.py ($PYTHON names a Python that has them). JSON has the expected values. A reader that is not
# installed is skipped with a notice; without any reader, or without flite, the exit code is 77 (skipped).
#
#   output_readers.sh LINNET
# shellcheck source=tests/recipe/command.sh
. "$(dirname "$0")/command.sh"
python=${PYTHON:-python3}
export LINNET_MODEL=$here/../../models/english/phones.safetensors
command -v flite > /dev/null || { echo 'SKIPPED: flite is not installed' && exit 77; }
readers=0

# The word "birds" is not in the lexicon, so the search for words has an <unk>.
cat > lexicon << 'END'
THE DH AH0
SUN S AH1 N
IS IH1 Z
SHINING SH AY1 N IH0 NG
OVER OW1 V ER0
WATER W AO1 T ER0
BRIGHT B R AY1 T
SING S IH1 NG
IN IH0 N
<unk>TREES T R IY1 Z
END
flite -voice slt -t 'The sun is shining over the water. Bright birds sing in the trees.' -o speech.wav

# write NAME COMMAND...: writes NAME in all formats.
write() {
  local name=$1 format
  shift
  for format in json TextGrid srt vtt; do
    "$linnet" "$@" --format "${format,,}" --output "read/$name.$format" speech.wav 2> err || fail "$name: $(cat err)"
  done
}

mkdir read
write phones transcribe
write words transcribe --words --lexicon lexicon --unknown-penalty 0.2
write aligned align --lexicon lexicon --jumps \
  --text 'The sun is shining over the water. Bright sing in the <unk>trees'
grep -qF '&lt;unk&gt;' read/words.vtt || fail "there is no <unk> to read: $(cat read/words.vtt)"

# --- ffmpeg: must read every character, and the same text from both kinds of subtitles
if command -v ffmpeg > /dev/null; then
  readers=$((readers + 1))
  for name in phones words aligned; do
    for format in srt vtt; do
      ffmpeg -v error -nostdin -i "read/$name.$format" -f srt "$name.$format" < /dev/null || fail "ffmpeg: $name.$format"
      sed -i 's/\xE2\x81\xA0//g' "$name.$format" # the word joiner, without which "<" would begin a tag
    done
    sed 's/\xE2\x81\xA0//g' "read/$name.srt" | cmp - "$name.srt" || fail "ffmpeg reads: $(cat "$name.srt")"
    cmp "$name.vtt" "$name.srt" || fail "ffmpeg reads: $(cat "$name.vtt")"
  done
else
  echo 'ffmpeg is not installed and did not read the subtitles'
fi

# --- Praat: must read the intervals that JSON has
# spans ITEM FILE: lines "ITEM start end text" of the spans in JSON, without those of no duration.
spans() {
  { grep -oE "\"$1\":\"[^\"]*\",\"start\":[0-9.]*,\"end\":[0-9.]*" "$2" || true; } |
    sed -E 's/"(.*)":"(.*)","start":(.*),"end":(.*)/\1 \3 \4 \2/' | awk '$3 > $2'
}
praat=$(command -v praat_nogui || command -v praat || true)
if [[ -n $praat ]]; then
  readers=$((readers + 1))
  cat > list.praat << 'END'
form Read
  sentence path
endform
Read from file: path$
tiers = Get number of tiers
for tier to tiers
  name$ = Get tier name: tier
  count = Get number of intervals: tier
  for i to count
    label$ = Get label of interval: tier, i
    start = Get start time of interval: tier, i
    end = Get end time of interval: tier, i
    if label$ <> ""
      appendInfoLine: name$, " ", fixed$ (start, 3), " ", fixed$ (end, 3), " ", label$
    endif
  endfor
endfor
END
  for name in phones words aligned; do
    { spans word "read/$name.json"; spans symbol "read/$name.json"; } | sed 's/^word/words/; s/^symbol/phones/' > said
    HOME=$PWD "$praat" --run list.praat "$PWD/read/$name.TextGrid" > seen || fail "praat: $name"
    paste -d ' ' said seen | awk 'function far(a, b) {return (a - b) ^ 2 > 1.1e-6}
      NF != 8 || $1 != $5 || $4 != $8 || far($2, $6) || far($3, $7) {exit 1}' && [[ -s said ]] ||
      fail "praat reads $name: $(diff said seen)"
  done
else
  echo 'praat is not installed and did not read the TextGrids'
fi

# --- praatio, textgrid, srt, webvtt-py
status=0
"$python" "$here/../golden/check_outputs.py" read > out 2>&1 || status=$?
cat out
case $status in
  0) readers=$((readers + 1)) ;;
  77) ;;
  *) fail 'check_outputs.py' ;;
esac

echo "$failures failures, $readers of 3 readers"
[[ $failures -eq 0 ]] || exit 1
[[ $readers -gt 0 ]] || exit 77
