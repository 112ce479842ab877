#!/bin/bash
# little_memory.sh LINNET: with less and less address space (ulimit -v), the command recognises a resampled file, or reports
# that it is out of memory; it neither crashes nor hangs, also with the kernels of a BLAS library.
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
    timeout 20 "$linnet" transcribe --model "$model" --kernels "$2" tone.wav
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
exit $((failures > 0))
