#!/usr/bin/env bash
# `linnet transcribe` with the folder of a recognizer: words, phones, options that change its settings, errors.
# Without real speech (LINNET_DATA), the test transcribes noise, where options also change the result.
#
#   recognizer_command.sh LINNET
# shellcheck source=tests/recipe/command.sh
. "$(dirname "$0")/command.sh"
prefix=("$linnet")
phones=$here/../../models/english/phones.safetensors

# transcribed NAME OPTION...: writes the result of `linnet transcribe` on the recording to NAME.
transcribed() {
  "$linnet" transcribe "${@:2}" sound.wav > "$1" 2> err || fail "$*: $(cat err)"
}

# same FILE FILE WHAT
same() { cmp -s "$1" "$2" || fail "$3: '$(cat "$1")', expected '$(cat "$2")'"; }

speech=${LINNET_DATA:-none}/ljspeech/audio/LJ001-0002.opus
if [[ -e $speech ]]; then
  ln -s "$speech" sound.wav
else
  awk 'BEGIN {srand(1); for (i = 0; i < 32000; i++) printf "%c", 97 + int(26 * rand())}' > bytes
  head -c 32000 bytes > sound.raw
  printf 'RIFF\044\175\000\000WAVEfmt \020\000\000\000\001\000\001\000\200\076\000\000\000\175\000\000\002\000\020\000data\000\175\000\000' \
    | cat - sound.raw > sound.wav
fi

mkdir folder
ln -s "$phones" folder/phones.safetensors
printf 'IN  IH N\nBEING  B IY IH NG\nMODERN  M AA D ER N\nCOMPARATIVELY  K AH M P EH R AH T IH V L IY\nOTHER  AH DH ER\n' > folder/lexicon.txt
for _ in {1..20}; do printf 'IN BEING COMPARATIVELY MODERN\nOTHER\nIN\n'; done > lines
"$linnet" ngram --order 2 --discount-fallback --text lines --binary folder/words.bin 2> /dev/null
printf 'OTHER\nOTHER OTHER\n' > lines
"$linnet" ngram --order 1 --discount-fallback --text lines --binary others.bin 2> /dev/null
cat > folder/recognizer.json << 'END'
{"model": "phones.safetensors", "search": "words", "lexicon": "lexicon.txt", "language_model": "words.bin",
 "language_model_weight": 0.8, "beam": 20}
END

# --- --verbose: files, search and inputs
check 0 'search: for words of folder/lexicon.txt, beam 20, language model folder/words.bin' transcribe -v --model folder sound.wav
for text in "a model of" 'folder/lexicon.txt: a lexicon of 5 words' 'folder/words.bin: an n-gram model of order 2' \
  'sound.wav: started' 'sound.wav: finished'; do
  grep -qF "$text" out || fail "--verbose: '$text' is missing in: $(cat out)"
done

# --- the folder, its JSON file, the same settings as options, the phones of its model
transcribed words --model folder
options=(--words --lexicon folder/lexicon.txt --beam 20)
transcribed expected --model "$phones" "${options[@]}" --lm folder/words.bin --lm-weight 0.8
same words expected 'the folder'
[[ ! -e $speech || $(cat words) == 'IN BEING COMPARATIVELY MODERN' ]] || fail "real speech: $(cat words)"
transcribed again --model folder/recognizer.json
same again words 'the file'
LINNET_MODEL=folder transcribed again
same again words 'LINNET_MODEL'

# --- the name of an installed recognizer, unless there is a file of this name
mkdir -p private/bin private/share/linnet/models/{one,two,others}
cp "$linnet" private/bin
ln -s "$PWD"/folder/* private/share/linnet/models/two
cp folder/recognizer.json private/share/linnet/models/one
here_linnet=$linnet linnet=private/bin/linnet
transcribed again --model two
same again words 'an installed name'
LINNET_MODEL=two transcribed again
same again words 'an installed name in LINNET_MODEL'
linnet=$here_linnet
prefix=(private/bin/linnet)
wanted='oen: No such file or directory, and no model of this name is installed: name the path of one, or one of those that'
for command in transcribe align\ -p\ AH posteriors\ -o\ x plot transcribe\ --live; do
  # shellcheck disable=SC2086 # a command and its options
  check 1 "$wanted are installed: one, two" $command --model oen sound.wav
done
check 1 "$wanted are installed: one, two" info oen
check 1 'others: No such file' transcribe --model others sound.wav
check 1 './two: ' transcribe --model ./two sound.wav
mkdir two
check 1 'two/recognizer.json' transcribe --model two sound.wav
rmdir two
prefix=("$linnet")

transcribed expected --model "$phones"
transcribed again --model folder --phones
same again expected '--phones'
transcribed again --model "$phones" --phones
same again expected '--phones of a model'
transcribed again --model folder --phones --beam 5
transcribed expected --model "$phones" --beam 5
same again expected '--phones with a beam'

# --- the blank penalty: an option, or a key of the folder, whose search for words does not use it
transcribed plain --model "$phones" --format json
transcribed expected --model "$phones" --blank-penalty 50 --format json
cmp -s plain expected && fail 'the blank penalty changes nothing'
mkdir penalty
ln -s "$PWD"/folder/* penalty/
rm penalty/recognizer.json
sed 's/"beam"/"blank_penalty": 50, "beam"/' folder/recognizer.json > penalty/recognizer.json
transcribed again --model penalty --phones --format json
same again expected '"blank_penalty"'
transcribed again --model penalty --phones --blank-penalty 0 --format json
same again plain '--blank-penalty 0'
transcribed again --model penalty
same again words '"blank_penalty" of a search for words'
check 2 '--blank-penalty 1: only greedy decoding has it' transcribe --model "$phones" --beam 5 --blank-penalty 1 sound.wav
mkdir phones_only
echo '{"model": "../folder/phones.safetensors"}' > phones_only/recognizer.json
check 2 '--priors none: greedy decoding takes no priors' transcribe --model phones_only --priors none sound.wav
check 2 '--lm some: greedy decoding has no language model' transcribe --model phones_only --lm some sound.wav
check 2 '--top-symbols: greedy decoding drops no hypotheses' transcribe --model phones_only --top-symbols 3 sound.wav
check 2 '--lm-weight 2: the language model is missing' transcribe --model phones_only --beam 5 --lm-weight 2 sound.wav
check 1 '--ensemble-weight 0.5: folder has no second model' transcribe --model folder --ensemble-weight 0.5 sound.wav
check 1 'the name is empty' transcribe --model '' sound.wav
check 2 '--max-seconds -5: must be 0' transcribe --max-seconds -5 sound.wav
check 2 '--beam -1: must be 1' transcribe --model folder --beam -1 sound.wav
printf '{"model": "phones.safetensors", "ensemble_wieght": 0.5}' > folder/misspelt.json
check 1 'do you mean "ensemble_weight"?' transcribe --model folder/misspelt.json sound.wav
printf '{"model": "phones.safetensors", "foo": 0.5}' > folder/misspelt.json
check 1 ', ...' transcribe --model folder/misspelt.json sound.wav # whole keys of the list
printf '{"model": "phones.safetensors", "search": "words", "lexicon": "nowhere.txt"}' > folder/missing.json
check 1 'lexicon: folder/nowhere.txt' transcribe --model folder/missing.json sound.wav
check 1 'transcribe: folder/missing.json: lexicon: folder/nowhere.txt: No such file or directory' \
  transcribe --model folder/missing.json sound.wav
mkdir wrong
printf '{"model": "../folder/phones.safetensors", "ensemble_weight": 1}' > wrong/recognizer.json
weight='ensemble_weight is 1; it must be 0 or more, and less than 1'
for command in 'align --text IN --lexicon folder/lexicon.txt' 'posteriors --out x.ark'; do
  read -r -a parts <<< "$command"
  check 1 "linnet ${parts[0]}: wrong/recognizer.json: $weight" "${parts[@]}" --model wrong sound.wav
done
for command in transcribe 'transcribe --live' 'transcribe --beam 5' 'listen --raw s16le'; do
  read -r -a parts <<< "$command"
  check 1 "linnet ${parts[0]}: wrong/recognizer.json: $weight" "${parts[@]}" --model wrong - < sound.wav
done
check 1 'transcribe: --hotwords: nowhere: No such file or directory' transcribe --model folder --hotwords nowhere sound.wav
sed 's/0.8,/2000, "symbol_threshold": -1,/' folder/recognizer.json > folder/wrong.json
check 1 'folder/wrong.json: symbol_threshold is -1; it must be at least 0' \
  transcribe --model folder/wrong.json --score-threshold 5 --word-bonus 1 sound.wav
check 1 'folder/wrong.json: language_model_weight is 2000; it must be 0 to 1000' \
  transcribe --model folder/wrong.json --symbol-threshold 9 --word-bonus 1 sound.wav
"$linnet" info --symbols folder/phones.safetensors | awk '{print $1, 0.5}' > priors.wrong
check 1 'transcribe: --priors: priors.wrong: the sum of the priors is' transcribe --model folder --priors priors.wrong sound.wav
printf 'IN Kudelski 3\nTrondheim\nKudelski\n' > names
check 1 "--hotwords: names:1: 'Kudelski', 'Trondheim' are not in the lexicon folder/lexicon.txt" \
  transcribe --model folder --hotwords names sound.wav
sed 's/"search"/"hotwords": "..\/names", "search"/' folder/recognizer.json > folder/names.json
check 1 "folder/names.json: hotwords: folder/../names:1: 'Kudelski'" transcribe --model folder/names.json sound.wav
echo 'names Kudelski Trondheim' > text
"$linnet" g2p --model "$here/../../models/english/g2p.bin" --complete folder/lexicon.txt --text text --output completed \
  2> err || fail "--complete: $(cat err)"
check 0 '' transcribe --model folder --lexicon completed --hotwords names sound.wav

# An empty variable counts as unset; $LINNET_LEXICON is for what has no lexicon of its own.
for command in transcribe 'align --text IN'; do
  read -r -a parts <<< "$command"
  for value in '' nowhere; do
    LINNET_LEXICON=$value check 0 '' "${parts[@]}" --model folder sound.wav
  done
done
LINNET_LEXICON='' check 2 'words need pronunciations' transcribe --model "$phones" --words sound.wav
LINNET_LEXICON=nowhere check 1 '$LINNET_LEXICON: nowhere: No such file' \
  transcribe --model "$phones" --words sound.wav
LINNET_LEXICON=nowhere check 1 'nowhere: No such file' align --model "$phones" --text IN sound.wav
check 2 '--insertion-bonus: counts symbols' transcribe --model folder --insertion-bonus -3 sound.wav
check 2 '--blank-penalty 3: only greedy decoding' transcribe --model folder --blank-penalty 3 sound.wav
echo modern > commands
check 2 '--lm-weight 3: the search has a grammar, which replaces a language model' transcribe --model folder --grammar commands --lm-weight 3 sound.wav
check 2 '--precision tf32: only GPUs have it' transcribe --model folder --precision tf32 sound.wav
check 2 '--unknown-bonus: needs --unknown-penalty' transcribe --model folder --unknown-bonus 3 sound.wav
check 0 '' transcribe --model folder --unknown-bonus 3 --unknown-penalty 5 sound.wav
check 2 '--recursive: searches folders' transcribe --model folder --recursive --data folder
check 2 '--ensemble-weight 1: must be 0 or more' transcribe --model folder --ensemble-weight 1 sound.wav
check 1 'is larger than the 65536 bytes of a recognizer.json' transcribe --model folder --second-pass "$phones" sound.wav
check 2 '--blank-penalty nan: must be -100 to 100' transcribe --model "$phones" --blank-penalty nan sound.wav

# --- align takes the lexicon that the recognizer names, also from another folder
mkdir elsewhere
sed 's|: "\([a-z]*\.[a-z]*\)"|: "../folder/\1"|g' folder/recognizer.json > elsewhere/recognizer.json
for model in folder elsewhere elsewhere/recognizer.json; do
  "$linnet" align --model $model --text 'IN OTHER' --format ctm sound.wav > again 2> err || fail "$model: $(cat err)"
  [[ $model != folder ]] || cp again expected
  same again expected "align with $model"
done

# The lexicon may have any name; the folder's g2p.bin guesses the words that it lacks.
mkdir renamed
cp folder/lexicon.txt renamed/pronunciations.dict
ln -s "$here/../../models/english/g2p.bin" renamed/
sed 's|lexicon.txt|pronunciations.dict|; s|: "\(phones\.[a-z]*\)"|: "../folder/\1"|; s|: "words.bin"|: "../folder/words.bin"|' \
  folder/recognizer.json > renamed/recognizer.json
"$linnet" align --model renamed --text 'IN OTHER' --format ctm sound.wav > again 2> err || fail "renamed: $(cat err)"
same again expected 'align with a lexicon of another name'
check 0 "guessed pronunciations of 1 word: 'BLARK'" align --model renamed --text 'IN BLARK' --format ctm sound.wav

# --- the emission delay of the folder: this one is longer than the recording, so phones begin at 0, one row after another
sed -i 's/"blank_penalty": 50/"emission_delay": 9/' penalty/recognizer.json
transcribed again --model penalty --phones --blank-penalty 50 --format ctm # noise has no phones without it
[[ $(wc -l < again) -ge 5 ]] || fail "no phones: $(cat again)"
"$linnet" align --model penalty --phones 'IH N' --format ctm sound.wav >> again 2> err || fail "align: $(cat err)"
awk '$3 == 0 {row = 0} $3 > 0.03 * row++ + 0.001 || $4 < 0.029 {bad = 1} END {exit bad || NR < 2}' again || fail "the emission delay: $(cat again)"

# --- only the first model of an ensemble: without the calibration, which is of both together
mkdir ensemble
for keys in '' ', "ensemble_model": "../folder/phones.safetensors", "confidence": {"slope": 0.5, "offset": 1}'; do
  echo '{"model": "../folder/phones.safetensors"'"$keys}" > ensemble/recognizer.json
  transcribed "${keys:+both}.models" --model ensemble --blank-penalty 50 --format json
done
! cmp -s both.models .models || fail 'the calibration of an ensemble changes nothing'
transcribed again --model ensemble --ensemble-weight 0 --blank-penalty 50 --format json
same again .models '--ensemble-weight 0'

# --- an option changes its setting in the file, and no other
transcribed again --model folder --lm others.bin --word-bonus 2
transcribed expected --model "$phones" "${options[@]}" --lm others.bin --lm-weight 0.8 --word-bonus 2
same again expected 'another language model'
transcribed again --model folder --lm-weight 0 --words
transcribed expected --model "$phones" "${options[@]}" --lm folder/words.bin --lm-weight 0
same again expected 'another weight'
printf 'OTHER OTHER\n' > phrases
transcribed again --model folder --grammar phrases
[[ $(cat again) == 'OTHER OTHER' ]] || fail "a grammar: $(cat again)"
# Only the second model of an ensemble normalises by speaker: it gets statistics of both utterances.
mkdir speakers
LC_ALL=C sed 's/\\"cmvn\\": \\"utterance\\"/\\"cmvn\\": \\"speaker\\"  /' "$phones" > speakers/speaker.safetensors
check 0 'per speaker' info speakers/speaker.safetensors
{
  head -c 44 sound.wav
  dd if="$linnet" bs=1 skip=20000 count=32000 2> /dev/null
} > speakers/other.wav
printf 'a sound.wav\nb other.wav\n' > speakers/wav.scp
ln -s ../sound.wav speakers
printf 'a s\nb s\n' > speakers/utt2spk
for second in speaker ../folder/phones; do
  echo '{"model": "../folder/phones.safetensors", "ensemble_weight": 0.9, "ensemble_model": "'$second.safetensors'"}' \
    > speakers/recognizer.json
  "$linnet" transcribe --model speakers --blank-penalty 50 --format json --data speakers > "${second##*/}.json" 2> err ||
    fail "$second: $(cat err)"
done
! cmp -s speaker.json phones.json || fail 'statistics of speakers do not reach the second model of an ensemble'

# A grammar of the folder, which --lm replaces.
sed 's/"language_model": [^,]*,//; s/"language_model_weight": 0.8,//' elsewhere/recognizer.json > elsewhere/without.json
sed 's|"search"|"grammar": "../phrases", "search"|' elsewhere/without.json > elsewhere/grammar.json
transcribed expected --model elsewhere/without.json --lm others.bin --format json
transcribed again --model elsewhere/grammar.json --lm others.bin --format json
same again expected '--lm instead of a grammar'
transcribed again --model elsewhere/grammar.json
[[ $(cat again) == 'OTHER OTHER' ]] || fail "a grammar of the folder: $(cat again)"
check 0 '"hypotheses"' transcribe --model folder --nbest 2 --format json sound.wav
# Silence: no word in the first pass, so no second pass, whose symbols a lattice has; advice about long recordings, once.
head -c 2408000 /dev/zero | tr '\0' '\200' > minutes.raw # 301 s
ln minutes.raw again.raw
head -c 8000 minutes.raw > quiet.raw
raw=(--raw u8 --raw-rate 8000)
check 0 'quiet: has no lattice, because the first pass recognised nothing' transcribe --model folder --second-pass elsewhere \
  --lattice lattice "${raw[@]}" quiet.raw
[[ ! -s lattice ]] || fail "a lattice of the first pass: $(cat lattice)"
check 0 'minutes are one segment: with --endpoints' transcribe --model folder "${raw[@]}" minutes.raw again.raw
[[ $(grep -c 'are one segment' out) -eq 1 ]] || fail "one warning: $(cat out)"
check 0 '' transcribe --model folder "${raw[@]}" quiet.raw --format json
! grep -q 'one segment' out || fail "a warning about a short recording: $(cat out)"
mkdir narrow # also an option that says what the library has by default
sed 's|: "\([a-z]*\.[a-z]*\)"|: "../folder/\1"|g; s/"beam"/"top_symbols": 1, "score_threshold": 0, "beam"/' \
  folder/recognizer.json > narrow/recognizer.json
transcribed expected --model folder --nbest 2 --format json
transcribed again --model narrow --nbest 2 --format json
! cmp -s again expected || fail 'top_symbols 1 and score_threshold 0'
transcribed again --model narrow --nbest 2 --top-symbols 0 --score-threshold inf --format json
same again expected 'options with the values of the library'

# --- label priors: of the folder, of an option
"$linnet" posteriors --model folder --estimate-priors folder/priors.txt sound.wav 2> err || fail "priors: $(cat err)"
sed -i 's/"beam"/"priors": "priors.txt", "prior_scale": 0.75, "beam"/' folder/recognizer.json
cp folder/priors.txt priors.before
"$linnet" posteriors --model folder --estimate-priors folder/priors.txt sound.wav 2> err || fail "priors again: $(cat err)"
cmp folder/priors.txt priors.before || fail 'priors that are estimated again differ'
check 2 'is an input, which it would replace' posteriors --model folder --out folder/priors.txt sound.wav
transcribed again --model folder --format json
transcribed expected --model "$phones" "${options[@]}" --lm folder/words.bin --lm-weight 0.8 --priors folder/priors.txt \
  --prior-scale 0.75 --format json
same again expected 'priors'
transcribed again --model folder --prior-scale 0 --format json
transcribed expected --model "$phones" "${options[@]}" --lm folder/words.bin --lm-weight 0.8 --format json
same again expected 'priors of scale 0'
transcribed again --model folder --phones --format json
transcribed expected --model "$phones" --format json
same again expected 'phones, whatever the priors'

# --- other commands use its model
check 0 'english-phonemes' info folder
"$linnet" posteriors --model folder --out folder.ark sound.wav 2> /dev/null
"$linnet" posteriors --model "$phones" --out phones.ark sound.wav 2> /dev/null
same folder.ark phones.ark 'posteriors'

# --- all commands take its rules for silence
mkdir greedy && cp "$phones" greedy/phones.safetensors
printf '{"model": "phones.safetensors"}' > greedy/recognizer.json
mkdir ruled
ln -s "$phones" ruled/phones.safetensors
printf '{"model": "phones.safetensors", "max_silence": 0, "edge_silence": 0.05}' > ruled/recognizer.json
printf 'RIFF\044\175\000\000WAVEfmt \020\000\000\000\001\000\001\000\200\076\000\000\000\175\000\000\002\000\020\000data\000\175\000\000' > quiet.wav
{ head -c 16000 /dev/zero && tail -c 16000 "$phones"; } >> quiet.wav
commands=('posteriors quiet.wav --text --out')
[[ ! -e $speech ]] || commands+=('transcribe sound.wav --phones --format json --output' 'posteriors sound.wav --out'
  'align sound.wav --phones IH,N --format json --output' 'plot sound.wav --output')
for command in "${commands[@]}"; do
  read -r -a words <<< "$command"
  words=("${words[@]//,/ }")
  "$linnet" "${words[@]}" plain.svg --model "$phones" 2> err || fail "$command: $(cat err)"
  "$linnet" "${words[@]}" ruled.svg --model ruled 2> err || fail "$command: $(cat err)"
  ! cmp -s plain.svg ruled.svg || fail "$command: recognizer.json has no effect"
  "$linnet" "${words[@]}" again.svg --model greedy 2> err || fail "$command: $(cat err)"
  same again.svg plain.svg "$command: without a rule"
done

# --- errors
check 2 'only one of --phones and --words' transcribe --model folder --phones --words sound.wav
check 2 '--lexicon: needs --words' transcribe --model folder --phones --lexicon folder/lexicon.txt sound.wav
check 2 '--lexicon: needs --words' transcribe --model greedy --lexicon /nonexistent sound.wav
check 2 '--hotwords: needs --words' transcribe --model greedy --beam 5 --hotwords /nonexistent sound.wav
check 2 'must be -100 to 100' transcribe --model folder --word-bonus 200 sound.wav
mkdir empty
check 1 'empty/recognizer.json: No such file' transcribe --model empty sound.wav
rm folder/words.bin
check 1 'folder/words.bin: No such file' transcribe --model folder sound.wav
printf '{"model": "phones.safetensors", "lexicons": "x"}' > folder/recognizer.json
check 1 'lexicons' transcribe --model folder sound.wav

[[ $failures -eq 0 ]] || exit 1
echo 'all passed'
