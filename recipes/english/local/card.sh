#!/bin/bash
# The card of a recognizer that recipes/english/run.sh made; see usage.
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=recipes/common/lib.sh
. "$here/../../common/lib.sh"

usage() {
	cat <<'END'
Usage: card.sh --folder DIR --exp DIR --data DIR --language DIR

Prints what is known of the recognizer in a folder: its files, its data and training, its model, and its error rates. What
the experiment did not record is left out. $LINNET names the linnet command.

  --folder DIR    the folder of the recognizer
  --exp DIR       its experiment: train, final.safetensors, average.safetensors, table.md, conditions.md
  --data DIR      the data folders of stage 1
  --language DIR  the language model, as stage 5 made it: counts, lexicon.txt, lm.settings
END
}

folder='' exp='' data='' language=''
take_options "folder exp data language" "$@"
[ -n "$folder" ] && [ -n "$exp" ] && [ -n "$data" ] && [ -n "$language" ] && [ -n "${LINNET:-}" ] || {
	usage >&2
	exit 2
}
about=$("$LINNET" info "$folder/phones.safetensors")

# fact NAME: what linnet info says
fact() { awk -v name="$1" '$1 == name {sub(/^[^ ]* */, ""); print}' <<<"$about"; }

# row TITLE TEXT: nothing without a text
row() { [ -z "$2" ] || echo "| $1 | $2 |"; }

# file_row NAME TEXT: nothing without the file
file_row() { [ ! -e "$folder/$1" ] || row "\`$1\`" "$2"; }

# made_by FOLDER: the command that stages 1 and 2 wrote down
made_by() { [ ! -e "$1/command" ] || echo "by $(<"$1/command"): "; }

data_line() {
	local speech all
	speech=$(awk 'NF > 1' "$data/train/phones" | wc -l)
	all=$(wc -l <"$data/train/phones")
	echo "$(made_by "$data")$speech utterances of speech and $((all - speech)) noises without phones; for development" \
		"$(wc -l <"$data/dev/phones") utterances"
}

# Stage 3 takes the mean of the epochs that training keeps, or the best one.
training_line() {
	local kept=''
	if cmp -s "$exp/final.safetensors" "$exp/train/model.safetensors"; then
		kept=', of which the best is taken'
	elif cmp -s "$exp/final.safetensors" "$exp/average.safetensors"; then
		kept=", and the mean of the best $(find "$exp/train" -name 'epoch-*.safetensors' | wc -l)"
	fi
	echo "$(made_by "$exp/train")$(wc -l <"$exp/train/log.jsonl") epochs$kept"
}

language_line() {
	[ ! -e "$language/lm.settings" ] || echo "a trigram of a text of $(awk '{n += $2} END {print n + 0}' "$language/counts") words," \
		"$(sed 's/,.*//' "$language/lm.settings"); $(awk '{print $1}' "$language/lexicon.txt" | sort -u | wc -l) words in the lexicon"
}

ensemble_line() {
	sed -n 's/.*"ensemble_model": "\([^"]*\)", "ensemble_weight": \([0-9.]*\).*/`\1` takes part with weight \2/p' \
		"$folder/recognizer.json"
}

title='words and phones' live=$(fact causal)
[ -z "$live" ] || title='words while somebody speaks'
cat <<END
# English: $title

\`recipes/english/run.sh\` made this recognizer; it is not the one that ships with Linnet. \`--model FOLDER\` of linnet's
commands opens it.

| file | holds |
|---|---|
$(
	file_row recognizer.json 'which files, and the weights tuned on the development sets'
	file_row phones.safetensors 'the model of phones, with calibrations of confidences'
	file_row priors.txt 'how probable the phones and the blank are on average'
	file_row words.bin 'the language model'
	file_row lexicon.txt 'pronunciations: of CMUdict, and guesses of `g2p.bin`'
	file_row g2p.bin 'grapheme-to-phoneme model of CMUdict'
	file_row lexicon-licence.txt 'the licence of CMUdict'
	file_row text.rules 'how written English is spoken, for `linnet align`'
)
END
[ -e "$folder/words.bin" ] || printf '\n%s\n' 'Lexicon and language model are those of `../english`: both folders must be beside each other.'
cat <<END

| | |
|---|---|
$(
	row Data "$(data_line)"
	row Training "$(training_line)"
	row Model "$(fact parameters) parameters; $(fact features); $(fact cmvn); $(fact output)"
	row Causal "$live"
	row Ensemble "$(ensemble_line)"
	row 'Language model' "$(language_line)"
	row 'Licence of the weights' "$(fact licence)"
	row 'Corpora of the recipe' "$(fact provenance)"
)

## Error rates

Phones come from greedy decoding, words from \`linnet transcribe\`. Intervals (95 %) are bootstrapped over speakers, where
there are several. The model and the weights of the search were chosen on these sets, so other speech has more errors. The
real-time factor is the processor time, loading included, divided by the duration of the audio ($(processor)).

END
cat "$exp/table.md"
[ ! -s "$exp/conditions.md" ] || {
	printf '\n%s\n\n' 'Every sixth utterance under other conditions:'
	cat "$exp/conditions.md"
}
