#!/bin/bash
# check_moved.sh PREFIX LIBDIR WORK SOURCES BUILD: an installed tree works where it is moved to (WORK/moved), and names
# neither the folder it was built from nor the one it was built in.
set -euo pipefail
export LC_ALL=C

prefix=$1 libdir=$2 work=$3 sources=$4 build=$5
moved=$work/moved
rm -rf "$moved" && mkdir -p "$work" && cp -a "$prefix" "$moved"
failed=0

fail() {
	echo "FAILED: $*" >&2
	failed=1
}

export PKG_CONFIG_PATH=$moved/$libdir/pkgconfig
for file in "$PKG_CONFIG_PATH"/*.pc; do
	package=$(basename "$file" .pc)
	found=$(realpath "$(pkg-config --variable=prefix "$package")")
	[ "$found" = "$(realpath "$moved")" ] || fail "$package.pc: the prefix is $found, not $moved"
done

# Debug information may name sources; it is for the machine it was built on.
find "$moved" -type f \( -name '*.so.*' -o -name '*.a' -o -path '*/bin/*' \) -exec strip --strip-debug {} +
for folder in "$sources" "$build" "$prefix"; do
	names=$(grep -rlF -e "$folder" "$moved" || true)
	[ -z "$names" ] || fail "$folder is named in $names"
done

if [ -x "$moved/bin/linnet" ]; then
	said=$(env -u LINNET_MODEL "$moved/bin/linnet" transcribe missing.wav 2>&1) || true
	[[ $said == *missing.wav* && $said != *'no model'* ]] || fail "the moved command lacks its model: $said"
fi
exit $failed
