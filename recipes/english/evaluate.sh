#!/bin/bash
# Error rates of a model on data folders, clean and under other conditions; see usage.
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=recipes/common/lib.sh
. "$here/../common/lib.sh"

usage() {
	cat <<'END'
Usage: evaluate.sh --set NAME=DIR... --out DIR [--model FILE] [--lexicon FILE --lm FILE [--lm-weight W --word-bonus B]
                   [--priors FILE --prior-scale X]]
                   [--endpoints] [--every N] [--conditions] [--noise SCP] [--threads J]

Prints a table of phone error rates (greedy decoding), word error rates (of a recognizer's folder, or with --lexicon and
--lm) with 95 % intervals (over speakers if there are several), and real-time factors: processor seconds per second of
audio. If a folder has words.ctm or phones.ctm (lines "ID 1 START SECONDS TOKEN"), and the model is a recognizer's
folder, a table of the errors of times follows (recipes/english/local/measure_boundaries.py, which needs python3). First installs
missing packages and builds linnet, unless $LINNET names a linnet command.

  --set NAME=DIR   Kaldi data folder with wav.scp, text, utt2spk and phones, no segments; without phones, those of --lexicon
                   are used
  --out DIR        folder for hypotheses and scores
  --model PATH     model, or folder of a recognizer, whose settings then apply (default: the one that ships)
  --lexicon FILE   CMUdict, or any lexicon; give a complete one (linnet g2p --complete), as utterances with unknown words
                   have no reference of phones
  --lm FILE        n-gram model of words, --lm-weight (default 0.8), --word-bonus (default 0), --beam (default 200)
  --priors FILE    label priors (linnet posteriors --estimate-priors), --prior-scale (default 0.5)
  --endpoints      divide recordings at endpoints, where a causal model starts anew, as with `linnet listen`; a model that
                   is not causal recognises each segment again, with at most 10 s before it (default: a recording is one
                   segment)
  --every N        only every Nth utterance of each set (default 1: all)
  --conditions     also measure each set with silence around speech, noise, music, other levels, the band of a telephone
  --noise SCP      clips without speech (lines "ID PATH"), for --conditions and to count false recognitions
  --threads J      number of threads (default: one per processor)
END
}

model='' lexicon='' lm='' lm_weight='' word_bonus='' priors='' prior_scale='' beam='' endpoints='' every=1
conditions='' noise='' timed='' threads=$(nproc) set=() out=''
take_options "model lexicon lm lm-weight word-bonus priors prior-scale beam endpoints! every conditions! noise threads
	out set+" "$@"
[ ${#set[@]} -gt 0 ] && [ -n "$out" ] || {
	usage >&2
	exit 2
}
[[ $every =~ ^[1-9][0-9]*$ ]] || die "--every $every: must be a number above 0"
twice=$(printf '%s\n' "${set[@]%%=*}" | sort | uniq -d | head -n 1)
[ -z "$twice" ] || die "--set $twice: names two sets: give each its own name"
[ -z "$model" ] || need_file "$model" "--model names a model, or the folder of a recognizer"
[ ! -d "$model" ] || need_file "$model/recognizer.json" "--model names a model, or the folder of a recognizer"
if [ -n "$lm" ]; then
	[ -n "$lexicon" ] || die "--lm $lm: needs --lexicon FILE"
	[ -n "$priors" ] || [ -z "$prior_scale" ] || die "--prior-scale $prior_scale: needs --priors FILE"
else
	for name in lm_weight word_bonus beam priors prior_scale; do
		[ -z "${!name}" ] || die "--${name//_/-} ${!name}: needs --lm FILE; without it, a recognizer has its own settings"
	done
fi
for i in "${!set[@]}"; do
	entry=${set[i]}
	[[ $entry == *=* ]] || die "--set $entry: must be NAME=DIR"
	set[i]=${entry%%=*}=$(as_path "${entry#*=}")
	need_file "${entry#*=}/wav.scp" "--set $entry: name a Kaldi data folder"
	whole_recordings "${entry#*=}"
done
mkdir -p "$out"
build_linnet
condition=${LINNET_CONDITION:-}
[ -z "$conditions$noise" ] || [ -n "$condition" ] || condition=$(build_program linnet_condition linnet-condition)
words=() shipped=$here/../../models/english
[ -n "$model" ] || [ ! -e "$shipped/recognizer.json" ] || model=$shipped
if [ -n "$lm" ]; then
	words=(--words --lexicon "$lexicon" --lm "$lm" --lm-weight "${lm_weight:-0.8}" --word-bonus "${word_bonus:-0}"
		--beam "${beam:-200}")
	[ -z "$priors" ] || words+=(--priors "$priors" --prior-scale "${prior_scale:-0.5}")
elif [ -d "$model" ]; then
	words=(--words) lexicon=${lexicon:-$model/lexicon.txt}
fi
noise_options=()
[ -z "$noise" ] || noise_options=(--noise "$(realpath "$noise")")

# Each condition has a name, options of linnet-condition, and a title in the table. Noises need --noise.
declare -A options=() title=()
order=()
while IFS='|' read -r name some what; do
	[ "$name" = clean ] || [ -n "$conditions" ] || continue
	[[ $name != noise-* ]] || [ -n "$noise" ] || continue
	order+=("$name") options[$name]=$some title[$name]=$what
done <<'END'
clean||as recorded
silence-2|--pad 2|2 s of digital silence at both ends
silence-10|--pad 10|10 s of digital silence
faint-2|--pad 2 --pad-level -45|2 s of faint noise, -45 dB
faint-10|--pad 10 --pad-level -45|10 s of faint noise, -45 dB
room-2|--pad 2 --pad-level -30|2 s of room noise, -30 dB
room-10|--pad 10 --pad-level -30|10 s of room noise, -30 dB
soft|--gain -30|-30 dB
loud|--gain 20|+20 dB, clipped
offset|--offset 0.05|offset of 5 % of full scale
telephone|--low 300 --high 3400|300 to 3400 Hz
music-20|--music --snr 20|music, 20 dB
music-10|--music --snr 10|music, 10 dB
music-5|--music --snr 5|music, 5 dB
noise-20|--snr 20|noise, 20 dB
noise-10|--snr 10|noise, 10 dB
noise-5|--snr 5|noise, 5 dB
END

# references NAME DIR: makes OUT/NAME with all files that scoring needs
references() {
	local to=$out/$1
	mkdir -p "$to"
	rm -f "$to/skipped"
	into "$to/wav.scp" absolute_scp "$2/wav.scp" "$2"
	into "$to/wav.scp" awk -v every="$every" 'NR % every == 0' "$to/wav.scp"
	awk '{$1 = $1; print}' "$2/text" | sort >"$to/text.all"
	into "$to/text" select_lines "$to/wav.scp" "$to/text.all"
	awk '{print $1, $2}' "$2/utt2spk" | sort >"$to/utt2spk.all"
	into "$to/utt2spk" select_lines "$to/wav.scp" "$to/utt2spk.all"
	if [ -e "$2/phones" ]; then
		into "$to/phones" select_lines "$to/wav.scp" "$2/phones"
	else
		need_file "${lexicon:-lexicon}" "$2 has no phones: name a lexicon with --lexicon"
		into "$to/phones" awk -v skipped="$to/skipped" -f "$here/../common/possessive.awk" -f "$here/../common/words_to_phones.awk" "$lexicon" "$to/text"
		[ ! -s "$to/skipped" ] || say "$1: $(wc -l <"$to/skipped") of $(wc -l <"$to/text") utterances have a word that" \
			"$lexicon lacks; they count for words, not for phones; $to/skipped lists them"
	fi
}

# times NAME DIR: a table of how far words and phones are from the times of DIR; only its rows if there was one before
times() {
	local to=$out/$1/times file start=1
	mkdir -p "$to"
	for file in wav.scp text utt2spk; do cp "$out/$1/$file" "$to/"; done
	for file in words.ctm phones.ctm; do
		[ ! -e "$2/$file" ] || into "$to/$file" select_lines "$to/wav.scp" "$2/$file"
	done
	[ -z "$timed" ] || start=3
	python3 "$here/local/measure_boundaries.py" "$linnet" --data "$to" --name "$1" --model "$model" | tail -n "+$start"
	timed=1
}

# condition_folder NAME CONDITION: makes the data folder OUT/NAME/CONDITION
condition_folder() {
	local from=$out/$1 to=$out/$1/$2 some
	mkdir -p "$to/audio"
	if [ "$2" = clean ]; then
		cp "$from/wav.scp" "$to/wav.scp"
	else
		read -r -d '' -a some <<<"${options[$2]}" || true
		[[ $2 != noise-* ]] || some+=("${noise_options[@]}")
		into "$to/list" numbered "$from/wav.scp"
		"$condition" --list "$to/list" --out "$to/audio" "${some[@]}"
		into "$to/wav.scp" numbered_audio "$from/wav.scp" "$(cd "$to" && pwd)/audio"
	fi
	cp "$from/utt2spk" "$to/utt2spk"
}

# recognise FOLDER NAME OPTION...: writes FOLDER/NAME.hyp, .log, .time
recognise() {
	local base=$1/$2 TIMEFORMAT='%U %S'
	{ time "$linnet" transcribe --threads "$threads" ${model:+--model "$model"} --data "$1" --output "$base.hyp" \
		${endpoints:+--endpoints} "${@:3}" 2>"$base.log"; } 2>"$base.time" || die "$1: not all utterances were recognised: see $base.log"
}

# search FOLDER: recognises phones greedily, and words if there is a language model
search() {
	recognise "$1" phones --phones
	[ ${#words[@]} -eq 0 ] || recognise "$1" words "${words[@]}"
}

# rate FOLDER NAME REFERENCE UNIT: " ERROR (LOW to HIGH) |"
rate() {
	local by=(--unit "$4")
	[ "$(awk '{print $2}' "$1/utt2spk" | sort -u | wc -l)" -lt 2 ] || by+=(--by-speaker)
	"$linnet" score --allow-extra --utt2spk "$1/utt2spk" "${by[@]}" "$3" "$1/$2.hyp" >"$1/$2.score" 2>"$1/$2.score.log" ||
		die "$(tail -n 1 "$1/$2.score.log")"
	awk '/^%[PW]ER/ {rate = $2} /^95 % interval/ {interval = $4 " to " $6} END {printf " %s (%s) |", rate, interval}' "$1/$2.score"
}

# speed FOLDER NAME: the real-time factor; of a single recording linnet prints none
speed() {
	awk 'FILENAME ~ /time$/ {spent = $1 + $2} {for (i = 2; i <= NF; i++) if ($i == "s" && $(i + 1) == "of") audio = $(i - 1)}
		END {if (audio > 0) printf " %.4f |", spent / audio; else printf " - |"}' "$1/$2.time" "$1/$2.log"
}

row() { # NAME CONDITION
	local folder=$out/$1/$2
	condition_folder "$1" "$2"
	printf '| %s | %s |' "$1" "${title[$2]}"
	search "$folder"
	rate "$folder" phones "$out/$1/phones" phone
	speed "$folder" phones
	if [ ${#words[@]} -gt 0 ]; then
		rate "$folder" words "$out/$1/text" word
		speed "$folder" words
	fi
	echo
	rm -r "$folder/audio"
}

# alarms NAME TITLE GAIN: phones and words per minute in clips without speech
alarms() {
	local folder=$out/alarms/$1 kind
	mkdir -p "$folder/audio"
	into "$folder/clips" sort "$noise"
	into "$folder/list" numbered "$folder/clips"
	"$condition" --list "$folder/list" --out "$folder/audio" --gain "$3"
	into "$folder/wav.scp" numbered_audio "$folder/clips" "$(cd "$folder" && pwd)/audio"
	into "$folder/utt2spk" awk '{print $1, $1}' "$folder/wav.scp"
	search "$folder"
	for kind in phones ${words:+words}; do
		awk -v title="$2" -v kind="$kind" '
			FILENAME ~ /hyp$/ {count += NF - 1; some += NF > 1; clips++; next}
			{for (i = 2; i <= NF; i++) if ($i == "s" && $(i + 1) == "of") audio = $(i - 1)}
			END {
				minute = audio > 0 ? sprintf("%.2f", count / audio * 60) : "-"
				printf "| %s | %s | %s | %d of %d |\n", title, kind, minute, some, clips
			}' "$folder/$kind.hyp" "$folder/$kind.log"
	done
	rm -r "$folder/audio"
}

for entry in "${set[@]}"; do references "${entry%%=*}" "${entry#*=}"; done
echo "| set | condition | PER % | real-time factor |${words:+ WER % | real-time factor |}"
echo "|---|---|---|---|${words:+---|---|}"
for entry in "${set[@]}"; do
	for name in "${order[@]}"; do row "${entry%%=*}" "$name"; done
done
for entry in "${set[@]}"; do
	[ -d "$model" ] && { [ -e "${entry#*=}/words.ctm" ] || [ -e "${entry#*=}/phones.ctm" ]; } || continue
	[ -n "$timed" ] || echo
	times "${entry%%=*}" "${entry#*=}"
done
if [ -n "$noise" ]; then
	printf '\n| without speech | unit | a minute | clips with any |\n|---|---|---|---|\n'
	alarms noises 'held-out noises' 0
	alarms faint 'the same, -40 dB' -40
	alarms silence 'digital silence' -200
fi
