# Turns a Kaldi text file into phones by the first pronunciation of each word, without stress digits.
#
#   awk -v lost=FILE [-v unknown=PHONE] [-v stress=1] -f words_to_phones.awk LEXICON... TEXT
#
# Lexicons are CMUdict's or Kaldi's; an earlier one wins. A possessive that is in none gets the ending of its stem.
# A word that stays unknown becomes the phone `unknown`; where none is given, its utterance is written to `lost`
# ("utterance word") instead. With `stress` phones keep their digits.

function is_text() { return FILENAME == ARGV[ARGC - 1] }

function add_pronunciation(word, i, phones, phone) {
	word = toupper($1)
	sub(/\([0-9]+\)$/, "", word)
	if (word in lexicon)
		return
	for (i = 2; i <= NF && $i != "#"; i++) {
		phone = $i
		if (!stress)
			sub(/[012]$/, "", phone)
		phones = phones " " phone
	}
	lexicon[word] = phones
}

# "'S" is S after a voiceless consonant, IH Z after a sibilant, else Z.
function pronounce(word, stem, last, n, parts) {
	if (word in lexicon)
		return lexicon[word]
	stem = word
	if (!sub(/'S$/, "", stem) || !(stem in lexicon))
		return ""
	n = split(lexicon[stem], parts, " ")
	last = parts[n]
	if (last ~ /^(S|Z|SH|ZH|CH|JH)$/)
		return lexicon[stem] " IH Z"
	return lexicon[stem] (last ~ /^(P|T|K|F|TH)$/ ? " S" : " Z")
}

/^;;;/ { next }
!is_text() { add_pronunciation(); next }
{
	line = $1
	for (i = 2; i <= NF; i++) {
		phones = pronounce(toupper($i))
		if (phones == "" && unknown != "")
			phones = " " unknown
		if (phones == "") {
			print $1, $i > lost
			next
		}
		line = line phones
	}
	print line
}
