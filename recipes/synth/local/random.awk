# Park-Miller random numbers, which are the same in every awk; rand() is not.

function random_seed(seed, stream,    i) {
	random_state = (seed * 48271 + stream * 69621 + 1) % 2147483647
	if (random_state <= 0)
		random_state += 2147483646
	for (i = 0; i < 16; i++)	# small seeds start close together
		random_unit()
}

# A number in (0, 1).
function random_unit() {
	random_state = (random_state * 16807) % 2147483647
	return random_state / 2147483647
}

# A number between lo and hi.
function random_between(lo, hi) {
	return lo + (hi - lo) * random_unit()
}
