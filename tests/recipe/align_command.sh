#!/usr/bin/env bash
# `linnet align` with the model that ships, on speech of flite: all formats, files and data folders, texts with too many
# and too few words, errors. sclite scores the CTM if it is installed.
#
#   align_command.sh LINNET
# shellcheck source=tests/recipe/command.sh
. "$(dirname "$0")/command.sh"

models=$here/../../models/english

# --- the command line, without speech -----------------------------------------------------------------------------

check 0 'Usage: linnet align' "$linnet" align --help
check 2 'FILE is missing' "$linnet" align --text a
check 1 'no-such-file.wav: No such file or directory' "$linnet" align no-such-file.wav
printf 'one' > silent.txt
check 1 'silent.wav: No such file or directory' "$linnet" align silent.wav
[[ $(grep -c 'No such file' out) -eq 1 ]] || fail "audio that is missing: $(cat out)"
: > textless.wav
check 1 'textless.wav: has no text: there is neither textless.txt nor textless.lab' "$linnet" align textless.wav
check 2 'standard input has no text beside it' "$linnet" align one.wav -
check 2 'give only one of --text, --text-file and --phones' "$linnet" align --text a --phones AH no-such-file.wav
check 2 '--text, --text-file and --phones are for one file: to align many files, write NAME.txt' "$linnet" align --text a one.wav two.wav
check 2 'has its own texts' "$linnet" align --text a --data .
check 2 'must be phone or word' "$linnet" align --unit letter --text a one.wav
check 1 'name a lexicon with --lexicon' "$linnet" align --model "$models/phones.safetensors" --text a no-such-file.wav
check 1 'no-such-file.wav: ' "$linnet" align --text a no-such-file.wav
check 1 'no-such-file: cannot be read: No such file' "$linnet" align --text-file no-such-file no-such-file.wav
check 1 'cannot be read: Is a directory' "$linnet" align --text-file / no-such-file.wav
printf 'the sun\0is' > nul.txt
check 1 'nul.txt: has a NUL byte after 7 bytes' "$linnet" align --text-file nul.txt no-such-file.wav
check 2 'only one of text and audio can be standard input' "$linnet" align --text-file - -
check 2 '--jump-cost: needs --jumps' "$linnet" align --phones AH --jump-cost 3 no-such-file.wav
check 2 '--jump-cost -3: must be at least 0' "$linnet" align --phones AH --jumps --jump-cost -3 no-such-file.wav
check 2 '--frame-cost nan: must be at least 0' "$linnet" align --phones AH --jumps --frame-cost nan no-such-file.wav
mkdir phones
echo 'u no-such-file.wav' > phones/wav.scp
echo 'u AH' > phones/phones
check 2 '--text-rules: the texts of phones are phones, without words' "$linnet" align --data phones --text-rules none
check 1 'no-such-file.wav' "$linnet" align --data phones --skip-unknown # all phones are known
check 1 "'XX1' is not a phone of the model" "$linnet" align --phones 'AH XX1' no-such-file.wav
check 1 'is not a phone of the model' "$linnet" align --phones 'AH XX' no-such-file.wav
check 1 'no-such-file.wav' "$linnet" align --phones 'AH' no-such-file.wav
check 2 '--lexicon: --phones is a text without words' "$linnet" align --phones 'AH' --lexicon none no-such-file.wav
check 2 '--g2p: --phones is a text without words' "$linnet" align --phones 'AH' --g2p none no-such-file.wav
check 2 '--format docx: must be one of text' "$linnet" align --phones 'AH' --format docx no-such-file.wav

# --- speech ---------------------------------------------------------------------------------------------------------

command -v flite > /dev/null || {
  echo "SKIPPED: flite is not installed; $failures failures in the command line"
  [[ $failures -eq 0 ]] && exit 77
  exit 1
}
cat > lexicon << 'END_OF_LEXICON'
THE DH AH0
THE(2) DH IY0
SUN S AH1 N
IS IH1 Z
SHINING SH AY1 N IH0 NG
OVER OW1 V ER0
WATER W AO1 T ER0
MOUNTAIN M AW1 N T AH0 N
BRIGHT B R AY1 T
BIRDS B ER1 D Z
SING S IH1 NG
IN IH0 N
TREES T R IY1 Z
END_OF_LEXICON
sun='The sun is shining over the water.'
birds='Bright birds sing in the trees.'
flite -voice slt -t "$sun" -o sun.wav
flite -voice slt -t "$birds" -o birds.wav
flite -voice slt -t "$sun $birds $sun" -o long.wav
one=("$linnet" align --model "$models/phones.safetensors") # starts sooner than the folder, which has two models
align=("${one[@]}" --lexicon lexicon)

# Phones may have stress, and are written as they were given.
[[ $("$linnet" align --phones 'DH AH0 S AH1 N' sun.wav) == 'DH AH S AH N' ]] || fail 'phones with stress'

# Words are in the order of the text, times in order and within the audio, and words cover most of it.
"${align[@]}" --text "$sun" --format ctm sun.wav > sun.ctm
[[ $(awk '{print $5}' sun.ctm | paste -sd ' ') == "$sun" ]] || fail "other words: $(cat sun.ctm)"
awk '$3 < last - 1e-6 || $4 <= 0 || $6 < 0 || $6 > 1 {bad = 1} {last = $3 + $4; sum += $4}
  END {exit bad || last > 1.95 || sum < 0.8}' sun.ctm || fail "times: $(cat sun.ctm)"

# The lines of a text are segments; one line is none.
printf 'The sun is\nshining over\nthe water.\n' > lines.txt
"${align[@]}" --text-file lines.txt --format json sun.wav > lines.json
sed 's/.*"segments"//' lines.json | grep -o '"text":"[^"]*"' | cut -d '"' -f 4 | diff - lines.txt || fail 'segments'
check 0 'name = "segments"' "${align[@]}" --text-file lines.txt --format textgrid sun.wav
check 0 '"phones"' "${align[@]}" --text "$sun" --format json sun.wav
! grep -q '"segments"' out || fail 'segments of one line'
check 0 'intervals: size = ' "${align[@]}" --text-file lines.txt --unit phone --format textgrid sun.wav

# All ways to give a text have the same result.
echo "$sun" > text.txt
phones='DH AH0 S AH1 N IH1 Z SH AY1 N IH0 NG OW1 V ER0 DH AH0 W AO1 T ER0'
"${align[@]}" --text-file text.txt --format ctm --output file.ctm sun.wav
cmp sun.ctm file.ctm || fail 'a text from a file gives another result'
LINNET_LEXICON=lexicon "${one[@]}" --text-file - --format ctm sun.wav < text.txt | cmp - sun.ctm ||
  fail 'a text from standard input gives another result'
"${align[@]}" --text "$sun" --unit phone --format ctm sun.wav > words-phones.ctm
"${one[@]}" --phones "$phones" --format ctm sun.wav | cmp - words-phones.ctm || fail 'phones give another result'

check 0 'intervals: size = ' "${align[@]}" --text "$sun" --format textgrid sun.wav
check 0 '00:00:00.120 --> ' "${align[@]}" --text "$sun" --format vtt sun.wav
check 0 '"gop":' "${align[@]}" --text "$sun" --format json sun.wav
check 0 '"symbol":"DH"' "$linnet" transcribe --format json sun.wav
check 0 'xmin = 0' "$linnet" transcribe --format textgrid sun.wav

# --- what the options do not name is in the model's folder -----------------------------------------------------------

check 0 'The sun is shining' "$linnet" align --lexicon lexicon --text "$sun" --format text sun.wav
"$linnet" align --text "$sun" --format ctm sun.wav > default.ctm
[[ $(awk '{print $5}' default.ctm | paste -sd ' ') == "$sun" ]] || fail "by default: $(cat default.ctm)"
"$linnet" align --model "$models" --lexicon "$models/lexicon.txt" --g2p "$models/g2p.bin" \
  --text-rules "$models/text.rules" --text "$sun" --format ctm sun.wav | cmp - default.ctm || fail 'other files by default'
check 0 "guessed pronunciations of 1 word: 'frobnitz'" "$linnet" align --text 'the sun is frobnitz' sun.wav
check 1 "'frobnitz' has no pronunciation" "$linnet" align --lexicon lexicon --text 'the sun is frobnitz' sun.wav
mkdir folder && printf 'THE X\n' > folder/lexicon.txt && cp "$models/phones.safetensors" folder
echo '{"model": "phones.safetensors"}' > folder/recognizer.json
check 1 'folder/lexicon.txt:1' "$linnet" align --model folder --text 'the' sun.wav
check 1 'folder/lexicon.txt:1' "$linnet" align --model folder/recognizer.json --text 'the' sun.wav
cd folder
check 1 './lexicon.txt:1' "$linnet" align --model recognizer.json --text 'the' ../sun.wav
cd ..
check 0 'the' "$linnet" align --model folder --lexicon lexicon --text 'the sun' sun.wav
rm folder/lexicon.txt
check 1 'name a lexicon with --lexicon' "$linnet" align --model folder --text 'the' sun.wav
echo '{"model": "phones.safetensors", "g2p": "'"$models/g2p.bin"'"}' > folder/recognizer.json
check 0 "guessed pronunciations of 2 words: 'the', 'sun'" "$linnet" align --model folder --text 'the sun' sun.wav
check 0 "guessed pronunciations of 1 word: 'frobnitz'" "$linnet" align --model "$models-live" --text 'the frobnitz' sun.wav
mkdir data && echo "u $PWD/sun.wav" > data/wav.scp && echo 'u s' > data/utt2spk && echo "u $sun" > data/text
check 0 'u 1 ' "$linnet" align --data data --format ctm
[[ $(awk '{print $5}' out | paste -sd ' ') == "$sun" ]] || fail "words of a data folder: $(cat out)"
echo "u $phones" | sed 's/[012]//g' > data/phones
check 0 'AH' "$linnet" align --data data --format ctm
check 0 'u 1 ' "$linnet" align --data data --unit word --format ctm
[[ $(awk '{print $5}' out | paste -sd ' ') == "$sun" ]] || fail "--unit word: $(cat out)"
rm -r folder data

# --- written text -----------------------------------------------------------------------------------------------------

# Numbers, quotes, dashes and compounds: a written word has the times of its spoken words.
cat >> lexicon << 'END_OF_LEXICON'
IT'S IH1 T S
TWENTY T W EH1 N T IY0
FIVE F AY1 V
WOOD W UH1 D
BLOCKS B L AA1 K S
DOCTOR D AA1 K T ER0
DRIVE D R AY1 V
END_OF_LEXICON
flite -voice slt -t "it's twenty five wood blocks over the water" -o written.wav
# Curly quotes, a dash and an ellipsis as UTF-8 bytes.
its=$'It\xe2\x80\x99s' blocks=$'\xe2\x80\x9cwood-blocks\xe2\x80\x9d' water=$'water\xe2\x80\xa6' unknown=$'bl\xc3\xb6rgs'
written="$its 25 "$'\xe2\x80\x94'" $blocks over the $water"
"${align[@]}" --text "it's twenty five wood blocks over the water" --unit phone --format ctm written.wav > spoken.ctm
"${align[@]}" --text "$written" --unit phone --format ctm written.wav | cmp - spoken.ctm ||
  fail 'written words have other phones than spoken ones'
"${align[@]}" --text "$written" --format ctm written.wav > written.ctm
[[ $(awk '{print $5}' written.ctm | paste -sd ' ') == "$its 25 $blocks over the $water" ]] ||
  fail "written words: $(cat written.ctm)"
check 0 '"spoken":"twenty five"' "${align[@]}" --text "$written" --format json written.wav
check 0 "$blocks over the $water" "${align[@]}" --text "$written" --format srt written.wav
printf 'It is 25\nsome caf\xe9s\n' > latin1.txt
check 1 'latin1.txt:2:9: the byte 0xE9 is not UTF-8' "${align[@]}" --text-file latin1.txt written.wav
printf '%s 25\n\n%s over zzyx-wood\n' "$its" "$unknown" > unknown.txt
check 1 "unknown.txt:3:1: '$unknown' has no pronunciation" "${align[@]}" --text-file unknown.txt written.wav
grep -qF "unknown.txt:3:13: 'zzyx-wood' has no pronunciation (said 'zzyx')" out || fail "a part: $(cat out)"

# What is not said stays in the written form, at the word before it; times do not change, nor do CTM and STM.
marked=$'[music] It\xe2\x80\x99s \xe2\x80\x94 25 (laughs) wood-blocks --> over [door slams] the water \xe2\x80\xa6'
"${align[@]}" --text "$marked" --format ctm written.wav > marked.ctm
"${align[@]}" --text "$its 25 wood-blocks over the water" --format ctm written.wav | cmp - marked.ctm ||
  fail "marks change words or times: $(cat marked.ctm)"
[[ $("${align[@]}" --text "$marked" written.wav) == "$marked" ]] || fail 'the text lacks its marks'
check 0 "$its 25 wood-blocks over the water" "${align[@]}" --text "$marked" --format stm written.wav
check 0 '"word":"25 (laughs)"' "${align[@]}" --text "$marked" --format json written.wav
check 0 '"wood-blocks -->"' "${align[@]}" --text "$marked" --format textgrid written.wav
check 0 'wood-blocks --&gt;' "${align[@]}" --text "$marked" --format vtt written.wav
check 0 'wood-blocks -->' "${align[@]}" --text "$marked" --format srt written.wav

# Numbers that depend on their neighbours, with the files that ship.
flite -voice slt -t 'world war two and elizabeth the second on may third with i and six' -o pairs.wav
"$linnet" align --text 'World War II and Elizabeth II on May 3 with I and VI' --format json pairs.wav > pairs.json
for pair in 'II","two' 'II","the second' '3","third' 'VI","six'; do
  grep -qE "\"word\":\"${pair%%\"*}\",[^}]*\"spoken\":\"${pair##*\"}\"" pairs.json || fail "$pair: $(cat pairs.json)"
done
! grep -q '"word":"I",[^}]*"spoken"' pairs.json || fail 'I is no pronoun'

# The user's rules, and no rules.
printf 'table fold \xe2\x80\x99 %s\ntable symbol & and\nnumber n 25 twenty five\nrule {n} = {1:n}\n' "'" > own.rules
"${align[@]}" --text-rules own.rules --text "$its 25 wood blocks over the water" --unit phone --format ctm written.wav |
  cmp - spoken.ctm || fail 'rules of their own give other phones'
check 1 "'25' has no pronunciation" "${align[@]}" --text-rules none --text '25 sun' sun.wav
{ cat own.rules && echo tabel; } > wrong.rules
check 1 "wrong.rules:5: 'tabel'" "${align[@]}" --text-rules wrong.rules --text 'sun' sun.wav

# A skipped word lies between its neighbours and is marked.
check 0 "warning: --text:1:5: 'moon' has no pronunciation: its time is interpolated" "${align[@]}" --skip-unknown \
  --text 'the moon sun is shining' --format json sun.wav
grep -qE '"word":"moon","start":[0-9.]+,"end":[0-9.]+,"confidence":0.0000,"interpolated":true\}' out ||
  fail "the skipped word: $(cat out)"
for format in text ctm stm srt vtt textgrid json; do
  check 0 'moon' "${align[@]}" --skip-unknown --text 'moon the sun is shining' --format "$format" sun.wav
done
"${align[@]}" --skip-unknown --text 'moon the moon sun is over the water, stars' --format ctm sun.wav 2> /dev/null > out
awk '$3 < last - 1e-6 {bad = 1} $4 <= 0 {bad = 1} {last = $3 + $4} END {exit bad || NR != 9}' out || fail "times: $(cat out)"
check 0 'moon stars' "${align[@]}" --skip-unknown --text 'moon stars' sun.wav

# Guesses: with a lexicon, and without one.
awk 'BEGIN {split("B D F L M N P R S T", c); split("A E I O U", v); split("AE EH IH AA AH", p)
  for (i in c) for (j in v) for (k in c) print c[i] v[j] c[k], c[i], p[j], c[k]}' > train.dict
"$linnet" g2p --train train.dict --order 3 --output model.g2p > /dev/null 2>&1
check 1 "'Tun' has no pronunciation" "${align[@]}" --text 'The Tun is shining' sun.wav
check 0 "warning: sun.wav: guessed pronunciations of 1 word: 'Tun'" "${align[@]}" --g2p model.g2p \
  --text 'The Tun is shining' --format json sun.wav
grep -qE '"word":"Tun",[^}]*"guessed":true' out || fail "the guess is not marked: $(cat out)"
check 1 "1 word cannot be guessed with model.g2p: give a lexicon that has it with --lexicon FILE, or interpolate its" \
  "$linnet" align --g2p model.g2p --text 'sun 7,7' --text-rules none sun.wav
check 0 '"symbol":"AH"' "$linnet" align --g2p model.g2p --text 'sun sun' --format json sun.wav
check 1 'model.g2p' "$linnet" align --g2p /dev/null/model.g2p --text 'sun sun' sun.wav

# --- errors and jumps -------------------------------------------------------------------------------------------------

check 1 "2 words are not in lexicon: add lines" "${align[@]}" --text 'the moon is over the stars, the moon' sun.wav
grep -qF -- "--text:1:5: 'moon' has no pronunciation, 2 times" out || fail "the first unknown word: $(cat out)"
grep -qF -- "--text:1:22: 'stars,' has no pronunciation" out || fail "all unknown words: $(cat out)"
grep -qF -- '--g2p FILE' out || fail "the remedy: $(cat out)"
check 1 'frames and the audio has' "${align[@]}" --text "$sun $birds $birds $birds $birds" sun.wav
check 0 "words, the first is 'Bright'" "${align[@]}" --text "$birds" sun.wav
check 2 '--jump-cost: needs --jumps' "${align[@]}" --jump-cost 20 --text "$sun" sun.wav
check 2 '--frame-cost: needs --jumps' "${align[@]}" --frame-cost 2 --text "$sun" sun.wav
check 2 '--unit word: --phones is a text without words' "$linnet" align --phones 'DH AH' --unit word sun.wav
check 0 "omits words 8 to 13, 'Bright' ... 'trees.'" "${align[@]}" --jumps --text "$sun $birds" sun.wav
check 0 '{"kind":"skipped","start":' "${align[@]}" --jumps --format json --text "$sun $birds" sun.wav
grep -qF '"word":7,"words":["Bright","birds","sing","in","the","trees."]}]' out || fail "jumps: $(cat out)"
check 0 "'moonlet' has no pronunciation: its time is interpolated, unless the words around it are not spoken" \
  "${align[@]}" --jumps --skip-unknown --text "$sun moonlet $birds" sun.wav
check 0 '"jumps":[]' "${align[@]}" --jumps --format json --text "$sun" sun.wav
"${align[@]}" --format json --text "$sun" sun.wav > out
! grep -qE 'jumps|doubtful' out || fail "jumps without --jumps: $(cat out)"
check 0 '"doubtful":true' "${align[@]}" --format json --text "$birds" sun.wav
check 0 '{"kind":"inserted","start":' "${align[@]}" --jumps --jump-cost 20 --format json --text "$sun $sun" long.wav
check 0 'sun.wav: the text has no words, so nothing is aligned' "${align[@]}" --text '' sun.wav
check 0 'not in the text' "${align[@]}" --jumps --jump-cost 20 --text "$sun $sun" long.wav
check 0 "the audio repeats words 1 to 13, 'The' ... 'trees.'" "${align[@]}" --jumps --jump-cost 20 \
  --text "$sun $birds" long.wav

# What a frame outside the text costs: with 0 all of them are outside, and with 50 none.
jumps() { "${align[@]}" --jumps --jump-cost 20 --frame-cost "$1" --format json --text "$sun $sun" long.wav 2> /dev/null | sed 's/.*"jumps"//'; }
[[ $(jumps 0) == ':[{"kind":"skipped",'*'"word":0,'* ]] || fail "--frame-cost 0: $(jumps 0)"
[[ $(jumps 50) == ':[]}' ]] || fail "--frame-cost 50: $(jumps 50)"

# --- data folders -----------------------------------------------------------------------------------------------------

mkdir data
printf 'u1 %s\nu2 %s\n' "$PWD/sun.wav" "$PWD/birds.wav" > data/wav.scp
printf 'u1 %s\nu2 %s\n' "$sun" "$birds" > data/text
printf 'u1 s1\nu2 s2\n' > data/utt2spk
check 2 'name a folder for the 2 files with --output' "${align[@]}" --data data --format textgrid
"${align[@]}" --data data --format textgrid --output grids 2> /dev/null
[[ $(echo grids/*) == 'grids/u1.TextGrid grids/u2.TextGrid' ]] || fail "other files: $(echo grids/*)"
"${align[@]}" --data data --format ctm --threads 1 2> /dev/null > one.ctm
"${align[@]}" --data data --format ctm --jobs 4 2> /dev/null > four.ctm
cmp one.ctm four.ctm || fail 'the result depends on the number of threads'
sed 's/^sun/u1/' sun.ctm | cmp - <(grep '^u1' one.ctm) || fail 'a data folder gives another result'
printf 'u1 %s\n' "$phones" > data/phones
check 1 "u2: has no text: its line is missing in the data folder's file 'phones'" "$linnet" align --data data

mkdir -p two/b && cp sun.wav two/a.wav && cp birds.wav two/b
check 2 'one text is for one file, but there are 2' "${align[@]}" --text "$sun" --recursive two

# --- texts beside their audio ---------------------------------------------------------------------------------------

echo "$sun" > two/a.txt
echo "$birds" > two/b/birds.lab
sed -n 's/^u1/a/p' one.ctm > beside.ctm
sed -n 's|^u2|b/birds|p' one.ctm >> beside.ctm
"${align[@]}" --recursive two --format ctm 2> /dev/null | cmp - beside.ctm || fail 'texts beside the audio of a folder'
sed 's|^b/||' beside.ctm > named.ctm
"${align[@]}" two/a.wav two/b/birds.wav --format ctm 2> /dev/null | cmp - named.ctm || fail 'texts beside files'
"${align[@]}" two/a.wav --format ctm | cmp - <(grep '^a' named.ctm) || fail 'the text beside one file'
"${align[@]}" --recursive two --format textgrid --output-dir two 2> /dev/null
[[ -s two/a.TextGrid && -s two/b/birds.TextGrid ]] || fail "results beside the texts: $(ls -R two)"
check 2 'two/a.txt' "${align[@]}" --recursive two --output-dir two
check 2 'two/a.txt' "${align[@]}" --recursive two --output two/a.txt
echo 'zzyx' >> two/a.txt
check 1 "two/a.txt:2:1: 'zzyx' has no pronunciation" "${align[@]}" --recursive two --format ctm
grep -q '^b/birds 1 ' out || fail "an unknown word stops other files: $(cat out)"
mv two/b/birds.lab two/b/birds.txt
rm two/a.txt
check 1 'two/a.wav: has no text: there is neither two/a.txt nor two/a.lab' "${align[@]}" --recursive two --format ctm
grep -q '^b/birds 1 ' out || fail "a file without a text stops others: $(cat out)"
touch two/b/birds.lab
check 1 'two/b/birds.wav: has two texts' "${align[@]}" --recursive two
rm -r two

# sclite scores the CTM against the STM of the same text and finds no errors.
sclite=()
command -v sclite > /dev/null && sclite=(sclite)
command -v sctk > /dev/null && sclite=(sctk sclite)
if [[ ${#sclite[@]} -gt 0 ]]; then
  "${align[@]}" --data data --format stm 2> /dev/null > ref.stm
  "${sclite[@]}" -r ref.stm stm -h one.ctm ctm -o rsum stdout > sclite.out
  grep -qE '\| Sum +\| +2 +13 \| +13 +0 +0 +0 +0 +0 \|' sclite.out || fail "sclite: $(cat sclite.out)"
else
  echo 'sclite is not installed, so the CTM was not scored'
fi

echo "$failures failures"
[[ $failures -eq 0 ]]
