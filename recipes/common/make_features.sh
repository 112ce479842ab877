#!/bin/bash
# Filterbank features of a data folder; see usage.
set -euo pipefail
export LC_ALL=C
common=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=recipes/common/lib.sh
. "$common/lib.sh"

usage() {
	cat <<'END'
Usage: make_features.sh --data DIR --out DIR [--parts N] [--via WAY] [--jobs J] [--options TEXT] [--run-commands]
                        [-- FEATURES-OPTIONS]

Computes filterbank energies of a Kaldi data folder into OUT: compressed archives with feats.scp, statistics of the
speakers with cmvn.scp, and the lists of the folder. Paths in feats.scp are valid from OUT and from the folders beside it.
After an interruption, run it again: it computes only the unfinished parts. A folder of another system, with
feats.scp but without wav.scp, keeps its features.

  --parts N       divide the speakers into N parts (default: one per processor)
  --via, --jobs, --options   where parts run: see cmd.sh --help
  --run-commands  run the commands in wav.scp
  after --        options of linnet features (default: 40 bands, as the paper)
END
}

data='' out='' parts=$(nproc) via=local jobs='' options='' run_commands=''
take_options "data out parts via jobs options run-commands! ..." "$@"
[ -n "$data" ] && [ -n "$out" ] || {
	usage >&2
	exit 2
}
[ -e "$data/feats.scp" ] || need_file "$data/wav.scp" "give a Kaldi data folder"
need_file "$data/spk2utt" "make it with 'linnet validate-data --fix $data'"

# Divides the folder into parts of about the same number of utterances, without dividing a speaker. Prints the number of parts.
divide() {
	awk -v parts="$parts" -v out="$out" '
		NR == FNR {speakers++; total += NF - 1; next}
		FNR == 1 {n = parts < speakers ? parts : speakers}
		{
			part = int(done / total * n) + 1
			if (part > last + 1) part = last + 1
			last = part
			done += NF - 1
			for (i = 2; i <= NF; i++) print $i > (out "/part." part ".list")
		}
		END {print last}' "$data/spk2utt" "$data/spk2utt"
}

# gather NAME: joins the lists of the parts, with paths relative to the parent folder
gather() {
	seq "$count" | sed "s#.*#$out/$1.&.scp#" | xargs cat | sed -E "s# ([^ ]*/)?([^/ ]+)\$# $(basename "$out")/\2#" | sort
}

# Parts are computed again when the lists or the division into parts change.
checksum() {
	local lists=("$data/wav.scp" "$data/utt2spk")
	[ ! -e "$data/segments" ] || lists+=("$data/segments")
	cat "${lists[@]}" | cksum | sed "s/ .*/-$count/"
}

copy_lists() {
	local name
	for name in text phones utt2spk spk2utt spk2gender; do
		[ ! -e "$data/$name" ] || into "$out/$name" cat "$data/$name"
	done
}

build_linnet
mkdir -p "$out"
out=$(cd "$out" && pwd)
if [ ! -e "$data/wav.scp" ]; then
	say "$data: has features; they are not computed again"
	for name in feats cmvn; do
		[ ! -e "$data/$name.scp" ] || into "$out/$name.scp" absolute_scp "$data/$name.scp" "$data"
	done
	copy_lists
	"$linnet" validate-data "$out" >&2
	exit
fi
count=$(divide)
for part in $(seq "$count"); do
	select_utterances "$data" "$out/part.$part" "$out/part.$part.list"
	into "$out/part.$part/wav.scp" absolute_scp "$out/part.$part/wav.scp" "$data"
done
log=$out/log/features-$(checksum)
mkdir -p "$out/log"
find "$out/log" -maxdepth 1 -name 'features-*.done' ! -name "${log##*/}.*" -delete # their files will be overwritten
"$common/cmd.sh" --via "$via" --jobs "$jobs" --options "$options" --parts "$count" --log "$log" -- \
	"$linnet" features "$out/part.{}" --threads 1 --out "$out/feats.{}.ark" --scp "$out/feats.{}.scp" --compress cm \
	--cmvn-stats "$out/cmvn.{}.ark" --cmvn-scp "$out/cmvn.{}.scp" ${run_commands:+--run-commands} ${rest[@]+"${rest[@]}"}
copy_lists
into "$out/feats.scp" gather feats
into "$out/cmvn.scp" gather cmvn
rm -rf "$out"/part.*
"$linnet" validate-data "$out" >&2
