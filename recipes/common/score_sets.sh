#!/bin/bash
# Decodes and scores data sets; see usage.
set -euo pipefail
export LC_ALL=C
common=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=recipes/common/lib.sh
. "$common/lib.sh"

usage() {
	cat <<'END'
Usage: score_sets.sh --model FILE --data DIR --dev SET --tests "SET..." --units FILE --lm FILE --out DIR [--jobs J]
                     [--weights "W..."] [--bonuses "B..."] [--beam N]

Recognises the phones of DIR/SET greedily and by a beam search with an n-gram of phones, whose weight and insertion bonus
are tuned on --dev alone; then scores all sets. An utterance that is lost counts as deleted. Each result is checked
against NIST sclite where that is installed (Debian package sctk).

  OUT/SET.greedy.*, OUT/SET.beam.*   .hyp, .units.score (the model's units), .folded.score (39 phones, without noises),
                                     .utterances, .confusions, .speakers
  OUT/tuning, OUT/tuned              all pairs with their error on --dev, and the best one
  OUT/scored                         a line for each time the test sets were scored
END
}

model='' data='' dev='' tests='' units='' lm='' out='' jobs=$(nproc) beam=32
weights='0.3 0.5 0.7 1.0' bonuses='0 0.5 1.0 1.5'
take_options "model data dev tests units lm out jobs beam weights bonuses" "$@"
for name in model data dev tests units lm out; do
	[ -n "${!name}" ] || die "--$name is missing; see --help"
done
for name in "$model" "$units" "$lm"; do need_file "$name" "run the stages before first"; done
[[ " $tests " != *" $dev "* ]] || die "--dev $dev is among the test sets"
fold=(--strip-stress --ignore 'NSN SPN')

# recognise SET: greedy hypotheses and posteriors
recognise() {
	local good=1
	"$linnet" transcribe --threads "$jobs" --model "$model" --data "$data/$1" --output "$out/$1.greedy.hyp" 2>"$out/$1.log" || good=''
	"$linnet" posteriors --threads "$jobs" --model "$model" --data "$data/$1" --out "$out/$1.post" 2>>"$out/$1.log" || good=''
	[ -n "$good" ] || say "$1: not all utterances were recognised; the others count as deleted: see $out/$1.log"
	[ -s "$out/$1.greedy.hyp" ] && [ -s "$out/$1.post" ] || die "$1: $(tail -n 1 "$out/$1.log")"
}

# search SET WEIGHT BONUS HYP: beam search with the language model
search() {
	"$linnet" decode --threads "$jobs" --beam "$beam" --symbols "$units" --lm "$lm" --lm-weight "$2" --insertion-bonus "$3" \
		--output "$4" "ark:$out/$1.post" 2>>"$out/$1.log" || die "$1: see $out/$1.log"
}

tune() {
	local weight bonus
	for weight in $weights; do
		for bonus in $bonuses; do
			search "$dev" "$weight" "$bonus" "$out/tuning.hyp"
			echo "$weight $bonus $(error_rate "$data/$dev/phones" "$out/tuning.hyp")"
		done
	done
}

find_sclite() {
	sclite=()
	if command -v sclite >/dev/null; then sclite=(sclite); elif command -v sctk >/dev/null; then sclite=(sctk sclite); fi
	[ ${#sclite[@]} -gt 0 ] || say "sclite is not installed (Debian package sctk): results are not checked against it"
}

# cross_check PREFIX SCORE: sclite's sums are those of the score
cross_check() {
	local ours theirs
	[ ${#sclite[@]} -gt 0 ] || return 0
	theirs=$("${sclite[@]}" -f 0 -s -i rm -r "$1.ref.trn" trn -h "$1.hyp.trn" trn -o rsum stdout | tr -d '|' |
		awk '$1 == "Sum" && NF == 9 {print $3, "tokens", $5, "sub", $6, "del", $7, "ins"}')
	ours=$(awk '/^%[PW]ER/ {split($0, f, /[][ ,\/]+/); print f[4], "tokens", f[9], "sub", f[7], "del", f[5], "ins"}' "$2")
	[ "$ours" = "$theirs" ] || die "$2: linnet counts $ours, sclite $theirs"
	echo "sclite: the same ($theirs)" >>"$2"
}

# score NAME SET: a hypothesis by units, and folded
score() {
	local prefix=$out/$2.$1 kind options
	for kind in units folded; do
		options=(--trn "$prefix.$kind")
		[ $kind = units ] || options+=("${fold[@]}" --confusions "$prefix.confusions" --per-utt "$prefix.utterances")
		[ $kind = units ] || options+=(--per-speaker "$prefix.speakers" --by-speaker)
		"$linnet" score --utt2spk "$data/$2/utt2spk" "${options[@]}" "$data/$2/phones" "$prefix.hyp" >"$prefix.$kind.score"
		cross_check "$prefix.$kind" "$prefix.$kind.score"
		rm -f "$prefix.$kind".*.trn
	done
	say "$2, $1: $(rate_of "$prefix.units.score") % of units, $(rate_of "$prefix.folded.score") % folded"
}

build_linnet
mkdir -p "$out"
for set in "$dev" $tests; do rm -f "$out/$set".*; done
find_sclite
recognise "$dev"
into "$out/tuning" tune
into "$out/tuned" sh -c 'sort -s -g -k 3,3 "$1" | head -n 1' sh "$out/tuning"
rm -f "$out/tuning.hyp"
read -r weight bonus _ <"$out/tuned"
say "$dev: weight $weight, bonus $bonus"
for set in $tests; do recognise "$set"; done
echo "$(date -u +%FT%TZ) commit $(commit) model $(cksum <"$model" | cut -d ' ' -f 1)" >>"$out/scored"
for set in "$dev" $tests; do
	search "$set" "$weight" "$bonus" "$out/$set.beam.hyp"
	score greedy "$set"
	score beam "$set"
done
