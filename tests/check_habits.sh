#!/bin/bash
# Checks habits that neither the compiler nor a formatter knows; see usage.
set -euo pipefail
export LC_ALL=C

usage() {
	cat <<'END'
Usage: tests/check_habits.sh

  comments  every source file, script, header and CMake file begins with a comment that says what it is for
  lines     no line of a document is longer than 120 characters, but for tables, links and code; no blanks at the end
            of a line; files end in a newline
  paths     no absolute path of a developer's machine
  sources   CMake lists its sources: no file(GLOB), and every source file is named by a CMakeLists.txt (those of tests
            may be named by a script instead)
  growth    structures of callbacks in public headers begin with `size`; no public function returns a pointer to a
            structure with `size`, but fills the caller's (language models are passed on, never copied)

Prints what is wrong as FILE:LINE: and fails.
END
}

case "${1-}" in
-h | --help) usage && exit 0 ;;
esac
cd "$(dirname "$0")/.."

# files NAME...: files whose names match one of the patterns, without files of builds and recipes.
files() {
	local pattern tests=()
	for pattern; do tests+=(-o -name "$pattern"); done
	find . \( -path './build*' -o -path ./.git -o -name exp -o -name __pycache__ \) -prune -o \
		-type f \( "${tests[@]:1}" \) -print0 | sort -z
}

code=('*.c' '*.h' '*.cu' '*.cpp' '*.sh' '*.py' '*.awk' '*.cmake' '*.cmake.in' '*.pc.in' CMakeLists.txt '.clang-*' .editorconfig
	Doxyfile '*.rules')

# The comment may come after "#!"; a Python file may begin with a docstring instead.
opening_comments() {
	files "${code[@]}" | xargs -0 awk '
		FNR == 1 { found = 0 }
		found || FNR > 2 { next }
		FNR == 1 && /^#!/ { next }
		{ found = 1 }
		!/^(\/\*|\/\/|#|""")/ || /^# *(include|if|ifdef|ifndef|define|pragma)/ {
			print FILENAME ":" FNR ": the opening comment is missing: describe the file"
		}'
}

# A character is a byte that does not continue one of UTF-8.
long_lines() {
	files '*.md' | xargs -0 awk '
		FNR == 1 { code = 0 }
		/^ *```/ { code = !code }
		code || /^\||^    |\]\(|https?:/ { next }
		{ gsub(/[\200-\277]/, "") }
		length($0) > 120 { print FILENAME ":" FNR ": " length($0) " characters, more than 120" }'
}

blanks() {
	files "${code[@]}" '*.md' | xargs -0 awk '/[ \t\r]$/ { print FILENAME ":" FNR ": blanks at the end" }'
	files "${code[@]}" '*.md' | xargs -0 grep -LzP '\n\z' | sed 's/$/: does not end in a newline/' || true
}

absolute_paths() {
	files "${code[@]}" '*.md' '*.json' '*.txt' | xargs -0 grep -nE '(^|[^[:alnum:]_.}])/(root|work|home)/' |
		sed 's/$/ (an absolute path of one machine)/' || true
}

globs() {
	files CMakeLists.txt '*.cmake' | xargs -0 grep -nE '\bGLOB(_RECURSE)?\b' | sed 's/$/ (list the files)/' || true
}

# The names of sources in the given CMake files, relative to the root, as extended regular expressions: ${...} within a
# name is any text without a slash.
named_sources() {
	xargs -0 awk '
		FNR == 1 {
			folder = FILENAME
			sub(/[^\/]*$/, "", folder)
		}
		{
			sub(/#.*/, "")
			count = split($0, words, /[ ()";]+/)
			for (i = 1; i <= count; i++) {
				name = words[i]
				if (name !~ /\.(c|cu|cpp)$/)
					continue
				if (!sub(/^\$\{PROJECT_SOURCE_DIR\}\//, "./", name)) {
					sub(/^\$\{CMAKE_CURRENT_SOURCE_DIR\}\//, "", name)
					name = folder name
				}
				gsub(/\$\{[^}]*\}/, "[^/]*", name)
				gsub(/\./, "\\.", name)
				print name
			}
		}' | sort -u
}

unnamed_sources() {
	local product tests
	product=$(files CMakeLists.txt '*.cmake' | grep -zv '^\./tests/' | named_sources)
	files '*.c' '*.cu' '*.cpp' | grep -zv '^\./tests/' | tr '\0' '\n' | { grep -vxEf <(echo "$product") || true; }
	tests=$(files CMakeLists.txt '*.sh' '*.py' '*.md' | grep -z '^\./tests/' | xargs -0 grep -ohE '[[:alnum:]_]+' | sort -u)
	files '*.c' '*.cu' '*.cpp' | grep -z '^\./tests/' | tr '\0' '\n' | awk '
		NR == FNR {
			named[$0] = 1
			next
		}
		{
			name = $0
			gsub(/.*\/|\.[a-z]*$/, "", name)
		}
		!(name in named)' <(echo "$tests") -
}

# A program fills such a structure, and may be older or newer than the library.
fixed_callbacks() {
	find include -name '*.h' -print0 | sort -z | xargs -0 awk '
		/^struct [a-z0-9_]+ \{/ {
			name = $2
			line = FNR
			sized = callbacks = 0
		}
		/^  size_t size;/ { sized = 1 }
		/^  [^*]*\(\*[a-z_]+\)\(/ && !/^  \/\*/ { callbacks = 1 }
		/^};/ {
			if (name != "" && callbacks && !sized)
				print FILENAME ":" line ": struct " name " has callbacks and no `size`"
			name = ""
		}'
}

# A copy by assignment has the library's `size` in the program's memory. The first pass collects the structures.
returned_settings() {
	find include -name '*.h' -print0 | sort -z | xargs -0 awk '
		FNR == 1 { name = "" }
		/^struct [a-z0-9_]+ \{/ { name = $2 }
		/^  size_t size;/ { sized[name] = 1 }
		/^LINNET_API const struct [a-z0-9_]+ \*/ { returned[FILENAME ":" FNR] = $4 }
		END {
			delete sized["linnet_language_model"]
			for (where in returned)
				if (returned[where] in sized)
					print where ": returns a pointer to struct " returned[where] ": fill the structure of the caller"
		}'
}

found=$(
	opening_comments
	long_lines
	blanks
	absolute_paths
	globs
	fixed_callbacks
	returned_settings
	unnamed_sources | sed 's/$/: no CMakeLists.txt names it/'
)
if [ -n "$found" ]; then
	printf '%s\n' "${found//.\//}"
	exit 1
fi
