#!/bin/bash
# Checks that every vector kernel compiles alone, as editors and clang-tidy need it; see usage.
set -euo pipefail
export LC_ALL=C

usage() {
	cat <<'END'
Usage: check_vec.sh [COMPILER]

Parses each lib/ops/NAME_vec.h, vec.h, and the kernels of the filterbank as C, alone: with the compiler's default set of
instructions and, on x86-64, with those of AVX2 and AVX-512, whose code the default omits. COMPILER is clang by
default, or cc where clang is missing.
END
}

[[ ${1-} != -h && ${1-} != --help ]] || {
	usage
	exit
}
cd "$(dirname "$0")/.."
compiler=${1:-$(command -v clang || command -v cc)}

sets=('')
if [ "$(uname -m)" = x86_64 ]; then
	sets+=('-mavx2 -mfma' '-mavx512f -mavx512vl -mavx512bw -mavx512dq -mavx512bf16 -mavx512vnni -mavx2 -mfma')
fi

output=$(mktemp)
trap 'rm -f "$output"' EXIT
bad=0 count=0
for file in lib/ops/*_vec.h lib/ops/vec.h frontend/features/fbank_kernels.c; do
	for set in "${sets[@]}"; do
		# shellcheck disable=SC2086 # a set is several options
		"$compiler" -fsyntax-only -Iinclude -Ilib -I. $set -x c "$file" 2>"$output" || {
			bad=1
			echo "$file does not compile alone ($compiler${set:+, $set}):"
			grep -m 3 error "$output" || head -3 "$output"
		}
	done
	count=$((count + 1))
done
[ $count -gt 10 ] || {
	echo "found only $count files"
	exit 1
}
[ $bad = 0 ] && echo "$count files compile alone"
