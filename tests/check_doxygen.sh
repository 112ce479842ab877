#!/bin/bash
# Makes the reference of the public headers in build/doxygen/html. A warning is an error. Exit 77: doxygen is missing.
set -euo pipefail
export LC_ALL=C

cd "$(dirname "$0")/.."
if ! command -v doxygen >/dev/null; then
	echo 'SKIPPED: doxygen is not installed'
	exit 77
fi
mkdir -p build
if ! warnings=$(doxygen docs/Doxyfile 2>&1) || [ -n "$warnings" ]; then
	printf '%s\n' "$warnings"
	exit 1
fi
