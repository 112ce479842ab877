#!/bin/bash
# Runs clang-tidy over the sources of the product; see usage.
set -euo pipefail
export LC_ALL=C
version=14

usage() {
	cat <<'END'
Usage: tests/check_tidy.sh [--full] [--jobs N] BUILD [FILE...]

BUILD is a build folder that was configured with CMAKE_EXPORT_COMPILE_COMMANDS=ON. Checks the sources compiled there but
except those of tests, or over FILEs only. .clang-tidy lists the checks.

  --full    also the clang analyzer, which follows paths through functions and takes several times as long
  --jobs N  processes at a time (default: one per processor)

Exit 77: no clang-tidy of the version that the sources pass.
END
}

full='' jobs=$(nproc)
while [ $# -gt 0 ]; do
	case "$1" in
	-h | --help) usage && exit 0 ;;
	--full) full=yes ;;
	--jobs)
		jobs=${2-}
		shift
		;;
	*) break ;;
	esac
	shift
done
[ $# -gt 0 ] || {
	usage >&2
	exit 2
}
build=$1
shift

tidy=''
for program in clang-tidy-$version clang-tidy; do
	if "$program" --version 2>/dev/null | grep -q "version $version\."; then
		tidy=$program
		break
	fi
done
if [ -z "$tidy" ]; then
	echo "SKIPPED: clang-tidy $version is not installed"
	exit 77
fi
root=$(cd "$(dirname "$0")/.." && pwd)
commands=$build/compile_commands.json
if [ ! -f "$commands" ]; then
	echo "check_tidy.sh: $commands is missing; configure with -DCMAKE_EXPORT_COMPILE_COMMANDS=ON" >&2
	exit 2
fi

# The C files that the compile commands name, without duplicates. CUDA kernels are not among them: clang does not know
# the flags of nvcc.
sources() {
	sed -n 's|^ *"file": "\(.*\.c\)".*|\1|p' "$commands" | sort -u | grep "^$root/" | grep -v "^$root/\(tests\|build[^/]*\)/"
}

if [ $# -gt 0 ]; then
	files=$(realpath -- "$@" | grep -xFf <(sources)) || {
		echo 'check_tidy.sh: the compile commands have none of these files' >&2
		exit 2
	}
else
	files=$(sources)
fi
options=(--quiet -p "$build")
[ -n "$full" ] || options+=(--checks='-clang-analyzer-*')
status=0
# In small portions, so that all processes end at about the same time.
xargs -r -n 8 -P "$jobs" "$tidy" "${options[@]}" <<<"$files" 2>/dev/null || status=$?
echo "$(wc -l <<<"$files") files checked"
exit "$status"
