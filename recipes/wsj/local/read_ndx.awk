# Prints the utterances of an .ndx list.
#
#   awk -f read_ndx.awk NDX
#
# In: "11_1_1:wsj0/si_tr_s/01i/01ic0201.wv1", comments after ";". Out: utterance, name in the corpus, disc; by tabs.

BEGIN {
	OFS = "\t"
}

{
	sub(/;.*/, "")
	gsub(/[ \r\t]/, "")
	$0 = tolower($0)
}

$0 == "" { next }

!/^[0-9_]+:/ {
	print "read_ndx.awk: " FILENAME ":" FNR ": must have the form DISC:PATH: " $0 > "/dev/stderr"
	exit 1
}

{
	disc = name = $0
	sub(/:.*/, "", disc)
	sub(/^[^:]*:\/*/, "", name)
	if (name !~ /\.wv1$/)
		name = name ".wv1"
	utterance = name
	sub(/.*\//, "", utterance)
	sub(/\.wv1$/, "", utterance)
	print utterance, name, disc
}
