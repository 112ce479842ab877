# Makes the plan: distributes the sentences among the sets and voices.
#
#   awk -v seed=1 -v hours=2 -v held_out=rms -f random.awk -f make_plan.awk voices.tsv SENTENCES > plan
#
# With -v only=SET all sentences go to one set, and no voice is held out.
#
# An output line has set, utterance, speaker, engine, voice, accent, speed, pitch, peak level in dB and sentence, separated
# by tabs. Every sentence goes to one set only: the set, and then the voice, that has the smallest part of its share.

function fail(message) {
	print "make_plan.awk: " message > "/dev/stderr"
	failed = 1
	exit 1
}

# Estimates the seconds of speech by a linear function of the letters, fitted to each engine.
function estimate(v, speed, sentence) {
	if (engine[v] == "flite")
		return (0.63 + 0.0478 * length(sentence)) * speed
	return (0.17 + 0.0531 * length(sentence)) * 160 / speed
}

# The training voice with the smallest ratio of speech in this set to its weight.
function next_voice(set,    v, best) {
	if (set == "test_voice")
		return held_out_voice
	best = 0
	for (v = 1; v <= voices; v++)
		if (v != held_out_voice && (!best || spoken[set, v] / weight[v] < spoken[set, best] / weight[best]))
			best = v
	return best
}

function next_set(    i, best, share, lowest) {
	best = ""
	lowest = 0
	for (i = 1; i <= sets; i++) {
		share = seconds[name[i]] / goal[name[i]]
		if (utterances[name[i]] < min_utterances)
			share = 0
		if (share < 1 && (best == "" || share < lowest)) {
			best = name[i]
			lowest = share
		}
	}
	return best
}

function deal(set, sentence,    v, speed, pitch, level, utterance) {
	v = next_voice(set)
	speed = sprintf(engine[v] == "flite" ? "%.2f" : "%d", random_between(speed_lo[v], speed_hi[v]))
	pitch = pitch_lo[v] == "-" ? "-" : sprintf("%d", random_between(pitch_lo[v], pitch_hi[v]))
	level = sprintf("%.1f", random_between(-15, -2))
	spoken[set, v] += estimate(v, speed, sentence)
	seconds[set] += estimate(v, speed, sentence)
	total += estimate(v, speed, sentence)
	utterances[set]++
	utterance = set == "new" ? "new" : sprintf("%s-%05d", speaker[v], ++dealt)
	print set, utterance, speaker[v], engine[v], voice[v], accent[v], speed, pitch, level, sentence
}

BEGIN {
	FS = OFS = "\t"
	min_utterances = 10	# in each set
	sets = split(only ? only : "train dev test test_voice", name, " ")
	goal["train"] = hours * 3600 * 0.82
	goal["dev"] = goal["test"] = goal["test_voice"] = hours * 3600 * 0.06
	if (only)
		goal[only] = hours * 3600
	random_seed(seed, 2)
}

/^#/ || /^$/ {
	next
}

FNR == NR {
	if (NF != 9 || $1 !~ /^[A-Za-z0-9_]+$/ || $2 !~ /^(flite|espeak)$/ || $4 !~ /^(us|gb)$/ || $5 <= 0)
		fail(FILENAME ":" FNR ": not a voice; the columns are explained at the top of the file")
	v = ++voices
	speaker[v] = $1
	engine[v] = $2
	voice[v] = $3
	accent[v] = $4
	weight[v] = $5
	speed_lo[v] = $6
	speed_hi[v] = $7
	pitch_lo[v] = $8
	pitch_hi[v] = $9
	if ($1 == held_out)
		held_out_voice = v
	next
}

finished {
	next
}

{
	if (!only && (!held_out_voice || voices < 2))
		fail("voices.tsv needs the held-out voice '" held_out "' and at least one other")
	set = next_set()
	finished = set == ""
	if (!finished)
		deal(set, $0)
	else if (!only)
		deal("new", $0)
}

END {
	if (failed)
		exit 1
	if (!finished)
		fail("the sentences are enough for " sprintf("%.2f", total / 3600) " hours only; give more text or ask for fewer hours")
}
