#!/usr/bin/env bash
# The command with special files, full disks, closed descriptors and control characters.
#
#   files_command.sh LINNET
# shellcheck source=tests/recipe/command.sh
. "$(dirname "$0")/command.sh"
prefix=("$linnet")
printf 'a b\nb a\n' > text
estimate=(ngram --order 2 --discount-fallback --text text)
esc=$'\033'

# make_wav NAME BYTES: a WAV whose header has no length; the samples are arbitrary bytes.
make_wav() {
  {
    printf 'RIFF\0\0\0\0WAVEfmt \20\0\0\0\1\0\1\0\200\76\0\0\0\175\0\0\2\0\20\0data\0\0\0\0'
    head -c "$2" "$linnet"
  } > "$1"
}
make_wav speech.wav 16000

# Outputs through a link: to a descriptor (like /dev/stdout, which this test does not use) and to a file.
check 0 'fixed discounts' "${estimate[@]}" --arpa wanted.arpa
ln -s /proc/self/fd/1 stdout
{
  echo before
  "$linnet" "${estimate[@]}" --arpa stdout
  echo behind
} > piped
[[ -L stdout ]] || fail 'the link to a descriptor was replaced'
cmp <(echo before && cat wanted.arpa && echo behind) piped || fail 'output to a descriptor that is a file'
"$linnet" "${estimate[@]}" --arpa stdout | cmp - wanted.arpa || fail 'output to a pipe'
echo old > target
ln -s target link
check 0 'fixed discounts' "${estimate[@]}" --arpa link
[[ -L link ]] || fail 'a link to a file was replaced'
cmp target wanted.arpa || fail 'the target of a link was not written'
mkfifo fifo
cat fifo > from_fifo &
check 0 'fixed discounts' "${estimate[@]}" --arpa fifo
wait
cmp from_fifo wanted.arpa || fail 'output to a fifo'

# '-' is standard output for all outputs.
check 0 '' features speech.wav --out features.ark
"$linnet" features speech.wav --out - 2> out | cmp - features.ark || fail 'features to standard output'
"$linnet" "${estimate[@]}" --arpa - | cmp - wanted.arpa || fail 'an n-gram model to standard output'
check 2 'on standard output' features speech.wav --out - --scp x.scp
[[ ! -e ./- ]] || fail 'a file called -'

# A full disk: the message has the reason, and the exit status is 1.
if [[ -w /dev/full ]]; then
  for arguments in --help --version help 'ngram --help' info "${estimate[*]} --arpa -" 'features speech.wav -o -'; do
    status=0
    # shellcheck disable=SC2086 # words
    "$linnet" $arguments > /dev/full 2> out || status=$?
    [[ $status -eq 1 ]] || fail "$arguments > /dev/full: status $status"
    grep -q 'No space left on device' out || fail "$arguments > /dev/full: $(cat out)"
  done
  check 1 '/dev/full: cannot write: No space left on device' transcribe --output /dev/full speech.wav
fi
prefix=()
# shellcheck disable=SC2016 # of the inner shell
check 1 'File too large' bash -c 'ulimit -f 4 && trap "" XFSZ &&
  "$1" average --output average.safetensors "$2"' - "$linnet" "$here/../../models/english/phones.safetensors"
[[ ! -e average.safetensors ]] || fail 'an incomplete model exists'
for i in {1..200}; do echo "u$i a b"; done > many
# shellcheck disable=SC2016
check 1 'full.utt: cannot write: File too large' bash -c 'ulimit -f 1 && trap "" XFSZ && "$@"' - "$linnet" score --per-utt full.utt many many
[[ -z $(find . -name '*.tmp.*') && ! -e full.utt ]] || fail "failed writes leave $(ls)"

# Once the output of all inputs is full, the others are not recognised for nothing.
for i in {1..40}; do ln speech.wav "copy$i.wav"; done
# shellcheck disable=SC2016 # of the inner shell
check 1 ': 1 of 40 files failed, ' bash -c 'ulimit -f 1 && trap "" XFSZ &&
  "$1" transcribe --threads 1 --format json --output full.json copy*.wav' - "$linnet"
[[ $(grep -c 'cannot write: File too large' out) -eq 1 ]] || fail "one message: $(cat out)"
if [[ -w /dev/full ]]; then
  # shellcheck disable=SC2016 # of the inner shell
  check 1 ': 1 of 40 files failed, 39 were not tried' bash -c '"$1" transcribe --threads 1 copy*.wav > /dev/full' - "$linnet"
fi
rm copy*.wav

# Closed descriptors: no opened file gets their numbers, because it would receive the messages.
# shellcheck disable=SC2016 # of the inner shell
for closed in '2>&-' '>&- 2>&-' '<&- >&- 2>&-'; do
  rm -f closed.ark
  bash -c '"$1" features -v speech.wav --out closed.ark '"$closed" - "$linnet" > out || fail "with $closed: status $?"
  cmp features.ark closed.ark || fail "with $closed messages are in the output"
done
check 1 'Bad file descriptor' bash -c '"$@" >&-' - "$linnet" "${estimate[@]}" --arpa -
prefix=("$linnet")

# Control characters in messages, and in file names in results, are printed as text on one line.
check 1 "no\\x1b[31m\\nname" info "no${esc}[31m"$'\n''name'
mv speech.wav "new"$'\n'"line.wav"
cp "new"$'\n'"line.wav" other.wav
export LINNET_MODEL=$here/../../models/english/phones.safetensors
check 0 '2 files' transcribe "new"$'\n'"line.wav" other.wav --output lines
[[ $(wc -l < lines) -eq 2 ]] || fail "$(wc -l < lines) lines for two files"
grep -qF 'new\nline.wav' lines || fail "the name of a file is $(head -n 1 lines)"
if command -v script > /dev/null; then
  printf '<b> 0\n%s[2JA 1\n' "$esc" > symbols
  printf 'u1  [\n -9 -0.1 ]\n' > posteriors
  decode=("$linnet" decode --symbols symbols posteriors)
  script -qec "$(printf '%q ' "${decode[@]}")" /dev/null < /dev/null > screen
  grep -qF 'u1 \x1b[2JA' screen || fail "the terminal shows $(cat screen)"
  script -qec "$(printf '%q ' "${decode[@]}" --output stdout)" /dev/null < /dev/null > screen
  grep -qF 'u1 \x1b[2JA' screen || fail "through a descriptor the terminal shows $(cat screen)"
  "${decode[@]}" 2> out | cat > piped
  grep -qF "u1 ${esc}[2JA" piped || fail 'a pipe does not get the bytes as they are'
fi

# Input without an end is refused because of its first bytes, long lines, or duration.
if [[ -r /dev/zero ]]; then
  check 1 'holds a NUL byte' "${estimate[@]:0:4}" --text /dev/zero --arpa x
  check 1 'not a safetensors file' info /dev/zero
  check 1 'holds a NUL byte' score /dev/zero /dev/zero
  check 1 'has a NUL byte' align --text-file /dev/zero no-such-file.wav
  check 1 'not a supported audio format' transcribe /dev/zero
  check 1 'longer than the maximum of 5 seconds' transcribe --raw s16le --max-seconds 5 /dev/zero
  check 1 'longer than the maximum of 5 seconds' features --raw s16le --max-seconds 5 --out zero.ark /dev/zero
fi
mkdir none && : > none/wav.scp
check 0 'warning: none: has no utterances' transcribe --data none
{
  printf 'RIFF\0\0\0\0WAVEfmt \20\0\0\0\1\0\2\0\200\76\0\0\0\372\0\0\4\0\20\0data\0\0\0\0'
  for _ in {1..8000}; do printf '\0\20\0\360'; done # 4096 and -4096
} > cancelled.wav
check 0 'cancel each other out, so that their mean is silent: choose one channel' transcribe cancelled.wav
check 0 '' transcribe --channel 1 cancelled.wav
! grep -q warning out || fail "a warning with --channel: $(cat out)"
# CTM counts channels from 1.
for channel in 0 1; do
  "$linnet" align --channel $channel --phones AH --format ctm cancelled.wav > channels 2> out || fail "--channel $channel: $(cat out)"
  [[ $(cut -d ' ' -f 1,2 channels) == "cancelled $((channel + 1))" ]] || fail "CTM with --channel $channel: $(cat channels)"
done
check 0 "warning: cancelled.wav: begins with 'RIFF', the header of an audio file" transcribe --raw s16le cancelled.wav
grep -qF 'read it as a file: omit --raw' out || fail "the remedy: $(cat out)"

# Raw audio without --raw; audio without samples.
printf '\001\002\003\004%.0s' {1..800} > talk.raw
for command in transcribe 'transcribe --live' 'posteriors -o x' 'plot -o x.svg' 'features -o x.ark' 'align --phones AH'; do
  # shellcheck disable=SC2086 # a command and its options
  LINNET_MODEL='' check 1 'give its sample format, rate and channels: --raw s16le --raw-rate HZ --raw-channels N' $command talk.raw
done
head -c 44 cancelled.wav > header.wav
for command in transcribe 'transcribe --phones' 'transcribe --live'; do
  # shellcheck disable=SC2086
  LINNET_MODEL='' check 0 'warning: header.wav: has no samples' $command header.wav
done
mkdir -p silent && echo 'u header.wav' > silent/wav.scp && echo 'u s' > silent/utt2spk
check 0 'warning: u: has no samples' transcribe --data silent
rm -r silent
head -c 40000 /dev/zero > quiet.raw
mv quiet.raw max_seconds.raw
ln -s max_seconds.raw quiet.raw
for command in transcribe 'features --out x.ark' 'posteriors --out x.ark'; do
  # shellcheck disable=SC2086 # words of a command line
  check 1 'max_seconds.raw: longer than the maximum of 1 seconds: divide it, or raise --max-seconds' \
    $command --raw s16le --max-seconds 1 max_seconds.raw
done
check 0 quiet.raw transcribe --raw s16le --max-seconds 2 quiet.raw --format json
head -c 2000000 /dev/zero | tr '\0' a > line
check 1 'line:1: is longer than 1 MiB: write one sentence per line' ngram --text line --arpa x
exit $((failures > 0))
