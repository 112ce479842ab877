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
  --train DIR           Kaldi data folder (wav.scp, text, utt2spk; no segments) to train on, or a folder of LibriSpeech as
                        published. An utterance that several of them have is taken once, from the first
  --dev NAME=DIR        the same, for development; without any, and without --speechocean762, there is no OUT/dev
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
[ -n "$speechocean762" ] || [ ${#train[@]} -gt 0 ] || die "nothing to train on: give --train DIR or --speechocean762 DIR"
for i in "${!dev[@]}"; do
	set=${dev[i]}
	[[ $set == *=* ]] || die "--dev $set: must be NAME=DIR"
	name=${set%%=*}
	case "$name" in
	'' | */* | .* | train | train-* | dev | noise | raw | speechocean762)
		die "--dev $set: '$name' cannot be a name: choose another one"
		;;
	esac
	dev[i]=$name=$(as_path "${set#*=}")
done
distinct_names '' ${dev[@]+"${dev[@]%%=*}"}

# scan_librispeech FROM TO: makes wav.scp, text and utt2spk of READER/CHAPTER/*.flac and *.trans.txt
scan_librispeech() {
	find -L "$1" -name '*.trans.txt' -exec cat {} + | sort >"$2/text"
	[ -s "$2/text" ] || die "$1: is neither a Kaldi data folder (wav.scp, text, utt2spk) nor a folder of LibriSpeech (*.trans.txt)"
	find -L "$(cd "$1" && pwd)" -name '*.flac' |
		awk -F/ '{id = $NF; sub(/\.flac$/, "", id); print id, $0}' | sort >"$2/wav.scp"
	into "$2/utt2spk" awk '{split($1, part, "-"); print $1, part[1]}' "$2/text"
}

# take_folder FROM TO: copies wav.scp, text and utt2spk, sorted, with single spaces
take_folder() {
	[ -d "$1" ] || die "$1: this folder does not exist"
	whole_recordings "$1"
	mkdir -p "$2"
	if [ -e "$1/wav.scp" ]; then
		into "$2/wav.scp" absolute_scp "$1/wav.scp" "$1"
		awk '{$1 = $1; print}' "$1/text" | sort >"$2/text"
		awk '{print $1, $2}' "$1/utt2spk" | sort >"$2/utt2spk"
	else
		scan_librispeech "$1" "$2"
	fi
}

# take_once FOLDER RAW EARLIER...: leaves out of RAW, which was made of FOLDER, the utterances that earlier ones have, too
take_once() {
	local folder=$1 raw=$2 earlier=("${@:3}") all other file
	[ ${#earlier[@]} -gt 0 ] || return 0
	cat "${earlier[@]/%//text}" >"$raw/earlier"
	other=$(awk 'FILENAME == ARGV[1] {words[$1] = toupper($0); next} $1 in words && words[$1] != toupper($0) {print $1; exit}' \
		"$raw/earlier" "$raw/text")
	[ -z "$other" ] || die "$folder: utterance '$other' has other words in an earlier folder"
	all=$(wc -l <"$raw/text")
	into "$raw/new" awk 'FILENAME == ARGV[1] {known[$1]; next} !($1 in known)' "$raw/earlier" "$raw/text"
	for file in wav.scp text utt2spk; do into "$raw/$file" select_lines "$raw/new" "$raw/$file"; done
	other=$((all - $(wc -l <"$raw/new")))
	rm "$raw/earlier" "$raw/new"
	[ "$other" = 0 ] || say "$folder: $other of $all utterances are in an earlier folder, too, and are taken once"
}

# not_trained SET RAW TRAINED...: fails if RAW, which was made of a development set, has an utterance of a training folder
not_trained() {
	local both folder
	for folder in "${@:3}"; do
		both=$(select_lines "$folder/text" "$2/text" | awk 'NR == 1 {print $1}')
		[ -z "$both" ] || die "--dev $1: utterance '$both' is also in a folder of --train"
	done
}

# Writes pronunciations of all words of all texts to OUT/lexicon.txt: from the lexicon, or guesses.
complete_lexicon() {
	if [ -z "$g2p" ]; then
		g2p=$out/g2p.bin
		sum=$(cksum <"$lexicon")
		[ -e "$g2p" ] && [ "$(cat "$out/g2p.dictionary" 2>/dev/null)" = "$sum" ] || "$LINNET" g2p --train "$lexicon" --output "$g2p"
		into "$out/g2p.dictionary" echo "$sum"
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
	local to=$1 file
	shift
	mkdir -p "$to"
	for file in wav.scp text utt2spk phones; do
		into "$to/$file" sort "${@/%//$file}"
	done
	[ -z "$(awk '{print $1}' "$to/wav.scp" | uniq -d | sed -n 1p)" ] || die "$to: two folders have an utterance of the same name"
	[ -s "$to/phones" ] || die "$to: has no utterances"
	into "$to/spk2utt" spk2utt "$to/utt2spk"
	say "$to: $(wc -l <"$to/phones") utterances of $(wc -l <"$to/spk2utt") speakers"
}

# Makes lists of clips for augmentation, of held-out clips for measuring false alarms, and of utterances without words.
prepare_noise() {
	local to=$out/noise
	mkdir -p "$to"
	find -L "$(cd "$noise" && pwd)" -name '*.opus' -o -name '*.wav' |
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
train_sets=() dev_sets=() names=() raw=()
if [ -n "$speechocean762" ]; then
	"$here/../../speechocean762/local/prepare.sh" --corpus "$speechocean762" --out "$out/speechocean762"
	train_sets+=("$out/speechocean762/train")
	dev_sets+=("$out/speechocean762/dev")
fi
for folder in ${train[@]+"${train[@]}"}; do
	names+=("train-$((${#names[@]} + 1))")
	take_folder "$folder" "$out/raw/${names[-1]}"
	take_once "$folder" "$out/raw/${names[-1]}" ${raw[@]+"${raw[@]}"}
	raw+=("$out/raw/${names[-1]}")
	train_sets+=("$out/${names[-1]}")
done
for set in ${dev[@]+"${dev[@]}"}; do
	names+=("${set%%=*}")
	take_folder "${set#*=}" "$out/raw/${names[-1]}"
	not_trained "$set" "$out/raw/${names[-1]}" ${raw[@]+"${raw[@]}"}
	dev_sets+=("$out/${names[-1]}")
done
complete_lexicon
for name in ${names[@]+"${names[@]}"}; do label "$name"; done
if [ -n "$noise" ]; then
	prepare_noise
	train_sets+=("$out/noise")
fi
join "$out/train" "${train_sets[@]}"
if [ ${#dev_sets[@]} -gt 0 ]; then
	join "$out/dev" "${dev_sets[@]}"
else
	rm -rf "${out:?}/dev"
	say "no development set is named, so there is no $out/dev"
fi
rm -r "$out/raw"
