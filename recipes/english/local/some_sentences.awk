# Prints about COUNT of the sentences of 3 to 20 words, chosen at random. TEXT is read twice, first to count them.
#
#   awk -v seed=1 -v count=1000 -f random.awk -f some_sentences.awk TEXT TEXT

BEGIN {
	random_seed(seed, 4)
}

NF < 3 || NF > 20 {
	next
}

FNR == NR {
	suitable++
	next
}

random_unit() < count / suitable
