#!/bin/bash
# check_examples.sh SOURCE_DIR LIBDIR WORK: builds every complete C program of the manual (blocks marked c that have a
# main) against what is installed under LIBDIR. $CC is the compiler. Exit 77: the manual has no program.
set -euo pipefail
export LC_ALL=C

source=$1 libdir=$2 work=$3
export PKG_CONFIG_PATH=$libdir/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
rm -rf "$work"
mkdir -p "$work"

# Writes each block to a file. Its name has the page and the first line of the block.
for page in "$source"/README.md "$source"/docs/*.md; do
	[ -f "$page" ] || continue
	awk -v stem="$work/$(basename "$page" .md)" '
		/^```c$/ { block = stem "-" NR ".c"; next }
		/^```/ { block = "" }
		block != "" { print > block }' "$page"
done

read -r -a flags <<<"$(pkg-config --cflags --libs linnet)"
built=0
for example in "$work"/*.c; do
	grep -q 'int main(' "$example" 2>/dev/null || continue
	"${CC:-cc}" -std=c11 -Wall -Wextra -Werror "$example" -o "${example%.c}" "${flags[@]}"
	built=$((built + 1))
done
if [ "$built" = 0 ]; then
	echo 'SKIPPED: no complete C program in the manual'
	exit 77
fi
echo "$built examples built"
