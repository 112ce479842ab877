# Draws COUNT different sentences from a grammar (format: see grammar.txt).
#
#   awk -v seed=1 -v count=100 -f random.awk -f make_sentences.awk grammar.txt
#
# An output line is one sentence with punctuation.

function fail(message) {
	print "make_sentences.awk: " message > "/dev/stderr"
	failed = 1
	exit 1
}

function add_alternative(name, words, weight) {
	total[name] += weight
	alternative[name, ++alternatives[name]] = words
	cumulative[name, alternatives[name]] = total[name]
}

# "NAME = [3] some words | other words"
function read_rule(name, body,    parts, n, i, weight) {
	n = split(body, parts, "|")
	for (i = 1; i <= n; i++) {
		gsub(/^ +| +$/, "", parts[i])
		weight = 1
		if (match(parts[i], /^\[[0-9]+\] */)) {
			weight = substr(parts[i], 2, index(parts[i], "]") - 2)
			parts[i] = substr(parts[i], RLENGTH + 1)
		}
		if (parts[i] == "")
			fail(FILENAME ":" FNR ": empty alternative; write words between the bars")
		add_alternative(name, parts[i], weight)
	}
}

# "A B : a1 b1 a2 b2"
function read_words(names, body,    name, word, columns, n, i) {
	columns = split(names, name, " ")
	n = split(body, word, " ")
	if (n % columns)
		fail(FILENAME ":" FNR ": " n " words do not fill " columns " columns; add or remove a form")
	for (i = 1; i <= n; i++)
		add_alternative(name[(i - 1) % columns + 1], word[i], 1)
}

function draw(name,    lo, hi, mid, r) {
	r = random_unit() * total[name]
	lo = 1
	hi = alternatives[name]
	while (lo < hi) {
		mid = int((lo + hi) / 2)
		if (cumulative[name, mid] > r)
			hi = mid
		else
			lo = mid + 1
	}
	return alternative[name, lo]
}

function expand(name, depth,    part, n, i, out) {
	if (depth > 40)
		fail("rule " name " refers to itself; break the cycle")
	n = split(draw(name), part, " ")
	out = ""
	for (i = 1; i <= n; i++)
		out = out " " (part[i] ~ /^[A-Z][A-Z_]+$/ ? expand_known(part[i], depth + 1) : part[i])
	return substr(out, 2)
}

function expand_known(name, depth) {
	if (!(name in total))
		fail("the grammar uses " name " and does not define it")
	return expand(name, depth)
}

# "a apple" is "an apple", and a comma follows its word without a space.
function tidy(sentence,    word, n, i, out) {
	n = split(sentence, word, " ")
	out = ""
	for (i = 1; i <= n; i++) {
		if (word[i] == "a" && word[i + 1] ~ /^([aeio]|u[^nst]|un[^i]|uncle|urgent|upper|hour|honest)/ &&
		    word[i + 1] !~ /^(one|eu|unit|unif|univ|use)/)
			word[i] = "an"
		out = out (word[i] ~ /^[,.?]$/ || i == 1 ? "" : " ") word[i]
	}
	return out
}

/^#/ || /^ *$/ {
	next
}

/ = / {
	read_rule($1, substr($0, index($0, " = ") + 3))
	next
}

/ : / {
	read_words(substr($0, 1, index($0, " : ") - 1), substr($0, index($0, " : ") + 3))
	next
}

{
	fail(FILENAME ":" FNR ": neither 'NAME = ...' nor 'NAME : ...'")
}

END {
	if (failed)
		exit 1
	random_seed(seed, 1)
	repeats = 0
	for (made = 0; made < count;) {
		sentence = tidy(expand_known("S", 0))
		key = sentence
		gsub(/[,.?]/, "", key)
		if (key in seen) {
			if (++repeats > 1000)
				fail("the grammar has no more than " made " sentences; lower --hours")
			continue
		}
		repeats = 0
		seen[key] = 1
		made++
		print sentence
	}
}
