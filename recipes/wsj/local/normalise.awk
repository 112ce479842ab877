# Transcripts (.dot) as a Kaldi text file.
#
#   awk -f normalise.awk DOT...
#
# In: "words with markup (utterance)". Out: utterance and words. Upper case; backslashes, "~", lone ".", and the marks of
# noises beside or over words ([<x] [x>] [x/] [/x]) go; other [noises] become <NOISE>; <word>, which is said in part,
# becomes word.

function normal(word) {
	word = toupper(word)
	gsub(/\\/, "", word)
	if (word ~ /^(\[<.*\]|\[.*>\]|\[.*\/\]|\[\/.*\]|~|\.)$/)
		return ""
	if (word ~ /^\[.*\]$/)
		return "<NOISE>"
	if (word == "%PERCENT")
		return "PERCENT"
	if (word == ".POINT")
		return "POINT"
	if (word == "--DASH")
		return "-DASH"
	if (word ~ /^<[A-Z']+>$/)
		return substr(word, 2, length(word) - 2)
	return word
}

{
	sub(/\r$/, "")
}

NF == 0 { next }

$NF !~ /^\([0-9A-Za-z]+\)$/ {
	print "normalise.awk: " FILENAME ":" FNR ": does not end with (UTTERANCE)" > "/dev/stderr"
	exit 1
}

{
	line = tolower(substr($NF, 2, length($NF) - 2))
	for (i = 1; i < NF; i++) {
		word = normal($i)
		if (word != "")
			line = line " " word
	}
	print line
}
