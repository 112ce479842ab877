# Makes an ARPA model that other programs can read. Removes text before and after it, carriage returns, and n-grams that
# no sentence has (<s> that is not first, </s> that is not last). Writes words in upper case, but <unk>, <s> and </s> in
# lower case. Corrects the numbers of n-grams.
#
#   awk -f clean_arpa.awk ARPA ARPA
#
# The file is read twice: to count, and to print.

function is_mark(word) {
	return tolower(word) ~ /^<(s|\/s|unk)>$/
}

function is_wrong(   i) {
	for (i = 2; i <= order + 1; i++)
		if ((tolower($i) == "<s>" && i > 2) || (tolower($i) == "</s>" && i < order + 1))
			return 1
	return 0
}

FNR == 1 {
	pass++
	inside = order = 0
}

{
	sub(/[ \t\r]+$/, "")
}

$0 == "\\data\\" {
	inside = 1
	if (pass == 2)
		print
	next
}

!inside || NF == 0 { next }

/^ngram [0-9]+=/ { next }

/^\\[0-9]+-grams:$/ {
	order = substr($0, 2) + 0
	if (pass == 1)
		orders = order
	if (pass == 2 && order == 1)
		for (i = 1; i <= orders; i++)
			print "ngram " i "=" count[i]
	if (pass == 2)
		print "\n" $0
	next
}

$0 == "\\end\\" {
	if (pass == 2)
		print "\n" $0
	inside = 0
	complete = 1
	next
}

order > 0 && !is_wrong() {
	count[order] += pass == 1
	if (pass == 2) {
		for (i = 2; i <= order + 1; i++)
			$i = is_mark($i) ? tolower($i) : toupper($i)
		print
	}
}

END {
	if (!complete) {
		print "clean_arpa.awk: " FILENAME ": is no complete ARPA model" > "/dev/stderr"
		exit 1
	}
}
