# Turns transcripts (.dot) into a Kaldi text file.
#
#   strange=FILE awk -f normalise.awk DOT...
#
# Input: "words with markup (utterance)"; the space before the parenthesis may be missing. Output: utterance and words, in
# upper case. Removes backslashes, "~", lone "." and the marks of noises beside or over words ([<x] [x>] [x/] [/x]; with
# the last two also the word that they touch). Other [noises] become <NOISE>, with the word that they touch; <word>, which
# is partly spoken, and *word*, which is mispronounced, become word. Lines of another form go to the file `strange`.

function normal(word) {
	word = toupper(word)
	gsub(/\\/, "", word)
	if (word ~ /^\*[^*]+\*$/)
		gsub(/\*/, "", word)
	if (word ~ /^(\[<.*\]|\[.*>\]|\[.*\/\]|\[\/.*\]|~|\.)$/ || word ~ /\[([A-Z0-9_]+\/|\/[A-Z0-9_]+)\]$/)
		return ""
	if (word ~ /^\[.*\]$/ || word ~ /\[[A-Z0-9_]+\]/)
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
	sub(/[ \t\r]+$/, "")
}

NF == 0 { next }

!match($0, /\([0-9A-Za-z]+\)$/) {
	print FILENAME ":" FNR ": " $0 >> ENVIRON["strange"]
	next
}

{
	line = tolower(substr($0, RSTART + 1, RLENGTH - 2))
	words = split(substr($0, 1, RSTART - 1), part)
	for (i = 1; i <= words; i++) {
		word = normal(part[i])
		if (word != "")
			line = line " " word
	}
	print line
}
