# Turns a Kaldi text file into phones by the first pronunciation of each word, without stress digits.
#
#   awk -v skipped=FILE [-v unknown=PHONE] [-v stress=1] -f possessive.awk -f words_to_phones.awk LEXICON... TEXT
#
# Lexicons have CMUdict's or Kaldi's format, with or without probabilities; the first that has the word counts. A possessive
# that no lexicon has gets the ending that its stem requires. A word that is still unknown becomes the phone `unknown`.
# Without `unknown`, its utterance goes to the file `skipped` ("utterance word") instead of the output. With `stress`, phones
# have stress digits.

function is_text() { return FILENAME == ARGV[ARGC - 1] }

function add_pronunciation(word, i, phones, phone) {
	word = toupper($1)
	sub(/\([0-9]+\)$/, "", word)
	if (word in lexicon)
		return
	for (i = $2 ~ /^[0-9]*\.[0-9]+$/ ? 3 : 2; i <= NF && $i != "#"; i++) {
		phone = $i
		if (!stress)
			sub(/[012]$/, "", phone)
		phones = phones " " phone
	}
	lexicon[word] = phones
}

function pronounce(word, stem) {
	if (word in lexicon)
		return lexicon[word]
	stem = word
	return sub(/'S$/, "", stem) && stem in lexicon ? possessive(lexicon[stem]) : ""
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
			print $1, $i > skipped
			next
		}
		line = line phones
	}
	print line
}
