#!/bin/bash
# Runs clang-tidy over the sources of the product; see usage.
set -euo pipefail
export LC_ALL=C
version=14

usage() {
	cat <<'END'
Usage: tests/check_tidy.sh [--full] [--jobs N] BUILD [FILE...]

BUILD is a build folder that was configured with CMAKE_EXPORT_COMPILE_COMMANDS=ON. Checks the sources compiled there but
except those of tests, or over FILEs only. .clang-tidy lists the checks.

  --full    also the clang analyzer, which follows paths through functions and takes several times as long
  --jobs N  processes at a time (default: one per processor)

Exit 77: no clang-tidy of the version that the sources pass.
END
}

full='' jobs=$(nproc)
while [ $# -gt 0 ]; do
	case "$1" in
	-h | --help) usage && exit 0 ;;
	--full) full=yes ;;
	--jobs)
		jobs=${2-}
		shift
		;;
	*) break ;;
	esac
	shift
done
[ $# -gt 0 ] || {
	usage >&2
	exit 2
}
build=$1
shift

tidy=''
for program in clang-tidy-$version clang-tidy; do
	if [[ $("$program" --version 2>/dev/null) == *"version $version."* ]]; then
		tidy=$program
		break
	fi
done
if [ -z "$tidy" ]; then
	echo "SKIPPED: clang-tidy $version is not installed"
	exit 77
fi
root=$(cd "$(dirname "$0")/.." && pwd)
commands=$build/compile_commands.json
if [ ! -f "$commands" ]; then
	echo "check_tidy.sh: $commands is missing; configure with -DCMAKE_EXPORT_COMPILE_COMMANDS=ON" >&2
	exit 2
fi

# One compile command for each C file that is neither of tests nor generated; for vector kernels, one for each set. Tests
# compile some sources of the product once more with other settings: those commands count only where the product has
# none. CUDA kernels are not among the files: clang does not know the flags of nvcc.
product_commands() {
	awk -v root="$root/" '
		/^[{]/ { entry = "" }
		/^ / { entry = entry $0 "\n" }
		/^ *"command":/ {
			of_test = / -o tests\//
			set = match($0, /-DLINNET_KERNEL_SET=[^ ]*/) ? substr($0, RSTART, RLENGTH) : ""
		}
		/^ *"file":/ { file = $0; gsub(/^ *"file": "|",?$/, "", file) }
		/^[}]/ && file ~ /\.c$/ && index(file, root) == 1 && substr(file, length(root) + 1) !~ /^(tests|build[^\/]*)\// {
			count++
			entries[count] = entry
			files[count] = file
			sets[count] = set
			of_tests[count] = of_test
			if (!of_test)
				has_own[file] = 1
		}
		END {
			print "["
			for (i = 1; i <= count; i++)
				if (!(of_tests[i] && files[i] in has_own) && !seen[files[i], sets[i]]++)
					printf "%s{\n%s}", separator++ ? ",\n" : "", entries[i]
			print "\n]"
		}' "$commands"
}

sources() {
	sed -n 's|^ *"file": "\(.*\)".*|\1|p' "$own/compile_commands.json" | sort -u
}

own=$(mktemp -d)
trap 'rm -rf "$own"' EXIT
product_commands >"$own/compile_commands.json"
if [ $# -gt 0 ]; then
	files=$(realpath -- "$@" | grep -xFf <(sources)) || {
		echo 'check_tidy.sh: the compile commands have none of these files' >&2
		exit 2
	}
else
	files=$(sources)
fi
# The checks see the assertions, also where the build folder is one without.
options=(--quiet -p "$own" --extra-arg=-UNDEBUG)
[ -n "$full" ] || options+=(--checks='-clang-analyzer-*')
status=0
# One file per process: from the second file on, the analyzer of this version takes every va_list for uninitialized.
xargs -r -n 1 -P "$jobs" "$tidy" "${options[@]}" <<<"$files" 2>/dev/null || status=$?
echo "$(wc -l <<<"$files") files checked"
exit "$status"
