#!/bin/bash
# Checks a corpus of make_corpus.sh; see usage.
set -euo pipefail
export LC_ALL=C

usage() {
	cat <<'END'
Usage: check_corpus.sh DIR

Checks the folders train, dev, test and test_voice of DIR: files agree and are sorted, speakers prefix utterances,
every phone is one of CMUdict's 39, all audio exists, is 16 kHz mono and has a likely length for its phones, no
sentence appears twice, and no voice of test_voice is in another folder. Prints a table of their contents, by voice for train.
END
}

faults=0

fault() {
	printf 'check_corpus.sh: %s\n' "$*" >&2
	faults=$((faults + 1))
}

first_words() {
	cut -d ' ' -f 1 "$1"
}

check_lists() {
	local folder=$1 file

	for file in wav.scp text phones utt2spk spk2utt; do
		if [ ! -s "$folder/$file" ]; then
			fault "$folder/$file: is missing or empty; remove $corpus and run make_corpus.sh"
			return 1
		fi
		sort -c "$folder/$file" 2>/dev/null || fault "$folder/$file: is not sorted; sort it with LC_ALL=C sort"
	done
	for file in wav.scp text phones; do
		cmp -s <(first_words "$folder/$file") <(first_words "$folder/utt2spk") ||
			fault "$folder/$file: has other utterances than utt2spk; remove $corpus and run make_corpus.sh"
	done
	[ -z "$(first_words "$folder/utt2spk" | uniq -d)" ] || fault "$folder/utt2spk: an utterance appears twice"
	sort -c -s -k 2,2 "$folder/utt2spk" 2>/dev/null || fault "$folder/utt2spk: is not sorted by speaker"
	awk 'index($1, $2 "-") != 1 { exit 1 }' "$folder/utt2spk" ||
		fault "$folder/utt2spk: an utterance does not begin with its speaker"
	cmp -s <(awk '{ for (i = 2; i <= NF; i++) print $i, $1 }' "$folder/spk2utt" | sort) "$folder/utt2spk" ||
		fault "$folder/spk2utt: does not agree with utt2spk"
	awk 'NF < 2 { print $1; exit 1 }' "$folder/text" "$folder/phones" >&2 ||
		fault "$folder: the utterance above has no words or no phones"
}

check_phones() {
	awk -v file="$1/phones" '
		BEGIN {
			n = split("AA AE AH AO AW AY B CH D DH EH ER EY F G HH IH IY JH K L M N NG OW OY P R S SH T TH UH UW V W Y Z ZH", p, " ")
			for (i = 1; i <= n; i++)
				known[p[i]] = 1
		}
		{
			for (i = 2; i <= NF; i++)
				if (!($i in known)) {
					print "check_corpus.sh: " file ":" FNR ": \047" $i "\047 is not a phone of CMUdict"
					exit 1
				}
		}' "$1/phones" >&2 || faults=$((faults + 1))
}

# Utterance, sampling rate, channels, seconds: one line per audio file.
measure_audio() {
	# soxi fails on a file that is missing; check_audio notices that its line is
	awk -v folder="$1" '{ printf "%s/%s%c", folder, $2, 0 }' "$1/wav.scp" | { xargs -0 soxi 2>/dev/null || true; } | awk '
		/^Input File/ { n = split($0, part, /[\/.\047]/); name = part[n - 2] }
		/^Channels/ { channels = $3 }
		/^Sample Rate/ { rate = $4 }
		/^Duration/ { for (i = 1; i < NF; i++) if ($(i + 1) == "samples") print name, rate, channels, $i / rate }'
}

check_audio() {
	local folder=$1 table=$2

	measure_audio "$folder" | sort >"$table"
	cmp -s <(first_words "$table") <(first_words "$folder/utt2spk") ||
		fault "$folder: audio is missing or unreadable; remove $corpus and run make_corpus.sh"
	awk '$2 != 16000 || $3 != 1 { print $1; exit 1 }' "$table" >&2 ||
		fault "$folder: the audio of the utterance above is not 16 kHz mono"
	join "$table" "$folder/phones" | awk '{ r = (NF - 4) / $4 } r < 4 || r > 25 { print $1, r; exit 1 }' >&2 ||
		fault "$folder: the utterance above has an unlikely number of phones per second, not 4 to 25"
}

summarise() {
	local set=$1 table=$2

	join "$table" "$corpus/$set/phones" | join - "$corpus/$set/utt2spk" | awk -v set="$set" '
		function row(spk, n, s, p) {
			return sprintf("%-11s %-8s %6d utterances %8.4f h %6.2f s each %6.2f phones/s", set, spk, n, s / 3600, s / n, p / s)
		}
		{
			phones = NF - 5
			count[$NF]++
			seconds[$NF] += $4
			total[$NF] += phones
			n++
			s += $4
			p += phones
		}
		END {
			for (spk in count)
				if (set == "train")
					print row(spk, count[spk], seconds[spk], total[spk]) | "sort"
			close("sort")
			print row("all", n, s, p)
		}'
}

case "${1-}" in
-h | --help) usage && exit 0 ;;
esac
[ $# -eq 1 ] || { usage >&2 && exit 2; }
corpus=${1%/}
[ -d "$corpus" ] || { fault "$corpus: this folder does not exist; make it with make_corpus.sh" && exit 1; }
command -v soxi >/dev/null || { fault "soxi is not installed: apt-get install sox" && exit 1; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

for set in train dev test test_voice; do
	check_lists "$corpus/$set" || exit 1
	check_phones "$corpus/$set"
	check_audio "$corpus/$set" "$scratch/$set"
	summarise "$set" "$scratch/$set"
done
repeated=$(cat "$corpus"/{train,dev,test,test_voice}/text | cut -d ' ' -f 2- | cat - "$corpus/new.txt" | sort | uniq -d | sed -n 1p)
[ -z "$repeated" ] || fault "$corpus: the sentence '$repeated' appears twice; sets must not share sentences"
shared=$(first_words "$corpus/test_voice/spk2utt" | grep -xF -f <(cat "$corpus"/{train,dev,test}/spk2utt | cut -d ' ' -f 1) || true)
[ -z "$shared" ] || fault "$corpus/test_voice: the voice '$shared' is also in another folder"
spoken=$(cut -d ' ' -f 2- "$corpus/train/phones" | tr ' ' '\n' | sort -u | wc -l)
printf '%s of 39 phones occur in train\n' "$spoken"
[ "$faults" -eq 0 ] || { printf 'check_corpus.sh: %s: %d faults\n' "$corpus" "$faults" >&2 && exit 1; }
printf '%s: good\n' "$corpus"
