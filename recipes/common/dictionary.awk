# Prints the pronunciations of the given words.
#
#   awk -v stress=1 -v unknown=FILE -f dictionary.awk WORDS CMUDICT
#
# WORDS has lines "word count". The output is word and phones, all variants in the order of the dictionary; words are in
# the order of WORDS. A word that is not in the dictionary but begins with a punctuation mark ("-DASH") gets the
# pronunciations of the rest of it. Other words go to `unknown` (word, count).

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
	if ((word, phones) in known)
		next
	known[word, phones] = 1
	variant[word, ++variants[word]] = phones
}

END {
	if (failed)
		exit 1
	for (w = 1; w <= words; w++) {
		word = base = order[w]
		if (!(word in variants))
			sub(/^[^A-Z0-9]+/, "", base)
		if (!(base in variants)) {
			print word, count[word] > unknown
			continue
		}
		for (v = 1; v <= variants[base]; v++)
			print word variant[base, v]
	}
}
