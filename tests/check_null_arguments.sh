#!/bin/bash
# Checks that the table of NULL arguments is complete; see usage.
set -euo pipefail
export LC_ALL=C

usage() {
	cat <<'END'
Usage: check_null_arguments.sh TEST LIBRARY

TEST is tests/unit/library/test_null_arguments.c, built; LIBRARY the shared library. Every function that LIBRARY
exports must have a row in the table of TEST, and every row must be of such a function.
END
}

case "${1-}" in
-h | --help) usage && exit 0 ;;
esac
[ $# = 2 ] || {
	usage >&2
	exit 2
}
exported=$(nm --dynamic --defined-only --format=posix "$2" | awk '$2 == "T" { print $1 }' | sort -u)
listed=$("$1" --list | sort -u)
missing=$(comm -23 <(echo "$exported") <(echo "$listed"))
unknown=$(comm -13 <(echo "$exported") <(echo "$listed"))
[ -z "$missing" ] || printf 'No row in tests/unit/library/test_null_arguments.c:\n%s\n' "$missing" >&2
[ -z "$unknown" ] || printf 'A row, but not exported:\n%s\n' "$unknown" >&2
echo "$(wc -l <<<"$exported") functions exported, $(wc -l <<<"$listed") in the table"
[ -z "$missing$unknown" ]
