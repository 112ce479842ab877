# Finds the files of a copy of WSJ in any layout: numbered discs (11-1.1/wsj0/..., 11_1_1/WSJ0/...), or the contents of the
# discs together (wsj0/..., or a folder that is wsj0 itself).
#
#   awk -f index_files.awk FILES
#
# FILES: corpus (wsj0 or wsj1), folder as given, file in it; separated by tabs.
# Out: name in the corpus in lower case (wsj0/si_tr_s/011/011c0201.wv1), disc (11_1_1, or - if unknown), file.

BEGIN {
	FS = OFS = "\t"
}

{
	file = $2 "/" $3
	whole = tolower(file)
	sub(/;1$/, "", whole)
	n = split(whole, part, "/")
	given = split($2, unused, "/")
	disc = "-"
	first = given + 1
	named = 0
	for (i = given; i < n && part[i] !~ /^(doc|transcrp|s[id]_[a-z0-9_]+)$/; i++) {
		if (part[i] ~ /^1[13][-_][0-9]+[._][0-9]+$/) {
			disc = part[i]
			gsub(/[-.]/, "_", disc)
			first = i + 1
			named = 0
		} else if (part[i] ~ /^wsj[01]$/) {
			first = i
			named = 1
		}
	}
	name = named ? part[first] : $1 "/" part[first]
	for (i = first + 1; i <= n; i++)
		name = name "/" part[i]
	print name, disc, file
}
