#!/bin/bash
# Builds, tests and measures the CUDA backend; see usage.
set -euo pipefail
export LC_ALL=C

usage() {
	cat <<'END'
Usage: tests/gpu.sh [--packages DIR] [--build DIR] [--jobs N] [--seconds S]

Builds the CUDA backend for the device of this machine, without audio libraries and BLAS. Then it runs the tests of CTest
whose names begin with test_cuda, the benchmarks bench_cuda*, and the search for the longest utterance that trains. If
python3 has a PyTorch that finds the device, it runs the comparison with it. Last come a few cases of the tests under
compute-sanitizer (memcheck, racecheck), if that is installed, and the tests on an emulated device. Needs nvcc, a C
compiler, CMake, pkg-config and jansson; with popt the command is built, too.

  --packages DIR  where jansson, popt, and pkg-config if need be, are unpacked. On a machine with a package archive:
                    apt-get download libjansson4 libjansson-dev libpopt0 libpopt-dev pkgconf pkgconf-bin libpkgconf3
                    for package in *.deb; do dpkg -x "$package" DIR; done
  --build DIR     folder of the build and all logs (default build/gpu)
  --jobs N        processes at a time (default: one per processor)
  --seconds S     limit for everything (default 480); each step has its own limit, too

At the end it prints a table with the last line of each step. Exit code: 0: all passed; 1: a step failed; 77: no step
failed, but some were skipped: without a device the steps that need one, without nvcc all steps.
END
}

packages='' build='' jobs=$(nproc) seconds=480
while [ $# -gt 0 ]; do
	case "$1" in
	-h | --help) usage && exit 0 ;;
	--packages | --build | --jobs | --seconds)
		[ $# -ge 2 ] || {
			echo "gpu.sh: $1 needs a value; see --help" >&2
			exit 2
		}
		printf -v "${1#--}" %s "$2"
		shift
		;;
	*)
		echo "gpu.sh: $1: is not an option; see --help" >&2
		exit 2
		;;
	esac
	shift
done
root=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "${build:=$root/build/gpu}"
build=$(cd "$build" && pwd)
[ -z "$packages" ] || packages=$(cd "$packages" && pwd)
rows=() failed=0 skipped=0

# row STEP RESULT SECONDS NOTE
row() {
	rows+=("$(printf '%-34s %-8s %4s  %s' "$1" "$2" "$3" "$4")")
	printf '%s\n' "${rows[-1]}"
}

# skip STEP WHY
skip() {
	skipped=$((skipped + 1))
	row "$1" skipped '' "$2"
}

# last_line LOG: the last line of the test in the output of CTest
last_line() {
	sed -E 's/^[0-9]+: //' "$1" | awk '/^The following tests|^[0-9]+% tests|^ *[0-9]+\/[0-9]+ Test/ {exit} NF {line = $0} END {print substr(line, 1, 78)}'
}

# why_skipped LOG STATUS: prints why a step was skipped; fails if it was not
why_skipped() {
	sed -nE 's/^([0-9]+: )?SKIPPED: //p; s/.*(Device not supported).*/compute-sanitizer: \1/p' "$1" | sed -n 1p
}

# step NAME LIMIT COMMAND...: runs a command for at most LIMIT seconds, and within the limit for all; false if it did not
# pass. Its output goes to a log.
step() {
	local name=$1 limit=$2 log=$build/$1.log since=$SECONDS status=0 why
	shift 2
	[ $((seconds - SECONDS)) -ge "$limit" ] || limit=$((seconds - SECONDS))
	if [ "$limit" -lt 1 ]; then
		skip "$name" "the $seconds s for all steps are over"
		return 1
	fi
	timeout -k 5 "$limit" "$@" >"$log" 2>&1 </dev/null || status=$?
	why=$(why_skipped "$log")
	if [ -n "$why" ]; then
		skip "$name" "$why"
		return 1
	elif [[ $status = 124 && $name == *check-* ]] && ! grep -qE '^=========.*(Invalid|[Ee]rror|[Hh]azard)|FAILED' "$log"; then
		skip "$name" "stopped after $limit seconds without a finding"
		return 1
	elif [ "$status" = 0 ]; then
		row "$name" passed $((SECONDS - since)) "$(last_line "$log")"
		return 0
	fi
	failed=$((failed + 1))
	[ "$status" != 124 ] || echo "stopped after $limit seconds" >>"$log"
	printf -- '--- the end of %s\n' "$log"
	tail -n 30 "$log"
	printf -- '---\n'
	row "$name" FAILED $((SECONDS - since)) "$(last_line "$log")"
	return 1
}

finish() {
	printf '\n%-34s %-8s %4s  %s\n' step result s note
	printf '%s\n' "${rows[@]}"
	printf '%d of %d steps passed, %d failed, %d skipped; %d s; logs in %s\n' $((${#rows[@]} - failed - skipped)) ${#rows[@]} \
		$failed $skipped "$SECONDS" "$build"
	[ "$failed" = 0 ] || exit 1
	[ "$skipped" = 0 ] || exit 77
	exit 0
}

# find_tool NAME: finds a program in PATH or in the CUDA toolkit
find_tool() {
	local folder
	command -v "$1" && return
	for folder in "${CUDA_PATH:-/usr/local/cuda}" /usr/local/cuda; do
		if [ -x "$folder/bin/$1" ]; then
			echo "$folder/bin/$1"
			return
		fi
	done
	return 1
}

# Makes pkg-config use only the packages of --packages, not those of the machine.
use_packages() {
	local folder program folders=()
	for folder in "$packages"/usr/{lib,share}/pkgconfig "$packages"/usr/lib/*/pkgconfig; do
		[ ! -d "$folder" ] || folders+=("$folder")
	done
	export PKG_CONFIG_SYSROOT_DIR=$packages PKG_CONFIG_PATH='' PKG_CONFIG_LIBDIR
	PKG_CONFIG_LIBDIR=$(IFS=: && echo "${folders[*]}")
	command -v pkg-config >/dev/null && return
	for program in "$packages"/usr/bin/{pkg-config,pkgconf}; do
		[ -x "$program" ] || continue
		export PKG_CONFIG=$program
		for folder in "$packages"/usr/lib/*/; do export LD_LIBRARY_PATH=$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}; done
		return
	done
}

# wheel_folders NAME: folders of that name in NVIDIA's Python packages, such as nvidia-cudnn-cu13
wheel_folders() {
	python3 -c 'import glob, sys, sysconfig
print(":".join(glob.glob(sysconfig.get_paths()["purelib"] + "/nvidia/*/" + sys.argv[1])))' "$1" 2>/dev/null || true
}

# Uses PyTorch's cuDNN and cuBLASLt if the machine has no cuDNN or the toolkit has no header of cuBLASLt.
use_wheels() {
	local folders
	if [[ $(ldconfig -p 2>/dev/null) != *libcudnn.so* ]] && folders=$(wheel_folders lib) && [ -n "$folders" ]; then
		export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folders
	fi
	if [ ! -e "$(dirname "$nvcc")/../include/cublasLt.h" ] && folders=$(wheel_folders include) && [ -n "$folders" ]; then
		export CPATH=${CPATH:+$CPATH:}$folders
	fi
}

configure() {
	local options=(-DCMAKE_BUILD_TYPE=Release -DLINNET_AUDIO=OFF -DLINNET_BLAS=OFF -DLINNET_CUDA=ON -DLINNET_EXPERIMENTS=OFF)
	if "${PKG_CONFIG:-pkg-config}" --exists popt 2>/dev/null; then options+=(-DLINNET_TOOLS=ON); else options+=(-DLINNET_TOOLS=OFF); fi
	! command -v ninja >/dev/null || [ -e "$build/CMakeCache.txt" ] || options+=(-G Ninja)
	step configure 60 env "CUDACXX=$nvcc" cmake -S "$root" -B "$build" "-DCMAKE_CUDA_ARCHITECTURES=$architecture" "${options[@]}"
}

# Tests that emulate a device on the CPU take longer and come last.
names_of_tests() {
	local names
	names=$(ctest --test-dir "$build" -N -R '^test_cuda' | sed -n 's/^ *Test *#[0-9]*: //p')
	grep -v '_emulated$' <<<"$names" || true
	grep '_emulated$' <<<"$names" || true
}
# CUBLAS_WORKSPACE_CONFIG makes results of cuDNN the same in every run (docs/cuda.md).
run_test() {
	step "$1" 150 env CUBLAS_WORKSPACE_CONFIG=:4096:2 ctest --test-dir "$build" -V -R "^$1\$" || true
}
sanitize() { # TEST
	local tool sanitizer
	for tool in memcheck racecheck; do
		if [ -z "$device" ]; then
			skip "$tool-$1" 'there is no device'
		elif ! sanitizer=$(find_tool compute-sanitizer); then
			skip "$tool-$1" 'compute-sanitizer is not installed'
		else
			step "$tool-$1" 90 env LINNET_TEST_CASES=2 CUBLAS_WORKSPACE_CONFIG=:4096:2 "$sanitizer" --tool "$tool" \
				--error-exitcode 99 "$build/tests/cuda/$1" || true
		fi
	done
}
names_of_benchmarks() { find "$root/tests/bench" -name 'bench_cuda*.c' -exec basename {} .c \; | sort; }

device=$(nvidia-smi --query-gpu=name,memory.total,compute_cap --format=csv,noheader 2>/dev/null | sed q) || device=''
architecture=$(sed -nE 's/.*, *([0-9]+)\.([0-9]+)$/\1\2/p' <<<"$device")
architecture=${architecture:-90}
if [ -n "$device" ]; then row device found '' "$device"; else skip device 'there is no device (nvidia-smi lists none)'; fi
nvcc=${CUDACXX:-$(find_tool nvcc)} || {
	skip nvcc 'nvcc is neither in PATH nor in $CUDA_PATH/bin or /usr/local/cuda/bin, so nothing can be built'
	finish
}
row nvcc found '' "$("$nvcc" --version | sed -n 's/.*\(release .*\),.*/\1/p'), code for sm_$architecture"
[ -z "$packages" ] || use_packages
use_wheels

configure || finish
read -r -d '' -a tests <<<"$(names_of_tests)" || true
read -r -d '' -a benchmarks <<<"$(names_of_benchmarks)" || true
[ ${#tests[@]} -gt 0 ] || skip tests 'there is no test_cuda*'
targets=(${tests[@]+"${tests[@]}"} ${benchmarks[@]+"${benchmarks[@]}"})
! grep -q '^LINNET_TOOLS:BOOL=ON' "$build/CMakeCache.txt" || targets+=(linnet_tool)
# If a target does not build, only its own steps fail.
for target in "${targets[@]}"; do
	step "build-$target" 240 cmake --build "$build" --parallel "$jobs" --target "$target" || true
done

for name in ${tests[@]+"${tests[@]}"}; do
	[[ $name == *_emulated ]] || run_test "$name"
done

# measure NAME LIMIT COMMAND...: a step whose output is printed.
measure() {
	if [ -z "$device" ]; then
		skip "$1" 'there is no device'
		return
	fi
	rm -f "$build/$1.log"
	step "$@" || true
	[ ! -e "$build/$1.log" ] || sed "s/^/$1: /" "$build/$1.log"
}

for name in ${benchmarks[@]+"${benchmarks[@]}"}; do
	measure "$name" 90 "$build/tests/$name"
done
measure longest 60 "$build/tests/bench_cuda" --work longest --no-limits --network linear --limit 45
if [ -z "$device" ] || python3 -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' 2>/dev/null; then
	measure compare_cuda 140 python3 "$root/tests/bench/compare_cuda.py" "$build" --limit 110
else
	skip compare_cuda 'python3 has no PyTorch that sees the device'
fi
for name in ${tests[@]+"${tests[@]}"}; do
	[[ $name == *_emulated ]] || sanitize "$name"
done
for name in ${tests[@]+"${tests[@]}"}; do
	[[ $name != *_emulated ]] || run_test "$name"
done
finish
