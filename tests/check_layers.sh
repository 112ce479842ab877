#!/bin/bash
# Checks every #include of the library and the programs against the drawing of layers; see usage.
set -euo pipefail
export LC_ALL=C

usage() {
	cat <<'END'
Usage: check_layers.sh [--self-test] [ROOT]

Reads the layers from the drawing in ROOT/docs/architecture.md, the block that begins with "```layers", and looks at
all #include lines of C, C++ and CUDA sources in ROOT (default: this source tree) that lie in one of the layers. A file
may include its own layer, and those that the arrows of the drawing lead to, directly or through others.

Each line of the drawing is

  NAME PATTERN... -> NAME...                   (a line that begins with a space continues the one before it)

A PATTERN is a folder that ends in a slash, a file, or FOLDER/*.SUFFIX; the longest that fits a file decides. A layer
stands below those that it may include, so that the drawing itself has no circle.

Prints each back edge as FILE:LINE, and exits with 1 if there is one. --self-test plants some in a copy of the tree, and
checks that each is found.
END
}

here=$(cd "$(dirname "$0")/.." && pwd)

# Sources that git tracks, or all sources in an unpacked archive.
sources() {
	if git -C "$1" rev-parse --is-inside-work-tree >/dev/null 2>&1; then
		git -C "$1" ls-files --cached --others --exclude-standard
	else
		(cd "$1" && find include lib decoder frontend recognizer tools -type f)
	fi | grep -E '^(include|lib|decoder|frontend|recognizer|tools)/.*\.(c|h|cu|cuh|cpp|hpp)$' | sort -u
}

check() { # ROOT
	(cd "$1" && sources . | while IFS= read -r file; do
		[ ! -f "$file" ] || printf '%s\n' "$file"
	done) | awk -v root="$1" '
		function fail(text) { print text; bad = 1 }

		# The layer of a file, by the longest pattern that fits; "" if there is none.
		function layer_of(file,    i, best, layer, p) {
			best = -1; layer = ""
			for (i = 1; i <= patterns; i++) {
				p = pattern[i]
				if (fits(file, p) && length(p) > best) { best = length(p); layer = owner[i] }
			}
			return layer
		}
		function fits(file, p,    star, rest) {
			if (p ~ /\/$/) return index(file, p) == 1
			star = index(p, "*")
			if (star == 0) return file == p
			rest = substr(file, star)
			return substr(file, 1, star - 1) == substr(p, 1, star - 1) && rest !~ /\// &&
				length(rest) >= length(p) - star && substr(rest, length(rest) - (length(p) - star) + 1) == substr(p, star + 1)
		}

		# The file that an #include names: in the folder of the including file, or under a root of the build.
		function resolve(from, name,    folder) {
			folder = from
			sub(/[^\/]*$/, "", folder)
			if ((folder name) in exists) return folder name
			if (("include/" name) in exists) return "include/" name
			if (("lib/" name) in exists) return "lib/" name
			if (("tools/" name) in exists) return "tools/" name
			if (name in exists) return name
			return ""
		}

		function read_drawing(path,    line, inside, n, word, i, arrow, name, below) {
			while ((getline line < path) > 0) {
				if (line ~ /^```layers/) { inside = 1; continue }
				if (line ~ /^```/) inside = 0
				if (!inside || line ~ /^[ \t]*$/) continue
				n = split(line, word, /[ \t]+/)
				if (line !~ /^[ \t]/) {
					name = word[1]
					arrow = 0
					if (name in known) fail(path ": layer " name " appears twice")
					known[name] = 1
					allowed[name, name] = 1
					layers++
				}
				for (i = 2; i <= n; i++) {
					if (word[i] == "->") arrow = 1
					else if (!arrow) { pattern[++patterns] = word[i]; owner[patterns] = name }
					else if (!(word[i] in known)) fail(path ": " name " -> " word[i] ": draw " word[i] " above it")
					else for (below in known) if ((word[i], below) in allowed) allowed[name, below] = 1
				}
			}
			if (layers == 0) fail(path ": no block ```layers")
		}

		function check_line(file, layer, line, number,    name, to, other) {
			name = line
			sub(/^[ \t]*#[ \t]*include[ \t]*[<"]/, "", name)
			sub(/[>"].*$/, "", name)
			if (name ~ /(^|\/)tests?\//) fail(file ":" number ": a header of the tests: " name)
			to = resolve(file, name)
			if (to == "") {
				if (line !~ /</) fail(file ":" number ": " name " is not in the tree, or not in a layer")
				return
			}
			other = layer_of(to)
			includes++
			if (!((layer, other) in allowed))
				fail(file ":" number ": " layer " may not include " other ": " name)
		}

		{ exists[$0] = 1; file[++files] = $0 }

		END {
			read_drawing(root "/docs/architecture.md")
			for (f = 1; f <= files; f++) {
				layer = layer_of(file[f])
				if (layer == "") { fail(file[f] ": in no layer of docs/architecture.md"); continue }
				number = 0
				while ((getline line < (root "/" file[f])) > 0) {
					number++
					if (line ~ /^[ \t]*#[ \t]*include[ \t]*[<"]/) check_line(file[f], layer, line, number)
				}
				close(root "/" file[f])
			}
			printf "%d files in %d layers, %d includes of each other\n", files, layers, includes
			if (files == 0 || includes == 0) fail("nothing to check")
			exit bad
		}'
}

# plant FILE LINE WHAT: appends a line to a file of the copy, expects that the check finds it, and removes it again.
plant() {
	local file=$copy/$1 output
	cp "$file" "$copy.saved"
	printf '%s\n' "$2" >>"$file"
	if output=$(check "$copy"); then
		echo "the check did not find in $1: $2"
		exit 1
	fi
	if ! grep -qF -- "$3" <<<"$output"; then
		printf 'found in %s, but not as "%s":\n%s\n' "$1" "$3" "$output"
		exit 1
	fi
	cp "$copy.saved" "$file"
}

self_test() { # ROOT
	local folder
	folder=$(mktemp -d)
	# shellcheck disable=SC2064 # the folder of now
	trap "rm -rf '$folder'" EXIT
	copy=$folder/tree
	mkdir -p "$copy/docs"
	cp "$1/docs/architecture.md" "$copy/docs"
	sources "$1" | (cd "$1" && xargs cp --parents -t "$copy")
	check "$copy" >/dev/null || {
		echo 'the tree has back edges; run check_layers.sh'
		exit 1
	}
	plant lib/base/file.c '#include "model/config.h"' 'base may not include model'
	plant lib/ops/gemm.h '#include "backend/backend.h"' 'ops may not include tables'
	plant lib/ops/gemm.c '  #  include <linnet/train.h>' 'ops may not include upper'
	plant decoder/ctc/greedy.c '#include "frontend/features/fbank_kernel.h"' 'decoder may not include frontend'
	plant lib/backend/device.h '#include "backend/cuda/memory.h"' 'tables may not include kernels'
	plant tools/main.c '#include "base/base.h"' 'commands may not include base'
	plant recognizer/posterior_stream.c '#include "tests/test.h"' 'a header of the tests'
	sed -i 's/^base .* lib\/base\/ /&-> model /' "$copy/docs/architecture.md"
	if check "$copy" >"$copy.output" || ! grep -q 'draw model above it' "$copy.output"; then
		echo 'the check did not find a circle in the drawing'
		exit 1
	fi
	echo 'The check found all planted back edges'
}

copy=''
case "${1-}" in
-h | --help) usage ;;
--self-test) self_test "${2:-$here}" ;;
*) check "${1:-$here}" ;;
esac
