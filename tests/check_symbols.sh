#!/bin/bash
# Checks which symbols a library exports; see usage.
set -euo pipefail
export LC_ALL=C

usage() {
	cat <<'END'
Usage: check_symbols.sh [--all] INCLUDE_DIR LIBRARY...

A shared library may export only functions that a header under INCLUDE_DIR/linnet declares, and with --all it must
export every one of them. In a static library every external symbol must begin with linnet_, or lie in an
unnamed namespace: nvcc makes those external, under a name of their source file.

The compiler is $CC, or cc.
END
}

all=''
case "${1-}" in
-h | --help) usage && exit 0 ;;
--all) all=yes && shift ;;
esac
[ $# -ge 2 ] || {
	usage >&2
	exit 2
}
include=$1
shift

# The names of functions declared with LINNET_API: the last word before the first parenthesis of such a declaration.
declared() {
	(cd "$include" && printf '#include <%s>\n' linnet/*.h) |
		"${CC:-cc}" -E -P -I "$include" -x c - | tr '\n' ' ' | sed 's/[;{}]/\n/g' |
		sed -n 's/.*__attribute__ *((visibility("default"))) *\([^(]*[^a-z0-9_(]\)\(linnet_[a-z0-9_]*\) *(.*/\2/p' | sort -u
}

defined() { # NM_OPTION LIBRARY
	nm "$1" --defined-only --format=posix "$2" | awk 'NF >= 2 && $2 ~ /^[A-Zuvw]$/ { print $1 }' | sort -u
}

failed=0
complain() { # MESSAGE NAMES
	[ -z "$2" ] || {
		printf '%s:\n%s\n' "$1" "$2" >&2
		failed=1
	}
}

for library; do
	if [[ $library == *.a ]]; then
		complain "$library: external symbols without linnet_" "$(defined --extern-only "$library" | grep -v -e '^linnet_' -e '_GLOBAL__N_' || true)"
		continue
	fi
	complain "$library: exported, but in no public header" "$(comm -23 <(defined --dynamic "$library") <(declared))"
	[ -z "$all" ] || complain "$library: declared, but not exported" "$(comm -13 <(defined --dynamic "$library") <(declared))"
	exported=$(defined --dynamic "$library" | wc -l)
	echo "$library: $exported functions exported"
	[ "$exported" -gt 0 ] || failed=1
done
exit $failed
