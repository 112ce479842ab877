#!/bin/bash
# little_memory.sh LINNET: with less and less address space (ulimit -v), the command recognises a resampled file, or reports
# that it is out of memory; it neither crashes nor hangs, also with the kernels of a BLAS library. Training names an
# utterance that is too long for the memory.
# shellcheck source=tests/recipe/command.sh
source "$(dirname "$0")/command.sh"

# A second of a tone at 8 kHz, as WAV.
tone() {
  awk 'BEGIN {
    for (i = 0; i < 8000; i++) {
      s = int(8000 * sin(i * 0.4)); if (s < 0) s += 65536
      printf "%02x%02x", s % 256, int(s / 256)
    }
  }' | sed 's/../\\x&/g' > samples
  {
    printf 'RIFF\xa4\x3e\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data\x80\x3e\0\0'
    printf '%b' "$(cat samples)"
  } > tone.wav
}

# try KILOBYTES KERNELS: prints the exit status.
try() {
  local status=0
  (
    ulimit -v "$1"
    timeout 300 "$linnet" transcribe --model "$model" --kernels "$2" tone.wav
  ) > out 2> err || status=$?
  echo "$status"
}

tone
model=$here/../../models/english/phones.safetensors
good=0 refused=0
for kernels in auto cblas; do
  loaded=''
  for ((size = 16; size <= 640; size += size / 8)); do
    status=$(try $((size * 1024)) "$kernels")
    case $status in
    0) good=$((good + 1)) && loaded=yes ;;
    127) [[ ! $loaded ]] || fail "$size MB, $kernels: status 127" ;; # too little memory for the dynamic linker
    1 | 2)
      refused=$((refused + 1))
      # libgomp, which soxr needs, ends the program before main if it cannot allocate.
      grep -qE '[Oo]ut of memory|memory is too small|cannot create' err ||
        fail "$size MB, $kernels: status $status without a reason: $(cat err)"
      ;;
    *) fail "$size MB, $kernels: status $status: $(tail -n 3 err)" ;;
    esac
  done
done
echo "$good recognised, $refused refused"
[[ $good -gt 0 && $refused -gt 0 ]] || fail 'the sizes must give both outcomes'

# Ten minutes of silence in one utterance.
{
  printf 'RIFF\x24\x7c\x92\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data\0\x7c\x92\0'
  head -c 9600000 /dev/zero
} > long.wav
mkdir data
echo "talk long.wav" > data/wav.scp
echo "talk A B" > data/phones
echo "talk one" > data/utt2spk
cat > config.json << 'END'
{"model": {"input_dim": 20, "width": 64, "heads": 2, "feed_forward": 128, "layers": 4, "stack": 1},
 "features": {"num_mel": 20, "sample_rate": 8000}, "training": {"epochs": 1}}
END
(
  ulimit -v 500000
  check 1 'out of memory for an utterance of' "$linnet" train --train data --dev data --exp exp --config config.json --threads 1
  grep -q 'utterances of the batch: talk' out || fail "the utterance has no name: $(cat out)"
  exit $((failures > 0))
) || failures=$((failures + 1))
exit $((failures > 0))
