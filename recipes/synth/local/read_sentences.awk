# Prints the user's sentences, one per line, in a random order given by the seed, without duplicates.
#
#   awk -v seed=1 -f random.awk -f read_sentences.awk FILE

function fail(message) {
	print "read_sentences.awk: " message > "/dev/stderr"
	failed = 1
	exit 1
}

{
	sentence = tolower($0)
	gsub(/[ \t\r-]+/, " ", sentence)
	gsub(/^ | $/, "", sentence)
	if (sentence == "")
		next
	if (sentence ~ /[^a-z' ,.?!;:]/)
		fail(FILENAME ":" FNR ": only letters, apostrophes and , . ? ! ; : can be spoken; write numbers as words")
	key = sentence
	gsub(/[,.?!;:]/, "", key)
	if (key !~ /[a-z]/ || key in seen)
		next
	seen[key] = 1
	gsub(/(^| )i( |$)/, " I ", sentence)
	gsub(/^ | $/, "", sentence)
	line[++lines] = sentence
}

END {
	if (failed)
		exit 1
	random_seed(seed, 3)
	for (i = lines; i > 0; i--) {
		j = 1 + int(random_unit() * i)
		print line[j]
		line[j] = line[i]
	}
}
