# The user's own sentences, one per line, in an order drawn from the seed; a sentence that comes twice is taken once.
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
