# awk -f guessed.awk COUNTS: the words to be guessed if CMUdict lacks them, as transcripts, "ID WORD": those that the text
# has at least three times, except Roman numerals, whose letters do not say how they are spoken. COUNTS: "WORD COUNT".
$2 >= 3 && toupper($1) !~ /^M?M?M?(CM|CD|D?C?C?C?)(XC|XL|L?X?X?X?)(IX|IV|V?I?I?I?)$/ {
	print "word-" NR, $1
}
