#!/bin/bash
# Kaldi data folders for the English model; see usage.
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=recipes/common/lib.sh
. "$here/../../common/lib.sh"

usage() {
	cat <<'END'
Usage: prepare.sh --out DIR --lexicon FILE [--speechocean762 DIR] [--train DIR...] [--dev NAME=DIR...] [--noise DIR]
                  [--g2p FILE]

Writes the Kaldi data folders OUT/train, OUT/NAME of each development set, and OUT/dev of all of these together, with
phones in 39 units without stress: canonical for speechocean762, else the first pronunciation of the lexicon.
$LINNET names the linnet command.

  --lexicon FILE        CMUdict
  --g2p FILE            grapheme-to-phoneme model for words that the lexicon lacks (default: one trained on the lexicon)
  --speechocean762 DIR  OpenSLR 101: its training part, without the 12 speakers of dev_speakers, who are the development
                        set speechocean762-dev
  --train DIR           Kaldi data folder (wav.scp, text, utt2spk) to train on, or a folder of LibriSpeech as published
  --dev NAME=DIR        the same, for development
  --noise DIR           *.opus or *.wav, also in subfolders. Clips named as in ESC-10, CLASS-FOLD-ID-TAKE, of fold 5 and
                        every third of the others are held out: OUT/noise-held-out.scp. The rest is OUT/noise.scp, for
                        augmentation, and each clip is a training utterance without phones
END
}

out='' lexicon='' g2p='' speechocean762='' noise='' train=() dev=()
take_options "out lexicon g2p speechocean762 noise train+ dev+" "$@"
[ -n "$out" ] && [ -n "$lexicon" ] && [ -n "${LINNET:-}" ] || {
	usage >&2
	exit 2
}
need_file "$lexicon" "name CMUdict with --lexicon"

# scan_librispeech FROM TO: makes wav.scp, text and utt2spk of READER/CHAPTER/*.flac and *.trans.txt
scan_librispeech() {
	find "$1" -name '*.trans.txt' -exec cat {} + | sort >"$2/text"
	[ -s "$2/text" ] || die "$1: is neither a Kaldi data folder (wav.scp, text, utt2spk) nor a folder of LibriSpeech (*.trans.txt)"
	find "$(cd "$1" && pwd)" -name '*.flac' |
		awk -F/ '{id = $NF; sub(/\.flac$/, "", id); print id, $0}' | sort >"$2/wav.scp"
	into "$2/utt2spk" awk '{split($1, part, "-"); print $1, part[1]}' "$2/text"
}

# take_folder FROM TO: copies wav.scp, text and utt2spk, sorted, with single spaces
take_folder() {
	[ -d "$1" ] || die "$1: this folder does not exist"
	mkdir -p "$2"
	if [ -e "$1/wav.scp" ]; then
		into "$2/wav.scp" absolute_scp "$1/wav.scp" "$1"
		awk '{$1 = $1; print}' "$1/text" | sort >"$2/text"
		awk '{print $1, $2}' "$1/utt2spk" | sort >"$2/utt2spk"
	else
		scan_librispeech "$1" "$2"
	fi
}

# Writes pronunciations of all words of all texts to OUT/lexicon.txt: from the lexicon, or guesses.
complete_lexicon() {
	if [ -z "$g2p" ]; then
		g2p=$out/g2p.bin
		[ -e "$g2p" ] || "$LINNET" g2p --train "$lexicon" --output "$g2p"
	fi
	"$LINNET" g2p --model "$g2p" --complete "$lexicon" --text <(cat "$out"/raw/*/text) --output "$out/lexicon.txt"
}

# label NAME: makes OUT/NAME from OUT/raw/NAME
label() {
	local from=$out/raw/$1 to=$out/$1
	mkdir -p "$to"
	: >"$to/skipped"
	into "$from/phones" awk -v skipped="$to/skipped" -f "$here/../../common/possessive.awk" -f "$here/../../common/words_to_phones.awk" "$out/lexicon.txt" "$from/text"
	select_utterances "$from" "$to" "$from/phones"
	say "$1: $(wc -l <"$to/phones") utterances, $(wc -l <"$to/skipped") without a word's pronunciation are ignored"
}

# join TO FROM...: joins several data folders
join() {
	local to=$1 file folder
	shift
	mkdir -p "$to"
	for file in wav.scp text utt2spk phones; do
		for folder; do cat "$folder/$file"; done | sort >"$to/$file"
	done
	[ -z "$(awk '{print $1}' "$to/wav.scp" | uniq -d | sed -n 1p)" ] || die "$to: two folders have an utterance of the same name"
	into "$to/spk2utt" spk2utt "$to/utt2spk"
	say "$to: $(wc -l <"$to/phones") utterances of $(wc -l <"$to/spk2utt") speakers"
}

# Makes lists of clips for augmentation, of held-out clips for measuring false alarms, and of utterances without words.
prepare_noise() {
	local to=$out/noise
	mkdir -p "$to"
	find "$(cd "$noise" && pwd)" -name '*.opus' -o -name '*.wav' |
		awk -F/ '{id = $NF; sub(/\.[a-z]*$/, "", id); print "noise-" id, $0}' | sort >"$out/noises"
	into "$out/noise-held-out.scp" awk '$1 ~ /-[0-9]+-[0-9]+-[A-Z]$/ ? $1 ~ /-5-[0-9]+-[A-Z]$/ : ++n % 3 == 0' "$out/noises"
	into "$out/noise.scp" awk 'NR == FNR {held[$1]; next} !($1 in held)' "$out/noise-held-out.scp" "$out/noises"
	into "$to/wav.scp" cat "$out/noise.scp"
	into "$to/utt2spk" awk '{print $1, $1}' "$out/noise.scp"
	into "$to/text" awk '{print $1}' "$out/noise.scp"
	into "$to/phones" cat "$to/text"
	rm "$out/noises"
}

mkdir -p "$out"
rm -rf "$out/raw"
train_sets=() dev_sets=() names=()
if [ -n "$speechocean762" ]; then
	"$here/../../speechocean762/local/prepare.sh" --corpus "$speechocean762" --out "$out/speechocean762"
	train_sets+=("$out/speechocean762/train")
	dev_sets+=("$out/speechocean762/dev")
fi
for folder in ${train[@]+"${train[@]}"}; do
	names+=("train-$((${#names[@]} + 1))")
	take_folder "$folder" "$out/raw/${names[-1]}"
	train_sets+=("$out/${names[-1]}")
done
for set in ${dev[@]+"${dev[@]}"}; do
	[[ $set == *=* ]] || die "--dev $set: must be NAME=DIR"
	names+=("${set%%=*}")
	take_folder "${set#*=}" "$out/raw/${names[-1]}"
	dev_sets+=("$out/${names[-1]}")
done
complete_lexicon
for name in ${names[@]+"${names[@]}"}; do label "$name"; done
if [ -n "$noise" ]; then
	prepare_noise
	train_sets+=("$out/noise")
fi
join "$out/train" "${train_sets[@]}"
join "$out/dev" "${dev_sets[@]}"
rm -r "$out/raw"
