#!/usr/bin/env bash
# `linnet listen` and `linnet transcribe --live` with a small causal model of tones: a line for each pause, events in
# JSON, a line of a terminal that is rewritten, Ctrl-C, what is refused. Needs no sound device.
#
#   listen_command.sh LINNET MAKE_TONES
# shellcheck source=tests/recipe/command.sh
. "$(dirname "$0")/command.sh"
prefix=("$linnet")
make_tones=$(cd - > /dev/null && realpath "$2")

# --- a corpus of tones, each recording with silence around it; a causal model, and one that is not

mkdir wav data
"$make_tones" wav 48 4
awk -v folder="$PWD" '{
  id = sprintf("u%02d", NR)
  print id, folder "/" $1 > "data/wav.scp"
  print id, id > "data/utt2spk"
  sub(/^[^ ]* /, "")
  print id, $0 > "data/phones"
  print > "expected"
}' wav/list
train() { # EXP ATTENTION CMVN EPOCHS
  cat > "$1.json" << END
{"model": {"input_dim": 20, "width": 32, "heads": 2, "feed_forward": 64, "layers": 2, "stack": 3, "norm": "post",
           "dropout": 0, "position": "none", "attention": "$2"},
 "features": {"num_mel": 20, "cmvn": "$3"},
 "training": {"epochs": $4, "batch_frames": 300, "learning_rate": 0.003}}
END
  "$linnet" train --train data --dev data --exp "$1" --config "$1.json" --threads 1 2> "$1.log" || fail "$(cat "$1.log")"
}
train causal causal-linear global 60
train whole linear global 1
train late causal-linear utterance 1
export LINNET_MODEL=$work/causal/model.safetensors
: > long.raw
for ((i = 0; i < 48; i++)); do
  wc -c < long.raw >> offsets
  tail -c +45 wav/$i.wav >> long.raw
done

same() { cmp -s "$1" "$2" || fail "$3: $(diff "$1" "$2" | head -5)"; }
# near FILE FILE WHAT: a model that was trained for a second is wrong now and then, in other ways on other processors.
near() {
  local lines
  lines=$(paste -d '|' "$1" "$2" | awk -F '|' '$1 != $2' | wc -l)
  [[ $(wc -l < "$1") -eq $(wc -l < "$2") && $lines -le 6 ]] || fail "$3: $(diff "$1" "$2" | head -5)"
}
without_clock() { sed 's/"clock":[0-9.]*,//' "$1"; }

# --- a line for each recording; the same by a pipe and from a file, in whatever pieces

"$linnet" transcribe --live --live-speed 0 --raw s16le long.raw > live || fail 'transcribe --live'
near live expected 'lines of text'
"$linnet" listen --raw s16le - < long.raw > lines || fail 'listen'
same lines live 'lines of text from a file on standard input'
dd if=long.raw bs=777 status=none | "$linnet" listen --raw s16le --raw-rate 16000 - > lines || fail 'listen to a pipe'
same lines live 'lines of text by a pipe'

"$linnet" transcribe --live --live-speed 0 --raw s16le --format json long.raw > events || fail 'events'
! grep -q clock events || fail "a clock without waiting: $(head -1 events)"
dd if=long.raw bs=777 status=none | "$linnet" listen --raw s16le --format json - > piped || fail 'events by a pipe'
without_clock piped > plain
same plain events 'events by a pipe'
grep -q '"clock":[0-9]' piped || fail "no clock: $(head -1 piped)"

# Finals are numbered, in order, without gaps within the audio of a recording, and come within half a second of audio
# after the last tone. A partial result comes before each of them.
awk 'function number(name) { match($0, "\"" name "\":[0-9.]+"); return substr($0, RSTART + length(name) + 3, RLENGTH) + 0 }
  NR == FNR {starts[n++] = $1 / 32000; next}
  /"type":"partial"/ {partials++; if (number("segment") != finals) exit 1}
  /"type":"final"/ {
    if (/"phones":\[\]/) next
    s = number("segment")
    start = number("start"); end = number("end")
    last = $0; sub(/.*"end":/, "", last); last += 0
    if (s != finals++ || start < before || end <= last || end - last > 0.5 || partials < finals) exit 1
    if (last < starts[s] || last > starts[s + 1] && s + 1 < n) exit 1
    before = end
  }
  END {exit finals != n}' offsets events || fail "events: $(head -3 events)"

# --- files: whole by default; with endpoints, the segments joined

"$linnet" transcribe --raw s16le --endpoints long.raw > joined || fail '--endpoints'
paste -sd ' ' live > lines
same joined lines '--endpoints'
"$linnet" transcribe --raw s16le --endpoints --format ctm long.raw | awk '{print $3, $5}' > joined
grep '"final"' events | grep -o '"symbol":"."[^}]*' | sed 's/"symbol":"\(.\)","start":\([0-9.]*\),.*/\2 \1/' > lines
same joined lines 'times with --endpoints'
"$linnet" transcribe --raw s16le --endpoints --format json long.raw > divided.json || fail 'JSON with --endpoints'
sed 's/.*"segments"//' divided.json | grep -o '"text":"[^"]*"' | cut -d '"' -f 4 > joined
same joined live 'segments of JSON'
check 0 '' transcribe --model whole/model.safetensors --endpoints --format json wav/1.wav

# --- by the clock: no event comes before its audio

"$linnet" transcribe --live --format json wav/1.wav > clocked || fail 'by the clock'
awk '{
  match($0, /"end":[0-9.]+/); end = substr($0, RSTART + 6, RLENGTH) + 0
  match($0, /"clock":[0-9.]+/); clock = substr($0, RSTART + 8, RLENGTH) + 0
  if (clock < end - 0.002) exit 1
} END {exit NR < 2}' clocked || fail "an event before its audio: $(cat clocked)"
"$linnet" transcribe --live --live-speed 0 --format json wav/1.wav > unclocked
without_clock clocked > plain
same plain unclocked 'the speed'

# --- a recognizer of words, with rules of its own: a segment for every pause between tones

mkdir folder
cp causal/model.safetensors folder
printf 'AB A B\nCD C D\nA A\nB B\nC C\nD D\n' > folder/lexicon
cat > folder/recognizer.json << 'END'
{"model": "model.safetensors", "search": "words", "lexicon": "lexicon", "word_bonus": -1, "partial_interval": 0.05,
 "endpoint": {"rules": [{"speech": true, "word": true, "quiet": 0.3}]}}
END
"$linnet" listen --model folder --raw s16le - < long.raw > lines || fail 'words'
sed 's/A B/AB/g; s/C D/CD/g' expected > words
near lines words 'words'
"$linnet" listen --model folder --phones --raw s16le - < long.raw > lines || fail '--phones'
same lines live '--phones'
"$linnet" transcribe --model folder wav/0.wav > lines || fail 'a file as a whole'
[[ $(cat lines) == 'AB CD' ]] || fail "a file as a whole: $(cat lines)"

# Partial results are as far apart as the folder says.
for interval in 0.06 2; do
  sed "s/\"partial_interval\": [0-9.]*/\"partial_interval\": $interval/" folder/recognizer.json > folder/interval.json
  "$linnet" transcribe --live --live-speed 0 --format json --model folder/interval.json --raw s16le long.raw > events || fail "interval $interval"
  grep -c '"partial"' events > "partials$interval" || true
done
[[ $((2 * $(cat partials2))) -lt $(cat partials0.06) ]] || fail "partial results: $(cat partials0.06), $(cat partials2)"

# --- a second pass: each segment is recognised again, by a model that sees all of it

mkdir second
cp whole/model.safetensors folder/lexicon second
sed 's/, "partial_interval.*//; $d' folder/recognizer.json > second/recognizer.json
echo '}' >> second/recognizer.json
"$linnet" listen --model folder --second-pass none --raw s16le - < long.raw > once || fail 'no second pass'
sed 's/"search"/"second_pass": "..\/second", "search"/' folder/recognizer.json > folder/two.json
"$linnet" listen --model folder/two.json --raw s16le - < long.raw > lines || fail 'second_pass'
! cmp -s lines once || fail 'a second pass by another model changes nothing'
"$linnet" listen --model folder --second-pass second --raw s16le - < long.raw > given || fail '--second-pass'
same given lines '--second-pass'
"$linnet" listen --model folder/two.json --second-pass none --raw s16le - < long.raw > lines || fail '--second-pass none'
same lines once '--second-pass none'
"$linnet" transcribe --live --live-speed 100000 --model folder/two.json --raw s16le long.raw > slow 2> err || fail "$(cat err)"
same slow once 'a second pass without time for it'
[[ $(grep -c 'slower than speech' err) -eq 1 ]] || fail "a warning: $(cat err)"
"$linnet" transcribe --live --live-speed 0 --format json --second-pass second --model folder wav/1.wav > events ||
  fail 'events of two passes'
! grep '"partial"' events | grep -v '"stable":0,' || fail 'a partial result before a second pass has stable words'

sed -i 's/"quiet": 0.3/"quiet": 0.06/' folder/recognizer.json
"$linnet" listen --model folder --raw s16le - < long.raw > lines || fail 'short pauses'
[[ $(wc -l < lines) -gt 80 ]] || fail "short pauses: $(head -5 lines)"
"$linnet" transcribe --model folder wav/0.wav > lines || fail 'a file as a whole'
[[ $(cat lines) == 'AB CD' ]] || fail "a file as a whole, short pauses: $(cat lines)"

tail -c +45 wav/0.wav > wav/0.raw

# --- a terminal: partial results in a line that is rewritten

if command -v script > /dev/null; then
  script -qec "'$linnet' listen --raw s16le - < wav/0.raw" /dev/null > out < /dev/null || fail 'on a terminal'
  tr '\r' '\n' < out | sed 's/\x1b\[K//g' | grep -v '^$' > drawn
  "$linnet" transcribe --live --live-speed 0 --format json --raw s16le wav/0.raw |
    sed 's/"symbol":"\(.\)"/\n= \1\n/g' | awk '/^[{]/ {if (line) print line; line = ""} /^=/ {line = line (line ? " " : "") $2}
      END {if (line) print line}' > lines
  [[ $(wc -l < lines) -ge 3 ]] || fail "partial results: $(cat lines)"
  same drawn lines 'on a terminal'
fi

# --- Ctrl-C: what was heard has its final result

mkfifo silent
{ head -c 32000 wav/0.raw; exec sleep 600; } > silent &
sleeper=$!
"$linnet" listen --raw s16le --format json - < silent > heard 2> err &
process=$!
until grep -qs '"B"' heard || ! kill -0 $process 2> /dev/null; do sleep 0.05; done
kill -INT $process && status=0 && { wait $process || status=$?; }
[[ $status -eq 130 ]] || fail "status $status after an interrupt: $(cat err)"
[[ $(tail -1 heard) == *'"type":"final"'*'"B"'* ]] || fail "no final result after an interrupt: $(cat heard)"
kill $sleeper 2> /dev/null || true

# --- what is refused

check 2 "'-' needs --raw" listen -
check 2 'is for a pipe' listen --raw s16le
check 2 '--raw wav: must be s16le' listen --raw wav -
check 2 'transcribe --live' listen wav/0.wav
check 2 'must be text or json' listen --format srt --raw s16le -
check 2 '--nbest: unknown option' listen --nbest 3 --raw s16le -
check 2 "--microphone x: but '-' reads a pipe" listen --microphone x --raw s16le -
check 2 'only one of --phones and --words' listen --phones --words --raw s16le -
check 1 'microphone' listen --microphone 'a device that nobody has'
if "$linnet" listen --list-microphones 2> err > devices; then
  grep -q $'^[0-9]*\t.*Hz' devices || fail "the list of microphones: $(cat devices)"
else
  grep -q microphone err || fail "the list of microphones: $(cat err)"
fi
if ! grep -q 'made without PortAudio' err; then
  [[ $(ldd "$linnet") != *portaudio* ]] || fail 'the command is linked to PortAudio'
  mkdir broken && : > broken/libportaudio.so.2
  LD_LIBRARY_PATH=$PWD/broken check 1 'install it (Debian: libportaudio2)' listen --list-microphones
fi
tail -c +45 wav/0.wav > short.raw
"$linnet" listen --raw s16le - < short.raw > expected.lines || fail 'listen: one recording'
for option in --rate=16000 --channels=1; do # former names
  "$linnet" listen --raw s16le "$option" - < short.raw | cmp - expected.lines || fail "$option"
done
check 2 '--microphone x' listen --device x --raw s16le -
# A recording that fails after its first rows counts in no prior.
priors=("$linnet" posteriors --raw s16le --max-seconds $(($(wc -c < short.raw) / 32000 + 1)) --estimate-priors)
"${priors[@]}" expected.priors short.raw 2> err || fail "priors: $(cat err)"
"${priors[@]}" some.priors long.raw short.raw 2> err && fail 'priors: a recording that is too long'
cmp expected.priors some.priors || fail "priors of a recording that failed: $(cat err)"
check 1 'the model is not causal' listen --model whole/model.safetensors --raw s16le -
check 1 'statistics of the whole utterance' listen --model late/model.safetensors --raw s16le -
check 1 'the model is not causal' transcribe --live --model whole/model.safetensors wav/0.wav
check 1 'nowhere: No such file' listen --model nowhere --raw s16le -
check 1 '--second-pass: nowhere: No such file' listen --model folder --second-pass nowhere --raw s16le -
check 1 'No such file' transcribe --live nowhere.wav
check 2 'one file at a time' transcribe --live wav/0.wav wav/1.wav
check 2 'one file at a time' transcribe --live --data data
for path in - /dev/stdin; do
  # shellcheck disable=SC2002 # a pipe
  cat wav/0.wav | timeout 20 "$linnet" transcribe --live "$path" > out 2>&1 && fail "audio with a header by a pipe, $path"
  grep -qF "'$path' needs --raw FORMAT, such as --raw s16le" out || fail "audio with a header by a pipe: $(cat out)"
done
check 2 'needs --raw FORMAT' transcribe --live <(cat wav/0.wav)
"$linnet" transcribe --live --live-speed 0 wav/0.wav > live
"$linnet" transcribe --live --live-speed 0 - < wav/0.wav | cmp - live || fail 'a file on standard input'
"$linnet" transcribe --live --live-speed 0 --raw s16le - < <(tail -c +45 wav/0.wav) | cmp - live || fail 'raw audio by a pipe'
"$linnet" listen --raw s16le - < /dev/null > out 2>&1 || fail 'listen to nothing'
grep -qF 'warning: standard input: has no samples' out || fail "listen to nothing: $(cat out)"
check 2 'must be at least 0' transcribe --live --live-speed -1 wav/0.wav
check 2 'needs --live' transcribe --live-speed 2 wav/0.wav
check 2 'always have endpoints' transcribe --live --endpoints wav/0.wav
check 2 'are for a pipe' listen --raw-rate 48000
check 2 'are for a pipe' listen --raw-channels 2
check 2 'text or json' transcribe --live --format ctm wav/0.wav
check 2 'omit --output' transcribe --live --output x wav/0.wav
check 2 'omit --nbest and --lattice' transcribe --live --beam 4 --nbest 2 wav/0.wav
check 2 'omit --nbest and --lattice' transcribe --live --beam 4 --lattice x wav/0.wav
check 2 'omit --nbest and --lattice' transcribe --endpoints --beam 4 --nbest 2 wav/0.wav
if [[ -e $here/../../models/english-live/recognizer.json ]]; then
  LINNET_MODEL='' "$linnet" transcribe --live --live-speed 0 --format json wav/0.wav > hyp 2> err || fail "the model that ships: $(cat err)"
  grep -q '"type":"final"' hyp || fail "the model that ships: $(cat hyp)"
else
  LINNET_MODEL='' check 1 '--model PATH' listen --raw s16le -
fi
"$linnet" listen --raw s16le - < wav/0.raw > /dev/full 2> err && fail 'a full disk'
grep -q 'write' err || fail "a full disk: $(cat err)"

[[ $failures -eq 0 ]] || exit 1
echo 'all passed'
