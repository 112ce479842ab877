#!/bin/bash
# Synthesizes one chunk of the plan; make_corpus.sh runs several of these at a time.
set -euo pipefail
export LC_ALL=C

usage() {
	cat <<'END'
Usage: synthesize_chunk.sh [--no-phones] CHUNK

Synthesizes the lines of CHUNK, a part of the plan that make_plan.awk wrote to <corpus>/.work/. Audio goes to
<corpus>/<set>/audio/<utterance>.flac. When all audio exists, writes CHUNK.phones: utterance, phones; the file is empty
with --no-phones, which also accepts accents that espeak_phones.tsv lacks.
END
}

die() {
	printf 'synthesize_chunk.sh: %s\n' "$*" >&2
	exit 255	# xargs starts no further piece
}

# Synthesizes one sentence to the file $wav and prints the phones that the engine reports.
speak() {
	local engine=$1 voice=$2 speed=$3 pitch=$4 sentence=$5
	local flite=(flite -voice "$voice" --setf "duration_stretch=$speed")

	if [ "$engine" = espeak ]; then
		espeak-ng -v "$voice" -s "$speed" -p "$pitch" -z -x --sep=/ -w "$wav" "$sentence"
		return
	fi
	[ "$pitch" = - ] || flite+=(--setf "int_f0_target_mean=$pitch")
	"${flite[@]}" -ps -t "$sentence" -o "$wav"
}

case "${1-}" in
-h | --help) usage && exit 0 ;;
esac
phones=1
[ "${1-}" != --no-phones ] || { phones='' && shift; }
[ $# -eq 1 ] || { usage >&2 && exit 2; }
[ -s "$1" ] || die "$1: this chunk of a plan does not exist; make_corpus.sh writes them"

here=$(dirname "$0")
chunk=$1
corpus=$(dirname "$(dirname "$chunk")")
scratch=$(mktemp -d "$(dirname "$chunk")/tmp.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
wav=$scratch/spoken.wav

while IFS=$'\t' read -r set utterance _ engine voice accent speed pitch level sentence; do
	rm -f "$wav"
	spoken=$(speak "$engine" "$voice" "$speed" "$pitch" "$sentence") ||
		die "$engine failed on $utterance: '$sentence'"
	[ -s "$wav" ] || die "$engine wrote no audio for $utterance; is the disk full?"
	sox -R -V1 "$wav" -r 16000 -c 1 -b 16 --comment '' "$scratch/$utterance.flac" rate gain -n "$level" dither ||
		die "sox failed on $utterance; is the disk full?"
	mv "$scratch/$utterance.flac" "$corpus/$set/audio/"
	printf '%s\t%s\t%s\t%s\n' "$utterance" "$engine" "$accent" "${spoken//[$'\n\t']/ }"
done <"$chunk" >"$scratch/spoken.tsv"

[ -n "$phones" ] || : >"$scratch/spoken.tsv"
awk -f "$here/map_phones.awk" "$here/../../common/flite_phones.tsv" "$here/espeak_phones.tsv" "$scratch/spoken.tsv" \
	>"$scratch/phones" || die "$chunk: cannot map its phones"
mv "$scratch/phones" "$chunk.phones"
