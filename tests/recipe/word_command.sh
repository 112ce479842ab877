#!/usr/bin/env bash
# `linnet decode --words` and `linnet transcribe --words`: lexicon, language model, grammar, hotwords, silences, unknown
# words, output formats, and errors in files.
#
#   word_command.sh LINNET
# shellcheck source=tests/recipe/command.sh
. "$(dirname "$0")/command.sh"
prefix=("$linnet")
model=$here/../../models/english/phones.safetensors

# decoded WHAT WANTED OPTION...: `linnet decode` must write the lines WANTED.
decoded() {
  local what=$1 wanted=$2
  shift 2
  "$linnet" decode --symbols symbols --words --lexicon lexicon --frame-shift 30 "$@" ark:post.txt > hyp 2> err ||
    fail "$what: $(cat err)"
  [[ $(cat hyp) == "$wanted" ]] || fail "$what: '$(cat hyp)', expected '$wanted'"
}

# row BEST: log-posteriors of blank, T, UW, F, AO, SIL; symbol BEST is nearly certain.
row() {
  local i
  for i in 0 1 2 3 4 5; do
    if [[ $i -eq $1 ]]; then printf ' -0.05'; else printf ' -5'; fi
  done
  echo
}

printf '<blk>\nT\nUW\nF\nAO\nSIL\n' > symbols
cat > lexicon << 'END'
TO  T UW1
TWO  T UW1
TOO  T UW1
FOUR  F AO1   # stress digits are dropped
FOR  F AO1
FOR(2)  F
END
{
  echo 'u1 ['
  for best in 0 1 2 2 5 0 3 3 4; do row $best; done
  echo ' ]'
} > post.txt

# --- homophones: chosen by their order in the lexicon, a language model, hotwords, a grammar
# FOR has one more pronunciation than FOUR, and so a higher probability.
decoded 'a silence that none expects' 'u1 TO FOR'
decoded 'silence' 'u1 TO FOR' --silence SIL
# --- a lattice of the same hypotheses
decoded 'lattice' 'u1 TO FOR' --silence SIL --beam 40 --lattice lat --lattice-symbols words.txt
"$linnet" decode --symbols symbols --words --lexicon lexicon --silence SIL --beam 40 --nbest 40 ark:post.txt > nbest 2> err
printf 'u1 FOR TOO FOUR\n' > ref
errors() { "$linnet" score --unit word --bootstrap 0 "$@" | sed -n 's/^%WER.*\[ \([0-9]*\) .*/\1/p'; }
list=$(errors --oracle nbest ref nbest) lattice=$(errors --oracle lattice --symbols words.txt ref lat)
[[ -n $list && $list -eq $lattice && $(grep -c . lat) -gt 5 ]] || fail "oracle: $lattice, list $list: $(cat lat)"
decoded 'lattice' 'u1 TO FOR' --silence SIL --lattice dot --lattice-format dot
grep -q 'label = "TWO' dot || fail "a lattice without words: $(cat dot)"
decoded 'n-best' "$(printf 'u1-1 TO FOR\nu1-2 TWO FOR')" --silence SIL --nbest 2
for _ in {1..20}; do printf 'TWO FOUR\nTOO\n'; done > lines
"$linnet" ngram --order 2 --discount-fallback --text lines --arpa lm.arpa 2> /dev/null
decoded 'a language model' 'u1 TWO FOUR' --lm lm.arpa --silence SIL
# The reported score is the one that `linnet ngram` prints for the sentence.
echo 'TWO FOUR' > line
"$linnet" ngram --model lm.arpa --perplexity line > perplexity
"$linnet" decode --symbols symbols --words --lexicon lexicon --lm lm.arpa --format json --frame-shift 10 ark:post.txt 2> /dev/null |
  sed 's/.*"language":\([^,]*\),.*/\1/' > language
awk 'NR == FNR {if ($1 == "log10") log10 = $3; next} {d = $1 - log10 * log(10); exit !(log10 < 0 && d * d < 1e-7)}' \
  perplexity language || fail "the score of the language model: $(cat perplexity language)"
printf 'too for 3\n' > phrases
decoded 'hotwords' 'u1 TOO FOR' --hotwords phrases
printf 'too 3\nfor -3\n' > phrases
decoded 'hotwords with weights' 'u1 TOO FOUR' --hotwords phrases
printf 'two four\nfour two\n' > phrases
decoded 'a list of phrases' 'u1 TWO FOUR' --grammar phrases
printf '#JSGF V1.0;\npublic <s> = (too | two two) for+;\n' > grammar
decoded 'JSGF' 'u1 TOO FOR' --grammar grammar
"$linnet" decode --symbols symbols --words --lexicon lexicon --grammar grammar --frame-shift 30 --format json ark:post.txt > hyp
! grep -q incomplete hyp || fail "a whole sentence is said to be incomplete: $(cat hyp)"
# No sentence fits within the beam: the result is the beginning of one, without a word that the grammar forbids there.
printf 'to to to\nfor to\n' > phrases
for beam in 1 2 5; do
  "$linnet" decode --symbols symbols --words --lexicon lexicon --grammar phrases --beam $beam --frame-shift 30 \
    --format json ark:post.txt > hyp
  ! grep -q '"score":null' hyp || fail "beam $beam: a sentence that is not in the grammar: $(cat hyp)"
  [[ $(grep -o '"incomplete":true}' hyp | wc -l) -eq 2 ]] || fail "beam $beam: not said to be incomplete: $(cat hyp)"
done
# Silence has no words, so nothing of it is incomplete.
(echo 'u1 [' && row 0 && row 0 && echo ']') > silence.txt
"$linnet" decode --symbols symbols --words --lexicon lexicon --grammar phrases --frame-shift 30 --format json silence.txt > hyp
grep -q '"words":\[\]' hyp && ! grep -q incomplete hyp || fail "silence with a grammar: $(cat hyp)"

# --- words that the lexicon lacks are guessed
printf '%s\n' 'TU T UW' 'FO F AO' 'TUFO T UW F AO' 'FOTU F AO T UW' 'TUTU T UW T UW' 'FOFO F AO F AO' > spelled
"$linnet" g2p --train spelled --order 2 --output small.g2p 2> err || fail "g2p: $(cat err)"
printf 'tu fo 9\nfotu\n' > names
decoded 'guessed hotwords' 'u1 TU FO' --hotwords names --g2p small.g2p
grep -q "warning: guessed the pronunciations of words that are not in lexicon: 'tu', 'fo', 'fotu'" err ||
  fail "no warning: $(cat err)"
"$linnet" decode --symbols symbols --words --lexicon lexicon --hotwords names --g2p small.g2p --frame-shift 30 \
  --format json ark:post.txt > hyp 2> err
grep -q '"word":"TU"[^}]*"guessed":true' hyp || fail "guessed words are not marked: $(cat hyp err)"
decoded 'guessed hotwords, a language model' 'u1 TU FO' --hotwords names --g2p small.g2p --lm lm.arpa
printf 'tutu\ntu for\n' > phrases
decoded 'guessed words of a grammar' 'u1 TU FOR' --grammar phrases --g2p small.g2p
decoded 'hotwords and a grammar' 'u1 TU FOR' --grammar phrases --hotwords names --g2p small.g2p
printf 'to two\nfour\n' > phrases
decoded 'nothing to guess' 'u1 TO FOUR' --hotwords phrases --g2p small.g2p --grammar <(printf 'to four\n')
! grep -q guessed err || fail "a warning without guesses: $(cat err)"
sed 's/ / 0.5 /; s/^FOR(2).*/FOR 0.5 F/' lexicon > lexiconp
cp lexicon plain && cp lexiconp lexicon
printf 'tu fo 9\n' > names
decoded 'guessed hotwords, a lexicon with probabilities' 'u1 TU FO' --hotwords names --g2p small.g2p
cp plain lexicon
printf 'F  F\n' > only
LINNET_LEXICON=only "$linnet" decode --symbols symbols --words --unknown-penalty 0.5 --silence SIL ark:post.txt > hyp \
  2> /dev/null
grep -qx 'u1 <unk> <unk>' hyp || grep -qx 'u1 <unk> F <unk>' hyp || fail "unknown words: $(cat hyp)"
# Unknown words are not guessed ones; each of them has the bonus.
unknown=("$linnet" decode --symbols symbols --words --lexicon only --unknown-penalty 0.5 --silence SIL --frame-shift 30 ark:post.txt)
"${unknown[@]}" --format json > hyp 2> /dev/null
grep -q '"word":"<unk>"' hyp || fail "unknown words in JSON: $(cat hyp)"
! grep -q guessed hyp || fail "an unknown word is marked as guessed: $(cat hyp)"
"${unknown[@]}" --unknown-bonus -20 > hyp 2> /dev/null
grep -qx 'u1 F F' hyp || fail "--unknown-bonus -20: $(cat hyp)"
"${unknown[@]}" --unknown-bonus 20 > hyp 2> /dev/null
grep -qx 'u1\( <unk>\)\{9\}' hyp || fail "--unknown-bonus 20: $(cat hyp)" # one for each row
# Probabilities of pronunciations, and without their weight the order of the lexicon.
printf 'FOR 0.1 F AO\nFOUR 1 F AO\n' > lexicon
decoded 'probabilities of pronunciations' 'u1 FOUR FOUR'
decoded '--pronunciation-weight 0' 'u1 FOR FOR' --pronunciation-weight 0
cp plain lexicon

# --- formats: words with times, and phones
decoded 'CTM' "$(printf 'u1 1 0.000 0.120 TO 0.9512\nu1 1 0.165 0.105 FOR 0.9512')" --silence SIL --format ctm
"$linnet" decode --symbols symbols --words --lexicon lexicon --silence SIL --frame-shift 30 --format json post.txt \
  > hyp 2> /dev/null
grep -qF '"words":[{"word":"TO","start":0.000,"end":0.120,"confidence":0.9512},' hyp &&
  grep -qF '{"symbol":"SIL","start":0.120,"end":0.165,' hyp || fail "JSON: $(cat hyp)"
printf 'u1 [\n 0 -50 -50 -50 -50 -50 ]\n' > quiet.txt
"$linnet" decode --symbols symbols --words --lexicon lexicon quiet.txt > hyp 2> /dev/null
grep -qx 'u1 ' hyp || fail "an empty result: $(cat hyp)"

# --- wrong options and files
decode=(decode --symbols symbols --words)
(printf 'NEW F\n' && cat lexiconp) > mixed
check 1 "mixed:2: '0.5' is no phone; if it is a probability, write one after each word of the file" "${decode[@]}" --lexicon mixed post.txt
check 2 'name a lexicon with --lexicon FILE' "${decode[@]}" post.txt
check 2 '--lexicon: needs --words' decode --symbols symbols --lexicon lexicon post.txt
check 2 '--hotwords: needs --words' transcribe --phones --hotwords phrases post.txt
decode+=(--lexicon lexicon)
check 2 'needs --lattice' "${decode[@]}" --lattice-symbols x post.txt
check 2 'only one of --grammar and --lm' "${decode[@]}" --lm lm.arpa --grammar grammar post.txt
check 2 '--unknown-penalty at least 0' "${decode[@]}" --unknown-penalty -1 post.txt
check 2 '--silence: names 1025 symbols; at most 1024' "${decode[@]}" --silence "$(seq -s , 1025)" post.txt
check 2 '--silence ,,,: names no symbol' "${decode[@]}" --silence ,,, post.txt
check 2 '--g2p small.g2p: guesses only words of --hotwords and --grammar' "${decode[@]}" --g2p small.g2p post.txt
check 2 '--lm-weight 2: the search has a grammar' "${decode[@]}" --grammar grammar --lm-weight 2 post.txt
check 1 "--silence: SPN is not one of the symbols, which 'linnet info" "${decode[@]}" --silence SIL,SPN post.txt
printf ';;; nothing but a comment\n' > bad
check 1 "bad: has no words: write lines 'WORD PHONE PHONE" decode --symbols symbols --words --lexicon bad post.txt
printf 'TO\n' > bad
check 1 "bad:1: word 'TO' has no phones: write them after it" decode --symbols symbols --words --lexicon bad post.txt
printf 'TO T UW\nTO T UW\n' > bad
"$linnet" decode --symbols symbols --words --lexicon bad post.txt > /dev/null 2> err
! grep -q 'appear twice' err || fail "a warning at every command: $(cat err)"
check 0 'appear twice, the first in line 2' decode --verbose --symbols symbols --words --lexicon bad post.txt
: > bad
check 1 'grammar: bad: the grammar accepts nothing: write' "${decode[@]}" --grammar bad post.txt
printf 'TO T UW\nAH AH0\n' > bad
check 1 "bad:2: phone 'AH' is unknown" decode --symbols symbols --words --lexicon bad post.txt
printf 'to\nnine\n' > bad
check 1 "--grammar: bad:2: 'nine' is not in the lexicon" "${decode[@]}" --grammar bad post.txt
check 1 "--hotwords: bad:2: 'nine' is not in the lexicon" "${decode[@]}" --hotwords bad post.txt
for option in --hotwords --grammar; do
  check 1 "$option: bad:2: 'nine' is not in the lexicon lexicon: the model of pronunciations lacks some of the letters" \
    "${decode[@]}" $option bad --g2p small.g2p post.txt
  check 1 'decode: --g2p: nowhere.g2p: No such file' "${decode[@]}" $option bad --g2p nowhere.g2p post.txt
done
check 2 '--g2p: needs --words' decode --symbols symbols --g2p small.g2p post.txt
printf 'X K S\n' > other
"$linnet" g2p --train other --order 1 --output other.g2p 2> err || fail "g2p: $(cat err)"
printf 'x\n' > bad
check 1 "the guess of 'x' has phone 'K', which is not among the symbols" "${decode[@]}" --hotwords bad \
  --g2p other.g2p post.txt
printf '#JSGF V1.0;\npublic <a> = to <b>;\n<b> = for <b>;\n' > bad
check 1 'grammar: bad:3: rule <b> refers to itself' "${decode[@]}" --grammar bad post.txt
check 1 'nowhere' "${decode[@]}" --grammar nowhere post.txt
printf 'a b c\n' > other
"$linnet" ngram --order 1 --discount-fallback --text other --arpa other.arpa 2> /dev/null
check 1 'other.arpa: has none of the words of lexicon' "${decode[@]}" --lm other.arpa post.txt
printf 'For two\ntoo two FOUR\n' > other
"$linnet" ngram --order 1 --discount-fallback --text other --arpa other.arpa 2> /dev/null
check 0 "other.arpa: 3 of its words, such as 'For', count as unknown, because lexicon has them in capitals" "${decode[@]}" --lm other.arpa post.txt
decoded 'no language model' 'u1 TO FOR' --lm none
check 2 '--lm-weight 2: the language model is missing' "${decode[@]}" --lm none --lm-weight 2 post.txt

# --- a model on audio: both ways to words agree
{
  printf 'RIFF\0\0\0\0WAVEfmt \20\0\0\0\1\0\1\0\200\76\0\0\0\175\0\0\2\0\20\0data\0\0\0\0'
  dd if="$linnet" bs=1 skip=1 count=40000 2> /dev/null
} > a.wav
mkdir data
printf 'a ../a.wav\n' > data/wav.scp
head -c 100000 "$model" > header # safetensors: eight bytes, then JSON
grep -ao '"symbols":"[^]]*' header | grep -o '\\"[^,]*\\"' | tr -d '\\"' > symbols
"$linnet" posteriors --model "$model" --data data --out post.ark 2> /dev/null
"$linnet" decode --symbols symbols --words --lexicon lexicon --format ctm ark:post.ark > hyp 2> /dev/null
"$linnet" transcribe --model "$model" --words --lexicon lexicon --data data --format json > transcribed 2> /dev/null
cut -d ' ' -f 5 hyp > words
grep -o '"word":"[^"]*"' transcribed | sed 's/.*:"\(.*\)"/\1/' > words.transcribe || true
cmp -s words words.transcribe || fail "transcribe: $(cat words words.transcribe)"
for format in textgrid srt vtt stm; do
  "$linnet" transcribe --model "$model" --words --lexicon lexicon --format "$format" a.wav > hyp 2>&1 ||
    fail "$format: $(cat hyp)"
done

[[ $failures -eq 0 ]] && echo 'all good'
exit $((failures > 0))
