#!/bin/bash
# check_moved.sh PREFIX LIBDIR WORK SOURCES BUILD: moves an installed tree to WORK/moved and checks that it works there,
# and that its files name neither the folder of the sources nor that of the build.
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
	models=$(pkg-config --variable=modelsdir "$package")
	[ -f "$models/english-live/recognizer.json" ] || fail "$package.pc: no models in '$models'"
done

# Debug information may name sources, because it is for the machine of the build.
find "$moved" -type f \( -name '*.so.*' -o -name '*.a' -o -path '*/bin/*' \) -exec strip --strip-debug {} +
for folder in "$sources" "$build" "$prefix"; do
	names=$(grep -rlF -e "$folder" "$moved" || true)
	[ -z "$names" ] || fail "$folder is named in $names"
done

if [ -x "$moved/bin/linnet" ]; then
	said=$(env -u LINNET_MODEL "$moved/bin/linnet" transcribe missing.wav 2>&1) || true
	[[ $said == *missing.wav* && $said != *'no model'* ]] || fail "the moved command does not find its model: $said"
fi
exit $failed
