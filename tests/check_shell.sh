#!/bin/bash
# Runs shellcheck on all shell scripts. Exit 77: it is not installed.
set -euo pipefail
export LC_ALL=C

cd "$(dirname "$0")/.."
if ! command -v shellcheck >/dev/null; then
	echo 'SKIPPED: no shellcheck'
	exit 77
fi

# Files named *.sh, and files whose first line names a shell.
shell_scripts() {
	find .ci recipes tests tools docs -path '*/exp' -prune -o -type f -print0 |
		while IFS= read -r -d '' file; do
			if [[ $file == *.sh ]]; then
				printf '%s\0' "$file"
			elif [[ ${file##*/} != *.* ]]; then
				IFS= read -r line <"$file" 2>/dev/null || true
				[[ ! ${line-} =~ ^'#!'.*[/\ ](ba|da)?sh ]] || printf '%s\0' "$file"
			fi
		done
}

shell_scripts | xargs -0 -P "$(nproc)" -n 4 shellcheck -x -P SCRIPTDIR
