# Functions that speak the plan of make_plan.awk; make_corpus.sh and recipes/english/local/synthesize.sh source this file.
# They use say and die of the script.
# shellcheck shell=bash

speak_folder=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# check_tools VOICES: whether the synthesisers have all voices of a table
check_tools() {
	local tool engine voice installed

	for tool in flite espeak-ng sox soxi; do
		command -v "$tool" >/dev/null || die "$tool is not installed: apt-get install flite espeak-ng sox"
	done
	# Neither engine reports an unknown voice or variant: they speak with another.
	installed=" $(flite -lv | tr '\n' ' ') $(espeak-ng --voices=en | awk '{printf "%s ", $2}') $(espeak-ng --voices=variant |
		sed -n 's|.*!v/\([^ ]*\).*|+\1|p' | tr '\n' ' ') "
	while IFS=$'\t' read -r _ engine voice _; do
		[[ $installed == *" ${voice%+*} "* ]] && [[ $voice != *+* || $installed == *" +${voice#*+} "* ]] ||
			die "$engine has no voice $voice; remove its line from $1"
	done < <(grep -v '^#' "$1")
}

# versions: the versions of the synthesisers, on one line
versions() {
	printf 'flite=%s espeak=%s\n' "$(flite --version | sed -n 's/.*version: *//p' | tr ' ' -)" \
		"$(espeak-ng --version | sed 's/.*: *\([0-9.]*\) .*/\1/')"
}

# divide_plan PLAN WORK: divides a plan into chunks, one per process: WORK/chunk.00000, WORK/chunk.00001, ...
divide_plan() {
	cp "$1" "$2/plan"
	split -l 16 -d -a 5 "$2/plan" "$2/chunk."
}

# speak_chunks WORK JOBS [OPTION]: runs synthesize_chunk.sh on all chunks that are not finished, JOBS at a time
speak_chunks() {
	local chunks=("$1"/chunk.?????) chunk finished=0
	local todo=()

	for chunk in "${chunks[@]}"; do
		if [ -f "$chunk.phones" ]; then
			finished=$((finished + 1))
		else
			todo+=("$chunk")
		fi
	done
	say "$(wc -l <"$1/plan") utterances in ${#chunks[@]} chunks, of which $finished are finished; $2 jobs"
	[ ${#todo[@]} -eq 0 ] ||
		printf '%s\0' "${todo[@]}" | xargs -0 -n 1 -P "$2" "$speak_folder/synthesize_chunk.sh" "${@:3}" ||
		die "a chunk failed (see above); run the same command again to continue"
}
