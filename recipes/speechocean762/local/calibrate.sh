#!/bin/bash
# Calibrates the confidences of a model; see usage.
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=recipes/common/lib.sh
. "$here/../../common/lib.sh"

usage() {
	cat <<'END'
Usage: calibrate.sh --model FILE --data DIR --out DIR [--unit UNIT] [--jobs J] [--cmd TEXT] [-- OPTION...]

Calibrates the confidences of a model on DATA/dev. Writes OUT/model-half.safetensors, the calibrated float16 copy, and
the reliability on dev before and after it and on test after it: OUT/reliability.{svg,png}, OUT/calibration (numbers).
$LINNET names the linnet command.

  --unit UNIT  phone (default) or word
  --jobs J     threads (default 1)
  --cmd TEXT   where recognition runs: local (default), or a way and its options: see common/cmd.sh --help
  OPTION...    search options of 'linnet transcribe'
END
}

jobs=1 cmd=local unit=phone
take_options "model data out unit jobs cmd ..." "$@"
[ -n "${model:-}" ] && [ -n "${data:-}" ] && [ -n "${out:-}" ] && [ -n "${LINNET:-}" ] || {
	usage >&2
	exit 2
}
case "$unit" in
phone) reference=phones options=() ;;
word) reference=text options=(--words) ;;
*) die "--unit $unit: must be phone or word" ;;
esac

# recognise MODEL SET: writes OUT/SET.json with confidences
recognise() {
	run_on "$cmd" "$jobs" "$out/$2-job" "$LINNET" transcribe --model "$1" --data "$data/$2" --format json \
		--output "$out/$2.json" ${rest[@]+"${rest[@]}"}
}

# calibrate SET OPTION...
calibrate() {
	"$LINNET" calibrate --model "$model" ${options[@]+"${options[@]}"} "${@:2}" "$data/$1/$reference" "$out/$1.json"
}

# curve TITLE FILE: prints the lines "confidence share number" under a title
curve() { awk -v title="$1" '$0 == title {on = 1; next} /^expected/ {on = 0} on && /^ *[0-9]/' "$2"; }

mkdir -p "$out"
recognise "$model" dev
into "$out/calibration" calibrate dev --half --output "$out/model-half.safetensors"
# The first of the two curves shows the calibrated model on test, on which nothing is fitted.
recognise "$out/model-half.safetensors" test
into "$out/calibration-test" calibrate test
into "$out/reliability-before" curve posteriors "$out/calibration"
into "$out/reliability-dev" curve calibrated "$out/calibration"
into "$out/reliability-test" curve posteriors "$out/calibration-test"
"$here/../../common/plot_reliability.sh" --out "$out/reliability" --unit "$unit" "posteriors, dev=$out/reliability-before" \
	"calibrated, dev=$out/reliability-dev" "calibrated, test=$out/reliability-test"
