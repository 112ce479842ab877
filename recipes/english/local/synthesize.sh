#!/bin/bash
# A Kaldi data folder of synthetic English speech, for pretraining; see usage.
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
synth=$here/../../synth/local
# shellcheck source=recipes/common/lib.sh
. "$here/../../common/lib.sh"
# shellcheck source=recipes/synth/local/speak.sh
. "$synth/speak.sh"

usage() {
	cat <<'END'
Usage: synthesize.sh --out DIR --text FILE --lexicon FILE [--g2p FILE] [--hours H] [--voices FILE] [--seed S] [--jobs J]

Flite and espeak-ng speak sentences of a text. Writes a Kaldi data folder: OUT/wav.scp, text, phones, utt2spk, spk2utt, and
the audio, FLAC at 16 kHz. The phones are those of prepare.sh: the first pronunciation of the lexicon, not the one that was
spoken. The seed determines sentences, voices, rates and pitches. Run the same command again to continue an interrupted run.
$LINNET names the linnet command.

  --out DIR       the folder to make
  --text FILE     a sentence per line, only letters and apostrophes; may be compressed by xz. Sentences of 3 to 20 words
                  are taken, each once
  --lexicon FILE  CMUdict
  --g2p FILE      grapheme-to-phoneme model for words that the lexicon lacks (default: one trained on the lexicon)
  --hours H       about how much speech (default 5)
  --voices FILE   a table of voices (default conf/voices.tsv)
  --seed S        (default 1)
  --jobs J        processes at a time (default: one per processor)
END
}

out='' text='' lexicon='' g2p='' hours=5 voices=$here/../conf/voices.tsv seed=1 jobs=$(nproc)
take_options "out text lexicon g2p hours voices seed jobs" "$@"
[ -n "$out" ] && [ -n "$text" ] && [ -n "$lexicon" ] && [ -n "${LINNET:-}" ] || {
	usage >&2
	exit 2
}
need_file "$text" "name a file of sentences with --text"
need_file "$lexicon" "name CMUdict with --lexicon"
need_file "$voices" "name a table of voices with --voices"
[[ $hours =~ ^[0-9]+(\.[0-9]+)?$ ]] || die "--hours $hours: must be a number"
[[ $seed =~ ^[0-9]{1,9}$ ]] || die "--seed $seed: must have at most 9 digits"

# Prints set (here "."), utterance, speaker and how to speak: the lines that synthesize_chunk.sh takes. An hour has about
# 800 sentences; twice as many are chosen.
plan() {
	local all=(cat)
	[[ $text != *.xz ]] || all=(xz -dc)
	"${all[@]}" "$text" >"$work/text"
	awk -v seed="$seed" -v count="$(awk -v h="$hours" 'BEGIN {print int(h * 1600) + 100}')" -f "$synth/random.awk" \
		-f "$here/some_sentences.awk" "$work/text" "$work/text" >"$work/some"
	awk -v seed="$seed" -f "$synth/random.awk" -f "$synth/read_sentences.awk" "$work/some" >"$work/sentences"
	awk -v seed="$seed" -v hours="$hours" -v only=. -f "$synth/random.awk" -f "$synth/make_plan.awk" "$voices" \
		"$work/sentences"
	rm "$work/text" "$work/some" "$work/sentences"
}

# What the speech depends on
arguments() {
	echo "hours=$hours seed=$seed text=$(cksum <"$text") voices=$(cksum <"$voices")" \
		"scripts=$(cat "$synth"/{make_plan,random,read_sentences}.awk "$here/some_sentences.awk" "$synth/synthesize_chunk.sh" | cksum) $(versions)"
}

# Plans the speech, unless an earlier run with the same arguments has.
begin() {
	mkdir -p "$work" "$out/audio"
	if [ -e "$work/arguments" ]; then
		[ "$(<"$work/arguments")" = "$(arguments)" ] ||
			die "$out: was made with other arguments; remove it, or choose another --out"
		return
	fi
	into "$work/new-plan" plan
	divide_plan "$work/new-plan" "$work"
	rm "$work/new-plan"
	into "$work/arguments" arguments
}

# spoken FOLDER: writes wav.scp, text and utt2spk of what was planned
spoken() {
	mkdir -p "$1"
	into "$1/wav.scp" awk -F '\t' -v folder="$(cd "$out" && pwd)" '{print $2 " " folder "/audio/" $2 ".flac"}' "$work/plan"
	into "$1/utt2spk" awk -F '\t' '{print $2, $3}' "$work/plan"
	into "$1/text" awk -F '\t' '{print $2, toupper($10)}' "$work/plan"
}

# The pronunciations, and all files of the folder
label() {
	local folder=$work/spoken name
	spoken "$folder"
	"$here/prepare.sh" --out "$work/prepared" --lexicon "$lexicon" ${g2p:+--g2p "$g2p"} --train "$folder"
	for name in wav.scp text utt2spk spk2utt phones; do mv "$work/prepared/train/$name" "$out/$name"; done
	rm -r "$folder" "$work/prepared"
}

work=$out/.work
check_tools "$voices"
begin
speak_chunks "$work" "$jobs" --no-phones
label
