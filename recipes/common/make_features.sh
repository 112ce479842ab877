#!/bin/bash
# Filterbank features of a data folder; see usage.
set -euo pipefail
export LC_ALL=C
common=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=recipes/common/lib.sh
. "$common/lib.sh"

usage() {
	cat <<'END'
Usage: make_features.sh --data DIR --out DIR [--parts N] [--via WAY] [--jobs J] [--options TEXT] [--run-commands]
                        [--allow-missing] [--root DIR] [--speeds FACTOR...] [--retries N] [--subset DIR...]
                        [-- FEATURES-OPTIONS]

Computes filterbank energies of a Kaldi data folder into OUT: compressed archives with feats.scp, statistics of the
speakers with cmvn.scp, the lists of the folder, utt2num_frames, and the number of utterances and frames in the file
frames. After an interruption, run it again: it computes only the unfinished parts, or all if an audio file has another
size or modification time, or linnet is another build (it does not look at what commands in wav.scp read). OUT changes
when all parts are finished; until then it stays as it was. A folder of another system, with feats.scp but without
wav.scp, keeps its features.

  --parts N       divide the speakers into N parts (default 32, so that the parts do not depend on the machine)
  --via, --jobs, --options, --retries   where parts run, and how often failed ones run again: see cmd.sh --help
  --speeds FACTOR...  also features of the audio at other speeds, feats-FACTOR.scp, for training with augment.speeds
  --run-commands  run the commands in wav.scp
  --allow-missing leave out utterances whose audio cannot be read
  --root DIR      paths in feats.scp are relative to DIR, one or two folders above OUT (default: the folder above)
  --subset DIR... data folders with some of the utterances: their features, from the same archives, go beside OUT
  after --        options of linnet features (default: 40 bands, as the paper)
END
}

data='' out='' parts=32 via=local jobs='' options='' run_commands='' allow_missing='' root='' speeds=() retries=2 subset=()
take_options "data out parts via jobs options run-commands! allow-missing! root speeds+ retries subset+ ..." "$@"
[ -n "$data" ] && [ -n "$out" ] || {
	usage >&2
	exit 2
}
[ -e "$data/feats.scp" ] || need_file "$data/wav.scp" "give a Kaldi data folder"
need_file "$data/spk2utt" "make it with 'linnet validate-data --fix $data'"

# gather NAME: joins the lists of the parts, with paths relative to the root
gather() {
	local part
	for part in $(seq "$count"); do cat "$archives/$1.$part.scp"; done |
		folder=${archives#"$root"/} awk '{key = $1; sub(/^.*\//, ""); print key " " ENVIRON["folder"] "/" $0}' | sort
}

# The frames of all utterances.
num_frames() {
	local part
	for part in $(seq "$count"); do cat "$archives/num_frames.$part"; done | sort
}

# Sizes and times of the audio files, each once, because a file may change under the same name. Commands and missing files
# have none: for them only the lines of wav.scp count.
audio_files() {
	absolute_scp "$data/wav.scp" "$data" | sed -E 's/^[^ \t]+[ \t]+//; /\|[ \t]*$/d; s/:[0-9]+$//' | sort -u | tr '\n' '\0' |
		xargs -0 -r stat -L -c '%s %Y' -- 2>/dev/null || true
}

# What the features depend on: the program, lists, audio files, division into parts, options.
checksum() {
	local lists=("$data/wav.scp" "$data/utt2spk")
	[ ! -e "$data/segments" ] || lists+=("$data/segments")
	{
		program_files "$linnet" | tr '\n' '\0' | xargs -0 cat
		cat "${lists[@]}"
		audio_files
		echo "$run_commands" ${rest[@]+"${rest[@]}"}
	} | cksum | sed "s/ .*/-$count/"
}

# copy_lists TO
copy_lists() {
	local name
	for name in text phones utt2spk spk2utt spk2gender utt2num_frames; do
		[ ! -e "$data/$name" ] || into "$1/$name" cat "$data/$name"
	done
}

# Utterances and frames, as the logs of all parts count them.
count_frames() {
	cat "$log".*.log | awk '/^[0-9]+ utterances?, [0-9]+ frames?/ {u += $1; f += $3} END {print u + 0, f + 0}'
}

# leave_out: removes utterances without features from the new lists
leave_out() {
	local before after
	before=$(wc -l <"$data/utt2spk") after=$(wc -l <"$new/feats.scp")
	[ "$before" != "$after" ] || return 0
	select_utterances "$new" "$new.rest" "$new/feats.scp"
	mv "$new.rest"/* "$new"
	rmdir "$new.rest"
	say "$data: the audio of $((before - after)) of $before utterances cannot be read; they are left out: see $log.*.log"
}

# Prepares all new files, then renames them.
replace_lists() {
	local folder name
	rm -rf "$new" "$new".*
	mkdir -p "$new"
	copy_lists "$new"
	for name in feats cmvn; do into "$new/$name.scp" gather $name; done
	for name in ${speeds[@]+"${speeds[@]}"}; do into "$new/feats-$name.scp" gather "feats-$name"; done
	into "$new/utt2num_frames" num_frames
	into "$new/frames" count_frames
	[ -z "$allow_missing" ] || leave_out
	for folder in ${subset[@]+"${subset[@]}"}; do
		name=$(basename "$folder")
		select_utterances "$new" "$new.$name" "$folder/utt2spk"
		mkdir -p "$out/../$name"
	done
	mv "$new"/* "$out"
	for folder in ${subset[@]+"${subset[@]}"}; do mv "$new.$(basename "$folder")"/* "$out/../$(basename "$folder")"; done
	rm -rf "$new" "$new".*
}

# Lists of features at other speeds, whose archives are gone
remove_old_speeds() {
	local folder list
	for folder in "$out" ${subset[@]+"${subset[@]}"}; do
		for list in "$out/../$(basename "$folder")"/feats-*.scp; do
			[ ! -e "$list" ] || grep -qF "archives-$name/" "$list" || rm "$list"
		done
	done
}

for i in "${!speeds[@]}"; do
	[[ ${speeds[i]} =~ ^[0-9]*\.?[0-9]+$ ]] || die "--speeds ${speeds[i]}: must be a number above 0"
	printf -v "speeds[$i]" %.6g "${speeds[i]}" # linnet train looks for feats-0.9.scp
done
build_linnet
mkdir -p "$out"
out=$(cd "$out" && pwd)
if [ ! -e "$data/wav.scp" ]; then
	say "$data: has features; they are not computed again"
	for name in feats cmvn; do
		[ ! -e "$data/$name.scp" ] || into "$out/$name.scp" absolute_scp "$data/$name.scp" "$data"
	done
	copy_lists "$out"
	"$linnet" validate-data "$out" >&2
	exit
fi
root=$(cd "${root:-$out/..}" && pwd)
[[ $out == "$root"/* && ${out#"$root"/} != */*/* ]] || die "--root $root: must be one or two folders above --out $out"
count=$(divide_utterances "$data" "$out/part" "$parts")
for part in $(seq "$count"); do
	select_utterances "$data" "$out/part.$part" "$out/part.$part.list"
	into "$out/part.$part/wav.scp" absolute_scp "$out/part.$part/wav.scp" "$data"
done
name=$(checksum)
archives=$out/archives-$name log=$out/log/features-$name new=$out/new
mkdir -p "$out/log" "$archives"
# compute NAME LOG ARGUMENTS...: features of all parts in the archives NAME
compute() {
	local command=("$linnet" features "$out/part.{}" --threads 1 --out "$archives/$1.{}.ark" --scp "$archives/$1.{}.scp"
		--compress cm ${run_commands:+--run-commands} "${@:3}" ${rest[@]+"${rest[@]}"})
	# The command fails if some utterances fail, but writes the others.
	# shellcheck disable=SC2016
	[ -z "$allow_missing" ] || command=(bash -c '"${@:2}" || [ -s "$1" ]' features "$archives/$1.{}.scp" "${command[@]}")
	"$common/cmd.sh" --via "$via" --jobs "$jobs" --options "$options" --retries "$retries" --parts "$count" --log "$2" \
		--items "$out/part.{}.list" --results "$archives/$1.{}.scp" -- "${command[@]}"
}

compute feats "$log" --num-frames "$archives/num_frames.{}" --cmvn-stats "$archives/cmvn.{}.ark" \
	--cmvn-scp "$archives/cmvn.{}.scp"
for factor in ${speeds[@]+"${speeds[@]}"}; do compute "feats-$factor" "${log%/*}/speed-$factor-$name" --speed "$factor"; done
replace_lists
remove_old_speeds
find "$out" -mindepth 1 -maxdepth 1 ! -name "archives-$name" ! -name 'feats-*.scp' \
	\( -name 'archives-*' -o -name 'part.*' -o -name '*.[0-9]*.ark' -o -name '*.[0-9]*.scp' \) -exec rm -rf {} +
find "$out/log" -maxdepth 1 \( -name 'features-*' -o -name 'speed-*' \) ! -name "*-$name.*" -delete
"$linnet" validate-data "$out" >&2
