#!/bin/bash
# Checks the layout of all C sources. --fix formats them instead. Exit 77: no clang-format of the version whose output
# the tree is in (other versions break some lines elsewhere).
set -euo pipefail
export LC_ALL=C
version=14

cd "$(dirname "$0")/.."
formatter=''
for program in clang-format-$version clang-format; do
	if "$program" --version 2>/dev/null | grep -q "version $version\."; then
		formatter=$program
		break
	fi
done
if [ -z "$formatter" ]; then
	echo "SKIPPED: no clang-format $version"
	exit 77
fi

sources() {
	find include lib frontend decoder recognizer tools recipes examples tests \( -name '*.c' -o -name '*.cpp' -o -name '*.h' -o -name '*.cu' \) -print0
}

if [ "${1-}" = --fix ]; then
	sources | xargs -0 "$formatter" -i
	exit
fi
if ! places=$(sources | xargs -0 "$formatter" --dry-run -Werror 2>&1); then
	echo 'Laid out differently (number of places, file):'
	sed -n 's/^\([^: ]*\):[0-9]*:[0-9]*: error: .*/\1/p' <<<"$places" | sort | uniq -c
	echo 'tests/check_format.sh --fix lays them out.'
	exit 1
fi
