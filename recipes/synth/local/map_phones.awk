# Maps the phones that a synthesiser reports to CMUdict's 39 phones.
#
#   awk -f map_phones.awk flite_phones.tsv espeak_phones.tsv RAW
#
# RAW: utterance, engine (flite or espeak), accent (us or gb), output of the engine; separated by tabs.
# Output: utterance and phones, separated by spaces. A symbol that no table has is an error.

function fail(message) {
	print "map_phones.awk: " message > "/dev/stderr"
	failed = 1
	exit 1
}

# The phones of symbol i of n in a word; a pair of symbols that the table has counts as one symbol.
function take(engine, accent, symbol, i, n) {
	taken = 2
	if (i < n && (engine, accent, symbol[i] " " symbol[i + 1]) in table)
		return table[engine, accent, symbol[i] " " symbol[i + 1]]
	taken = 1
	if ((engine, accent, symbol[i]) in table)
		return table[engine, accent, symbol[i]]
	fail("utterance " $1 ": " engine " (" accent ") spoke '" symbol[i] "'; add a line for it to " engine "_phones.tsv")
}

# Words are separated by spaces, the symbols in them by "/".
function map(engine, accent, spoken,    word, words, w, symbol, n, i, phones, out) {
	words = split(spoken, word, " ")
	for (w = 1; w <= words; w++) {
		n = split(word[w], symbol, "/")
		for (i = 1; i <= n; i += taken) {
			phones = take(engine, accent, symbol, i, n)
			if (phones != "-")
				out = out " " phones
		}
	}
	return out
}

# espeak marks stress with ' , % = and a pause with a _! before or after the phoneme beside it.
function without_marks(spoken) {
	gsub(/[',%=]/, "", spoken)
	gsub(/_[!|]+/, "", spoken)
	gsub(/\/+/, "/", spoken)
	gsub(/ \/|\/ /, " ", spoken)
	gsub(/^\/|\/$/, "", spoken)
	return spoken
}

function check_phones(phones,    part, n, i) {
	n = split(phones, part, " ")
	for (i = 1; i <= n; i++)
		if (!(part[i] in known))
			fail(FILENAME ":" FNR ": '" part[i] "' is not a phone of CMUdict")
	return phones
}

BEGIN {
	FS = "\t"
	n = split("AA AE AH AO AW AY B CH D DH EH ER EY F G HH IH IY JH K L M N NG OW OY P R S SH T TH UH UW V W Y Z ZH -", part, " ")
	for (i = 1; i <= n; i++)
		known[part[i]] = 1
}

/^#/ {
	next
}

FILENAME ~ /flite_phones\.tsv$/ {
	table["flite", "us", $1] = check_phones($2)
	next
}

FILENAME ~ /espeak_phones\.tsv$/ {
	table["espeak", "us", $1] = check_phones($2)
	table["espeak", "gb", $1] = check_phones($3)
	next
}

{
	print $1 map($2, $3, $2 == "espeak" ? without_marks($4) : $4)
}

END {
	if (failed)
		exit 1
}
