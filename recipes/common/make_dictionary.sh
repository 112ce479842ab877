#!/bin/bash
# A pronunciation dictionary and its units; see usage.
set -euo pipefail
export LC_ALL=C
common=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=recipes/common/lib.sh
. "$common/lib.sh"

usage() {
	cat <<'END'
Usage: make_dictionary.sh --out DIR [--dict FILE] [--units KIND] [--oov WAY] [--words FILE]
                          [--extra FILE] TEXT...

Writes the pronunciations of the words of Kaldi text files, and the units of a CTC model:

  DIR/units        the phones in alphabetical order, NSN and SPN (noises, other speech)
  DIR/lexicon.txt  word and phones, most usual pronunciation first; <NOISE> is NSN, <SPOKEN_NOISE> is SPN
  DIR/oov          words that the dictionary lacks, with their counts and pronunciations
  DIR/choices      the options and their effect

  --dict FILE   CMUdict (default: that of the Debian package pocketsphinx-en-us, which has no stress)
  --units KIND  39 (default): phones without stress; stress: vowels with their digits, 69 phones
  --oov WAY     words that the dictionary lacks: map (default): SPN; flite: flite's letter-to-sound rules (the first
                vowel has the stress); g2p: a model that linnet g2p learns from the dictionary ($LINNET names the command)
  --words FILE  more words to pronounce, one per line, for example those of a language model
  --extra FILE  pronunciations in the form of CMUdict, for words that CMUdict lacks; they come before --oov

A possessive that no dictionary has is pronounced as its stem, with the ending that it requires.
END
}

dict='' out='' units=39 oov=map words='' extra=''
debian=/usr/share/pocketsphinx/model/en-us/cmudict-en-us.dict
take_options "dict out units oov words extra ..." "$@"
[ -n "$out" ] && [ ${#rest[@]} -gt 0 ] || {
	usage >&2
	exit 2
}
for i in "${!rest[@]}"; do rest[i]=$(as_path "${rest[i]}"); done
[ "$units" = 39 ] || [ "$units" = stress ] || die "--units $units: must be 39 or stress"
case "$oov" in map | flite | g2p) ;; *) die "--oov $oov: must be map, flite or g2p" ;; esac
[ "$oov" != flite ] || command -v flite >/dev/null || die "--oov flite: flite is not installed"
if [ -z "$dict" ]; then
	[ -e "$debian" ] || die "name CMUdict with --dict FILE, or install the Debian package pocketsphinx-en-us"
	dict=$debian
fi
need_file "$dict" "--dict wants the file of CMUdict"
[ -z "$extra" ] || need_file "$extra" "--extra wants a file of pronunciations"
[ "$units" = 39 ] || grep -qm 1 '[A-Z][012]\( \|$\)' "$dict" || die "--units stress: $dict has no stress"

vowels='AA AE AH AO AW AY EH ER EY IH IY OW OY UH UW'
consonants='B CH D DH F G HH JH K L M N NG P R S SH T TH V W Y Z ZH'

list_units() {
	local phone
	{
		for phone in $consonants; do echo "$phone"; done
		for phone in $vowels; do
			if [ "$units" = stress ]; then printf '%s0\n%s1\n%s2\n' "$phone" "$phone" "$phone"; else echo "$phone"; fi
		done
	} | sort
	printf 'NSN\nSPN\n'
}

# The words and their counts, without noises.
count_words() {
	{
		awk '{for (i = 2; i <= NF; i++) print $i}' "$@"
		[ -z "$words" ] || sed 's/$/ 0/' "$words"
	} | awk '$1 !~ /^<.*>$/ && NF {n[toupper($1)] += NF > 1 ? $2 : 1} END {for (word in n) print word, n[word]}' | sort
}

# Pronounces lines "word count" by flite's rules.
pronounce_by_rules() {
	local word
	while read -r word _; do
		printf '%s %s\n' "$word" "$(flite -ps -t "$word" -o none </dev/null)"
	done <"$1" | awk -v units="$units" -v vowels=" $vowels " '
		/^#/ {next}
		FILENAME == ARGV[1] {phone[$1] = $2; next}
		{
			line = $1
			stressed = 0
			for (i = 2; i <= NF; i++) {
				p = phone[$i]
				if ($i == "pau" || p == "-") continue
				if (p == "") {print "no phone of flite: " $i > "/dev/stderr"; exit 1}
				if (units == "stress" && index(vowels, " " p " ")) p = p (stressed++ ? 0 : 1)
				line = line " " p
			}
			if (line != $1) print line
		}' "$common/flite_phones.tsv" -
}

# Pronounces the same lines by a model of the dictionary.
pronounce_by_model() {
	local stress=()
	[ "$units" = 39 ] || stress=(--keep-stress)
	"$linnet" g2p --train "$dict" ${stress[@]+"${stress[@]}"} --output "$work/model" >&2
	"$linnet" g2p --model "$work/model" --words <(cut -d ' ' -f 1 "$1") | tr '\t' ' '
}

mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
: >"$work/unknown"
: >"$work/rules"
count_words "${rest[@]}" >"$work/words"
awk -v stress="$([ "$units" = 39 ] || echo 1)" -v unknown="$work/unknown" -f "$common/possessive.awk" \
	-f "$common/dictionary.awk" "$work/words" "$dict" ${extra:+"$extra"} >"$work/known" || die "$dict${extra:+ or $extra} cannot be used"
way=SPN
case "$oov" in
flite)
	pronounce_by_rules "$work/unknown" >"$work/rules"
	way="flite's letter-to-sound rules"
	;;
g2p)
	build_linnet
	pronounce_by_model "$work/unknown" >"$work/rules"
	way='a model of the dictionary (linnet g2p)'
	;;
esac
into "$out/units" list_units
grep -vxF -f "$out/units" <(cut -d ' ' -f 2- "$work/known" | tr ' ' '\n' | sort -u) >"$work/strange" || true
[ ! -s "$work/strange" ] || die "$dict has phones that are not CMUdict's: $(tr '\n' ' ' <"$work/strange")"
into "$out/lexicon.txt" sort -s -k 1,1 <(printf '<NOISE> NSN\n<SPOKEN_NOISE> SPN\n') "$work/known" "$work/rules"
into "$out/oov" awk '
	FILENAME == ARGV[1] {rule[$1] = substr($0, length($1) + 2); next}
	{print $1, $2, $1 in rule ? rule[$1] : "SPN"}' "$work/rules" "$work/unknown"
into "$out/choices" cat <<END
dictionary $dict ($(cksum <"$dict" | cut -d ' ' -f 1))
units $units ($(wc -l <"$out/units") with NSN and SPN)
unknown words $oov
pronunciation of training labels: the first
words $(wc -l <"$work/words")
out of vocabulary $(wc -l <"$work/unknown") words, $(awk '{n += $2} END {print n + 0}' "$work/unknown") tokens: $way
END
say "$(paste -s -d ';' "$out/choices" | sed 's/;/; /g')"
