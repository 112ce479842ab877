#!/bin/bash
# Kaldi data folders from the discs of WSJ; see usage.
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=recipes/common/lib.sh
. "$here/../../common/lib.sh"

usage() {
	cat <<'END'
Usage: prepare.sh --wsj0 DIR... --wsj1 DIR... --out DIR [--audio KIND] [--scale-counts X] [--words FILE] [--more-sets]
                  [--allow-missing]

Writes Kaldi data folders OUT/train_si84, train_si284, test_dev93, test_eval92 and test_eval93. Also divides train_si284
into train_tr95 (95 % of the speakers) and train_cv05 (5 %). Checks that the numbers of utterances, and of words of the
test sets, are the published ones. OUT/local/missing lists missing utterances, OUT/local/twice those that appear twice.
Folders have spk2gender if the copy has spkrinfo.txt with all speakers of the set; LDC's wsj0-train-spkrinfo.txt, which
the discs lack, may be in any of the folders.

  --wsj0 DIR...     LDC93S6A or LDC93S6B: the folder of the discs (11-1.1, ...), the discs, or a flat copy (wsj0/...)
  --wsj1 DIR...     LDC94S13A or LDC94S13B in the same way (13-1.1, ...)
  --audio KIND      direct (default: linnet reads SPHERE and Shorten), or wav.scp runs sph2pipe or ffmpeg
  --scale-counts X  expect X times the published numbers (for the miniature corpus of the tests)
  --words FILE      expected words of sets, without noises (default: conf/words if X is 1)
  --more-sets       also test_eval92_5k, test_eval93_5k and test_dev93_5k (5000 words), dev_dt_05 and dev_dt_20
  --allow-missing   skip utterances without readable audio or transcript, and sets without a list; do not check numbers;
                    --wsj0 or --wsj1 alone is enough
END
}

wsj0=() wsj1=() out='' audio=direct scale_counts=1 words='' more_sets='' allow_missing=''
take_options "wsj0+ wsj1+ out audio scale-counts words more-sets! allow-missing!" "$@"
given=$(((${#wsj0[@]} > 0) + (${#wsj1[@]} > 0)))
[ -n "$out" ] && { [ "$given" = 2 ] || { [ "$given" = 1 ] && [ -n "$allow_missing" ]; }; } || {
	usage >&2
	exit 2
}
[ -n "$words" ] || [ "$scale_counts" != 1 ] || words=$here/../conf/words
[ -z "$words" ] || need_file "$words" "--words wants a file of sets and numbers"
case "$audio" in
direct) ;;
sph2pipe | ffmpeg) command -v "$audio" >/dev/null || die "--audio $audio: $audio is not installed" ;;
*) die "--audio $audio: must be direct, sph2pipe or ffmpeg" ;;
esac

# --- the files of the copy

# find_files CORPUS DIR...: lines for index_files.awk
find_files() {
	local corpus=$1 dir
	shift
	for dir; do
		[ -d "$dir" ] || die "--$corpus $dir: this folder does not exist"
		dir=$(cd "$dir" && pwd)
		[[ $dir != *[$'\t\n']* ]] || die "--$corpus $dir: the name has a tab or a newline: rename the folder, or link to it"
		(cd "$dir" && find -L . -type f -printf '%P\n') | dir=$dir awk -v corpus="$corpus" \
			'{print corpus "\t" ENVIRON["dir"] "\t" $0}' ||
			say "--$corpus $dir: cannot search all of it: see the messages of find above"
	done
}

index_files() {
	{
		[ ${#wsj0[@]} = 0 ] || find_files wsj0 "${wsj0[@]}"
		[ ${#wsj1[@]} = 0 ] || find_files wsj1 "${wsj1[@]}"
	} | awk -f "$here/index_files.awk" | sort -u
}

# Turns 13_34_1 into LDC's form 13-34.1
disc_name() { sed 's/_/-/; s/_/./' <<<"$1"; }

# corpus_file NAME DISC: the file of that name, from that disc if possible, else from another one.
corpus_file() {
	local found
	found=$(awk -F '\t' -v name="$1" -v disc="$2" '
		$1 == name && (file == "" || $2 == disc) {file = $3}
		END {print file}' "$index")
	[ -n "$found" ] || die "$1 (disc $(disc_name "$2")) is missing in all folders, which have $(wc -l <"$index") files: is the copy complete?"
	echo "$found"
}

# --- lists: utterance, name, disc

# With --allow-missing, a list that the copy lacks is empty.
read_list() {
	local file
	file=$(corpus_file "$1" "$2") || {
		[ -n "$allow_missing" ]
		return
	}
	awk -f "$here/read_ndx.awk" "$file"
}

# all_of FOLDER: what is in a folder of disc 13-16.1
all_of() {
	awk -F '\t' -v OFS='\t' -v folder="wsj1/$1/" '
		index($1, folder) == 1 && $1 ~ /\.wv1$/ && ($2 == "13_16_1" || $2 == "-") {
			utterance = $1
			sub(/.*\//, "", utterance)
			sub(/\.wv1$/, "", utterance)
			if (!seen[utterance]++) print utterance, $1, $2
		}' "$index"
}

list_si84() { read_list wsj0/doc/indices/train/tr_s_wv1.ndx 11_13_1 | awk -F '\t' '$2 !~ /^wsj0\/si_tr_s\/401\//'; }
list_si284() { list_si84 && read_list wsj1/doc/indices/si_tr_s.ndx 13_34_1; }
list_dev93() { read_list wsj1/doc/indices/h1_p0.ndx 13_34_1; }
list_eval92() { read_list wsj0/doc/indices/test/nvp/si_et_20.ndx 11_13_1; }
list_eval93() { read_list wsj1/doc/indices/wsj1/eval/h1_p0.ndx 13_32_1 | sed 's/13_32_1$/13_33_1/'; }
list_dev93_5k() { read_list wsj1/doc/indices/h2_p0.ndx 13_34_1; }
list_eval92_5k() { read_list wsj0/doc/indices/test/nvp/si_et_05.ndx 11_13_1; }
list_eval93_5k() { read_list wsj1/doc/indices/wsj1/eval/h2_p0.ndx 13_32_1 | sed 's/13_32_1$/13_33_1/'; }
list_dt_05() { all_of si_dt_05; }
list_dt_20() { all_of si_dt_20; }

# --- data folders

# locate_audio SET LIST: prints utterance and file; utterances without a file go to the list of missing ones.
locate_audio() {
	missing=$work/missing awk -F '\t' -v set="$1" '
		FILENAME == ARGV[1] {
			if (!($1 in file)) file[$1] = $3
			on[$1, $2] = $3
			next
		}
		($2, $3) in on {print $1 " " on[$2, $3]; next}
		$2 in file {print $1 " " file[$2]; next}
		{print set, $1, "audio", $3 ":" $2 >> ENVIRON["missing"]}' "$index" "$2"
}

# readable SET: the lines "utterance file" whose file has a first byte; the others go to the list of missing ones.
readable() {
	local utterance file byte
	while read -r utterance file; do
		if IFS= read -r -d '' -N 1 byte <"$file" && [ -n "$byte" ]; then
			echo "$utterance $file"
		else
			echo "$1 $utterance audio $file is empty or cannot be read" >>"$work/missing"
		fi
	done 2>/dev/null
}

# locate_text SET AUDIO: prints lines of transcripts
locate_text() {
	missing=$work/missing awk -v set="$1" '
		FILENAME == ARGV[1] {if (NF > 1) text[$1] = $0; next}
		$1 in text {print text[$1]; next}
		{print set, $1, "transcript", substr($1, 1, 6) "00.dot" >> ENVIRON["missing"]}' "$out/local/transcripts" "$2"
}

# Prints the transcripts of utterances that have several.
contradictions() {
	sort -u "$work/transcripts" | awk '
		$1 == last {print (printed ? "" : before "\n") $0}
		{printed = $1 == last; last = $1; before = $0}'
}

# Turns "utterance file" into wav.scp; commands quote the file for the shell.
as_scp() {
	local end
	case "$audio" in
	direct) cat && return ;;
	sph2pipe) audio_command='sph2pipe -f wav' end=' |' ;;
	ffmpeg) audio_command='ffmpeg -v error -i' end=' -f wav - |' ;;
	esac
	begin=$audio_command end=$end awk '{
		file = substr($0, length($1) + 2)
		gsub(/\047/, "\047\\\047\047", file)
		print $1 " " ENVIRON["begin"] " \047" file "\047" ENVIRON["end"]
	}'
}

# Speakers and their gender from all files of the corpus that have it: lines "; comment", "001 F ...".
read_genders() {
	awk -F '\t' '$1 ~ /spkrinfo\.txt$/ {print $3}' "$index" | while IFS= read -r file; do cat "$file"; done |
		awk '{$0 = tolower($0)} $1 ~ /^[0-9a-z][0-9a-z][0-9a-z]$/ && $2 ~ /^[mf]$/ && !seen[$1]++ {print $1, $2}' | sort
}

# count_words TEXT: words without noises
count_words() { awk '{for (i = 2; i <= NF; i++) n += $i !~ /^<.*>$/} END {print n + 0}' "$1"; }

# make_folder SET LIST_FUNCTION PUBLISHED: the number of utterances, - if unknown. An empty set has no folder.
make_folder() {
	local folder=$out/$1
	"$2" | sort -u >"$work/list" || die "$1: cannot read its list"
	locate_audio "$1" "$work/list" | readable "$1" | sort >"$work/audio"
	locate_text "$1" "$work/audio" >"$work/text"
	awk -v set="$1" -v found="$(wc -l <"$work/text")" -v n="$3" -v x="$scale_counts" -v words="$(count_words "$work/text")" \
		'BEGIN {printf "%s\t%d\t%s\t%d\n", set, found, n == "-" ? n : sprintf("%.0f", n * x), words}' >>"$work/counts"
	[ -s "$work/text" ] || {
		rm -rf "$folder"
		say "$1: has no utterances"
		return 0
	}
	mkdir -p "$folder"
	into "$folder/text" cat "$work/text"
	select_lines "$folder/text" "$work/audio" | as_scp >"$work/wav.scp"
	into "$folder/wav.scp" cat "$work/wav.scp"
	into "$folder/utt2spk" awk '{print $1, substr($1, 1, 3)}' "$folder/text"
	into "$folder/spk2utt" spk2utt "$folder/utt2spk"
	select_lines "$folder/spk2utt" "$work/genders" >"$work/spk2gender"
	rm -f "$folder/spk2gender"
	[ "$(wc -l <"$work/spk2gender")" != "$(wc -l <"$folder/spk2utt")" ] || into "$folder/spk2gender" cat "$work/spk2gender"
	say "$1: $(wc -l <"$folder/text") utterances of $(wc -l <"$folder/spk2utt") speakers"
}

report_missing() {
	[ -s "$work/missing" ] || return 0
	sort -u -k 2 "$work/missing" >"$out/local/missing"
	head -n 10 "$out/local/missing" | sed 's/^/  /' >&2
	say "$(wc -l <"$out/local/missing") utterances have no audio or no transcript: see $out/local/missing"
	[ -n "$allow_missing" ] || die "complete the copy, or continue without them with --allow-missing"
}

check_counts() {
	local wrong
	into "$out/local/counts" cat "$work/counts"
	wrong=$(awk -F '\t' '$3 != "-" && $2 != $3 {printf "%s has %d utterances, but %d are expected; ", $1, $2, $3}' "$work/counts")
	[ -z "$wrong" ] || [ -n "$allow_missing" ] || die "${wrong}is this another edition, or another test set?"
	[ -n "$words" ] || return 0
	wrong=$(words=$words awk -F '\t' '
		BEGIN {while ((getline line <ENVIRON["words"]) > 0) {split(line, f, " "); expected[f[1]] = f[2]}}
		$1 in expected && $4 != expected[$1] {printf "%s has %d words, but %d are expected; ", $1, $4, expected[$1]}' "$work/counts")
	[ -z "$wrong" ] || [ -n "$allow_missing" ] || die "${wrong}are these other transcripts?"
}

# split_speakers HELD SET: every 20th speaker of train_si284 (1), or the others (0)
split_speakers() {
	[ -e "$out/train_si284" ] || {
		rm -rf "${out:?}/$2"
		return 0
	}
	awk -v held="$1" '
		FILENAME == ARGV[1] {is_held[$1] = FNR % 20 == 1; next}
		is_held[$2] == held' "$out/train_si284/spk2utt" "$out/train_si284/utt2spk" >"$work/some"
	select_utterances "$out/train_si284" "$out/$2" "$work/some"
	say "$2: $(wc -l <"$out/$2/text") utterances of $(wc -l <"$out/$2/spk2utt") speakers"
}

mkdir -p "$out/local"
out=$(cd "$out" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
index=$out/local/files
rm -f "$out/local/missing"
into "$index" index_files
into "$out/local/twice" awk -F '\t' '
	/\.wv1\t/ && $1 == name {print name ": " file ", " $3}
	{name = $1; file = $3}' "$index"
[ ! -s "$out/local/twice" ] || say "$(wc -l <"$out/local/twice") files appear twice: see $out/local/twice"
awk -F '\t' '$1 ~ /\.dot$/ {print $3}' "$index" >"$work/dots"
[ -s "$work/dots" ] || die "there are no transcripts (.dot) in any folder"
rm -f "$out/local/strange"
strange=$out/local/strange xargs -d '\n' awk -f "$here/normalise.awk" <"$work/dots" >"$work/transcripts"
[ ! -e "$out/local/strange" ] || say "$(wc -l <"$out/local/strange") lines of transcripts do not end with (UTTERANCE): see $out/local/strange"
into "$out/local/transcripts" sort -s -u -k 1,1 "$work/transcripts"
into "$out/local/contradictions" contradictions
[ ! -s "$out/local/contradictions" ] ||
	say "$(cut -d ' ' -f 1 "$out/local/contradictions" | uniq | wc -l) utterances have different transcripts, of which the first is used: see $out/local/contradictions"
for name in bcb20onp.z tcb20onp.z; do
	grep -q "^wsj[01]/doc/lng_modl/base_lm/$name	" "$index" ||
		say "wsj1/doc/lng_modl/base_lm/$name (disc 13-32.1) is missing in all folders: stage 4 needs it"
done
read_genders >"$work/genders"
[ -s "$work/genders" ] || say "there is no spkrinfo.txt in any folder, so folders have no spk2gender"
make_folder train_si84 list_si84 7138
make_folder train_si284 list_si284 37416
make_folder test_dev93 list_dev93 503
make_folder test_eval92 list_eval92 333
make_folder test_eval93 list_eval93 213
[ -z "$more_sets" ] || {
	make_folder test_dev93_5k list_dev93_5k 513
	make_folder test_eval92_5k list_eval92_5k 330
	make_folder test_eval93_5k list_eval93_5k -
	make_folder dev_dt_05 list_dt_05 -
	make_folder dev_dt_20 list_dt_20 503
}
report_missing
check_counts
split_speakers 0 train_tr95
split_speakers 1 train_cv05
