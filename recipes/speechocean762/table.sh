#!/bin/bash
# The table of encoders; see usage.
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=recipes/common/lib.sh
. "$here/../common/lib.sh"

usage() {
	cat <<'END'
Usage: table.sh [--exp DIR] NAME...

Compares the encoders that run.sh trained in EXP (same data, same stopping rule): EXP/TABLE.md with phoneme error
rates, seconds per epoch, parameters and peak memory, and EXP/table.svg, EXP/table.png with their error against epochs
and wall time. NAMEs are those given to run.sh as --encoder; the script skips unfinished ones and reports their names.

  --exp DIR   as given to run.sh (default exp/speechocean762)
END
}

exp=exp/speechocean762
take_options "exp ..." "$@"
[ ${#rest[@]} -gt 0 ] || {
	usage >&2
	exit 2
}

parameters() { "$linnet" info "$exp/$1/final.safetensors" | awk '$1 == "parameters" {print $2}'; }

row() {
	printf '| %s | %s | %s | %s | %s | %s | %s |\n' "$1" "$(rate_of "$exp/$1/dev.score")" "$(rate_of "$exp/$1/test.score")" \
		"$(wc -l <"$exp/$1/log.jsonl")" "$(log_values "$exp/$1" train_seconds | median)" "$(parameters "$1")" \
		"$(log_values "$exp/$1" peak_megabytes | median)"
}

write_table() {
	cat <<END
# Encoders on speechocean762

- commit: $(commit)
- processor: $(processor)

| encoder | dev PER % | test PER % | epochs | s per epoch | parameters | peak memory, MB |
|---|---|---|---|---|---|---|
END
	for name in "${names[@]}"; do row "$name"; done
	printf '\nSeconds and memory are medians over the epochs; memory is that of the process, audio included.\n'
	printf '\n![error against epochs and time](table.svg)\n'
}

build_linnet
names=()
for name in "${rest[@]}"; do
	if [ -s "$exp/$name/test.score" ]; then names+=("$name"); else say "$name: is not finished: run 'run.sh --encoder $name'"; fi
done
[ ${#names[@]} -gt 0 ] || die "no encoder is finished"
into "$exp/TABLE.md" write_table
"$here/../common/plot_training.sh" --out "$exp/table" "${names[@]/#/"$exp"/}"
cat "$exp/TABLE.md"
