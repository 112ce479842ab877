#!/usr/bin/env bash
# The command line of `linnet` and of `linnet score`: output, files and exit status.
#
#   score_command.sh LINNET
# shellcheck source=tests/recipe/command.sh
. "$(dirname "$0")/command.sh"

# is FILE: the file must equal standard input.
is() {
  diff - "$1" || fail "$1 differs"
}

check 2 'Commands:' "$linnet"
check 0 'Commands:' "$linnet" --help
check 0 'linnet ' "$linnet" --version
check 0 'Usage: linnet score [OPTIONS] REF HYP' "$linnet" help score
check 0 'Usage: linnet score [OPTIONS] REF HYP' "$linnet" score --help
check 2 "did you mean 'score'?" "$linnet" scor
check 2 "did you mean 'transcribe'?" "$linnet" trasncribe
check 2 "there is no command 'xyzzy'" "$linnet" xyzzy
check 2 'unknown option' "$linnet" score --nonsense ref hyp
check 2 'score: HYP is missing' "$linnet" score ref
check 2 'REF HYP are missing' "$linnet" score
check 2 'one argument too many' "$linnet" score a b c
check 2 'must be phone or word' "$linnet" score --unit letter a b
check 2 'need --utt2spk' "$linnet" score --by-speaker a b
for count in -1 1 39; do check 2 'must be 0, or 40 to' "$linnet" score --bootstrap "$count" a b; done
check 2 'only one of REF and HYP can be standard input' "$linnet" score - -
check 1 'no-such-file: cannot be read: No such file' "$linnet" score no-such-file b

printf 'u1 AH0 B IH1\nu2 c "d\nu3 e\n' > ref
for i in {10..35}; do echo "u$i a"; done > many
check 0 ' u29 u30 and 5 more (--per-utt lists all)' "$linnet" score many <(head -n 1 many)
check 0 ' u29 u30' "$linnet" score <(sed 21q many) <(head -n 1 many)
! grep more out || fail "all are listed: $(cat out)"
printf 'u3 e x\nu1 AH B IX\n' > hyp
printf 'u1 s1\nu2 s-2\nu3 s1\n' > utt2spk
printf 'IH IX\n' > map
printf 'u9 a\n' > extra
printf 'u1 a\nu1 b\n' > twice
check 0 '%PER 83.33 [ 5 / 6, 1 ins, 2 del, 2 sub ]' "$linnet" score ref hyp
check 0 '%SER 100.00 [ 3 / 3 ]' "$linnet" score ref hyp
check 0 'Missing utterances, counted as deleted: u2' "$linnet" score ref hyp
check 0 '%WER 50.00 [ 3 / 6, 1 ins, 2 del, 0 sub ]' "$linnet" score --unit word -s -m map ref hyp
check 0 '%PER 20.00 [ 1 / 5, 0 ins, 1 del, 0 sub ]' "$linnet" score -s -m map --ignore 'c,x' --utt2spk utt2spk ref hyp
printf 'u1 AH0 AH1 IH1\n' > with_stress
printf 'AH0 AX0\nIH IX\n' > stress_map # names one phone with its digit, and another without
check 0 '%PER 0.00 [ 0 / 3,' "$linnet" score -s -m stress_map with_stress <(echo 'u1 AX AH IX')
check 0 '(bootstrap over speakers, 50 resamples, seed 3)' \
  "$linnet" score --by-speaker --utt2spk utt2spk --bootstrap 50 --seed 3 ref hyp
printf 'u3 e\nu1 AH0 B IH1\n' > better
check 0 'better: %PER 33.33 [ 2 / 6, 0 ins, 2 del, 0 sub ]' "$linnet" score --compare better ref hyp
head -n 1 better > part
check 0 'part: 2 utterances not present, counted as deleted' "$linnet" score --compare part ref hyp
check 0 '"num_missing": 2, "difference"' "$linnet" score --compare part --json ref hyp
check 0 'difference -50.00, 95 % interval' "$linnet" score --compare better ref hyp
check 0 '%PER 20.00 [ 1 / 5, 0 ins, 1 del, 0 sub ]' "$linnet" score -s -m map --ignore 'c,x' --compare hyp ref hyp
check 2 '--map /dev/fd/' "$linnet" score --map <(cat map) --compare hyp ref hyp # it would be empty the second time
check 2 'REF /dev/fd/' "$linnet" score --compare hyp <(cat ref) hyp
check 0 '"difference": 0, ' "$linnet" score -s -m map --ignore 'c,x' --compare hyp --json ref hyp
# Tokens that differ in case only.
printf 'u1 HELLO World AGAIN\nu2 YES\n' > upper
printf 'u1 hello world AGAIN\nu2 no\n' > lower
check 0 'with --ignore-case the error rate would be 25.00 instead of 75.00 %' "$linnet" score upper lower
check 0 '%PER 75.00' "$linnet" score upper lower
check 0 'warning: lower: with --ignore-case' "$linnet" score --compare lower upper upper
check 0 '%PER 25.00 [ 1 / 4, 0 ins, 0 del, 1 sub ]' "$linnet" score --ignore-case upper lower
! grep 'instead of' out || fail 'a warning about case without reason'
printf 'u1 \303\211T\303\211 \316\250 X\377Y the\n' > upper
printf 'u1 \303\251t\303\251 \317\210 x\377y Um\n' > lower
printf 'UM\nThe A\n' > cases
check 0 '%PER 25.00 [ 1 / 4, 0 ins, 1 del, 0 sub ]' "$linnet" score -i -m cases upper lower
check 0 '%PER 0.00 [ 0 / 3, 0 ins, 0 del, 0 sub ]' "$linnet" score -i --ignore 'THE,um' upper lower
printf 'u1 A B C D E F G H I K L\n' > upper
printf 'u1 a b c d e f g h i l\n' > lower # a deletion before the end shifts the others
check 0 'would be 9.09 instead of 100.00 %' "$linnet" score upper lower
printf 'u1 ПРИВЕТ МИР\n' > upper
printf 'u1 привет мир\n' > lower
check 0 'would be 0.00 instead of 100.00 %' "$linnet" score upper lower
printf 'u1 пока дом\n' > lower
check 0 '%PER 100.00' "$linnet" score upper lower
! grep 'instead of' out || fail 'a warning about case for other words'

# The marks of sclite.
printf 'u1 a { b / c } (%%hesitation) d\n' > marks
printf 'u1 a b d\n' > plain
check 0 'marks: has alternatives { a / b }' "$linnet" score marks plain
check 0 "'(%hesitation)' and other tokens in parentheses" "$linnet" score marks plain
check 0 'alternatives' "$linnet" score --ignore '(%hesitation)' marks plain
! grep parentheses out || fail 'a warning about dropped words'
check 0 '%PER 0.00' "$linnet" score marks marks
! grep warning out || fail 'a warning without errors'
eval "$(grep "^sed .* marks.ref > ref$" "$here/../../docs/training.md" | sed 's/marks.ref > ref/marks > chosen/')"
check 0 '%PER 0.00 [ 0 / 3,' "$linnet" score --ignore '(%hesitation)' chosen plain

# One speaker, or one utterance, has no interval.
sed 's/s-2/s1/' utt2spk > one_speaker
check 0 '--by-speaker: all utterances are of one speaker' "$linnet" score --by-speaker --utt2spk one_speaker ref hyp
check 0 '(bootstrap over utterances, 1000' "$linnet" score --by-speaker --utt2spk one_speaker ref hyp
check 0 '"unit": "utterance"' "$linnet" score --by-speaker --utt2spk one_speaker --json ref hyp
printf 'u1 AH0 B\n' > one
check 0 '%PER 0.00' "$linnet" score --compare one one one
! grep interval out || fail 'one utterance has an interval'
check 0 '"difference": 0, "low": null' "$linnet" score --json --compare one one one
check 2 'needs the samples of --bootstrap' "$linnet" score --compare better --bootstrap 0 ref hyp
check 2 '--seed 4: needs the samples of --bootstrap' "$linnet" score --seed 4 -b 0 ref hyp
for seed in 99999999999999999999 -9223372036854775809 1x 0x10 ''; do
  check 2 "--seed $seed: must be a whole number of 64 bits" "$linnet" score --seed "$seed" ref hyp
done
check 0 'seed -9223372036854775808)' "$linnet" score --seed -9223372036854775808 ref hyp
check 0 'seed 18446744073709551615)' "$linnet" score --seed 18446744073709551615 ref hyp
check 0 'seed 10)' "$linnet" score --seed 010 ref hyp
check 0 '"seed": 8}' "$linnet" score --seed 08 --json ref hyp
check 2 'REF and HYP2 cannot be standard input' "$linnet" score --compare better - hyp
check 1 "the first is 'u9'" "$linnet" score ref extra
printf 'u3-1 e\nu3-2 e x\nu1-1 AH0 B IH1\nu1-2 AH0 B\n' > nbest
printf 'data/u3.wav\te\ndata/u1.wav\tAH0 B IH1\n' > paths
check 1 "nbest: the ids, such as 'u3-1', end in ranks of n-best lists, ID-1" "$linnet" score --allow-extra ref nbest
check 0 '%PER 33.33 [ 2 / 6, 0 ins, 2 del, 0 sub ]' "$linnet" score --oracle nbest ref nbest
check 1 'standard input: the ids' bash -c '"$1" score ref - < nbest' bash "$linnet"
check 1 'does each line begin with an id' "$linnet" score ref extra
check 1 "paths: the ids, such as 'data/u3.wav', are paths" "$linnet" score --allow-extra ref paths

# Any one input can be standard input, but not two.
check 0 '%PER 50.00' bash -c '"$1" score -s -m - ref hyp < map' bash "$linnet"
check 0 '(bootstrap over speakers' bash -c '"$1" score --by-speaker --utt2spk - ref hyp < utt2spk' bash "$linnet"
check 2 'only one of REF and --utt2spk can be standard input' "$linnet" score --utt2spk - - hyp
check 2 'only one of --map and HYP can be standard input' "$linnet" score --map - ref -
check 2 '--compare: --map is read twice' "$linnet" score --map - --compare better ref hyp

# Lattices in another order than those that they are compared with.
lattice() {
  local i
  for i in "$@"; do printf '%s\n0 1 %s 1,1\n1 0,0\n\n' "u$i" "w$i"; done
}
printf 'u1 w1\nu2 w2\nu3 x\n' > words
lattice 1 2 3 > forwards
lattice 3 1 2 > mixed
check 0 'difference +0.00, 95 % interval +0.00 to +0.00' "$linnet" score --oracle lattice --compare mixed words forwards

# Columns of --per-utt count characters.
printf 'u1 \303\251t\303\251 b c\n' > accents
printf 'u1 \303\251 b c\n' > short
"$linnet" score --per-utt rows accents short > out
[[ $(grep -c '^u1 \(ref \S* b\|hyp \S*   b\|op  S   C\)' rows) == 3 ]] || fail "shifted columns: $(cat rows)"

# remedy TEXT FORMAT...: ids of these formats are refused with the text, and the awk command in the message helps.
# shellcheck disable=SC2059 # formats of ids
remedy() {
  local format
  for format in "${@:2}"; do
    printf "$format\t%s\n" u3 'e' u1 'AH0 B IH1' > named
    [[ $format != *-1 ]] || printf "${format%1}2\t%s\n" u3 x u1 y >> named
    check 1 "$1" "$linnet" score ref named
    bash -c "$(sed -n "s/.*\(awk '[^']*'\).*/\1/p" out) named" > best
    check 0 '%PER 33.33 [ 2 / 6, 0 ins, 2 del, 0 sub ]' "$linnet" score ref best
  done
}
remedy 'end in ranks of n-best lists, ID-1' %s-1
remedy 'end in ranks of n-best lists of files' d/%s.wav-1 d/%s-1 d.x/%s-1 d.x/%s.wav-1 %s.wav-1 d-1/%s-1
remedy 'are paths of files' d/%s.wav d/%s d.x/%s d.x/%s.wav %s.wav

# One id of many may look like a rank or a path.
printf 'foo x\nu1-1 AH0 B IH1\n' > some
check 0 'Scored 3 utterances, 3 not present in hyp.' "$linnet" score --allow-extra ref some
printf 'foo x\nd/u1.wav AH0 B IH1\n' > some
check 0 'Scored 3 utterances, 3 not present in hyp.' "$linnet" score --allow-extra ref some
check 0 'Scored 3 utterances, 3 not present in hyp.' "$linnet" score --allow-extra ref extra
check 1 'twice:2: utterance' "$linnet" score ref twice
check 1 'nowhere/x: cannot write' "$linnet" score --per-utt nowhere/x ref hyp
check 1 'cannot write' bash -c '"$1" score ref hyp > /dev/full' bash "$linnet"
check 0 '%PER 83.33' bash -c '"$1" score ref - < hyp' bash "$linnet"
check 2 "--per-utt and --json both write to standard output" "$linnet" score --json --per-utt - ref hyp
check 0 '"percent": 83.33333333' "$linnet" score --json ref hyp
check 0 '"missing": ["u2"]' "$linnet" score --json ref hyp

# Empty references: some of them are fine, even in every second sample; all of them have no rate.
printf 'u1 a b\nu2\n' > half
printf 'u1 a b\nu2 x\n' > half_hyp
printf 'u1\nu2\n' > none
check 0 '%PER 50.00 [ 1 / 2, 1 ins, 0 del, 0 sub ]' "$linnet" score half half_hyp
check 0 '95 % interval 0.00 to 50.00' "$linnet" score half half_hyp
check 0 'difference -50.00, 95 % interval -50.00 to +0.00' "$linnet" score --compare half half half_hyp
check 1 '%PER n/a [ 3 / 0, 3 ins, 0 del, 0 sub ]' "$linnet" score none half_hyp
check 1 'none: no utterance has a word, so there is no error rate' "$linnet" score --unit word none none
check 1 'that --map and --ignore leave' "$linnet" score --ignore 'a b' half half
check 1 '"percent": null, "errors": 3' "$linnet" score --json --compare half none half_hyp
check 1 'no error rate' "$linnet" score /dev/null /dev/null
printf 'u1 s1\nu2 s2\n' > two_speakers
check 0 '' "$linnet" score half half_hyp --utt2spk two_speakers --per-speaker half_speakers
check 0 "$(printf 's2\t1\t0\t0\t0\t1\t0\tn/a\t100.00')" cat half_speakers

"$linnet" score ref hyp --utt2spk utt2spk --per-utt per_utt --per-speaker per_speaker --confusions confusions \
  --trn files > first
"$linnet" score ref hyp --utt2spk utt2spk > second
is first < second
is per_utt << 'END'
u1 ref AH0 B IH1
u1 hyp AH  B IX
u1 op  S   C S
u1 #csid 1 2 0 0
u2 ref c   "d
u2 hyp *** ***
u2 op  D   D
u2 #csid 0 0 0 2 missing
u3 ref e ***
u3 hyp e x
u3 op  C I
u3 #csid 1 0 1 0
END
is confusions << 'END'
1	insertion	***	x
1	deletion	"d	***
1	substitution	AH0	AH
1	substitution	IH1	IX
1	deletion	c	***
END
is per_speaker << 'END'
speaker	utterances	tokens	correct	sub	ins	del	%PER	%SER
s1	2	4	2	2	1	0	75.00	100.00
s-2	1	2	0	0	0	2	100.00	100.00
ALL	3	6	2	2	1	2	83.33	100.00
END
is files.ref.trn << 'END'
AH0 B IH1 (s1-u1)
c "d (s_2-u2)
e (s1-u3)
END

# Other formats are refused, with the remedy.
mkdir formats
cd formats
cp ../ref ../hyp .
printf ';; a comment\nf1 1 s1 0.00 2.50 <o,f0> hello\nf1 1 s1 2.50 3.00 <o,f0>\nf2 1 s2 0.1 1 <o,m> world wide\n' > ref.stm
check 1 "ref.stm: is NIST's STM" "$linnet" score ref.stm hyp
check 1 "ref.stm: is NIST's STM" "$linnet" score ref ref.stm
check 1 "standard input: is NIST's STM" bash -c '"$1" score ref - < ref.stm' bash "$linnet"
printf 'u1 1 0.100 0.050 AH 0.91\nu1 1 0.150 0.100 B 1.0\nu3 A 0 0.2 e NA\n' > hyp.ctm
check 1 'hyp.ctm: is CTM' "$linnet" score ref hyp.ctm
check 1 'linnet transcribe --format text' "$linnet" score ref hyp.ctm
check 1 'hyp.ctm: is CTM' "$linnet" score hyp.ctm hyp
printf 'u1 one 1 2 5\nu2 2 3 4 5 6\n' > digits # no times
check 0 '%PER 0.00' "$linnet" score digits digits
printf 'utt1 version 2.0 3 released\n' > words
check 0 '%PER 0.00' "$linnet" score words words
printf 'utt1 one 1. 2. done\nutt2 two 3. 4. done\n' > words
check 0 '%PER 0.00' "$linnet" score words words
printf 'utt1 a 1.0 2.0 b NANCY\n' > words
check 0 '%PER 0.00' "$linnet" score words words
printf 'utt1 costs between 1.50 2.50 dollars\n' > words
check 0 '%PER 0.00' "$linnet" score words words
printf 'utt1 hello (noise1)\nutt2 bye (noise2)\n' > words
check 0 '%PER 0.00' "$linnet" score words words
printf 'u1 (s-1)\nu3 (s-3)\n' > speakers # trn, if they were words
check 0 '%PER' "$linnet" score --utt2spk speakers hyp hyp
printf 'a b (s1-u1)\n(s2-u2)\n' > ref.trn
check 1 "ref.trn: is sclite's trn" "$linnet" score ref.trn ref.trn
printf 'u1 a (noise)\nu2 (noise)\n' > noises
check 0 '%PER 0.00' "$linnet" score noises noises
printf '{"utterance":"u1","seconds":1}\n' > hyp.json
check 1 'hyp.json: is JSON' "$linnet" score ref hyp.json
printf '\r\n1\r\n01:00:00,100 --> 00:00:01,000\r\na b\r\n' > hyp.srt
check 1 'hyp.srt: is SRT' "$linnet" score ref hyp.srt
printf 'WEBVTT\n\n00:00:00.100 --> 00:00:01.000\na b\n' > hyp.vtt
check 1 'hyp.vtt: is WebVTT' "$linnet" score ref hyp.vtt
printf 'File type = "ooTextFile"\nObject class = "TextGrid"\n' > hyp.TextGrid
check 1 'hyp.TextGrid: is a TextGrid' "$linnet" score hyp.TextGrid ref
printf '1\n00:05 x\nWEBVTT_001 a b\n' | sort > words # utterances
check 0 '%PER 0.00' "$linnet" score words words

# convert FROM TO: runs the line of the documents that makes text of a format.
convert() {
  bash -c "$(grep "^[a-z].* $1 > $2\$" "$here/../../docs/training.md")" && sed -i 's/ *$//' "$2" && sort -o "$2" "$2"
}
convert ref.stm ref
is ref << 'END'
f1 hello
f2 world wide
END
convert ref.trn ref
is ref << 'END'
s1-u1 a b
s2-u2
END
convert hyp.ctm hyp
is hyp << 'END'
u1 AH B
u3 e
END
cd ..

# Output goes through a link and does not replace it; no other files remain.
ln -s target link
"$linnet" score ref hyp --confusions link > /dev/null
[[ -L link ]] || { echo "FAILED: the link was replaced"; failures=$((failures + 1)); }
is target < confusions
if compgen -G '*.tmp.*' > /dev/null; then
  echo "FAILED: temporary files are left"
  failures=$((failures + 1))
fi

echo "$failures failures"
[[ $failures -eq 0 ]]
