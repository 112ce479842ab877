#!/usr/bin/env bash
# Ctrl-C and SIGTERM stop within one long input, finished results remain, and --resume gives the bytes of an uninterrupted
# run; also a file per input, and folders as input.
#
#   interrupt_command.sh LINNET
# shellcheck source=tests/recipe/command.sh
source "$(dirname "$0")/command.sh"
for tool in flite sox; do
  command -v "$tool" > /dev/null || { echo "SKIPPED: $tool is not installed" && exit 77; }
done
# The model that ships, without the limit on silences.
model=$work/model.safetensors
sed 's/max_silence\\": 0.6/max_silence\\": 0.0/; s/edge_silence\\": 0.3/edge_silence\\": 0.0/' "$here/../../models/english/phones.safetensors" > "$model"
"$linnet" info "$model" > /dev/null
export LINNET_MODEL=$model
raw=(--raw u8 --raw-rate 16000)

sentences=('' 'the sun is shining' 'over the water' 'and the wind' '' '' '' '' '' 'takes the boat home')
make_sound() {
  flite -voice slt -t "${sentences[$1]}" -o sound.wav
  sox -D sound.wav -t raw -r 16000 -e unsigned -b 8 "$2"
}
for i in 1 2 3; do make_sound $i "s$i.raw"; done
long() { truncate -s 3G long.raw; } # 54 hours; no test waits for the end
short() { rm -f long.raw && make_sound 9 long.raw; }

# handles PROCESS: whether it has a handler of SIGINT, which a process in the background ignores before. The shell that
# becomes the command has one, too.
handles() {
  local caught
  [[ -e /proc/self/status ]] || return 0
  [[ $(readlink "/proc/$1/exe") != */bash ]] || return 1
  caught=$(sed -n 's/^SigCgt:[[:space:]]*/16#/p' "/proc/$1/status" 2> /dev/null) || return 1
  ((${caught:-0} >> 1 & 1))
}
# interrupt SIGNAL WANTED_STATUS CONDITION COMMAND...: sends the signal when the condition holds.
interrupt() {
  local signal=$1 wanted=$2 condition=$3 status=0
  shift 3
  "$@" > out 2> err < /dev/null &
  local process=$!
  until { eval "$condition" && handles $process; } || ! kill -0 $process 2> /dev/null; do sleep 0.05; done
  sleep 0.3
  kill "-$signal" $process 2> /dev/null || fail "$*: ended before the signal: $(cat err)"
  wait $process || status=$?
  [[ $status -eq $wanted ]] || fail "$*: status $status after SIG$signal, expected $wanted: $(cat err)"
}
# start_endless PIPE [HEADER]: makes a pipe that gives the file HEADER, then 20 kB a second without an end.
start_endless() {
  mkfifo "$1"
  exec 3<> "$1"
  { cat "${2-/dev/null}" && while printf '%01000d' 0; do sleep 0.05; done; } >&3 &
  writer=$!
}
stop_endless() { kill $writer && exec 3>&-; }
same() { cmp "$1" "$2" || fail "$1 and $2 differ: ${*:3}"; }
# shellcheck disable=SC2317 # interrupt evaluates it
lines() { [[ -f $1 && $(wc -l < "$1") -ge $2 ]]; }

# --- one long file: transcribe, align, posteriors, features; the signal arrives during reading or recognition

long
interrupt INT 130 '[[ -e one.partial ]]' "$linnet" transcribe "${raw[@]}" --output one long.raw
grep -qF 'interrupted: 0 of 1' err || fail "transcribe: $(cat err)"
interrupt TERM 143 '[[ -e one.partial ]]' "$linnet" transcribe "${raw[@]}" --beam 8 --output one long.raw
interrupt TERM 143 '[[ -e one.partial ]]' "$linnet" align "${raw[@]}" --phones 'S AH N' --output one long.raw
interrupt INT 130 'compgen -G "one*" > /dev/null' "$linnet" posteriors "${raw[@]}" --out one long.raw
start_endless endless # features and plot first read all samples, at most 2^30
interrupt INT 130 'compgen -G "one*" > /dev/null' "$linnet" features "${raw[@]}" --out one endless
interrupt INT 130 true "$linnet" plot "${raw[@]}" --output one.svg endless
stop_endless
[[ -z $(compgen -G 'one*') ]] || fail "files are left: $(compgen -G 'one*')"
mkfifo silent
sleep 600 > silent & # a pipe without data
sleeper=$!
interrupt INT 130 '[[ -e one.partial ]]' bash -c "exec '$linnet' transcribe --raw u8 --output one - < silent"
kill $sleeper

# A lexicon that is being written.
printf 'SUN S AH N\nTEA T IY\nSET S EH T\n' > short.dict
"$linnet" g2p --train short.dict --order 2 --output short.g2p > /dev/null 2>&1
awk 'BEGIN {for (i = 0; i < 600000; i++) {w = ""; for (n = i; n > 0; n = int(n / 4)) w = w substr("suntea", n % 4 + 1, 2); print "u" i, w}}' > many
interrupt INT 130 'compgen -G "one*" > /dev/null' "$linnet" g2p --model short.g2p --complete short.dict --text many --output one
[[ -z $(compgen -G 'one*') ]] || fail "files are left: $(compgen -G 'one*')"

# A second signal ends an operation that ignores the first: reading an archive from a pipe.
printf '<blk>\nA\n' > symbols
sleep 600 > silent &
sleeper=$!
"$linnet" decode --symbols symbols --output one ark:silent > out 2>&1 < /dev/null &
process=$!
until [[ -e one.partial ]]; do sleep 0.05; done
sleep 0.3 && kill -INT $process && sleep 0.3
kill -INT $process && status=0 && { wait $process || status=$?; }
[[ $status -eq 130 ]] || fail "status $status after two signals"
kill $sleeper
rm -f one*

# Two signals at once count as one: wrappers send them so. Both arrive when the process continues.
long
"$linnet" transcribe "${raw[@]}" --output one long.raw > out 2>&1 < /dev/null &
process=$!
until { [[ -e one.partial ]] && handles $process; } || ! kill -0 $process 2> /dev/null; do sleep 0.05; done
kill -STOP $process && kill -INT $process && kill -TERM $process && kill -CONT $process
status=0 && { wait $process || status=$?; }
[[ $status -eq 130 ]] || fail "status $status after two signals at once: $(cat out)"
grep -qF 'interrupted: 0 of 1' out || fail "two signals at once: $(cat out)"
rm -f one*

# --- several files: finished results are saved in the order of arrival; the final file has the order of the inputs

short
for format in text json ctm stm; do
  files=(long.raw s1.raw s2.raw s3.raw)
  "$linnet" transcribe "${raw[@]}" --format $format --output whole "${files[@]}" 2> /dev/null
  rm -f parts
  long
  interrupt INT 130 'lines parts.partial 3 && sleep 0.2' "$linnet" transcribe "${raw[@]}" --threads 2 --format $format \
    --output parts "${files[@]}"
  grep -qF 'are in parts.partial; to continue, run the same command with --resume' err || fail "$format: $(cat err)"
  [[ ! -e parts ]] || fail "$format: an unfinished result has the name of a finished one"
  short
  check 0 'which have results' "$linnet" transcribe "${raw[@]}" --threads 2 --format $format --output parts --resume \
    "${files[@]}"
  same parts whole "$format, resumed"
  [[ ! -e parts.partial ]] || fail "$format: parts.partial is left"
  check 0 'skipped 4 of 4 inputs' "$linnet" transcribe "${raw[@]}" --format $format --output parts --resume \
    "${files[@]}"
  same parts whole "$format, resumed at the end"
done

# A run killed in the middle of a line; more inputs; an input given twice; names with spaces.
cp s2.raw 's 2.raw'
files=(s1.raw 's 2.raw' s1.raw s3.raw)
for options in '--format text' '--format json' '--format text --nbest 3 --beam 8'; do
  # shellcheck disable=SC2086
  "$linnet" transcribe "${raw[@]}" $options --output whole "${files[@]}" 2> /dev/null
  for bytes in 7 60 "$(($(wc -c < whole) - 1))"; do
    head -c "$bytes" whole > parts.partial
    rm -f parts
    # shellcheck disable=SC2086
    "$linnet" transcribe "${raw[@]}" $options --output parts --resume "${files[@]}" 2> /dev/null || fail "$options"
    same parts whole "$options, resumed after $bytes bytes"
  done
  rm parts
  # shellcheck disable=SC2086
  "$linnet" transcribe "${raw[@]}" $options --output parts s3.raw s1.raw 2> /dev/null
  # shellcheck disable=SC2086
  check 0 'skipped 2 of 4 inputs' "$linnet" transcribe "${raw[@]}" $options --output parts --resume "${files[@]}"
  same parts whole "$options, more inputs"
done

"$linnet" transcribe "${raw[@]}" --output parts s1.raw s2.raw 2> /dev/null && cp parts before
check 1 "the result of 's1.raw' is not of an input" "$linnet" transcribe "${raw[@]}" --output parts --resume \
  s2.raw s3.raw
check 1 'is not a result of --format json' "$linnet" transcribe "${raw[@]}" --format json --output parts --resume s1.raw s2.raw
same parts before 'a refused --resume'
[[ ! -e parts.partial ]] || fail 'a refused --resume leaves parts.partial'
check 2 '--resume needs --output FILE or --output-dir DIR' "$linnet" transcribe "${raw[@]}" --resume s1.raw s2.raw
check 2 'only one of --resume and --lattice' "$linnet" transcribe "${raw[@]}" --resume --output parts --beam 4 --lattice l s1.raw
"$linnet" transcribe "${raw[@]}" --output bare s1.raw
check 0 'skipped 1 of 1 input,' "$linnet" transcribe "${raw[@]}" --output bare --resume s2.raw
[[ $(cat bare) == "$("$linnet" transcribe "${raw[@]}" s1.raw)" ]] || fail 'a finished single result was replaced'

# A run without any result leaves an older file as it was, and no file that --resume would take for a result.
for options in '' '--format textgrid' '--format json'; do
  # shellcheck disable=SC2086
  check 1 'nowhere.raw' "$linnet" transcribe "${raw[@]}" $options --output nothing nowhere.raw
  [[ ! -e nothing && ! -e nothing.partial ]] || fail "$options: a failed run leaves a result"
done
"$linnet" transcribe "${raw[@]}" --output older s1.raw && cp older before
check 1 'nowhere.raw' "$linnet" transcribe "${raw[@]}" --output older nowhere.raw
same older before 'a failed run'

# Names that are the same in a result; control characters in names; an output that is an input.
cp s2.raw s_2.raw
check 2 "two inputs have the name 's_2'" "$linnet" transcribe "${raw[@]}" --format ctm --output parts 's 2.raw' s_2.raw
tab=$'a\tb.raw'
cp s2.raw "$tab"
"$linnet" transcribe "${raw[@]}" --output parts s1.raw "$tab" 2> /dev/null
check 0 'skipped 2 of 2 inputs' "$linnet" transcribe "${raw[@]}" --output parts --resume s1.raw "$tab"
check 2 '--output s_2.raw: is an input' "$linnet" transcribe "${raw[@]}" --output s_2.raw s1.raw s_2.raw
same s_2.raw s2.raw 'an output that is an input'
check 2 'both name same.txt' "$linnet" transcribe "${raw[@]}" --beam 4 --lattice same.txt --output same.txt s1.raw

# --- a file per input, and folders

mkdir -p in/b/c in/.hidden
for name in in/a.wav in/b/a.wav in/b/c/d.WAV in/.hidden/x.wav; do
  # 44 bytes of header: mono, 16 kHz, 8 bits
  { printf 'RIFF\xe4\x5d\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x80\x3e\0\0\x80\x3e\0\0\1\0\x08\0data\xc0\x5d\0\0' && cat s1.raw; } > $name
done
echo text > in/notes.txt
check 2 'is a folder: use --recursive for the audio files in it' "$linnet" transcribe in
mkdir empty
check 1 'this folder has no audio file' "$linnet" transcribe --recursive empty
# A folder that fails does not keep the others from being recognised.
check 1 'this folder has no audio file' "$linnet" transcribe --recursive --output rest empty in
[[ $(wc -l < rest) -eq 3 ]] || fail "files beside an empty folder: $(cat rest)"
[[ $(tail -n 1 out) == 'linnet transcribe: 1 folder could not be read or had no audio' ]] || fail "the last line: $(cat out)"
if ((EUID != 0)); then
  mkdir shut && chmod 0 shut
  check 1 'shut: cannot read the folder: Permission denied' "$linnet" transcribe --recursive --output rest shut in
  [[ $(wc -l < rest) -eq 3 ]] || fail "files beside a folder that cannot be read: $(cat rest)"
fi
mkdir others && : > others/x.webm
check 1 'skipped 1 file whose format is not supported, such as others/x.webm' "$linnet" transcribe --recursive others
: > in/x.m4a && : > in/b/y.MP4
printf 'in/a.wav\nin/b/a.wav\nin/b/c/d.WAV\n' > expected
"$linnet" transcribe -r in 2> /dev/null | cut -f 1 > got
same got expected 'the files of a folder'
check 2 "two inputs have the name 'a'" "$linnet" transcribe --output-dir each in/a.wav in/b/a.wav
[[ ! -e each ]] || fail 'a refused --output-dir exists'
check 2 '--output is empty: name a file' "$linnet" transcribe --output '' in/a.wav
check 2 '--output-dir is empty: name a folder' "$linnet" transcribe --output-dir '' in/a.wav
check 2 'only one of --output and --output-dir' "$linnet" transcribe --output-dir each --output x in/a.wav
for format in text:txt ctm:ctm textgrid:TextGrid; do
  rm -rf each
  check 0 '3 files' "$linnet" transcribe --format "${format%:*}" --output-dir each --recursive in
  grep -q 'skipped 2 files whose format is not supported, such as in/b/y.MP4: convert them' out || fail "$(cat out)"
  (cd each && find . -type f | sort) > got
  printf './%s.'"${format#*:}"'\n' a b/a b/c/d > expected
  same got expected "$format in --output-dir"
done
"$linnet" transcribe in/a.wav > expected
rm -rf each
"$linnet" transcribe --output-dir each -r in 2> /dev/null
same each/a.txt expected 'text of one input'

# Results beside the audio; --resume does not change existing files.
cp -r each again && rm again/b/a.txt && echo mine > again/a.txt
check 0 'skipped 2 of 3 inputs' "$linnet" transcribe --output-dir again --resume -r in
[[ $(cat again/a.txt) == mine ]] || fail '--resume replaced a result'
same again/b/a.txt each/b/a.txt 'a missing result'
"$linnet" transcribe --output-dir in -r in --format textgrid 2> /dev/null
[[ -s in/b/c/d.TextGrid ]] || fail 'the result beside the audio is missing'
long
interrupt INT 130 '[[ -s each/s1.txt ]]' "$linnet" transcribe "${raw[@]}" -j 2 --output-dir each long.raw s1.raw
grep -qF 'interrupted: 1 of 2 results are in each' err || fail "--output-dir: $(cat err)"
# --resume cannot be used with --lattice, so it is no advice.
interrupt INT 130 '[[ -s with.partial ]]' "$linnet" transcribe "${raw[@]}" -j 2 --beam 4 --lattice with.lat --output with long.raw s1.raw
grep -qE 'interrupted: 1 of 2 results are in with.partial$' err && [[ ! -e with.lat ]] || fail "--lattice: $(cat err)"
short
check 0 'skipped 1 of 2 inputs' "$linnet" transcribe "${raw[@]}" --output-dir each --resume long.raw s1.raw
[[ -s each/long.txt ]] || fail 'the result of the interrupted input is missing'

# --- alignment of a data folder, and decoding of an archive

mkdir data
for i in 1 2 3; do
  { head -c 44 in/a.wav && cat s$i.raw; } > "$work/data/u$i.wav"
  echo "u$i $work/data/u$i.wav" >> data/wav.scp
  echo "u$i s" >> data/utt2spk
  echo "u$i AA R" >> data/phones
done
for format in ctm json; do
  "$linnet" align --data data --format $format --output whole 2> /dev/null
  head -n 3 whole > parts.partial
  rm -f parts
  check 0 'which have results' "$linnet" align --data data --format $format --output parts --resume
  same parts whole "align, $format"
done
"$linnet" posteriors --data data --out post 2> /dev/null
"$linnet" info --symbols "$model" > names
for format in text json stm; do
  "$linnet" decode --symbols names --format $format --output whole post 2> /dev/null
  head -n 2 whole > parts.partial
  rm -f parts
  check 0 'skipped 2 of 3 inputs' "$linnet" decode --symbols names --format $format --output parts --resume post
  same parts whole "decode, $format"
done
check 2 '--resume needs --output FILE' "$linnet" decode --symbols names --resume post

# --- training: interrupted while it reads the corpus; progress within a file, if standard error is a terminal

mkdir long_data
{ head -c 40 in/a.wav && printf '\xd4\xff\xff\x3f'; } > header # the length of the samples: 1 GiB
start_endless endless.wav header
echo "u1 $work/endless.wav" > long_data/wav.scp
cp data/utt2spk data/phones long_data
sed -i 1q long_data/utt2spk long_data/phones
interrupt TERM 143 '[[ -e exp/.lock ]]' "$linnet" train --train long_data --dev long_data --exp exp
stop_endless
if command -v script > /dev/null; then
  rm long.raw
  truncate -s 30M long.raw
  script -qec "'$linnet' transcribe --raw u8 --output silence long.raw" /dev/null > out < /dev/null
  grep -qE '0/1  [1-9][0-9]?%' out || fail "no progress within a file: $(tr '\r' '\n' < out)"
fi

exit $((failures > 0))
