#!/bin/bash
# Features of all sets in one file, for training on another machine; see usage.
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=recipes/common/lib.sh
. "$here/../../common/lib.sh"

usage() {
	cat <<'END'
Usage: pack_features.sh --data DIR --conf DIR --out DIR --pack FILE [--test-utterances N] [--jobs J]
       pack_features.sh --unpack FILE --out DIR

With --pack: computes the features of DATA/train, DATA/dev and DATA/test into OUT (with --test-utterances: of N
utterances of DATA/test at equal distances), adds CONF/*.json, the symbols and DATA/provenance, and packs all of it into
FILE, of at most 60 MB. The extension of FILE selects the compression: .tar, .tar.gz or .tar.xz.

With --unpack: unpacks FILE into OUT, as data folders with stored features. Training on them needs no audio.

$LINNET names the linnet command.
END
}

data='' conf='' out='' pack='' unpack='' test_utterances='' jobs=1
max_megabytes=60
take_options "data conf out pack unpack test-utterances jobs" "$@"
linnet=${LINNET:-}
[ -n "$linnet" ] && [ -n "$out" ] && { [ -n "$unpack" ] || { [ -n "$data" ] && [ -n "$conf" ] && [ -n "$pack" ]; }; } || {
	usage >&2
	exit 2
}
sets=(train dev test)

# every N FILE: prints N lines at equal distances
every() { awk -v n="$1" 'NR == FNR {total++; next} int(FNR * n / total) > int((FNR - 1) * n / total)' "$2" "$2"; }

# features_of SET: uses a part of the folder if only some test utterances are wanted
features_of() {
	local from=$data/$1
	if [ "$1" = test ] && [ -n "$test_utterances" ]; then
		from=$out/test.part
		into "$out/test.list" every "$test_utterances" "$data/test/utt2spk"
		select_utterances "$data/test" "$from" "$out/test.list"
	fi
	"$here/../../common/make_features.sh" --data "$from" --out "$out/$1" --parts 4 --jobs "$jobs"
	[ ! -e "$data/$1/spk2age" ] || cp "$data/$1/spk2age" "$out/$1"
	rm -rf "$out/test.part" "$out/test.list"
}

# The symbols, in the order of their first use in the training data.
symbols() { awk '{for (i = 2; i <= NF; i++) if (!seen[$i]++) print $i}' "$out/train/phones"; }

pack() {
	local set bytes
	mkdir -p "$out/conf" "$(dirname "$pack")"
	for set in "${sets[@]}"; do features_of "$set"; done
	into "$out/units" symbols
	cp "$conf"/*.json "$out/conf"
	cp "$data/provenance" "$out"
	tar -C "$out" --exclude log --exclude '*.*.scp' -caf "$pack" "${sets[@]}" units conf provenance
	bytes=$(wc -c <"$pack")
	[ "$bytes" -le $((max_megabytes * 1000000)) ] ||
		die "$pack has $bytes bytes, more than $max_megabytes MB: pack into .tar.xz, or choose fewer test utterances"
	say "$pack: $(awk -v b="$bytes" 'BEGIN {printf "%.1f", b / 1e6}') MB"
}

unpack() {
	local set
	mkdir -p "$out"
	tar -C "$out" -xf "$unpack"
	for set in "${sets[@]}"; do "$linnet" validate-data --no-audio "$out/$set" >&2; done
}

if [ -n "$unpack" ]; then unpack; else pack; fi
