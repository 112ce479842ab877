# Prints the pronunciations of the given words.
#
#   awk -v stress=1 -v unknown=FILE -f possessive.awk -f dictionary.awk WORDS CMUDICT...
#
# WORDS has lines "word count". The output is word and phones, all variants in the order of the first dictionary that has
# the word; words are in the order of WORDS. A word that is in no dictionary but begins with a punctuation mark ("-DASH")
# gets the pronunciations of the rest of it; a possessive those of its stem, with the ending that they require. Other words
# go to `unknown` (word, count).

FILENAME == ARGV[1] {
	count[$1] = $2
	order[++words] = $1
	next
}

/^;;;/ || NF < 2 { next }

{
	word = toupper($1)
	sub(/\([0-9]+\)$/, "", word)
	phones = ""
	for (i = 2; i <= NF && $i !~ /^#/; i++) {
		phone = toupper($i)
		if (phone !~ /^[A-Z]+[012]?$/) {
			print "dictionary.awk: " FILENAME ":" FNR ": '" $i "' is no phone" > "/dev/stderr"
			failed = 1
			exit 1
		}
		if (!stress)
			sub(/[012]$/, "", phone)
		phones = phones " " phone
	}
	if (!(word in source))
		source[word] = FILENAME
	if (source[word] != FILENAME || (word, phones) in known)
		next
	known[word, phones] = 1
	variant[word, ++variants[word]] = phones
}

END {
	if (failed)
		exit 1
	for (w = 1; w <= words; w++) {
		word = base = order[w]
		ending = 0
		if (!(base in variants))
			sub(/^[^A-Z0-9]+/, "", base)
		if (!(base in variants))
			ending = sub(/'S$/, "", base)
		if (!(base in variants)) {
			print word, count[word] > unknown
			continue
		}
		for (v = 1; v <= variants[base]; v++)
			print word (ending ? possessive(variant[base, v]) : variant[base, v])
	}
}
