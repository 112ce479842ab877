#!/bin/bash
# check_programs.sh SOURCE_DIR PREFIX LIBDIR WORK: builds the programs of examples/ with the library installed under
# PREFIX. One of them trains a model of tones, which all others use. Tests with real speech run only if LINNET_DATA names
# its folder.
set -euo pipefail
export LC_ALL=C

source=$1 prefix=$2 libdir=$3 work=$4
export LD_LIBRARY_PATH=$libdir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
rm -rf "$work" && mkdir -p "$work/tones" "$work/model"
cd "$work"

fail() {
	echo "FAILED: $*" >&2
	exit 1
}

expect() { # NAME EXPECTED GOT
	[ "$2" = "$3" ] || fail "$1: expected '$2', got '$3'"
}

cmake -S "$source/examples" -B build -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="${CC:-cc}" \
	-DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS='-Wall -Wextra -Werror' -DCMAKE_CXX_FLAGS='-Wall -Wextra -Werror' > log
cmake --build build >> log || fail "$(cat log)"

# The first examples must stay short.
[ "$(wc -l < "$source/examples/words.c")" -le 40 ] || fail 'examples/words.c has more than 40 lines'
[ "$(wc -l < "$source/examples/live.c")" -le 60 ] || fail 'examples/live.c has more than 60 lines'
[ -x build/words ] || {
	echo 'SKIPPED: built without the front end'
	exit 77
}

# A corpus of tones, a model trained on it, and recognizers with this model for phones, words and commands.
"${CC:-cc}" -std=c11 -Wall -Wextra -Werror "$source/tests/consumer/tones.c" -o tones/make -lm
tones/make tones 24
build/train tones/list model > train.log || fail "train: $(cat train.log)"
printf 'AB A B\nCD C D\nA A\nB B\nC C\nD D\n' > model/lexicon
printf 'AB CD\n' > model/grammar
echo '{"model": "model.safetensors"}' > model/phones.json
echo '{"model": "model.safetensors", "search": "words", "lexicon": "lexicon", "word_bonus": -1}' > model/recognizer.json
echo '{"model": "model.safetensors", "search": "words", "lexicon": "lexicon", "grammar": "grammar"}' > model/grammar.json

words() { # RECOGNIZER AUDIO
	build/words "$1" "$2" | awk '{ print $3 }' | paste -sd ' '
}
expect phones 'A B C D' "$(words model/phones.json tones/0.wav)"
expect words 'AB CD' "$(words model tones/0.wav)"
expect grammar 'AB CD' "$(words model/grammar.json tones/0.wav)"
build/words model tones/0.wav |
	awk '!($1 >= end && $2 > $1 && $2 <= 1.3 && $4 > 0 && $4 <= 1) { exit 1 } { end = $2 }' || fail 'times of words'
build/words nowhere tones/0.wav 2> err && fail 'a missing recognizer was accepted'
grep -q 'nowhere: No such file' err || fail "$(cat err)"

# Partial results arrive before the end; the last one is that of the file. An odd byte does not matter.
tail -c +45 tones/0.wav | build/live model/phones.json > live
expect 'live' 'A B C D' "$(sed -n 's/.*final: //p' live)"
[ "$(grep -cv final live)" -ge 1 ] || fail "there are no partial results: $(cat live)"
{ tail -c +45 tones/0.wav && printf x; } | build/live model/phones.json > odd
expect 'live, an odd byte' 'A B C D' "$(sed -n 's/.*final: //p' odd)"

# Calls at once have the same results as alone, in the order of their ends.
build/server model/phones.json tones/[0-5].wav | sort > server
for file in tones/[0-5].wav; do printf '%s %s\n' "$file" "$(words model/phones.json "$file")"; done | sort | cmp - server
build/server model/phones.json tones/0.wav nowhere.wav 2> err && fail 'server: a missing file was accepted'
grep -q 'nowhere.wav: No such file' err || fail "$(cat err)"

# Files recognised together have the same results as alone, in the order of the files.
if [ -x build/pool ]; then
	build/pool model/phones.json tones/[0-9].wav > pool
	for file in tones/[0-9].wav; do printf '%s\t%s\n' "$file" "$(words model/phones.json "$file")"; done | cmp - pool
	build/pool model/phones.json tones/0.wav nowhere.wav > pool 2> err && fail 'pool: a missing file was accepted'
	grep -q 'nowhere.wav: No such file' err || fail "$(cat err)"
fi

build/align model/model.safetensors model/lexicon tones/0.wav 'AB cd' > grid
grep -q 'text = "AB"' grid && grep -q 'text = "cd"' grid && grep -q 'text = "D"' grid || fail "align: $(cat grid)"

# Features that the command computed stand for the program's own features.
command=$prefix/bin/linnet
if [ -x "$command" ]; then
	"$command" features --text --out rows tones/0.wav 2> err || fail "$(cat err)"
	tr -d '[]' < rows | sed 's/^0 //' | build/features model/model.safetensors > features
	expect 'features' 'A B C D' "$(awk '{ print $3 }' features | paste -sd ' ')"
	printf '1 2.5 [\n' | build/features model/model.safetensors 2> err && fail 'features: a bracket was taken for a number'
	grep -q 'not a number: \[' err || fail "features: $(cat err)"
fi

data=${LINNET_DATA-}
speech=$data/ljspeech/audio/LJ001-0001.opus model=$prefix/share/linnet/models/english/phones.safetensors
if [ -f "$speech" ] && [ -f "$data/cmudict/cmudict.dict" ] && [ -f "$model" ]; then
	echo "{\"model\": \"$model\", \"search\": \"words\", \"lexicon\": \"$data/cmudict/cmudict.dict\"}" > speech.json
	[ "$(build/words speech.json "$speech" | wc -l)" -gt 10 ] || fail 'words of real speech'
	build/align "$model" "$data/cmudict/cmudict.dict" "$speech" 'printing in the only sense' > grid
	grep -q 'text = "printing"' grid || fail "alignment of real speech: $(cat grid)"
fi
echo 'all programs built and run'
