#!/bin/bash
# Recognises a data folder in parts; see usage.
set -euo pipefail
export LC_ALL=C
common=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=recipes/common/lib.sh
. "$common/lib.sh"

usage() {
	cat <<'END'
Usage: decode.sh --data DIR --out PREFIX [--parts N] [--cmd TEXT] [--jobs J] [--retries N] [--posteriors SCP]
                 -- COMMAND [OPTION...]

Recognises the utterances of a Kaldi data folder in parts, here or on a cluster. COMMAND is a command of linnet:

  transcribe OPTION...   recognises audio or features: PREFIX.hyp
  posteriors OPTION...   computes posteriors: archives PREFIX.1.ark ..., and PREFIX.scp with the utterances of all
  decode OPTION...       searches the posteriors in SCP: PREFIX.hyp

Hypotheses are lines "UTTERANCE SYMBOLS", sorted; another --format, --nbest and options that name further results are
refused, as these cannot be joined. Failed parts run again: transcribe and decode continue, posteriors begins anew. If
utterances are still without a result, PREFIX.missing lists them, with part and log, PREFIX.hyp or PREFIX.scp has the
others, and the exit status is 1. The same command then runs only the failed parts. A finished command does not run again
while its program (with linnet's library), options, lists, the files that they name and those of $LINNET_MODEL and
$LINNET_LEXICON are the same; audio, and files that a recognizer's folder names elsewhere, are not compared.

  --parts N       divide the speakers into N parts (default 32)
  --cmd TEXT      where parts run: local (default), or a way and its options, such as "slurm --mem 4G --threads 2 --time=60":
                  see cmd.sh --help
  --jobs J        parts at a time (default: one per processor; on a cluster all)
  --retries N     how often failed parts run again (default 2)
END
}

data='' out='' parts=32 cmd=local jobs='' retries=2 posteriors=''
take_options "data out parts cmd jobs retries posteriors ..." "$@"
[ -n "$data" ] && [ -n "$out" ] && [ ${#rest[@]} -gt 0 ] || {
	usage >&2
	exit 2
}
command=${rest[0]}
one_of COMMAND "$command" transcribe posteriors decode
for ((i = 1; i < ${#rest[@]}; i++)); do
	case "${rest[i]}" in
	--format | -f) format=${rest[i + 1]-} ;;
	--format=*) format=${rest[i]#*=} ;;
	-f?*) format=${rest[i]#-f} && format=${format#=} ;;
	--nbest | --nbest=* | -n* | --output* | -o* | --out | --out=* | --scp | --scp=* | --lattice* | --estimate-priors*)
		die "${rest[i]%%=*}: such results of parts cannot be joined: leave it out, or run linnet $command without decode.sh"
		;;
	*) continue ;;
	esac
	[ "$format" = text ] || die "--format $format: parts are joined as text only: leave it out, or run linnet $command without decode.sh"
done
[ "$command" != decode ] || need_file "${posteriors:-SCP}" "decode wants --posteriors SCP"
need_file "$data/utt2spk" "--data wants a Kaldi data folder"
check_way --cmd "$cmd"
build_linnet
mkdir -p "$(dirname "$out")"
out=$(cd "$(dirname "$out")" && pwd)/$(basename "$out")
work=$out.parts

# Name, size, time and inode of the archives that a list names.
archives_of() { sed 's/^[^ \t]*[ \t]*//; s/:[0-9]*$//' "$1" | sort -u | xargs -r -d '\n' stat -c '%n %s %y %i' || true; }

# What the results depend on: the program, the data folder, the options and the files that they name. Those that the
# environment names are the defaults of --model and --lexicon.
inputs() {
	local file programs
	readarray -t programs < <(program_files "$linnet")
	{
		echo "$parts ${rest[*]} ${LINNET_MODEL:-} ${LINNET_LEXICON:-}"
		for file in "${programs[@]}" "${LINNET_MODEL:-}" "${LINNET_LEXICON:-}" "$posteriors" "$data"/{utt2spk,wav.scp,segments,feats.scp,cmvn.scp} "${rest[@]#--*=}"; do
			[ ! -f "$file" ] || cat "$file"
			[ -z "$file" ] || [ -e "$file" ] || file=$(dirname "${programs[0]:-.}")/../share/linnet/models/$file # the name of an installed model
			[ ! -d "$file" ] || find -L "$file" -maxdepth 1 -type f -print0 | sort -z | xargs -0r cat
		done
		[ -z "$posteriors" ] || archives_of "$posteriors"
	} | cksum
}

# part_folder PART: the data folder of a part, and its posteriors
part_folder() {
	local name
	select_utterances "$data" "$work/$1" "$work/part.$1.list"
	for name in wav feats cmvn; do
		[ ! -e "$work/$1/$name.scp" ] || into "$work/$1/$name.scp" absolute_scp "$work/$1/$name.scp" "$data"
	done
	[ -z "$posteriors" ] || into "$work/$1/posteriors.scp" select_lines "$work/part.$1.list" "$posteriors"
}

prepare() {
	local part
	rm -rf "$work" "$out.$suffix" "$out.$suffix.inputs"
	[ "$suffix" = hyp ] || find "$(dirname "$out")" -maxdepth 1 -regextype egrep \
		-regex ".*/$(basename "$out" | sed 's/[^A-Za-z0-9_-]/[&]/g')[.][0-9]+[.]ark([.]frame_shift)?" -delete
	mkdir -p "$work"
	count=$(divide_utterances "$data" "$work/part" "$parts")
	for part in $(seq "$count"); do part_folder "$part"; done
	into "$work/inputs" echo "$sum"
}

# results_of PART: its results; of a part that was interrupted the complete lines
results_of() {
	local file=$work/$1.$suffix
	[ -e "$file" ] || file=$file.partial
	[ ! -e "$file" ] || head -n "$(wc -l <"$file")" "$file"
}

# Joins the results of all parts.
gather() {
	local part
	for part in $(seq "$count"); do results_of "$part"; done | sort
}

# Lines "UTTERANCE PART LOG" of the utterances without a result.
list_missing() {
	local part
	for part in $(seq "$count"); do
		results_of "$part" | where="$part $work/log.$part.log" awk '
			FILENAME == "-" {there[$1]; next}
			!($1 in there) {print $1 " " ENVIRON["where"]}' - "$work/part.$part.list"
	done
}

suffix=hyp
[ "$command" != posteriors ] || suffix=scp
sum=$(inputs)
rm -f "$out.missing"
if [ -e "$out.$suffix" ] && [ "$(cat "$out.$suffix.inputs" 2>/dev/null)" = "$sum" ]; then
	say "$out.$suffix is finished; the command does not run again"
	exit
fi
if [ "$(cat "$work/inputs" 2>/dev/null)" = "$sum" ]; then
	count=$(find "$work" -name 'part.*.list' | wc -l)
else
	prepare
fi
parse_way "$cmd"
run=("$linnet" "${rest[@]}" --threads "$way_threads")
case "$command" in
transcribe) run+=(--resume --output "$work/{}.hyp" --data "$work/{}") ;;
posteriors) run+=(--out "$out.{}.ark" --scp "$work/{}.scp" --data "$work/{}") ;;
decode) run+=(--resume --output "$work/{}.hyp" "scp:$work/{}/posteriors.scp") ;;
esac
status=0
rm -f "$work/log.failed"
"$common/cmd.sh" --via "$way" ${way_requests[@]+"${way_requests[@]}"} --options "$way_options" --jobs "$jobs" --retries "$retries" \
	--parts "$count" --log "$work/log" -- "${run[@]}" || status=$?
[ "$status" = 0 ] || [ -e "$work/log.failed" ] || exit "$status" # interrupted, or not begun
into "$out.$suffix" gather
into "$out.missing" list_missing
if [ -s "$out.missing" ]; then
	say "$(wc -l <"$out.missing") of $(wc -l <"$data/utt2spk") utterances have no result: $out.missing"
	exit 1
fi
into "$out.log" cat "$work"/log.*.log
into "$out.$suffix.inputs" echo "$sum"
rm -rf "$work" "$out.missing"
