#!/bin/bash
# Kaldi data folders from speechocean762 and other folders; see usage.
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=recipes/common/lib.sh
. "$here/../../common/lib.sh"

usage() {
	cat <<'END'
Usage: prepare.sh --corpus DIR --out DIR [--extra DIR]... [--unseen DIR]... [--lexicon FILE]

Writes Kaldi data folders OUT/train, OUT/dev, OUT/test from speechocean762 (as OpenSLR 101 publishes it, or with other
audio formats), OUT/NAME of each --unseen folder, and adds the --extra folders to OUT/train. Each has wav.scp, text,
utt2spk, spk2utt and phones: 39 phones without stress, canonical for speechocean762, by the lexicon elsewhere
(utterances with unknown words are skipped and listed in OUT/NAME/skipped). NAME is the last part of a folder's path;
each folder needs another, and none may be train, dev, test or raw.

  --corpus DIR   folder that holds train/ test/ resource/ WAVE/
  --extra DIR    Kaldi data folder (wav.scp, text, utt2spk) for training
  --unseen DIR   Kaldi data folder for testing
  --lexicon FILE CMUdict, needed for --extra and --unseen
END
}

corpus='' out='' lexicon='' extra=() unseen=()
take_options "corpus out lexicon extra+ unseen+" "$@"
[ -n "$corpus" ] && [ -n "$out" ] || {
	usage >&2
	exit 2
}
distinct_names 'train dev test raw' ${extra[@]+"${extra[@]}"} ${unseen[@]+"${unseen[@]}"}
for name in train/wav.scp train/text test/wav.scp resource/text-phone; do
	need_file "$corpus/$name" "--corpus wants the folder speechocean762 of OpenSLR 101"
done
[ ${#extra[@]} -eq 0 ] && [ ${#unseen[@]} -eq 0 ] || need_file "${lexicon:-lexicon}" "name CMUdict with --lexicon"

# Joins lines "UTT.WORDINDEX PHONE_B PHONE_I ...", in any order, to the phones of each utterance.
canonical_phones() {
	sed 's/\./ /' "$corpus/resource/text-phone" | sort -k1,1 -k2,2n |
		awk '{
			if ($1 != utterance) { if (NR > 1) print line; utterance = line = $1 }
			for (i = 3; i <= NF; i++) { sub(/_[BIES]$/, "", $i); sub(/[012]$/, "", $i); line = line " " $i }
		} END { print line }'
}

prepare_own() {
	local set=$1 to=$out/raw/$1
	mkdir -p "$to"
	into "$to/wav.scp" absolute_scp "$corpus/$set/wav.scp" "$corpus"
	into "$to/text" sort "$corpus/$set/text"
	into "$to/utt2spk" sort "$corpus/$set/utt2spk"
	into "$to/phones" awk 'NR == FNR {keep[$1]; next} $1 in keep' "$to/utt2spk" "$out/raw/train/canonical"
	[ "$(wc -l <"$to/phones")" = "$(wc -l <"$to/utt2spk")" ] ||
		die "$corpus/resource/text-phone has not all utterances of $set: is the copy complete?"
}

# prepare_other FROM NAME
prepare_other() {
	local to=$out/$2 all=$out/raw/$2
	need_file "$1/text" "--extra and --unseen want Kaldi data folders"
	mkdir -p "$all" "$to"
	into "$all/wav.scp" absolute_scp "$1/wav.scp" "$1"
	into "$all/text" sort "$1/text"
	into "$all/utt2spk" sort "$1/utt2spk"
	: >"$to/skipped"
	into "$all/phones" awk -v skipped="$to/skipped" -f "$here/../../common/possessive.awk" -f "$here/../../common/words_to_phones.awk" "$lexicon" "$all/text"
	select_utterances "$all" "$to" "$all/phones"
	say "$2: $(wc -l <"$to/phones") utterances, $(wc -l <"$to/skipped") with unknown words are ignored"
}

rm -rf "$out/raw"
mkdir -p "$out/raw/train"
into "$out/raw/train/canonical" canonical_phones
prepare_own train
prepare_own test
dev=$corpus/dev_speakers
[ -e "$dev" ] || dev=$here/../conf/dev_speakers
into "$out/raw/train/dev.utts" awk 'NR == FNR {dev[$1]; next} $2 in dev' "$dev" "$out/raw/train/utt2spk"
into "$out/raw/train/train.utts" awk 'NR == FNR {dev[$1]; next} !($2 in dev)' "$dev" "$out/raw/train/utt2spk"
select_utterances "$out/raw/train" "$out/dev" "$out/raw/train/dev.utts"
select_utterances "$out/raw/train" "$out/train" "$out/raw/train/train.utts"
select_utterances "$out/raw/test" "$out/test" "$out/raw/test/utt2spk"
into "$out/test/spk2age" sort "$corpus/test/spk2age"
for folder in ${extra[@]+"${extra[@]}"}; do
	name=$(basename "$folder")
	prepare_other "$folder" "$name"
	for file in wav.scp text utt2spk phones; do
		into "$out/train/$file" sort "$out/train/$file" "$out/$name/$file"
	done
	into "$out/train/spk2utt" spk2utt "$out/train/utt2spk"
done
for folder in ${unseen[@]+"${unseen[@]}"}; do
	prepare_other "$folder" "$(basename "$folder")"
done
rm -r "$out/raw"
for set in train dev test; do
	say "$set: $(wc -l <"$out/$set/phones") utterances of $(wc -l <"$out/$set/spk2utt") speakers"
done
