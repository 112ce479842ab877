#!/usr/bin/env bash
# The recognizer that ships is robust: silence, faint noise and another level around real speech change little; noise and
# silence alone give no phones. Without LINNET_DATA, only the tests without speech run.
#
#   silence_command.sh LINNET LINNET_CONDITION DATA
# shellcheck source=tests/recipe/command.sh
. "$(dirname "$0")/command.sh"
condition=$(realpath "$2")
data=${LINNET_DATA:-$3}
root=$here/../..

# folder NAME OPTION...: the recordings of all.scp under a condition, as a data folder
folder() {
  mkdir -p "$1/audio"
  "$condition" --list all.scp --out "$1/audio" "${@:2}"
  awk -v folder="$PWD/$1/audio" '{print $1, folder "/" $1 ".wav"}' all.scp > "$1/wav.scp"
  awk '{print $1, $1}' all.scp > "$1/utt2spk"
  "$linnet" transcribe --model "$root/models/english" --phones --data "$1" --output "$1/hyp" 2> /dev/null
}

# rate NAME: errors per thousand phones
rate() { "$linnet" score --bootstrap 0 phones "$1/hyp" | awk '/^%PER/ {print int(10 * $2)}'; }

# No speech: white noise, loud and faint, and digital silence. The recording is ten seconds of zeros.
head -c 320000 /dev/zero > zero.raw
printf 'RIFF\044\342\004\000WAVEfmt \020\000\000\000\001\000\001\000\200\076\000\000\000\175\000\000\002\000\020\000data\000\342\004\000' \
  | cat - zero.raw > zero.wav
echo "zero $PWD/zero.wav" > all.scp
folder zero
[[ $(wc -w < zero/hyp) -eq 1 ]] || fail "digital silence is recognised as $(cat zero/hyp)"

speech=$data/ljspeech
[[ -s $speech/text ]] || {
  [[ $failures -eq 0 ]] || exit 1
  echo "SKIPPED: there is no real speech in $speech"
  exit 77
}
awk -v folder="$speech" 'NR <= 24 {print $1, folder "/" $2}' "$speech/wav.scp" > all.scp
awk 'NR == FNR {keep[$1]; next} $1 in keep' all.scp "$speech/text" > text
awk -v skipped=skipped -f "$root/recipes/common/possessive.awk" -f "$root/recipes/common/words_to_phones.awk" "$data/cmudict/cmudict.dict" text > phones
awk 'NR == FNR {keep[$1]; next} $1 in keep' phones all.scp > known && mv known all.scp
folder clean
clean=$(rate clean)
# The bounds are errors per thousand; there are about 900 phones.
while read -r name bound options; do
  read -r -d '' -a some <<< "$options" || true
  folder "$name" "${some[@]}"
  error=$(rate "$name")
  echo "$name: $error of 1000 phones wrong, clean $clean"
  [[ $error -le $((clean + bound)) ]] || fail "$name: $error of 1000 phones wrong, clean $clean, at most $bound more"
done << 'END'
silence-2 10 --pad 2
silence-10 10 --pad 10
faint-2 10 --pad 2 --pad-level -45
faint-10 10 --pad 10 --pad-level -45
soft 20 --gain -30
offset 10 --offset 0.05
END

# The phase in which the network stacks frames does not depend on the length of silence: 2, 3 and 10 s have three.
folder silence-3 --pad 3
for some in 3 10; do
  cmp "silence-$some/hyp" silence-2/hyp || fail "$some s of silence change what 2 s do not"
done

# Noises that are not in the training data: fold 5 of ESC-10.
find "$data/noise/esc10" -name '*-5-*.opus' | sort | awk 'NR % 4 == 0 {print "noise" NR, $1}' > all.scp
if [[ -s all.scp ]]; then
  folder noise
  heard=$(awk 'NF > 2 {n++} END {print n + 0}' noise/hyp)
  echo "noise: $heard of $(wc -l < all.scp) clips are recognised as two phones or more"
  [[ $((10 * heard)) -le $(wc -l < all.scp) ]] || fail "$heard of $(wc -l < all.scp) noises are recognised as speech: $(cat noise/hyp)"
fi
[[ $failures -eq 0 ]]
