#!/bin/bash
# The language models of the corpus; see usage.
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=recipes/common/lib.sh
. "$here/../../common/lib.sh"

usage() {
	cat <<'END'
Usage: language_models.sh --data DIR --phones FILE --out DIR [--order N] [--allow-missing]

Converts the corpus's bigram and trigram of 20 000 words (bcb20onp.z, tcb20onp.z of disc 13-32.1) to
OUT/bigram.bin and OUT/trigram.bin, and the trigram also to OUT/trigram.arpa.gz. Writes their words to OUT/words, and an n-gram model of phones to OUT/phones.bin.

  --data DIR     the output of prepare.sh
  --phones FILE  the phones of the training utterances (Kaldi text)
  --order N      order of the phone n-gram (default 5)
  --allow-missing   go on without the models of words that the copy lacks
END
}

data='' phones='' out='' order=5 allow_missing=''
take_options "data phones out order allow-missing!" "$@"
[ -n "$data" ] && [ -n "$phones" ] && [ -n "$out" ] || {
	usage >&2
	exit 2
}
need_file "$data/local/files" "run stage 1 first"
need_file "$phones" "run stage 2 first"

# convert NAME FILE: converts a model of the corpus to a binary file. On LDC's discs, only the bigram is compressed.
convert() {
	local file
	file=$(awk -F '\t' -v file="doc/lng_modl/base_lm/$2" '
		$1 == "wsj1/" file {print $3; found = 1; exit}
		$1 == "wsj0/" file {other = $3}
		END {if (!found) print other}' "$data/local/files")
	[ -n "$file" ] || {
		rm -f "$out/$1.bin"
		[ -n "$allow_missing" ] || die "wsj1/doc/lng_modl/base_lm/$2 (disc 13-32.1) is missing in all folders"
		say "$1: $2 is missing in all folders; no words are recognised without the trigram"
		return 0
	}
	gzip -dcf <"$file" >"$work/raw" || die "$file: cannot decompress it"
	awk -f "$here/../../common/clean_arpa.awk" "$work/raw" "$work/raw" >"$work/arpa" || die "$file: cannot be used"
	"$linnet" ngram --model "$work/arpa" --binary "$out/$1.bin" >"$out/$1.log" 2>&1 || die "$1: $(cat "$out/$1.log")"
	say "$1: $(grep '^ngram' "$work/arpa" | cut -d = -f 2 | paste -s -d ' ') n-grams"
}

build_linnet
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
: >"$work/arpa"
convert bigram bcb20onp.z
convert trigram tcb20onp.z
if [ -e "$out/trigram.bin" ]; then into "$out/trigram.arpa.gz" gzip -c "$work/arpa"; fi
into "$out/words" awk '
	/^\\/ {inside = /^\\1-grams:/; next}
	inside && NF > 1 && $2 !~ /^<.*>$/ {print $2}' "$work/arpa"
cut -d ' ' -f 2- "$phones" >"$work/sentences"
"$linnet" ngram --order "$order" --discount-fallback --text "$work/sentences" --binary "$out/phones.bin" >"$out/phones.log" 2>&1 ||
	die "phones: $(cat "$out/phones.log")"
say "phones: a $order-gram of $(wc -l <"$phones") utterances"
