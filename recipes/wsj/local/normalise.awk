# Turns transcripts (.dot) into a Kaldi text file.
#
#   awk -v strange=FILE -f normalise.awk DOT...
#
# Input: "words with markup (utterance)". Output: utterance and words, in upper case. Removes backslashes, "~", lone "." and
# the marks of noises beside or over words ([<x] [x>] [x/] [/x]). Other [noises] become <NOISE>; <word>, which is partly
# spoken, and *word*, which is mispronounced, become word. Lines of another form go to `strange`.

function normal(word) {
	word = toupper(word)
	gsub(/\\/, "", word)
	if (word ~ /^\*[^*]+\*$/)
		gsub(/\*/, "", word)
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
	if (word ~ /^<[A-Z'.-]+>$/)
		return substr(word, 2, length(word) - 2)
	return word
}

{
	sub(/\r$/, "")
}

NF == 0 { next }

$NF !~ /^\([0-9A-Za-z]+\)$/ {
	print FILENAME ":" FNR ": " $0 >> strange
	next
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
