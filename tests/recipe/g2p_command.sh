#!/usr/bin/env bash
# The command line of `linnet g2p`: its output, files and exit status.
#
#   g2p_command.sh LINNET
# shellcheck source=tests/recipe/command.sh
. "$(dirname "$0")/command.sh"

cat > words.dict <<'END'
;;; a comment
phone F OW1 N
fox F AA1 K S
fix F IH1 K S # a comment
tape T EY1 P
tap T AE1 P
tap(2) T AE0 P
hat HH AE1 T
that DH AE1 T
that(2) DH AH0 T
photo F OW1 T OW2
w D AH1 B AH0 L Y UW0
END

check 0 'Usage: linnet g2p [OPTIONS] [WORD...]' "$linnet" g2p --help
check 2 'one of --train LEXICON' "$linnet" g2p
check 2 'one of --train LEXICON' "$linnet" g2p --train a --model b
check 2 '--output FILE' "$linnet" g2p --train words.dict
check 2 'need --model' "$linnet" g2p --train words.dict --output m word
check 2 'only one of words, --test and --complete' "$linnet" g2p --model m --test words.dict word
check 2 '--complete: name transcripts' "$linnet" g2p --model m --complete words.dict --output new
check 2 '--nbest 0: must be 1 to' "$linnet" g2p --model m --nbest 0 word
check 2 '--hold-out 1: must be 2 or more' "$linnet" g2p --train words.dict --hold-out 1
check 1 'words.dict: has 9 words, so --hold-out 10 leaves none to test' "$linnet" g2p --train words.dict --hold-out 10 -o none
[[ ! -e none ]] || fail 'a model is written without words to test'
check 2 '--nbest 3: needs --model or --hold-out' "$linnet" g2p --train words.dict --output m --nbest 3
check 2 '--scores: only pronunciations of words' "$linnet" g2p --train words.dict --output m --scores
check 2 '--scores: only pronunciations of words' "$linnet" g2p --model m --test words.dict --scores
check 2 '--scores: only pronunciations of words' "$linnet" g2p --model m --complete words.dict -w words -o new --scores
check 1 'the order of a model of pronunciations must be 1 to 8' "$linnet" g2p --train words.dict --output m --order 9
for order in 0 -3; do
	check 1 'the order of a model of pronunciations must be 1 to 8' "$linnet" g2p --train words.dict --output m --order $order
done
for number in 0 -1; do
	check 1 'the number of iterations must be 1 to 100' "$linnet" g2p --train words.dict --output m --iterations $number
done
for threshold in 2 -0.5 -1 nan; do
	check 1 'the threshold of pruning must be 0 to 1' "$linnet" g2p --train words.dict --output m --prune $threshold
done
check 2 '--output f: needs --train or --complete' "$linnet" g2p --model m --output f word
check 2 'need --train' "$linnet" g2p --model m --order 3 word
check 1 'no-such-file: No such file' "$linnet" g2p --train no-such-file --output m
[[ ! -e m ]] || fail 'a model without a lexicon'
check 1 'none/m: cannot write: No such file' "$linnet" g2p --train no-such-file --output none/m # before the work
check 1 'no-such-file: No such file' "$linnet" g2p --model no-such-file word
check 1 'words.dict: not a model of pronunciations; make one with' "$linnet" g2p --model words.dict word

# Two trainings give the same bytes; stress digits are dropped unless an option keeps them.
check 0 'omitted 1' "$linnet" g2p --train words.dict --output m --order 3
check 0 'n-grams' "$linnet" g2p --train words.dict --output again --order 3
cmp m again || fail 'two trainings gave two models'
check 0 'units' "$linnet" g2p --train words.dict --output stressed --order 3 --keep-stress
check 0 'T AE1 P' "$linnet" g2p --model stressed tap
check 2 '--output /dev/stdout: the report goes to standard output' "$linnet" g2p --train words.dict --output /dev/stdout --order 3
echo tapes > tapes
check 2 'is read twice, so it must be a file' "$linnet" g2p --model m --complete <(cat words.dict) -w tapes -o new
printf 'tap ha\0t\n' > nul
check 1 'nul: holds a NUL byte' "$linnet" g2p --model m --words nul
check 1 'nul: holds a NUL byte' "$linnet" g2p --model m --complete words.dict --words nul -o new
[[ ! -e new ]] || fail 'a refused lexicon was written'
"$linnet" g2p --model stressed --test words.dict | awk '/^word error rate/ && $4 < 30 {good = 1} END {exit !good}' ||
  fail 'stress digits of a lexicon are dropped though the model has them'
check 2 '--keep-stress: needs --train' "$linnet" g2p --model stressed --keep-stress tap
check 2 '--text words.dict: needs --complete' "$linnet" g2p --model stressed --text words.dict tap
check 2 '--nbest 2: --complete adds one' "$linnet" g2p --model m --complete words.dict --words words.dict --nbest 2 -o full
head -c 500 m > cut.g2p
check 1 'cut.g2p: the file has 500 bytes, but its header announces' "$linnet" g2p --model cut.g2p tap

# Words come from arguments, files or standard input; the command reports letters that the model does not know.
printf 'TAP\tT AE P\nphone\tF OW N\n' > wanted
"$linnet" g2p --model m TAP phone > out.args
printf 'TAP\nphone\n' > list
"$linnet" g2p --model m --words list > out.file
"$linnet" g2p --model m < list > out.stdin
printf '\xEF\xBB\xBFTAP\nphone\n' > marked # by the mark of UTF-8, which is not part of the word
"$linnet" g2p --model m --words marked > out.marked
for one in args file stdin marked; do cmp wanted "out.$one" || fail "words from $one"; done
check 0 "'1999': has no pronunciation: the model has none of its letters" "$linnet" g2p --model m 1999
check 0 "'tap9': the model ignores 1 letter that" "$linnet" g2p --model m tap9
check 0 'the word has more than 64 letters' "$linnet" g2p --model m "$(printf 'a%.0s' {1..65})"
check 0 $'tap\t0.' "$linnet" g2p --model m --scores tap
[[ $("$linnet" g2p --model m --nbest 3 hat | wc -l) -eq 3 ]] || fail 'three pronunciations'

# Error rates: all words are known, so there are no errors; any pronunciation of a word counts as right.
printf 'tap T AA P\ntap(2) T AE P\n' > two.dict
check 0 'word error rate 0.00 % (0 of 1)' "$linnet" g2p --model m --test two.dict
check 0 'phone error rate 0.00 % (0 of 3)' "$linnet" g2p --model m --test two.dict
printf 'tap T AA P\nhat HH AE T\n' > wrong.dict
check 0 'word error rate 50.00 % (1 of 2)' "$linnet" g2p --model m --test wrong.dict
check 0 'phone error rate 16.67 % (1 of 6)' "$linnet" g2p --model m --test wrong.dict
printf '1999 T AE P\n' > digits.dict
check 0 'without pronunciation 1' "$linnet" g2p --model m --test digits.dict
check 0 'phone error rate 100.00 % (3 of 3)' "$linnet" g2p --model m --test digits.dict
check 0 'test words 2' "$linnet" g2p --train words.dict --hold-out 4 --order 2
check 2 '--output -: the report goes to standard output' "$linnet" g2p --train words.dict --output -
[[ ! -e ./- ]] || fail 'a model called -'

# A recognizer has a model and a lexicon, which is asked first: a folder, its file, $LINNET_MODEL, and the one that ships.
mkdir -p folder plain
printf 'THE 1.0 DH AH\nTHE 0.5 DH IY\n' > folder/lexicon.txt
cp m folder/g2p.bin
echo '{"model": "none.safetensors"}' | tee plain/recognizer.json > folder/recognizer.json
printf 'the\tDH AH\nthe\tDH IY\n' > known
"$linnet" g2p --model m the tap > guesses
tail -n 1 guesses >> known
! head -n 1 guesses | grep -q 'DH IY' || fail 'the model knows the word'
"$linnet" g2p --model folder the tap > out.folder
"$linnet" g2p --model folder/recognizer.json - tap <<< the > out.file
LINNET_MODEL=folder "$linnet" g2p the tap > out.variable
echo '{"model": "none.safetensors", "lexicon": "../folder/lexicon.txt", "g2p": "../m"}' > plain/recognizer.json
"$linnet" g2p --model plain the tap > out.keys
for one in folder file variable keys; do cmp known "out.$one" || fail "the lexicon of a recognizer: $one: $(cat "out.$one")"; done
"$linnet" g2p --model folder --guess the tap | cmp guesses - || fail '--guess asks the lexicon'
check 0 $'the\t0.500000\tDH IY' "$linnet" g2p --model folder --scores the
check 0 'test words 9' "$linnet" g2p --model folder --test words.dict
check 0 '1 word added' "$linnet" g2p --model folder --complete words.dict --text <(echo 'u1 the') --output new.dict
check 2 '--guess: omit it with' "$linnet" g2p --model m --guess --test words.dict
for file in lexicon.txt g2p.bin; do
	check 2 "folder/$file" "$linnet" g2p --model folder --complete words.dict --text text --output folder/$file
	LINNET_MODEL=folder check 2 "folder/$file" "$linnet" g2p --complete words.dict --text text --output folder/$file
done
cmp m folder/g2p.bin || fail 'a lexicon replaced the model'
rm folder/g2p.bin
check 1 'folder: has no model of pronunciations' "$linnet" g2p --model folder the
check 1 'recognizer.json' "$linnet" g2p --model . the
LINNET_MODEL=m check 1 'm: has no model of pronunciations: name one' "$linnet" g2p the
if [[ -e $here/../../models/english/recognizer.json ]]; then
	check 0 $'hello\tHH AH L OW' "$linnet" g2p hello
	check 0 $'of\tAH V' "$linnet" g2p of
fi

[[ $(echo tap | "$linnet" g2p --model m - hat) == $("$linnet" g2p --model m tap hat) ]] || fail "'-' is not standard input"

# Completion: the lexicon, and each word that it lacks once; a second completion adds nothing.
printf 'u1 TAPE PHOTAP fix\nu2 photap <unk> PHOTAP tata 77\n' > text
check 0 "'<unk>': has no pronunciation and is ignored" "$linnet" g2p --model m --complete words.dict --text text --output new.dict
check 0 '2 words added, 2 ignored' \
	"$linnet" g2p --model m --complete words.dict --text text --output new.dict
head -n "$(wc -l < words.dict)" new.dict | cmp - words.dict || fail 'the lexicon was changed'
[[ $(tail -n +"$(($(wc -l < words.dict) + 1))" new.dict | cut -f1 | tr '\n' ' ') == 'PHOTAP tata ' ]] || fail 'new words'
check 0 '0 words added' "$linnet" g2p --model m --complete new.dict --text text --output newer.dict
cmp new.dict newer.dict || fail 'a complete lexicon was changed'
check 0 "''': has no pronunciation and is ignored" "$linnet" g2p --model m --complete words.dict --text <(echo "u1 tata '") --output new.dict
check 0 '1 word added (1 with letters that the model does not know and skips), 0 ignored' \
	"$linnet" g2p --model m --complete words.dict --text <(echo 'u1 tata7') --output new.dict
printf 'tap T AE P' > short.dict # no newline at the end
check 0 "the model has the phone 'F', which the lexicon does not use" \
	"$linnet" g2p --model m --complete short.dict --text text --output new.dict
printf 'tap 0.8 T AE P\nhat 1.0 HH AE T\n' > weighted.dict
check 0 '3 words added' "$linnet" g2p --model m --complete weighted.dict --text <(echo 'u1 tape photap fix tap') --output new.dict
grep -qxF $'photap\t1.0 F OW T AE P' new.dict || fail "a lexicon with probabilities: $(cat new.dict)"
check 0 '0 words added' "$linnet" g2p --model m --complete new.dict --text <(echo 'u1 photap') --output newer.dict
{ cat weighted.dict && "$linnet" g2p --model m photap; } > mixed.dict
check 1 "'linnet g2p --complete' adds words with probabilities" \
	"$linnet" g2p --model m --complete mixed.dict --text <(echo 'u1 tata') --output newer.dict
check 0 '2 words added' "$linnet" g2p --model m --complete words.dict --words <(echo 'tap photap fix gaphat') --output new.dict
check 0 '0 words added' "$linnet" g2p --model m --complete new.dict --words <(echo 'PHOTAP') --text <(echo 'photap gaphat') \
	--output newer.dict
check 0 '1 word added' "$linnet" g2p --model m --complete words.dict --words <(printf '\xEF\xBB\xBFphotap tap') --output new.dict
grep -q '^photap' new.dict || fail "a marked text: $(tail -n 1 new.dict)"
check 0 'does not know and skips), 3 ignored' "$linnet" g2p --model m --complete words.dict \
	--words <(echo 'pat(2) ;;;pat # photap gaphat(a)') --output new.dict
for word in 'pat(2)' ';;;pat' '#'; do
	check 0 "'$word': is left out: a lexicon reads it as a comment or as another pronunciation" \
		"$linnet" g2p --model m --complete words.dict --words <(echo "$word") --output newer.dict
done
[[ $(tail -n +"$(($(wc -l < words.dict) + 1))" new.dict | cut -f1 | tr '\n' ' ') == 'photap gaphat(a) ' ]] ||
	fail "words that a lexicon reads as something else: $(cat new.dict)"
check 1 'no-such-file: cannot be read: No such file' "$linnet" g2p --model m --complete words.dict --words no-such-file --output x
check 1 'no-such-file: No such file' "$linnet" g2p --model m --complete words.dict --text no-such-file --output x
[[ ! -e x ]] || fail 'a lexicon was written without transcripts'

# The dictionary of a recipe pronounces unknown words by a model of the dictionary.
export LINNET=$linnet
make_dictionary=$here/../../recipes/common/make_dictionary.sh
for units in 39 stress; do
	check 0 'a model of the dictionary' "$make_dictionary" --out "lang-$units" --dict words.dict --oov g2p --units $units text
done
grep -qx 'PHOTAP F OW T AE P' lang-39/lexicon.txt || fail 'PHOTAP without stress'
grep -qx 'PHOTAP F OW1 T AE1 P' lang-stress/lexicon.txt || fail 'PHOTAP with stress'
grep -q '^77 1 SPN$' lang-39/oov || fail 'a word without letters is not SPN'
sed 's/ /\t/' text > text-tabs
check 0 'a model of the dictionary' "$make_dictionary" --out lang-tabs --dict words.dict --oov g2p text-tabs
cmp lang-39/lexicon.txt lang-tabs/lexicon.txt || fail 'a text with tabs has other words'
check 1 '--oov x: must be map, flite or g2p' "$make_dictionary" --out lang --dict words.dict --oov x text

# The case of letters outside ASCII has no effect, and two spellings are one missing word.
printf 'éta E T AA\nÉtà E T A\nbeta B E T AA\ntab T A B\n' > accents.dict
check 0 'n-grams' "$linnet" g2p --train accents.dict --output accents --order 2
for word in ÉTA éta; do
  check 0 $'\tE T AA' "$linnet" g2p --model accents "$word"
done
check 0 '' "$linnet" g2p --model accents --complete accents.dict --words <(printf 'tébà\nTÉBÀ\nbeTA\n') --output completed
[[ $(grep -ci té completed) -eq 1 && $(grep -ci beta completed) -eq 1 ]] || fail "words in two cases: $(< completed)"

# The seeds of the fuzz target must be models of this version.
for seed in "$here"/../fuzz/corpus/g2p/*.bin; do check 0 '' "$linnet" g2p --model "$seed" tap; done

[[ $failures -eq 0 ]] || exit 1
echo 'all passed'
