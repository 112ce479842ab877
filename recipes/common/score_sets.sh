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
                     [--parts N] [--cmd TEXT] [--beam N] [--weights "W..."] [--bonuses "B..."]
                     [--lexicon FILE --word-lm FILE [--word-beam N] [--word-weights "W..."] [--word-bonuses "B..."]
                      [--ref-filter PROGRAM] [--hyp-filter PROGRAM]]

Recognises the phones of DIR/SET greedily and by a beam search with an n-gram of phones, and with --lexicon and --word-lm
also words. Weights and bonuses of the n-grams are tuned on --dev alone; then all sets are scored. A missing utterance
counts as deleted. Words pass through the filters before they are compared, as through Kaldi's local/wer_ref_filter and
wer_hyp_filter: programs that read lines "utterance words" and write them. Each result is compared with NIST sclite if it is
installed (Debian package sctk). Recognition runs in parts (decode.sh): --parts (default 32) of each set, where --cmd says.

  OUT/SET.post.scp                   posteriors, in OUT/SET.post.*.ark
  OUT/SET.greedy.*, OUT/SET.beam.*   .hyp, .units.score (the model's units), .folded.score (39 phones, without noises)
  OUT/SET.words.*                    .hyp, .words.score
  ....utterances, .confusions, .speakers   details of the last of these scores
  OUT/tuning.*, OUT/tuned.*          for beam and words: all pairs with their error on --dev, and the best pair
  OUT/scored                         a line for each time the test sets were searched and scored
END
}

model='' data='' dev='' tests='' units='' lm='' lexicon='' word_lm='' out='' jobs=$(nproc) parts=32 cmd=local beam=32
weights='0.3 0.5 0.7 1.0' bonuses='0 0.5 1.0 1.5' word_beam=200 word_weights='0.4 0.7 1.0 1.3' word_bonuses='0 0.5 1.0 1.5'
ref_filter='' hyp_filter=''
take_options "model data dev tests units lm out jobs parts cmd beam weights bonuses lexicon word-lm word-beam word-weights
	word-bonuses ref-filter hyp-filter" "$@"
for name in model data dev units lm out; do
	[ -n "${!name}" ] || die "--$name is missing; see --help"
done
for name in "$model" "$units" "$lm"; do need_file "$name" "run the stages before first"; done
for name in ref_filter hyp_filter; do
	[ -z "${!name}" ] || [ -x "${!name}" ] || die "--${name/_/-} ${!name}: is not a program that can be run"
done
[[ " $tests " != *" $dev "* ]] || die "--dev $dev is among the test sets"

# in_parts SET NAME [OPTION...] -- COMMAND...: results of a set in OUT/SET.NAME.*; goes on if some utterances have none
in_parts() {
	local prefix=$out/$1.$2 status=0
	"$common/decode.sh" --data "$data/$1" --out "$prefix" --parts "$parts" --cmd "$cmd" --jobs "$at_once" "${@:3}" || status=$?
	[ "$status" != 0 ] || return 0
	[ "$status" = 1 ] && [ -s "$prefix.missing" ] || exit "$status"
	[ -s "$prefix.hyp" ] || [ -s "$prefix.scp" ] || die "$1: no utterance was recognised"
	say "$1: not all utterances were recognised; the rest count as deleted: see $prefix.missing"
}

# recognise SET: greedy hypotheses and posteriors
recognise() {
	in_parts "$1" greedy -- transcribe --model "$model"
	in_parts "$1" post -- posteriors --model "$model"
}

# options_of KIND WEIGHT BONUS: sets options to those of a beam search for phones (beam) or words with the language model
options_of() {
	options=(decode --symbols "$units" --lm-weight "$2")
	case "$1" in
	beam) options+=(--beam "$beam" --lm "$lm" --insertion-bonus "$3") ;;
	words) options+=(--beam "$word_beam" --words --lexicon "$lexicon" --lm "$word_lm" --word-bonus "$3" --silence 'NSN,SPN') ;;
	esac
}

# filtered FILTER FILE: the file, or what the filter makes of it
filtered() {
	if [ -n "$1" ]; then "$1" <"$2"; else cat "$2"; fi
}

# hypothesis SEARCH PREFIX: the file PREFIX.hyp, for words after the filter
hypothesis() {
	if [ "$1" != words ] || [ -z "$hyp_filter" ]; then
		echo "$2.hyp"
	else
		into "$2.filtered" filtered "$hyp_filter" "$2.hyp" || return
		echo "$2.filtered"
	fi
}

# reference SEARCH SET
reference() {
	if [ "$1" != words ]; then
		echo "$data/$2/phones"
	elif [ -z "$ref_filter" ]; then
		echo "$data/$2/text"
	else
		into "$out/$2.ref" filtered "$ref_filter" "$data/$2/text" || return
		echo "$out/$2.ref"
	fi
}

# all_pairs KIND: lines of weight and bonus
all_pairs() {
	local weight bonus some=$weights others=$bonuses
	[ "$1" = beam ] || some=$word_weights others=$word_bonuses
	for weight in $some; do
		for bonus in $others; do echo "$weight $bonus"; done
	done
}

# search_pairs KIND: searches the development set with all pairs, which are one job
search_pairs() {
	local options
	rm -rf "$tuning"
	mkdir "$tuning"
	all_pairs "$1" >"$tuning/pairs"
	options_of "$1" '{1}' '{2}'
	parse_way "$cmd"
	"$common/cmd.sh" --via "$way" ${way_requests[@]+"${way_requests[@]}"} --options "$way_options" --jobs "$at_once" \
		--lines "$tuning/pairs" --log "$tuning/log" -- "$linnet" "${options[@]}" --threads "$way_threads" --resume \
		--output "$tuning/{1}.{2}.hyp" "scp:$out/$dev.post.scp" || die "$dev, $1: see above"
}

# rate_pairs KIND: lines of weight, bonus and error on the development set
rate_pairs() {
	local weight bonus hypothesis reference error
	reference=$(reference "$1" "$dev") || return
	while read -r weight bonus; do
		hypothesis=$(hypothesis "$1" "$tuning/$weight.$bonus") || return
		error=$(error_rate "$reference" "$hypothesis" "${tune_options[@]}") || return
		echo "$weight $bonus ${error:?}"
	done <"$tuning/pairs"
}

best() { sort -s -g -k 3,3 "$out/tuning.$1" | sed -n 1p; }

find_sclite() {
	sclite=()
	if command -v sclite >/dev/null; then sclite=(sclite); elif command -v sctk >/dev/null; then sclite=(sctk sclite); fi
	[ ${#sclite[@]} -gt 0 ] || say "sclite is not installed (Debian package sctk), so results are not compared with it"
}

# cross_check PREFIX SCORE: fails unless sclite counts the same errors as SCORE
cross_check() {
	local ours theirs
	[ ${#sclite[@]} -gt 0 ] || return 0
	theirs=$("${sclite[@]}" -f 0 -s -i rm -r "$1.ref.trn" trn -h "$1.hyp.trn" trn -o rsum stdout | tr -d '|' |
		awk '$1 == "Sum" && NF == 9 {print $3, "tokens", $5, "sub", $6, "del", $7, "ins"}')
	ours=$(awk '/^%[PW]ER/ {split($0, f, /[][ ,\/]+/); print f[4], "tokens", f[9], "sub", f[7], "del", f[5], "ins"}' "$2")
	[ "$ours" = "$theirs" ] || die "$2: linnet counts $ours, sclite $theirs"
	echo "sclite: the same ($theirs)" >>"$2"
}

# score SEARCH SET KIND: units, folded or words
score() {
	local prefix=$out/$2.$1 options=() reference hypothesis
	reference=$(reference "$1" "$2") || die "$2: the filter of references failed"
	hypothesis=$(hypothesis "$1" "$prefix") || die "$2: the filter of hypotheses failed"
	case "$3" in
	folded) options=(--strip-stress --ignore 'NSN SPN') ;;
	words) options=("${word_options[@]}") ;;
	esac
	"$linnet" score --utt2spk "$data/$2/utt2spk" --by-speaker --per-speaker "$prefix.speakers" --per-utt "$prefix.utterances" \
		--confusions "$prefix.confusions" --trn "$prefix" ${options[@]+"${options[@]}"} "$reference" "$hypothesis" \
		>"$prefix.$3.score"
	cross_check "$prefix" "$prefix.$3.score"
	rm -f "$prefix".{ref,hyp}.trn
	say "$2, $1: $(rate_of "$prefix.$3.score") % ($3)"
}

# search_sets KIND: tunes on the development set, then searches all sets
search_sets() {
	local weight bonus set options tune_options=(--unit phone)
	[ "$1" = beam ] || tune_options=("${word_options[@]}")
	search_pairs "$1"
	into "$out/tuning.$1" rate_pairs "$1" || die "$dev, $1: the pairs cannot be scored"
	into "$out/tuned.$1" best "$1"
	read -r weight bonus _ <"$out/tuned.$1"
	say "$dev, $1: weight $weight, bonus $bonus"
	options_of "$1" "$weight" "$bonus"
	for set in $dev $tests; do
		in_parts "$set" "$1" --posteriors "$out/$set.post.scp" -- "${options[@]}"
	done
}

check_way --cmd "$cmd"
at_once=$(jobs_here "$cmd" "$jobs")
build_linnet
word_options=(--unit word --ignore '<NOISE> <SPOKEN_NOISE>')
searches=(beam)
[ -z "$lexicon" ] || [ -z "$word_lm" ] || searches+=(words)
mkdir -p "$out"
out=$(cd "$out" && pwd)
tuning=$out/tuning.parts
rm -f "$out"/tuning.{beam,words} "$out"/tuned.* "$out"/*.tmp.*
for set in $dev $tests; do rm -f "$out/$set".*.score "$out/$set".{words.filtered,ref}; done
find_sclite
for set in $dev $tests; do recognise "$set"; done
for kind in "${searches[@]}"; do search_sets "$kind"; done
rm -rf "$tuning"
[ -z "$tests" ] || echo "$(date -u +%FT%TZ) commit $(commit) model $(cksum <"$model" | cut -d ' ' -f 1)" >>"$out/scored"
for set in $dev $tests; do
	for kind in units folded; do
		score greedy "$set" $kind
		score beam "$set" $kind
	done
	[ ${#searches[@]} -eq 1 ] || score words "$set" words
done
