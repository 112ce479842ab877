#!/bin/bash
# Makes a corpus of synthetic English speech; see usage.
set -euo pipefail
export LC_ALL=C

usage() {
	cat <<'END'
Usage: make_corpus.sh --out DIR --hours H [--seed S] [--jobs J] [--text FILE] [--held-out SPEAKER]

Synthesizes H hours of English with flite and espeak-ng and writes Kaldi data folders:

  DIR/train       82 % of the speech
  DIR/dev         6 %, other sentences, the same voices
  DIR/test        6 %, other sentences, the same voices
  DIR/test_voice  6 %, other sentences, a voice that no other folder has
  DIR/new.wav     one more sentence in a known voice, with its words in new.txt and its phones in new.phones

Each folder holds wav.scp (paths relative to the folder), text, phones, utt2spk, spk2utt and the audio, FLAC at 16 kHz.
The phones are those of the synthesiser, mapped to the 39 of CMUdict. No sentence appears twice. Run the same command again
to continue an interrupted run. A finished corpus is made again only if the arguments differ.

  --out DIR           the folder to make
  --hours H           hours of speech in all, 0.02 to 100
  --seed S            seed of sentences, speeds and pitches (default 1)
  --jobs J            processes at a time (default: one per processor)
  --text FILE         sentences, one per line, instead of those of grammar.txt
  --held-out SPEAKER  the voice of test_voice, a speaker of conf/voices.tsv (default rms)

Needs the Debian packages flite, espeak-ng and sox.
END
}

say() {
	printf 'make_corpus.sh: %s\n' "$*" >&2
}

die() {
	say "$*"
	exit 1
}

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=recipes/synth/local/speak.sh
. "$here/speak.sh"
voices=${here%/local}/conf/voices.tsv
sets='train dev test test_voice'
out='' hours='' seed=1 text='' held_out=rms
jobs=$(nproc)

parse_arguments() {
	while [ $# -gt 0 ]; do
		case "$1" in
		-h | --help) usage && exit 0 ;;
		--out | --hours | --seed | --jobs | --text | --held-out)
			[ $# -ge 2 ] || die "$1 needs a value; see --help"
			;;&
		--out) out=$2 ;;
		--hours) hours=$2 ;;
		--seed) seed=$2 ;;
		--jobs) jobs=$2 ;;
		--text) text=$2 ;;
		--held-out) held_out=$2 ;;
		*) die "unknown argument '$1'; see --help" ;;
		esac
		shift 2
	done
}

check_arguments() {
	[ -n "$out" ] || die "--out DIR is missing; see --help"
	awk -v h="$hours" 'BEGIN { exit !(h ~ /^[0-9]+(\.[0-9]+)?$/ && h >= 0.02 && h <= 100) }' ||
		die "--hours '$hours' is not a number from 0.02 to 100"
	[[ $seed =~ ^[0-9]{1,9}$ ]] || die "--seed '$seed' is not a whole number of at most 9 digits"
	[[ $jobs =~ ^[1-9][0-9]*$ ]] || die "--jobs '$jobs' is not a whole number above 0"
	[ -z "$text" ] || [ -r "$text" ] || die "$text: cannot be read; --text needs a file of sentences, one per line"
	awk -v name="$held_out" '!/^#/ && $1 == name { found = 1 } END { exit !found }' "$voices" ||
		die "--held-out '$held_out' is not a speaker of $voices"
}

# Prints one line with all that the corpus depends on.
arguments() {
	printf 'hours=%s seed=%s held_out=%s text=%s recipe=%s flite=%s espeak=%s\n' "$hours" "$seed" "$held_out" \
		"$([ -z "$text" ] || cksum <"$text" | tr ' ' -)" \
		"$(cat "$here"/*.awk "$here"/*.tsv "$here/grammar.txt" "$here/synthesize_chunk.sh" "$voices" | cksum | tr ' ' -)" \
		"$(flite --version | sed -n 's/.*version: *//p' | tr ' ' -)" \
		"$(espeak-ng --version | sed 's/.*: *\([0-9.]*\) .*/\1/')"
}

# Removes only the files that an earlier run with other arguments made.
prepare_folder() {
	local set

	mkdir -p "$out" || die "$out: cannot make the folder; choose another --out"
	exec 9>"$out/.lock"
	flock -n 9 || die "$out: another make_corpus.sh is running in this folder; wait for it or choose another --out"
	if [ -f "$out/.made" ] && [ "$(cat "$out/.made")" = "$1" ]; then
		say "$out: is complete already"
		rm -rf "$work"
		exit 0
	fi
	if [ -f "$work/arguments" ] && [ "$(cat "$work/arguments")" = "$1" ]; then
		say "$out: continues an interrupted run"
	elif [ -f "$out/.made" ] || [ -f "$work/arguments" ]; then
		say "$out: was made with other arguments and is made again"
		# in this order, so that a run that ends between any two lines is not taken for a good one
		mkdir -p "$work"
		echo 'being cleared' >"$work/arguments"
		rm -f "$out/.made" "$out"/new.{wav,txt,phones}
		for set in $sets; do
			rm -rf "${out:?}/$set"
		done
		find "$work" -mindepth 1 ! -name arguments -delete
	elif [ -n "$(find "$out" -mindepth 1 -maxdepth 1 ! -name .lock ! -name .work -print -quit)" ]; then
		die "$out: holds files that this script did not make; choose another --out"
	fi
	mkdir -p "$work/new/audio"
	printf '%s\n' "$1" >"$work/arguments"
	for set in $sets; do
		mkdir -p "$out/$set/audio"
	done
	rm -rf "$work"/tmp.*
}

make_sentences() {
	if [ -n "$text" ]; then
		awk -v seed="$seed" -f "$here/random.awk" -f "$here/read_sentences.awk" "$text"
	else
		awk -v seed="$seed" -v count="$(awk -v h="$hours" 'BEGIN { print int(h * 1600) + 400 }')" \
			-f "$here/random.awk" -f "$here/make_sentences.awk" "$here/grammar.txt"
	fi
}

# Makes the plan before it changes the folder, so that impossible arguments do not destroy an existing corpus.
make_plan() {
	make_sentences >"$scratch/sentences"
	awk -v seed="$seed" -v hours="$hours" -v held_out="$held_out" -f "$here/random.awk" -f "$here/make_plan.awk" \
		"$voices" "$scratch/sentences" | sed 's|^new\t|.work/new\t|' >"$scratch/plan"
}

# Writes one file of a data folder, sorted: to a temporary file, which is then renamed.
install_sorted() {
	sort >"$1.tmp"
	mv "$1.tmp" "$1"
}

words() {
	tr -d ',.?!;:' | tr '[:lower:]' '[:upper:]' | tr -s ' ' | sed 's/^ //; s/ $//'
}

write_folder() {
	local set=$1 folder=$out/$1

	awk -F '\t' -v set="$set" '$1 == set' "$work/plan" | sort -t "$(printf '\t')" -k 2,2 >"$work/$set.plan"
	cut -f 2 "$work/$set.plan" | sed 's|.*|& audio/&.flac|' | install_sorted "$folder/wav.scp"
	cut -f 2,3 "$work/$set.plan" | tr '\t' ' ' | install_sorted "$folder/utt2spk"
	cut -f 2 "$work/$set.plan" | paste -d ' ' - <(cut -f 10 "$work/$set.plan" | words) | install_sorted "$folder/text"
	awk '{ utts[$2] = utts[$2] " " $1 } END { for (s in utts) print s utts[s] }' "$folder/utt2spk" |
		install_sorted "$folder/spk2utt"
	awk 'FNR == NR { wanted[$1] = 1; next } $1 in wanted' "$folder/utt2spk" "$work/phones" |
		install_sorted "$folder/phones"
}

write_new() {
	sox -V1 "$work/new/audio/new.flac" "$work/new.wav"
	mv "$work/new.wav" "$out/new.wav"
	sed -n 's/^new //p' "$work/phones" >"$out/new.phones"
	awk -F '\t' '$2 == "new" { print $10 }' "$work/plan" | words >"$out/new.txt"
}

parse_arguments "$@"
check_arguments
check_tools "$voices"
out=${out%/}
work=$out/.work
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
make_plan
stamp=$(arguments)
prepare_folder "$stamp"
divide_plan "$scratch/plan" "$work"
speak_chunks "$work" "$jobs"
cat "$work"/chunk.*.phones >"$work/phones"
for set in $sets; do
	write_folder "$set"
done
write_new
"$here/check_corpus.sh" "$out"
printf '%s\n' "$stamp" >"$work/made"
mv "$work/made" "$out/.made"
rm -rf "$work"
