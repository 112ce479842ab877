#!/bin/bash
# check_headers.sh INCLUDE_DIR COMPILER [FLAGS...]: compiles every public header alone, and included twice. Each must
# state its stability.
set -euo pipefail
export LC_ALL=C

include=$1
shift
failed=0
for header in "$include"/linnet/*.h; do
	name=linnet/${header##*/}
	if ! printf '#include <%s>\n#include <%s>\n' "$name" "$name" |
		"$@" -fsyntax-only -Wall -Wextra -Wpedantic -Werror -I "$include" -; then
		echo "FAILED: <$name> alone, with $*" >&2
		failed=1
	fi
	if ! grep -qE '^ \* Stability: ' "$header"; then
		echo "FAILED: <$name> has no line 'Stability: stable' or 'experimental'" >&2
		failed=1
	fi
done
exit $failed
