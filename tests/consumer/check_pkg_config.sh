#!/bin/bash
# check_pkg_config.sh shared|static PACKAGE LIBDIR SOURCE PROGRAM: builds SOURCE against the package installed under
# LIBDIR and runs it. $CC is the compiler.
set -euo pipefail
export LC_ALL=C

kind=$1 package=$2 libdir=$3 source=$4 program=$5
export PKG_CONFIG_PATH=$libdir/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}

read -r -a cflags <<<"$(pkg-config --cflags "$package")"
if [ "$kind" = static ]; then
	# Linnet itself statically; the libraries that it needs as the system has them.
	read -r -a libs <<<"$(pkg-config --static --libs "$package" | sed -E 's/-l(linnet[a-z_]*)/-l:lib\1.a/g')"
else
	read -r -a libs <<<"$(pkg-config --libs "$package")"
fi
mkdir -p "$(dirname "$program")"
"${CC:-cc}" -std=c11 -Wall -Wextra -Werror "${cflags[@]}" "$source" -o "$program" "${libs[@]}"

needed=$(readelf -d "$program" | grep -c 'NEEDED.*liblinnet' || true)
if [ "$kind" = static ] && [ "$needed" != 0 ]; then
	echo "$program needs a shared library of Linnet" >&2
	exit 1
fi
LD_LIBRARY_PATH=$libdir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$program"
