# Functions that the recipes share. Scripts source this file.
# shellcheck shell=bash

linnet_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

# Messages go to stderr: "run.sh: message".
say() { echo "$(basename "$0"): $*" >&2; }
die() {
	say "$*"
	exit 1
}

# need_file PATH HINT
need_file() { [ -e "$1" ] || die "$1 is missing: $2"; }

# as_path NAME: the name of a file, with "./" before one like lr=1e-3/train, which awk would take for an assignment
as_path() {
	[[ ! $1 =~ ^[A-Za-z_][A-Za-z0-9_]*= ]] || printf ./
	printf '%s\n' "$1"
}

# take_options "SPEC..." ARGUMENTS...: "--some-name VALUE" into the variable some_name where SPEC has some-name; "--some-name"
# without a value sets it to 1 for "some-name!"; "--some-name VALUE..." appends to the array some_name for "some-name+".
# If SPEC has "...", other arguments and all after "--" go to the array rest. --help prints usage. The value of an option that
# counts something must be a whole number; --jobs and --threads may be empty where they are so by default. Every value that
# awk would take for an assignment gets "./" before it, as if it were a path, but not those of --set and --dev.
# Sets `arguments` to all arguments, for results. Local names begin with "_", so that options can have all other names.
take_options() {
	local _words _spec _name _list=''
	read -r -d '' -a _words <<<"$1" || true
	_spec=" ${_words[*]} "
	shift
	# shellcheck disable=SC2034
	arguments="$*" quick='' rest=()
	while [ $# -gt 0 ]; do
		_name=${1#--}
		case "$1:$_spec" in
		-h:* | --help:*) usage && exit 0 ;;
		--:*" ... "*)
			shift
			rest+=("$@")
			return
			;;
		--*" $_name! "*) printf -v "${_name//-/_}" 1 && _list='' ;;
		--*" $_name+ "* | --*" $_name "*)
			[ $# -ge 2 ] || die "$1 needs a value"
			case "$_name" in
			stage | stop-stage | parts | epochs | updates | seed)
				[[ $2 =~ ^[0-9]*$ ]] || die "$1 $2: must be a whole number"
				;;
			jobs | threads)
				[[ $2 =~ ^[1-9][0-9]*$ ]] || [ -z "$2${!_name-}" ] || die "$1 $2: must be a number above 0"
				;;
			esac
			if [[ $_spec == *" $_name+ "* ]]; then
				_list=${_name//-/_}
			else
				printf -v "${_name//-/_}" %s "$(as_path "$2")" && _list='' && shift
			fi
			;;
		--*) say "$1: is not an option; see --help" && exit 2 ;;
		*)
			if [ -n "$_list" ]; then
				local -n _values=$_list
				case "$_list" in
				set | dev) _values+=("$1") ;; # KEY=VALUE, NAME=DIR
				*) _values+=("$(as_path "$1")") ;;
				esac
			elif [[ $_spec == *" ... "* ]]; then
				rest+=("$1")
			else
				usage >&2 && exit 2
			fi
			;;
		esac
		shift
	done
}

# one_of OPTION VALUE CHOICE...
one_of() {
	local choice
	for choice in "${@:3}"; do [ "$2" != "$choice" ] || return 0; done
	die "$1 $2: must be one of ${*:3}"
}

# distinct_names "TAKEN..." NAME...: fails if a name, or the last part of a folder's path, occurs twice or is taken
distinct_names() {
	local path name taken=" $1 "
	for path in "${@:2}"; do
		name=$(basename "$path")
		[[ $taken != *" $name "* ]] ||
			die "$path: another set, or the recipe itself, already uses the name $name:" \
				"choose another one, for a folder by a link (ln -s)"
		taken+="$name "
	done
}

# check_stages LAST: fails if $stage or $stop_stage is not possible.
# shellcheck disable=SC2154
check_stages() {
	[ "$stage" -ge 1 ] && [ "$stage" -le "$1" ] || die "--stage $stage: must be 1 to $1"
	[ "$stop_stage" -ge "$stage" ] || die "--stop-stage $stop_stage: must be at least the first stage, $stage"
}

# Whether stage N is from $stage to $stop_stage.
# shellcheck disable=SC2154
runs() { [ "$stage" -le "$1" ] && [ "$1" -le "$stop_stage" ]; }

# build_program TARGET PROGRAM: builds a target and prints the path of its program. Recipes have a build folder of their
# own, so that the settings of the user's folders stay.
build_program() {
	local build=$linnet_root/build/recipes
	"$linnet_root/recipes/common/packages.sh" build recipe >&2
	say "building $2 (build/recipes)"
	cmake -S "$linnet_root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DLINNET_TESTS=OFF \
		>"$linnet_root/build-recipe.log" 2>&1 &&
		cmake --build "$build" --target "$1" >>"$linnet_root/build-recipe.log" 2>&1 ||
		die "the build failed: see build-recipe.log"
	rm -f "$linnet_root/build-recipe.log"
	find "$build" -maxdepth 2 -type f -name "$2" -perm -u+x -print -quit
}

# Builds the linnet command unless $LINNET names one, and puts it into $linnet.
build_linnet() {
	linnet=${LINNET:-}
	[ -n "$linnet" ] || linnet=$(build_program linnet_tool linnet)
}

# program_files PROGRAM: paths of the program and of linnet's libraries that it loads
program_files() {
	local program
	program=$(command -v "$1") || return 0
	echo "$program"
	{ ldd "$program" 2>/dev/null || true; } | sed -n 's/^[^>]*linnet[^>]* => \(\/.*\) (0x[0-9a-f]*)$/\1/p'
}

# build_experiment NAME: the program linnet-NAME into $experiment, unless $LINNET_EXPERIMENTS is a folder that has it.
build_experiment() {
	# shellcheck disable=SC2034 # for the recipe that sources this
	experiment=${LINNET_EXPERIMENTS:+$LINNET_EXPERIMENTS/linnet-$1}
	[ -n "$experiment" ] || experiment=$(build_program "linnet_$1" "linnet-$1")
}

# draw PREFIX WIDTH,HEIGHT <program: draws a gnuplot program to PREFIX.svg and PREFIX.png
draw() {
	local program format
	mkdir -p "$(dirname "$1")"
	command -v gnuplot >/dev/null || die "gnuplot is missing: install the Debian package gnuplot-nox"
	program=$(cat)
	for format in svg png; do
		printf 'set terminal %s size %s enhanced\nset output "%s"\n%s\n' "$format" "$2" "$1.$format" "$program" | gnuplot
	done
}

# The commit that results belong to, with "+" if the working tree has changes.
commit() {
	local id
	id=$(git -C "$linnet_root" rev-parse --short HEAD 2>/dev/null) || id=unknown
	git -C "$linnet_root" diff --quiet HEAD 2>/dev/null || id=$id+
	echo "$id"
}

processor() {
	awk -F': ' '/^model name/ {print $2; exit}' /proc/cpuinfo 2>/dev/null
}

# into FILE COMMAND...: runs a command and writes its output to a file, which appears only if the command succeeds. A
# subshell runs it, so that an interrupt removes the temporary file too; variables that the command sets are lost. A
# function fails at its first command that fails, unless `into` itself stands in a condition.
into() (
	_file=$1 _temporary=$1.tmp.$BASHPID
	shift
	trap 'rm -f "$_temporary"' EXIT
	"$@" >"$_temporary"
	_status=$?
	[ "$_status" = 0 ] || exit "$_status"
	mv "$_temporary" "$_file"
)

# spk2utt from utt2spk.
spk2utt() {
	awk '{utts[$2] = utts[$2] " " $1} END {for (s in utts) print s utts[s]}' "$1" | LC_ALL=C sort
}

# select_lines LIST FILE: the lines of FILE whose first field is the first field of a line in LIST.
select_lines() {
	list=$1 awk 'BEGIN {while ((getline <ENVIRON["list"]) > 0) keep[$1]} $1 in keep' "$2"
}

# select_utterances FROM TO LIST: copies a data folder with only the utterances in LIST (first column).
select_utterances() {
	local name
	mkdir -p "$2"
	for name in text utt2spk phones segments feats.scp utt2num_frames; do
		[ ! -e "$1/$name" ] || into "$2/$name" select_lines "$3" "$1/$name"
	done
	for name in "$1"/feats-*.scp; do
		[ ! -e "$name" ] || into "$2/${name##*/}" select_lines "$3" "$name"
	done
	into "$2/spk2utt" spk2utt "$2/utt2spk"
	for name in spk2gender cmvn.scp; do
		[ ! -e "$1/$name" ] || into "$2/$name" select_lines "$2/spk2utt" "$1/$name"
	done
	if [ -e "$2/segments" ]; then
		into "$2/wav.scp" select_lines <(awk '{print $2}' "$2/segments") "$1/wav.scp"
	elif [ -e "$1/wav.scp" ]; then
		into "$2/wav.scp" select_lines "$3" "$1/wav.scp"
	fi
}

# divide_utterances FOLDER PREFIX PARTS: divides a data folder into at most PARTS parts of about the same number of
# utterances, without dividing a speaker: lists PREFIX.1.list ... Prints the number of parts.
divide_utterances() {
	grep -q '[^[:space:]]' "$1/utt2spk" || die "$1: has no utterances: utt2spk is empty"
	prefix=$2 parts=$3 awk '
		BEGIN {parts = ENVIRON["parts"]; prefix = ENVIRON["prefix"]}
		NR == FNR {speakers++; total += NF - 1; next}
		FNR == 1 {n = parts < speakers ? parts : speakers}
		{
			part = int(done / total * n) + 1
			if (part > last + 1) part = last + 1
			last = part
			done += NF - 1
			for (i = 2; i <= NF; i++) print $i > (prefix "." part ".list")
		}
		END {print last}' <(spk2utt "$1/utt2spk") <(spk2utt "$1/utt2spk")
}

# absolute_scp SCP FOLDER: wav.scp or feats.scp with absolute paths. Looks for relative paths where linnet does: in the
# folder, the two above it or the current folder. Commands do not change.
absolute_scp() {
	folder=$(cd "$2" && pwd) awk '
		function there(path,   line, status) {
			sub(/:[0-9]+$/, "", path)
			status = getline line <path
			close(path)
			return status >= 0
		}
		BEGIN {
			folders = split("/ /../ /../../", between, " ")
			for (i = 1; i <= folders; i++) start[i] = ENVIRON["folder"] between[i]
			start[++folders] = ENVIRON["PWD"] "/"
		}
		{
			id = $1
			path = $0
			sub(/^[^ \t]+[ \t]+/, "", path)
			if (path !~ /^\// && path !~ /\|[ \t]*$/) {
				for (i = 1; i <= folders && !there(start[i] path); i++);
				path = start[i <= folders ? i : 1] path
			}
			print id " " path
		}' "$1" | sort
}

# numbered LIST: the list with 1, 2, ... in the place of the ids, which may have a "/", for names of files
numbered() { awk '{sub(/^[^ \t]+/, NR)} 1' "$1"; }

# numbered_audio LIST FOLDER: lines "ID FOLDER/NUMBER.wav"
numbered_audio() { folder=$2 awk '{print $1 " " ENVIRON["folder"] "/" NR ".wav"}' "$1"; }

# whole_recordings FOLDER: fails if the utterances of a data folder are parts of its recordings
whole_recordings() {
	[ ! -e "$1/segments" ] || die "$1/segments: segments are not read here: write each to an audio file of its own (Kaldi's" \
		"extract-segments does), name these files in wav.scp, and remove segments"
}

# add_phones LANG FOLDER...: writes the file phones of data folders by the lexicon that make_dictionary.sh wrote to LANG
add_phones() {
	local lang=$1 folder
	shift
	for folder; do
		into "$folder/phones" awk -v unknown=SPN -v stress=1 -f "$linnet_root/recipes/common/possessive.awk" \
			-f "$linnet_root/recipes/common/words_to_phones.awk" "$lang/lexicon.txt" "$folder/text"
	done
}

# phone_sentences FOLDER: its phones without ids, in the form that linnet ngram reads
phone_sentences() { awk 'NF > 1 {$1 = ""; print substr($0, 2)}' "$1/phones"; }

# log_values EXP KEY: the value of KEY in each line of EXP/log.jsonl
log_values() {
	awk -v key="$2" 'match($0, "\"" key "\": [-0-9.e+]+") {
		print substr($0, RSTART + length(key) + 4, RLENGTH - length(key) - 4)}' "$1/log.jsonl"
}

# log_kernels EXP: the kernels of the training; several if it was resumed with others
log_kernels() { sed -n 's/.*"kernels": "\([^"]*\)".*/\1/p' "$1/log.jsonl" | sort -u | paste -s -d ' '; }

# The median of the numbers in standard input; "-" if there are none.
median() {
	sort -g | awk '{v[NR] = $1} END {print NR ? v[int((NR + 1) / 2)] : "-"}'
}

# rate_of SCORE: the percentage in an output file of linnet score; "-" if there is no file
rate_of() {
	if [ -e "$1" ]; then awk '/^%[PW]ER/ {print $2}' "$1"; else echo -; fi
}

# error_rate REFERENCE HYPOTHESIS [OPTION...]: the percentage of errors
error_rate() {
	"$linnet" score --bootstrap 0 "${@:3}" "$1" "$2" | awk '/^%[PW]ER/ {print $2}'
}

# Starts an MPI job, by Open MPI or MPICH; the number of processes follows. Ranks have threads, so they are not bound to
# one core, and a small machine may have more ranks than cores.
start_ranks=(env OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
	PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe PRTE_MCA_hwloc_default_binding_policy=none mpirun -n)

# in_ranks N COMMAND...: runs a command here, with N > 1 as N processes of an MPI job.
in_ranks() {
	local _ranks=$1
	shift
	[ "$_ranks" -gt 1 ] || {
		"$@"
		return
	}
	command -v mpirun >/dev/null || die "--ranks $_ranks: mpirun is not installed: install Open MPI or MPICH"
	"${start_ranks[@]}" "$_ranks" "$@"
}

# parse_way CMD [THREADS]: sets way to the first word, a way of cmd.sh, way_requests to the requests that cmd.sh takes of the
# others, way_threads to the requested threads, and way_options to the rest, which is for sbatch or qsub. If CMD names no
# threads, THREADS are requested; if THREADS is missing, too, nothing is requested, and way_threads is 1.
parse_way() {
	local _words=() _rest=()
	read -r -a _words <<<"$1"
	# shellcheck disable=SC2034 # for those that call this
	way=${_words[0]-} way_requests=(${2:+--threads "$2"}) way_threads=${2:-1}
	_words=("${_words[@]:1}")
	while [ ${#_words[@]} -gt 0 ]; do
		case "${_words[0]}" in
		--mem | --gpus | --threads | --pe | --notice)
			[ ${#_words[@]} -gt 1 ] || die "${_words[0]} needs a value"
			way_requests+=("${_words[@]:0:2}")
			# shellcheck disable=SC2034
			[ "${_words[0]}" != --threads ] || way_threads=${_words[1]}
			_words=("${_words[@]:2}")
			;;
		# names that sbatch has for --threads
		--cpus-per-task=*) _words=(--threads "${_words[0]#*=}" "${_words[@]:1}") ;;
		--cpus-per-task | -c) _words=(--threads "${_words[@]:1}") ;;
		*)
			_rest+=("${_words[0]}")
			_words=("${_words[@]:1}")
			;;
		esac
	done
	way_options=${_rest[*]-}
}

# run_on [--ranks N | --lines FILE] CMD JOBS LOG COMMAND...: runs a command of linnet here (CMD is "local") or as a job:
# "slurm --mem 8G --gpus 1 --partition=long". Its option --threads comes from CMD; if that names none, from JOBS, which ranks
# here share. With --ranks the command is a training of N processes in the folder of LOG, which continues after its job is
# queued again. With --lines it runs for each line of FILE, as by cmd.sh; here one after the other.
run_on() {
	local _ranks=1 _lines='' _parts=(--parts 1 --verbatim) _threads _log way way_requests way_threads way_options
	case "$1" in
	--ranks)
		_ranks=$2 _parts+=(--ranks "$2" --requeue --progress "$(dirname "$5")/checkpoint.safetensors")
		shift 2
		;;
	--lines)
		_lines=$2 _parts=(--lines "$2")
		shift 2
		;;
	esac
	_threads=$2 _log=$3
	case "${1%% *}" in
	local | parallel) _threads=$(((_threads + _ranks - 1) / _ranks)) _parts+=(--jobs 1) ;;
	esac
	parse_way "$1" "$_threads"
	shift 3
	set -- "$@" --threads "$way_threads"
	if [ "$way" = local ] && [ -z "$_lines" ]; then
		in_ranks "$_ranks" "$@"
		return
	fi
	rm -f "$_log".*.done # each call runs the command again
	"$linnet_root/recipes/common/cmd.sh" --via "$way" "${_parts[@]}" ${way_requests[@]+"${way_requests[@]}"} \
		--options "$way_options" --retries 0 --log "$_log" -- "$@" || return
	[ -n "$_lines" ] || tail -n 5 "$_log.1.log" >&2
}

# recognise_on CMD JOBS DATA PREFIX OPTION...: PREFIX.hyp, what `linnet transcribe OPTION...` recognises in a data folder:
# here in one process with JOBS threads, or in parts on a cluster. Ends the program if not all utterances are recognised.
recognise_on() {
	if [ "${1%% *}" != local ]; then
		LINNET=$linnet "$linnet_root/recipes/common/decode.sh" --cmd "$1" --jobs "$(jobs_here "$1" "$2")" --data "$3" --out "$4" \
			-- transcribe "${@:5}" ||
			die "$3: not all utterances were recognised"
	else
		"$linnet" transcribe --threads "$2" --data "$3" --output "$4.hyp" "${@:5}" 2>"$4.log" || {
			cat "$4.log" >&2
			die "$3: not all utterances were recognised"
		}
	fi
}

# check_ranks RANKS: whether it is a number of processes
check_ranks() { [[ $1 =~ ^[1-9][0-9]*$ ]] || die "--ranks $1: must be a number above 0"; }

# shards_for RANKS DEVICE CONF KEY=VALUE...: prints the key "shards=N" of a training, where the ranks need one. Without it a
# batch has at least 2 and at most 16 shards on the CPU, and one on a GPU, which computes them one after the other.
# Nothing if a key or the configuration CONF says how many.
shards_for() {
	local enough=2 shards=16
	case "$2" in
	cuda*) enough=1 shards=1 ;;
	auto) enough=1 ;; # may be either: a GPU takes 16, too
	esac
	[ "$1" -gt "$enough" ] && [[ " ${*:4}" != *[\ .]shards=* ]] && ! grep -q '"shards"' "$3" || return 0
	while [ "$shards" -lt "$1" ]; do shards=$((2 * shards)); done
	echo "shards=$shards"
}

# check_way OPTION CMD: whether run_on takes CMD
check_way() { one_of "$1" "${2%% *}" local parallel slurm gridengine; }

# jobs_here CMD JOBS: JOBS where parts run on this machine; nothing on a cluster, which runs all at a time
jobs_here() {
	case "${1%% *}" in local | parallel) echo "$2" ;; esac
}

# has_checkpoint FOLDER: whether linnet train would continue there
has_checkpoint() { [ -e "$1/checkpoint.safetensors" ] || [ -e "$1/checkpoint-previous.safetensors" ]; }

# Whether the number $1 is below $2.
is_below() { awk -v a="$1" -v b="$2" 'BEGIN {exit !(a < b)}'; }

# settings_of RESULT: the file with its settings: RESULT's name with .settings
settings_of() {
	local name=${1##*/}
	echo "${1%"$name"}${name%.*}.settings"
}

# same_settings WHAT THEIRS OURS ADVICE: fails if WHAT was made with other settings than those of this run
same_settings() {
	[ "$2" = "$3" ] || die "$1 was made with other settings: $2; now they are: $3; give the same, $4"
}

# check_settings RESULT SETTINGS: fails if the file RESULT is there and has other settings, or none
check_settings() {
	local file stem
	file=$(settings_of "$1") stem=${file%.settings}
	[ -s "$1" ] || return 0
	[ -e "$file" ] || die "$1 has no $file, so its settings are unknown: remove $stem.*, or choose another folder for results"
	same_settings "$1" "$(<"$file")" "$2" "remove $stem.*, or choose another folder for results"
}

# check_options RESULT OPTIONS: the same without the machine, which results of earlier versions do not note
check_options() {
	local machine=''
	[ ! -e "$(settings_of "$1")" ] || machine=$(sed 's/--.*//' "$(settings_of "$1")")
	check_settings "$1" "$machine$2"
}

# this_machine PROGRAM: the processor and the program of this run, for settings "MACHINE; --OPTION ...". Virtual processors of
# different kinds may have the same name; the numbers tell them apart. The program contains the library, so its checksum
# stands for the version of both.
this_machine() {
	awk -F '[\t ]*: ' '
		$1 == "model name" {name = $2}
		$1 == "cpu family" || $1 == "model" || $1 == "stepping" {numbers = numbers ", " $1 " " $2}
		/^$/ {exit}
		END {printf "%s%s; ", name == "" ? "unknown processor" : name, numbers}' /proc/cpuinfo
	echo "${1##*/} with the checksum $(cksum <"$1" | cut -d ' ' -f 1)"
}

# recorded_machine RESULT: the same of a result that is there, so that its report can be written elsewhere
recorded_machine() {
	local file
	file=$(settings_of "$1")
	[ ! -e "$file" ] || sed 's/^--.*/unknown machine/; s/; --.*//' "$file"
}

# recorded_machines RESULT...: those of several results, each once
recorded_machines() {
	local result
	for result; do recorded_machine "$result"; done | awk '!seen[$0]++ {printf "%s%s", between, $0; between = " and "}'
}
