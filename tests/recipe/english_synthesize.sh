#!/usr/bin/env bash
# recipes/english/local/synthesize.sh: a data folder of synthetic speech with the lexicon's phones; a run that is continued
# makes the same, and another seed makes something else.
#
#   english_synthesize.sh LINNET
# shellcheck source=tests/recipe/command.sh
. "$(dirname "$0")/command.sh"
for tool in flite espeak-ng sox xz; do
  command -v "$tool" > /dev/null || { echo "SKIPPED: $tool is not installed" && exit 77; }
done

# "tide" is only in the text.
cat > dictionary << 'END'
a AH0
boat B OW1 T
by B AY1
goat G OW1 T
hide HH AY1 D
note N OW1 T
ride R AY1 D
road R OW1 D
side S AY1 D
the DH AH0
toad T OW1 D
wide W AY1 D
END
for verb in HIDE RIDE; do
  for first in BOAT GOAT NOTE TOAD; do
    for second in ROAD SIDE TIDE; do echo "$verb THE $first BY THE $second"; done
  done
done | sed '1s/.*/TOO SHORT/' | xz > books.xz
printf 'one\tflite\tkal16\tus\t1\t0.80\t1.10\t90\t120\ntwo\tespeak\ten-gb-scotland+f2\tgb\t1\t150\t180\t40\t60\n' > voices

synthesize() { # OUT OPTION...
  LINNET=$linnet "$here/../../recipes/english/local/synthesize.sh" --out "$@" --text books.xz --lexicon dictionary \
    --voices voices --hours 0.004 --jobs 2 2> err
}

synthesize spoken || fail "synthesize.sh: $(cat err)"
for file in wav.scp text utt2spk phones; do
  [[ $(wc -l < spoken/$file) -ge 10 ]] || fail "$file has $(wc -l < spoken/$file) utterances, expected at least 10"
  cut -d ' ' -f 1 spoken/$file | cmp -s - <(cut -d ' ' -f 1 spoken/text) || fail "$file has other utterances than text"
done
! grep -q SHORT spoken/text || fail 'a sentence of two words was spoken'
[[ $(cut -d ' ' -f 1 spoken/spk2utt | paste -s -d ' ') == 'one two' ]] || fail "other speakers than in the table: $(cat spoken/spk2utt)"
awk 'NR == FNR {words[$1] = NF; next} $2 !~ /^(HH|R)$/ || NF < words[$1] + 4 {exit 1}' spoken/text spoken/phones ||
  fail "phones: $(cat spoken/phones)"
"$linnet" features spoken --out feats.ark --scp feats.scp 2> err || fail "audio: $(cat err)"
[[ $(wc -l < feats.scp) -eq $(wc -l < spoken/text) ]] || fail 'audio is missing'

# What is finished stays; what is missing is spoken again.
rm spoken/.work/chunk.00000.phones
lost=$(sed -n '1s/.* //p' spoken/wav.scp)
cp spoken/phones before
mv "$lost" lost.flac
synthesize spoken || fail "continued: $(cat err)"
cmp lost.flac "$lost" || fail 'the same sentence sounds different'
cmp before spoken/phones || fail 'a continued run has other phones'

status=0
synthesize spoken --seed 2 || status=$?
[[ $status -eq 1 ]] && grep -q 'other arguments' err || fail "another seed in the same folder: $(cat err)"
synthesize other --seed 2 || fail "another seed: $(cat err)"
! cmp -s spoken/text other/text || fail 'the seed has no effect'
status=0
LINNET=$linnet "$here/../../recipes/english/local/synthesize.sh" --out x --text no-such-text --lexicon dictionary 2> err || status=$?
[[ $status -eq 1 ]] && grep -q 'no-such-text is missing' err || fail "a missing text: $(cat err)"
head -c 120 books.xz > whole.xz && mv whole.xz books.xz
synthesize cut 2> err && fail 'a text that ends early was spoken'
[[ ! -e cut/.work/arguments && ! -e cut/.work/new-plan ]] || fail "a text that ends early was planned: $(ls cut/.work)"
[[ $failures -eq 0 ]] && echo 'all good'
[[ $failures -eq 0 ]]
