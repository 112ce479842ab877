#!/bin/bash
# check_headers_windows.sh INCLUDE_DIR: compiles every public header for Windows with MinGW-w64, as C11 and as C++17, and
# checks what LINNET_API does there: a program imports functions, LINNET_STATIC leaves them plain, LINNET_BUILD exports.
# Exit 77 without the compilers.
set -euo pipefail
export LC_ALL=C

include=$1
here=$(cd "$(dirname "$0")" && pwd)
target=x86_64-w64-mingw32
for program in gcc g++ nm objdump; do
	if ! command -v "$target-$program" >/dev/null; then
		echo "SKIPPED: no $target-$program"
		exit 77
	fi
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for define in LINNET_IMPORT LINNET_STATIC LINNET_BUILD; do # the first has no meaning
	"$here/check_headers.sh" "$include" "$target-gcc" -std=c11 -x c "-D$define"
	"$here/check_headers.sh" "$include" "$target-g++" -std=c++17 -x c++ "-D$define"
done

# A program that calls a function, and a library that defines it.
printf '#include <linnet/version.h>\nint main(void) { return linnet_version_number(); }\n' >"$work/program.c"
printf '#include <linnet/version.h>\nint linnet_version_number(void) { return 1; }\n' >"$work/library.c"

# expect PATTERN FILE: what the tools print of an object file.
expect() {
	grep -qE -- "$1" "$2" && return
	echo "FAILED: no '$1' in:" >&2
	cat "$2" >&2
	exit 1
}

compile() {
	"$target-gcc" -std=c11 -I "$include" -c "$@"
}
compile "$work/program.c" -o "$work/program.o"
"$target-nm" "$work/program.o" >"$work/imports"
expect ' U __imp_linnet_version_number$' "$work/imports"
compile -DLINNET_STATIC "$work/program.c" -o "$work/static.o"
"$target-nm" "$work/static.o" >"$work/plain"
expect ' U linnet_version_number$' "$work/plain"
compile -DLINNET_BUILD "$work/library.c" -o "$work/library.o"
# A library of one function links, and exports it.
"$target-gcc" -shared "$work/library.o" -o "$work/linnet.dll"
"$target-objdump" -p "$work/linnet.dll" >"$work/exports"
expect '\] linnet_version_number$' "$work/exports"
