#!/bin/bash
# Builds Linnet and runs all of its tests; see usage.
set -euo pipefail
export LC_ALL=C

usage() {
	cat <<'END'
Usage: tests/run.sh [--quick | --full] [--jobs N] [--minutes N]

Builds Linnet and runs all of its tests, on a fresh Debian 12 machine too: it installs missing packages with apt, as root
or through sudo. All output is in build/check and build/logs. With ccache, common parts of the builds are compiled once.

  1. layout of the sources (clang-format), shell scripts (shellcheck), #include lines against the drawing of layers in
     docs/architecture.md, habits (opening comments, documents, lists of sources), the reference of the public headers
     (doxygen)
  2. an optimised build without a warning, and all tests: units, gradients, stored PyTorch values, corrupted files,
     recipes, exported symbols, and programs that use the installed library. The CUDA backend, where nvcc is found, is
     compiled for one architecture
  3. without CUDA: a build with the address and undefined-behaviour sanitizers, and the tests that run code of Linnet,
     with fewer random cases and kernels each, and without the emulated device
  4. clang-tidy over the sources of the product
  5. without CUDA: the core alone, in a build that finds only jansson (no BLAS, FFTW, libsndfile, soxr, popt); everything
     except audio, in a build that finds only jansson and popt; the tests that differ in these builds

  --quick      1, 2 and 4 only
  --full       all random cases and kernels in 2 and 3, but for the emulated device in 3; the clang analyzer in 4; all
               tests in 5
  --jobs N     processes at a time (default: one per processor), and one more where tests run, some of which wait
  --minutes N  steps that would begin after N minutes are skipped, and the exit code says nothing of them

The last line is "N passed, N failed, N skipped", in tests and steps; the exit code is 0 if none failed. Tests on real
speech look for it in the folder that LINNET_DATA names (default ../shared/data, see docs/building.md) and are skipped
without it.
END
}

quick='' full='' minutes=''
jobs=$(nproc)
while [ $# -gt 0 ]; do
	case "$1" in
	-h | --help) usage && exit 0 ;;
	--quick) quick=yes ;;
	--full) full=yes ;;
	--jobs)
		jobs=${2-}
		shift
		;;
	--minutes)
		minutes=${2-}
		shift
		;;
	*)
		echo "run.sh: $1: is not an option; see --help" >&2
		exit 2
		;;
	esac
	shift
done
[[ $jobs =~ ^[1-9][0-9]*$ && ${minutes:-1} =~ ^[1-9][0-9]*$ ]] || {
	echo 'run.sh: --jobs and --minutes need a number; see --help' >&2
	exit 2
}

cd "$(dirname "$0")/.."
check=$PWD/build/check logs=$PWD/build/logs
mkdir -p "$check" "$logs"
passed=0 failed=0 skipped=0

# report WHAT RESULT SINCE: prints one line on a finished step.
report() {
	printf '%-44s %s (%d s)\n' "$1" "$2" $((SECONDS - $3))
}

show_log() { # LOG LINES
	printf -- '--- the end of %s\n' "${1#"$PWD"/}"
	tail -n "$2" "$1"
	printf -- '---\n'
}

# late WHAT: whether it is too late to begin; says so.
late() {
	[ -n "$minutes" ] && [ $SECONDS -ge $((60 * minutes)) ] || return 1
	skipped=$((skipped + 1))
	report "$1" "skipped: $minutes minutes are over" $SECONDS
}

# step NAME WHAT COMMAND...: runs one check; its output goes to a log. Exit status 77 means that it was skipped.
step() {
	local log=$logs/$1.log what=$2 since=$SECONDS status=0
	! late "$what" || return 1
	shift 2
	"$@" >"$log" 2>&1 </dev/null || status=$?
	case $status in
	0)
		passed=$((passed + 1))
		report "$what" ok $since
		;;
	77)
		skipped=$((skipped + 1))
		report "$what" "skipped: $(sed -n 's/^SKIPPED: //p' "$log")" $since
		return 0
		;;
	*)
		failed=$((failed + 1))
		report "$what" FAILED $since
		show_log "$log" 40
		return 1
		;;
	esac
}

# build NAME WHAT PRESET OPTIONS...: configures and builds. (No -Werror with sanitizers: with them GCC warns of variables
# that are never used before they are set.)
build() {
	step "$1" "$2" configure_and_build "$check/$1" "${@:3}"
}

configure_and_build() {
	cmake --preset "$2" -B "$1" "${launchers[@]}" "${@:3}" && cmake --build "$1" --parallel "$jobs"
}

# run_tests NAME WHAT OPTIONS...: runs the tests of a build and counts each of them. One more test than processors runs at
# a time, because some wait for a cluster or a clock.
run_tests() {
	local log=$logs/$1-tests.log what=$2 since=$SECONDS status=0 counts
	! late "$what" || return 0
	ctest --test-dir "$check/$1" --output-on-failure --no-tests=error --parallel $((jobs + 1)) "${@:3}" \
		>"$log" 2>&1 </dev/null || status=$?
	# Lines such as " 3/25 Test #16: name ....   Passed    0.16 sec"; a line without a known result counts as failed.
	read -r -a counts < <(awk '
		/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: / {
			if (/ Passed +[0-9.]+ sec/) passed++
			else if (/\*\*\*Skipped/ || /\*\*\*Not Run \(Disabled\)/) skipped++
			else failed++
		}
		END { print passed + 0, failed + 0, skipped + 0 }' "$log")
	if [ $status != 0 ] && [ "${counts[1]}" = 0 ]; then
		counts[1]=1
	fi
	passed=$((passed + counts[0])) failed=$((failed + counts[1])) skipped=$((skipped + counts[2]))
	report "$what" "${counts[0]} passed, ${counts[1]} failed, ${counts[2]} skipped" $since
	if [ "${counts[1]}" != 0 ]; then
		show_log "$log" 80
	fi
}

echo "Logs are in ${logs#"$PWD"/}"
recipes/common/packages.sh build tests recipe >"$logs/packages.log" 2>&1 </dev/null || {
	echo 'Some packages could not be installed; the tests run without them'
	show_log "$logs/packages.log" 20
}

step format 'Layout of the sources' tests/check_format.sh || true
step shell 'Shell scripts' tests/check_shell.sh || true
step layers 'Layers of the sources' tests/check_layers.sh || true
step habits 'Habits' tests/check_habits.sh || true
step doxygen 'Reference of the public headers' tests/check_doxygen.sh || true

launchers=()
if command -v ccache >/dev/null; then
	launchers=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
	export CCACHE_DIR=${CCACHE_DIR:-$check/ccache}
fi

# Of the random cases some are enough.
[ -n "$full" ] || export LINNET_TEST_CASES=${LINNET_TEST_CASES:-8}
release=''
if build release 'Release build' release -DLINNET_WERROR=ON -DCMAKE_EXPORT_COMPILE_COMMANDS=ON; then
	release=yes
	run_tests release 'Release tests'
fi

sanitizers() {
	# As the test preset asan-ubsan has them.
	local -x ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1 UBSAN_OPTIONS=print_stacktrace=1
	local -x LSAN_OPTIONS=suppressions=$PWD/tests/lsan.supp:print_suppressions=0
	local slow=()
	if [ -z "$full" ]; then
		local -x LINNET_TEST_CASES=4
		local -x LINNET_TEST_TABLES='reference avx2 avx2-int8 avx512-vnni avx512-amx-bf16' # the other sets share their kernels, or are of a library
		slow=(-E 'test_cuda_.*emulated') # a minute of emulated kernels, which ran in 2
	fi
	run_tests asan-ubsan 'Tests with sanitizers' -LE 'recipe|consumer' "${slow[@]}"
}
# Kernel sets that this processor does not choose are not compiled again, unless all is tested.
kernels=AUTO
if [ -z "$full" ]; then
	kernels='avx2;dotprod'
	if grep -qsw avx512f /proc/cpuinfo; then
		kernels+=';avx512'
	elif grep -qsw avx_vnni /proc/cpuinfo; then
		kernels+=';avxvnni'
	fi
fi
if [ -z "$quick" ] &&
	build asan-ubsan 'Build with sanitizers' asan-ubsan -DLINNET_CUDA=OFF "-DLINNET_KERNELS=$kernels"; then
	sanitizers
fi

if [ -n "$release" ]; then
	step tidy 'clang-tidy' tests/check_tidy.sh ${full:+--full} --jobs "$jobs" "$check/release" || true
fi

# build_with "MODULE..." NAME OPTIONS...: builds with a pkg-config that finds only these modules. jansson's headers are in
# another folder; those that the compiler finds by itself come after some that do not compile.
build_with() {
	local module only=$check/only-$2
	rm -rf "$only" && mkdir -p "$only/include" "$only/trap"
	for module in $1; do cp "$(pkg-config --variable=pcfiledir "$module")/$module.pc" "$only"; done
	cp "$(pkg-config --variable=includedir jansson)"/jansson*.h "$only/include"
	sed -i "s|^includedir=.*|includedir=$only/include|" "$only/jansson.pc"
	echo '#error "jansson.h is not the one that pkg-config finds"' >"$only/trap/jansson.h"
	C_INCLUDE_PATH=$only/trap PKG_CONFIG_LIBDIR=$only PKG_CONFIG_PATH='' configure_and_build "$check/$2" release \
		-DLINNET_WERROR=ON -DLINNET_CUDA=OFF "${@:3}"
}

# Options of CTest that select the tests that depend on a configuration; with --full, all tests.
only() {
	[ -n "$full" ] || printf '%s\n' -R "$1"
}

if [ -z "$quick" ]; then
	if step core 'Core alone, no BLAS' build_with jansson core -DLINNET_FRONTEND=OFF -DLINNET_BLAS=OFF; then
		mapfile -t some < <(only 'attention_golden|consumer|context|encoder|fuzz_(arpa|model)|kernels|model_file|ngram')
		run_tests core 'Core tests' "${some[@]}" -E emulated
	fi
	if step without-audio 'No audio libraries' build_with 'jansson popt' without-audio -DLINNET_AUDIO=OFF; then
		mapfile -t some < <(only 'cmvn|consumer|fuzz_ark|kaldi|score')
		run_tests without-audio 'Tests without audio libraries' "${some[@]}" \
			-E 'emulated|(consumer_cmake|pkg_config_(shared|static))$' # the latter compute a filterbank
	fi
fi

echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
