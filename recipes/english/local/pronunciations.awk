# awk -f pronunciations.awk LEXICON ALIGNMENTS: a lexicon with the probability of each pronunciation, in Kaldi's form
# lexiconp.txt, from a lexicon without probabilities ("WORD PHONE...", no stress) and what `linnet align --format json`
# wrote: of each word, how often each pronunciation was said. Each pronunciation gets one count more, and the most probable
# one of a word gets 1, as in Kaldi's dict_dir_add_pronprobs.sh (Chen et al. 2015, Pronunciation and silence probability
# modeling for ASR).
NR == FNR {
	line[NR] = $0
	lines = NR
	count[$0] = 1
	next
}
{
	split($0, half, "\"phones\":")
	words = split(half[1], word, "{\"word\":\"")
	phones = split(half[2], phone, "{\"symbol\":\"")
	at = 2
	for (w = 2; w <= words; w++) {
		said = text(word[w])
		for (; at <= phones && time(phone[at], "end") <= time(word[w], "end") + 1e-6; at++)
			if (time(phone[at], "start") >= time(word[w], "start") - 1e-6)
				said = said " " text(phone[at])
		if (said in count)
			count[said]++
	}
}
END {
	for (i = 1; i <= lines; i++) {
		name = head(line[i])
		if (count[line[i]] > most[name])
			most[name] = count[line[i]]
	}
	for (i = 1; i <= lines; i++) {
		name = head(line[i])
		printf "%s %.6f%s\n", name, count[line[i]] / most[name], substr(line[i], length(name) + 1)
	}
}

function head(line) { return substr(line, 1, index(line, " ") - 1) }

# The string before the next quotation mark, and the number of a key.
function text(item) { return substr(item, 1, index(item, "\"") - 1) }

function time(item, key) {
	match(item, "\"" key "\":[0-9.]+")
	return substr(item, RSTART + length(key) + 3, RLENGTH - length(key) - 3) + 0
}
