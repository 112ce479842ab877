#!/bin/bash
# Checks the layout of all C sources. --fix formats them instead. Exit 77: clang-format of the right version is missing;
# other versions break some lines differently.
set -euo pipefail
export LC_ALL=C
version=14

cd "$(dirname "$0")/.."
formatter=''
for program in clang-format-$version clang-format; do
	if [[ $("$program" --version 2>/dev/null) == *"version $version."* ]]; then
		formatter=$program
		break
	fi
done
if [ -z "$formatter" ]; then
	echo "SKIPPED: clang-format $version is not installed"
	exit 77
fi

sources() {
	find include lib frontend decoder recognizer tools recipes examples tests \( -name '*.c' -o -name '*.cpp' -o -name '*.h' -o -name '*.cu' \) -print0
}

if [ "${1-}" = --fix ]; then
	sources | xargs -0 "$formatter" -i
	exit
fi
if ! places=$(sources | xargs -0 -P "$(nproc)" -n 100 "$formatter" --dry-run -Werror 2>&1); then
	echo 'Files that clang-format would change (number of changes, file):'
	sed -n 's/^\([^: ]*\):[0-9]*:[0-9]*: error: .*/\1/p' <<<"$places" | sort | uniq -c
	echo 'tests/check_format.sh --fix formats them.'
	exit 1
fi
