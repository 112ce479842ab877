#!/bin/bash
# A miniature of the WSJ corpus; see usage.
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)

usage() {
	cat <<'DONE'
Usage: make_mini_wsj.sh --out DIR [--linnet PROGRAM] [--jobs J]

Speaks sentences of its own with flite and espeak-ng and lays them out as LDC's discs of WSJ0 and WSJ1, at a hundredth of
the published numbers of utterances (for run.sh --scale-counts 0.01):

  DIR/wsj0/11-*.1, DIR/wsj1/13-*.1   discs: .wv1 (SPHERE, Shorten or not, either byte order), .ndx, .dot with markup,
                                     language models as .z; a duplicate file, a duplicate line, a speaker to leave out;
                                     all verbalised punctuation in WSJ0; spkrinfo.txt of all speakers but one
  DIR/cmudict                        pronunciations of all words but one, in the form of CMUdict

  --linnet PROGRAM  estimates the language models (default $LINNET)
  --jobs J          processes (default: one per processor)
DONE
}

die() {
	echo "make_mini_wsj.sh: $*" >&2
	exit 1
}

out='' linnet=${LINNET:-} jobs=$(nproc)
while [ $# -gt 0 ]; do
	case "$1" in
	--out | --linnet | --jobs)
		[ $# -ge 2 ] || die "$1 needs a value"
		printf -v "${1#--}" %s "$2"
		;;
	-h | --help) usage && exit 0 ;;
	*) usage >&2 && exit 2 ;;
	esac
	shift 2
done
[ -n "$out" ] && [ -x "$linnet" ] || {
	usage >&2
	exit 2
}
for tool in flite espeak-ng sox cc; do
	command -v "$tool" >/dev/null || die "$tool is not installed"
done
mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# --- words

cat >"$out/cmudict" <<'DONE'
;;; Pronunciations of the miniature corpus.
THE  DH AH0
THE(1)  DH IY0
A  AH0
AND  AH0 N D
BANK  B AE1 NG K
BOARD  B AO1 R D
BONDS  B AA1 N D Z
BOUGHT  B AO1 T
CHINA  CH AY1 N AH0
COMPANY  K AH1 M P AH0 N IY0
DASH  D AE1 SH
DOLLARS  D AA1 L ER0 Z
EIGHT  EY1 T
FIVE  F AY1 V
FOREIGN  F AO1 R AH0 N
FOUR  F AO1 R
GOODS  G UH1 D Z
GROUP  G R UW1 P
HOUSE  HH AW1 S
IN  IH0 N
INVESTOR  IH0 N V EH1 S T ER0
JUDGE  JH AH1 JH
LARGE  L AA1 R JH
MARKET  M AA1 R K AH0 T
MILLION  M IH1 L Y AH0 N
NEW  N UW1
NINE  N AY1 N
OF  AH1 V
OIL  OY1 L
ONE  W AH1 N
PERCENT  P ER0 S EH1 N T
POINT  P OY1 N T
PRICES  P R AY1 S AH0 Z
PROFITS  P R AA1 F AH0 T S
RAISED  R EY1 Z D
REPORTED  R IY0 P AO1 R T AH0 D
SAID  S EH1 D
SEVEN  S EH1 V AH0 N
SHARES  SH EH1 R Z
SIX  S IH1 K S
SMALL  S M AO1 L
SOLD  S OW1 L D
STEEL  S T IY1 L
THIS  DH IH1 S
THREE  TH R IY1
TODAY  T AH0 D EY1
TRADER  T R EY1 D ER0
TWO  T UW1
VISION  V IH1 ZH AH0 N
WATCH  W AA1 CH
YEAR  Y IH1 R
YESTERDAY  Y EH1 S T ER0 D EY2
DONE

# --- utterances: set, disc, folder, utterance, voice, speed and pitch, words to speak, transcript; separated by tabs

cat >"$work/speakers" <<'DONE'
si84	11-1.1	wsj0/si_tr_s	011	slt	1.0	170	18
si84	11-1.1	wsj0/si_tr_s	01i	rms	0.9	-	18
si84	11-2.1	wsj0/si_tr_s	01n	en-us+m3	165	45	18
si84	11-2.1	wsj0/si_tr_s	01o	awb	1.0	130	17
left	11-2.1	wsj0/si_tr_s	401	slt	1.0	170	2
si284	13-1.1	wsj1/si_tr_s	46a	kal16	1.0	105	38
si284	13-1.1	wsj1/si_tr_s	46b	en-us+f2	160	50	38
si284	13-1.1	wsj1/si_tr_s	46c	slt	0.9	185	38
si284	13-2.1	wsj1/si_tr_s	46d	rms	1.0	-	38
si284	13-2.1	wsj1/si_tr_s	46e	en-us	160	50	38
si284	13-2.1	wsj1/si_tr_s	46f	awb	0.9	120	38
si284	13-2.1	wsj1/si_tr_s	46g	slt	1.1	160	38
si284	13-2.1	wsj1/si_tr_s	46h	kal16	0.9	95	37
dev93	13-16.1	wsj1/si_dt_20	4k0	slt	1.0	175	3
dev93	13-16.1	wsj1/si_dt_20	4k1	rms	0.95	-	2
eval92	11-13.1	wsj0/si_et_20	440	slt	0.95	165	2
eval92	11-13.1	wsj0/si_et_20	441	awb	0.95	125	1
eval93	13-33.1	wsj1/si_et_h1/wsj64k	4oa	rms	0.95	-	2
DONE

# The verbalised punctuation, as the recipe's dictionary has it.
awk '!/^;;;/ {print $1}' "$here/../../recipes/wsj/conf/punctuation.dict" >"$work/punctuation"

# Every awk has its own rand(). The tests know texts of mawk, which Debian installs.
random_awk=$(command -v mawk || echo awk)

make_plan() {
	punctuation=$work/punctuation "$random_awk" -F '\t' '
		function pick(list,   n, word) { n = split(list, word, " "); return word[1 + int(rand() * n)] }
		function noun() { return pick("company bank market board group trader investor judge house") }
		function things() { return pick("shares bonds profits prices goods oil steel") }
		function number() { return pick("one two three four five six seven eight nine") }
		function sentence(   r) {
			r = rand()
			if (r < 0.25) return "the " pick("new large small foreign") " " noun() " " pick("sold bought raised") " " things() " " pick("today yesterday")
			if (r < 0.5) return "the " noun() " reported " things() " of " number() " million dollars"
			if (r < 0.7) return "a " noun() " in china said " things() " raised " number() " %percent this year"
			if (r < 0.85) return things() " and " things() " sold at? " number() " .point " number()
			if (r < 0.95) return "the vision of the " noun() " --dash watch the " noun()
			return "zorvex bought a " pick("large small") " " noun()
		}
		# The markup of the corpus around the words.
		function mark(words, n,   m) {
			m = n % 9
			if (m == 1) return words " ."
			if (m == 2) { sub(/ /, " [<lip_smack] ", words); return words " [lip_smack>]" }
			if (m == 3) { sub(/the/, "<the>", words); return words }
			if (m == 4) { sub(/ /, " ~ ", words); return words " [tongue_click/]" }
			if (m == 5) { sub(/dollars/, "dol\\lars", words); return words }
			if (m == 6 && n % 4 == 2) return words " [door_slam]"
			if (m == 7 && n % 4 == 3) return words " ah[door_slam]"
			return n % 2 ? toupper(words) : words
		}
		# A mark of punctuation, with the backslash of the corpus, and after a comma what a speaker says.
		function punctuate(   word) {
			if ((getline word <ENVIRON["punctuation"]) <= 0) return ""
			read = word
			sub(/^[^A-Z]+/, "", read)
			gsub(/-/, " ", read)
			read = " , " tolower(read)
			return " \\" word
		}
		BEGIN { srand(7) }
		{
			for (i = 1; i <= $8; i++) {
				words = sentence()
				gsub(/ at\?/, "", words)
				if (i == 5) words = "the company\047s " words
				end = read = ""
				if ($1 == "si84") end = punctuate()
				spoken = words
				gsub(/[-%.]/, "", spoken)
				id = sprintf("%sc02%s", $4, sprintf("%02d", i))
				printf "%s\t%s\t%s/%s\t%s\t%s\t%s\t%s\t%s\t%s\n", $1, $2, $3, $4, id, $5, $6, $7, spoken read, mark(words, n++) end
			}
		}' "$work/speakers"
}

make_plan >"$work/plan"

# --- audio

cc -O2 -std=c11 -o "$work/make_sphere" "$here/make_sphere.c" -lm
cc -O2 -std=c11 -o "$work/make_z" "$here/make_z.c"

# speak_lines FILE: every third file without Shorten, versions and byte orders in turn.
speak_lines() {
	local disc folder id voice speed pitch words n=0 wav=$1.wav form
	local forms=('2 01' '1 10' 'pcm 01' '2 10' '1 01' 'pcm 10')
	while IFS=$'\t' read -r _ disc folder id voice speed pitch words _; do
		case "$voice" in
		en-*) espeak-ng -v "$voice" -s "$speed" -p "$pitch" -w "$wav" "$words" ;;
		*)
			local options=(--setf "duration_stretch=$speed")
			[ "$pitch" = - ] || options+=(--setf "int_f0_target_mean=$pitch")
			flite -voice "$voice" "${options[@]}" -t "$words" -o "$wav"
			;;
		esac
		form=${forms[$((n++ % 6))]}
		# shellcheck disable=SC2086
		sox -R -V1 "$wav" -r 16000 -c 1 -b 16 -e signed -t raw - rate gain -n -3 dither |
			"$work/make_sphere" $form >"$out/${disc%%-*}/$disc/$folder/$id.wv1"
	done <"$1"
}

rm -rf "$out/wsj0" "$out/wsj1"
mkdir -p "$out/wsj0" "$out/wsj1"
ln -sfn wsj0 "$out/11" && ln -sfn wsj1 "$out/13" # while this runs
cut -f 2,3 "$work/plan" | sort -u | while IFS=$'\t' read -r disc folder; do mkdir -p "$out/${disc%%-*}/$disc/$folder"; done
split -n "r/$jobs" "$work/plan" "$work/part."
pids=()
for part in "$work"/part.*; do
	speak_lines "$part" &
	pids+=($!)
done
for pid in "${pids[@]}"; do wait "$pid" || die "cannot make speech"; done

# --- lists, transcripts, language models

# list SET SUFFIX: lines of an .ndx
list() {
	awk -F '\t' -v set="$1" -v suffix="$2" '
		BEGIN { print ";; made for tests\n;;" }
		$1 == set || (set == "si84" && $1 == "left") { disc = $2; gsub(/[-.]/, "_", disc); print disc ":" $3 "/" $4 suffix }' "$work/plan"
}

mkdir -p "$out/wsj0/11-13.1/wsj0/doc/indices/train" "$out/wsj0/11-13.1/wsj0/doc/indices/test/nvp" \
	"$out/wsj1/13-34.1/wsj1/doc/indices" "$out/wsj1/13-32.1/wsj1/doc/indices/wsj1/eval" \
	"$out/wsj1/13-32.1/wsj1/doc/lng_modl/base_lm"
list si84 .wv1 | sed '$p' >"$out/wsj0/11-13.1/wsj0/doc/indices/train/tr_s_wv1.ndx" # the last line twice
list eval92 '' | tee "$out/wsj0/11-13.1/wsj0/doc/indices/test/nvp/si_et_20.ndx" \
	>"$out/wsj0/11-13.1/wsj0/doc/indices/test/nvp/si_et_05.ndx" # sets of 5000 words: the same utterances
list si284 .wv1 | sed 's/:/: \//' >"$out/wsj1/13-34.1/wsj1/doc/indices/si_tr_s.ndx"
list dev93 .wv1 | tee "$out/wsj1/13-34.1/wsj1/doc/indices/h1_p0.ndx" >"$out/wsj1/13-34.1/wsj1/doc/indices/h2_p0.ndx"
list eval93 .wv1 | sed 's/13_33_1/13_32_1/' |
	tee "$out/wsj1/13-32.1/wsj1/doc/indices/wsj1/eval/h1_p0.ndx" >"$out/wsj1/13-32.1/wsj1/doc/indices/wsj1/eval/h2_p0.ndx"

# Transcripts are beside the audio or in a separate folder.
while IFS=$'\t' read -r _ disc folder id _ _ _ _ text; do
	folder=$out/${disc%%-*}/$disc/${folder/si_tr_s/transcrp/dots/si_tr_s}
	mkdir -p "$folder"
	end=" ($id)"
	[ "$id" != 011c0204 ] || end="($id)"
	printf '%s%s\n' "$text" "$end" >>"$folder/${id:0:6}00.dot"
done <"$work/plan"

echo 'a line without the name of its utterance' >>"$out/wsj1/13-1.1/wsj1/transcrp/dots/si_tr_s/46a/46ac0200.dot"

# Speakers. Discs have them by corpus.
for corpus in wsj0/11-13.1/wsj0/doc wsj1/13-34.1/wsj1/doc/train; do
	mkdir -p "$out/$corpus"
	{
		printf '; ID  Sex  Dialect\n'
		awk -F '\t' -v corpus="${corpus%%/*}" 'index($3, corpus) == 1 && $4 != "4oa" {
			print toupper($4) "  " ($5 ~ /f2|slt/ ? "F" : "M") "  --"}' "$work/speakers"
	} >"$out/$corpus/spkrinfo.txt"
done

# A second channel, and a file that is on two discs.
cp "$out/wsj0/11-1.1/wsj0/si_tr_s/011/011c0201.wv1" "$out/wsj0/11-1.1/wsj0/si_tr_s/011/011c0201.wv2"
mkdir -p "$out/wsj1/13-2.1/wsj1/si_tr_s/46a"
cp "$out/wsj1/13-1.1/wsj1/si_tr_s/46a/46ac0201.wv1" "$out/wsj1/13-2.1/wsj1/si_tr_s/46a/"

awk -F '\t' '$1 ~ /^si/ {sub(/ ,.*/, "", $8); print toupper($8)}' "$work/plan" | sed 's/DASH/-DASH/' >"$work/sentences"
pack=("$work/make_z" cat) # as on LDC's discs: both are named .z, but the trigram is not compressed
for order in 2 3; do
	"$linnet" ngram --order $order --discount-fallback --text "$work/sentences" --arpa "$work/lm" 2>/dev/null
	{
		printf 'A model of the miniature corpus,\nbefore which stands text that is no part of it.\n'
		awk '/^ngram 2=/ {split($2, n, "="); print "ngram 2=" n[2] + 1; next} {print}
			/^\\2-grams:/ {print "-1.5\t<s> <s>\t-0.1"}' "$work/lm"
	} | "${pack[order - 2]}" >"$out/wsj1/13-32.1/wsj1/doc/lng_modl/base_lm/$([ $order = 2 ] && echo b || echo t)cb20onp.z"
done
rm "$out/11" "$out/13"
echo "$out: $(wc -l <"$work/plan") utterances" >&2
