# awk -f vocabulary.awk COUNTS LEXICON: the pronunciations of a recognizer's words, one per line, "WORD PHONE..."
# COUNTS has the words of the language model, "WORD COUNT". Turns words into upper case; removes marks of variants, stress
# digits and comments, and then duplicate pronunciations.
NR == FNR {
	known[$1]
	next
}
{
	sub(/ *#.*/, "")
	word = toupper($1)
	sub(/\([0-9]+\)$/, "", word)
	if (!(word in known))
		next
	line = word
	for (i = 2; i <= NF; i++)
		line = line " " without_stress($i)
	if (!(line in seen))
		print line
	seen[line]
}

function without_stress(phone) {
	sub(/[012]$/, "", phone)
	return phone
}
