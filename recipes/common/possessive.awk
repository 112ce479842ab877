# The pronunciation of possessives. Other programs include this file with a further -f.

# possessive(PHONES): the phones of a word, with the ending of its possessive: S after a voiceless consonant, a vowel and Z
# after a sibilant, else Z. The vowel has a stress digit if other phones have one.
function possessive(phones,   n, part) {
	n = split(phones, part, " ")
	if (part[n] ~ /^(S|Z|SH|ZH|CH|JH)$/)
		return phones (phones ~ /[012]/ ? " IH0 Z" : " IH Z")
	return phones (part[n] ~ /^(P|T|K|F|TH)$/ ? " S" : " Z")
}
