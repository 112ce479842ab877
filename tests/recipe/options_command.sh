#!/bin/bash
# Options of all subcommands: -h, unknown options, and suggestions for them.
#
#   options_command.sh LINNET
# shellcheck source=tests/recipe/command.sh
. "$(dirname "$0")/command.sh"

# examples COMMAND: the help must fit into 100 columns and end with two examples, whose options it describes.
examples() {
  local option
  check 0 'Examples:' "$linnet" "$1" --help
  ! grep -E '.{101}' out || fail "$1 --help: a line is wider than 100 columns"
  sed '1,/^Examples:/d' out > lines
  sed '/^Examples:/q' out > options
  [[ $(grep -cE "(^  |[|] )linnet $1 " lines) -eq 2 ]] || fail "$1 --help: there must be two examples: $(< lines)"
  while read -r option; do
    grep -qE -- " $option( |=|$)" options || fail "$1 --help: an example has the unknown option $option"
  done < <(grep -oE -- ' --[a-z0-9-]+' lines)
}

mapfile -t commands < <("$linnet" --help | sed -n 's/^  \([a-z][a-z-]*\)  *.*/\1/p')
[[ ${#commands[@]} -ge 13 ]] || fail "only ${#commands[@]} commands in the help"
for command in "${commands[@]}"; do
  for option in -h --help '-?'; do
    check 0 "Usage: linnet $command" "$linnet" "$command" "$option"
    check 0 '-h, --help' "$linnet" "$command" "$option"
  done
  examples "$command"
  check 0 "Usage: linnet $command" "$linnet" "$command" --usage
  check 2 '--verbos_: unknown option; did you mean --verbose?' "$linnet" "$command" --verbos_
  check 2 '--qqqqqqqq: unknown option' "$linnet" "$command" --qqqqqqqq
  ! grep -q 'did you mean' out || fail "$command: the suggestion is not similar: $(< out)"
done
check 2 'did you mean --output?' "$linnet" transcribe --ouput x
check 2 'did you mean --lm-weight?' "$linnet" decode --lm-wieght=3
check 2 "did you mean 'transcribe'?" "$linnet" transcibe

# completes EXPECTED WORD...: the completion of the last word in bash has a line EXPECTED; if that is empty, no line at all
# shellcheck source=tools/completion.sh
. "$here/../../tools/completion.sh"
completes() {
  local expected=$1 COMP_WORDS=(linnet "${@:2}") COMP_CWORD=$(($# - 1))
  _linnet "$linnet" "${!#}"
  printf '%s\n' "${COMPREPLY[@]}" > completions
  grep -qxe "$expected" completions || fail "completion of '${*:2}' lacks '$expected': $(< completions)"
}
for command in "${commands[@]}"; do
  completes "$command" "${command:0:1}"
  completes --help "$command" --h
done
completes --model= transcribe --mo
completes --output-dir= transcribe talk.flac --
completes --version --
completes '' transcribe ta
completes '' transcribe --wrds

# refused COMMANDS OPTIONS: the commands must refuse the options.
refused() {
  local command option
  for command in $1; do
    for option in $2; do check 2 "$option=1: unknown option" "$linnet" "$command" "$option=1"; done
  done
}
refused 'average calibrate g2p ngram score validate-data' '--threads --jobs --kernels --device --precision'
refused decode '--kernels --device --precision'
refused features '--device --precision'
refused info '--precision'

# refused_context MESSAGE OPTION...: one message in all
refused_context() {
  check 1 "$1" "$linnet" info "${@:2}"
  [[ $(wc -l < out) -eq 1 ]] || fail "info ${*:2}: more than one message: $(< out)"
}
refused_context 'kernels "foo": unknown' --kernels foo
refused_context 'device gpu: expected cpu, cuda, cuda:N or auto; omit --device' --device gpu
refused_context '100000 threads; there must be at most' --threads 100000
for command in transcribe 'features --out x.ark'; do
  read -r -a parts <<< "$command"
  check 2 '--channel -1: must be 0 or more' "$linnet" "${parts[@]}" --channel -1 x.wav
  check 2 '--max-seconds -1: must be 0' "$linnet" "${parts[@]}" --max-seconds -1 x.wav
  check 2 'add --raw FORMAT, or omit them' "$linnet" "${parts[@]}" --raw-rate 8000 x.wav
  check 2 '--raw-rate 0: must be 1000 to 384000' "$linnet" "${parts[@]}" --raw s16le --raw-rate 0 x.wav
  check 2 '--raw-channels 0: must be 1 to 64' "$linnet" "${parts[@]}" --raw s16le --raw-channels 0 x.wav
done
check 2 '--lattice-format dot: needs --lattice FILE' "$linnet" decode --symbols x --lattice-format dot x.ark
check 2 '--unknown-bonus: needs --unknown-penalty' "$linnet" decode --symbols x --words --lexicon y --unknown-bonus 3 x.ark
check 2 '--insertion-bonus: counts symbols' "$linnet" decode --symbols x --words --lexicon y --insertion-bonus 3 x.ark
check 0 'search for words of a lexicon (default: for' "$linnet" decode --help
! grep -q 'recognizer' out || fail "decode --help: it has no recognizer: $(grep recognizer out)"
check 2 '--order 2: needs --text' "$linnet" ngram --model m.arpa --order 2 --binary m.bin
check 2 '--discount-fallback: needs --text' "$linnet" ngram --model m.arpa --discount-fallback --binary m.bin
check 2 '--raw-rate nan: must be 1000' "$linnet" listen --raw s16le --raw-rate nan -
check 2 "--priors: needs --out FILE" "$linnet" posteriors --estimate-priors x --priors y x.wav
check 2 '--text is aligned, not searched for' "$linnet" plot --text a --beam 5 x.wav
check 2 '--phones is aligned, not searched for' "$linnet" plot --phones A --beam 5 --lm x x.wav
check 2 '--half: is for the model that is written' "$linnet" calibrate --half x y
[[ $failures -eq 0 ]]
