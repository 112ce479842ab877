#!/usr/bin/env bash
# `linnet listen` with a microphone: PortAudio, ALSA and PulseAudio as on a desktop, only that the microphone hears what
# is played to a loudspeaker of PulseAudio that has no hardware. Words as from the file; a microphone that is pulled out.
#
#   listen_microphone.sh LINNET
# shellcheck source=tests/recipe/command.sh
. "$(dirname "$0")/command.sh"
for tool in flite sox pulseaudio pactl; do
  command -v "$tool" > /dev/null || { echo "SKIPPED: $tool is not installed" && exit 77; }
done
export HOME=$work XDG_RUNTIME_DIR=$work/run XDG_CONFIG_HOME=$work LINNET_MODEL=$here/../../models/english-live
unset PULSE_SERVER DISPLAY DBUS_SESSION_BUS_ADDRESS
mkdir -m 700 run
pulseaudio -n --daemonize=no --exit-idle-time=-1 -L module-native-protocol-unix \
  -L 'module-null-sink sink_name=speaker rate=48000 channels=2' 2> pulse.log &
server=$!
trap 'kill $server 2> /dev/null || true; rm -rf "$work"' EXIT
until [[ -S run/pulse/native ]] || ! kill -0 $server 2> /dev/null; do sleep 0.1; done
if ! "$linnet" listen --list-microphones > devices 2> err || ! grep -q pulse devices; then
  echo "SKIPPED: PortAudio finds no PulseAudio: $(cat err devices pulse.log)"
  exit 77
fi
[[ $(grep -c 'Hz.default$' devices) -eq 1 ]] || fail "the default microphone: $(cat devices)"

# One sentence, and a pause that ends it.
flite -voice slt -t 'the morning was cold and the house was very quiet' -o spoken.wav
sox -D spoken.wav -r 48000 -c 2 sentence.wav pad 0.2 1
"$linnet" transcribe --live --live-speed 0 sentence.wav > expected
[[ $(wc -w < expected) -ge 6 ]] || fail "words of the file: $(cat expected)"

# listen OPTIONS...: listens, plays the sentence and waits for its result.
listen() {
  "$linnet" listen --format json "$@" > heard 2> err < /dev/null &
  process=$!
  until [[ -n $(pactl list short source-outputs) ]] || ! kill -0 $process 2> /dev/null; do sleep 0.1; done
  paplay --device=speaker sentence.wav
  until grep -q '"type":"final".*"word"' heard || ! kill -0 $process 2> /dev/null; do sleep 0.1; done
}
status=0
listen
kill -INT $process && { wait $process || status=$?; }
[[ $status -eq 130 ]] || fail "status $status after an interrupt: $(cat err)"
grep '"type":"final"' heard | grep -o '"word":"[^"]*' | sed 's/.*"//' | sort -u > words
common=$(tr ' ' '\n' < expected | sort -u | comm -12 - words | wc -l)
[[ $common -ge 4 ]] || fail "the file has '$(cat expected)', the microphone heard $(cat words)"

# Without its device, it gives the last result, says why it ends, and fails.
status=0
listen --microphone pulse
kill $server
wait $process || status=$?
[[ $status -eq 1 ]] || fail "status $status without a microphone: $(cat err)"
grep -q 'the microphone' err || fail "no reason: $(cat err)"
[[ $(tail -1 heard) == *'"type":"final"'* ]] || fail "no last result: $(cat heard)"

[[ $failures -eq 0 ]] || exit 1
