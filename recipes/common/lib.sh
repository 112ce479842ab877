# What the recipes share; sourced, not run.
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

# take_options "NAME..." ARGUMENTS...: "--some-name VALUE" into the variable some_name for each NAME, "--quick" into quick;
# --help prints usage. Sets `arguments` to all of them, for results.
take_options() {
	local names=" $1 " name
	shift
	# shellcheck disable=SC2034
	arguments="$*" quick=''
	while [ $# -gt 0 ]; do
		name=${1#--}
		case "$1" in
		-h | --help) usage && exit 0 ;;
		--quick)
			# shellcheck disable=SC2034
			quick=1 && shift
			;;
		--*)
			[ "${names#* "$name" }" != "$names" ] || {
				usage >&2
				exit 2
			}
			[ $# -ge 2 ] || die "$1 wants a value"
			printf -v "${name//-/_}" %s "$2" && shift 2
			;;
		*) usage >&2 && exit 2 ;;
		esac
	done
}

# Whether stage N is among those asked for by $stage and $stop_stage.
# shellcheck disable=SC2154
runs() { [ "$stage" -le "$1" ] && [ "$1" -le "$stop_stage" ]; }

# Builds a target and prints where its program is: build_program TARGET PROGRAM
build_program() {
	"$linnet_root/recipes/common/packages.sh" build recipe >&2
	say "building $2 (build/release)"
	cmake -S "$linnet_root" -B "$linnet_root/build/release" -G Ninja -DCMAKE_BUILD_TYPE=Release -DLINNET_TESTS=OFF \
		>"$linnet_root/build-recipe.log" 2>&1 &&
		cmake --build "$linnet_root/build/release" --target "$1" >>"$linnet_root/build-recipe.log" 2>&1 ||
		die "the build failed: see build-recipe.log"
	rm -f "$linnet_root/build-recipe.log"
	find "$linnet_root/build/release" -maxdepth 2 -type f -name "$2" -perm -u+x -print -quit
}

# Builds the linnet command unless $LINNET names one, and puts it into $linnet.
build_linnet() {
	linnet=${LINNET:-}
	[ -n "$linnet" ] || linnet=$(build_program linnet_tool linnet)
}

# build_experiment NAME: the program linnet-NAME into $experiment, unless $LINNET_EXPERIMENTS is a folder that has it.
build_experiment() {
	# shellcheck disable=SC2034 # for the recipe that sources this
	experiment=${LINNET_EXPERIMENTS:+$LINNET_EXPERIMENTS/linnet-$1}
	[ -n "$experiment" ] || experiment=$(build_program "linnet_$1" "linnet-$1")
}

# Draws a gnuplot program into PREFIX.svg and PREFIX.png: draw PREFIX WIDTH,HEIGHT <program
draw() {
	local program format
	command -v gnuplot >/dev/null || die "gnuplot is missing: install the Debian package gnuplot-nox"
	program=$(cat)
	for format in svg png; do
		printf 'set terminal %s size %s enhanced\nset output "%s"\n%s\n' "$format" "$2" "$1.$format" "$program" | gnuplot
	done
}

# The commit that results belong to, with "+" if the tree was changed.
commit() {
	local id
	id=$(git -C "$linnet_root" rev-parse --short HEAD 2>/dev/null) || id=unknown
	git -C "$linnet_root" diff --quiet HEAD 2>/dev/null || id=$id+
	echo "$id"
}

processor() {
	awk -F': ' '/^model name/ {print $2; exit}' /proc/cpuinfo 2>/dev/null
}

# Runs a command whose output goes to a file that appears only when it succeeded: into FILE COMMAND...
into() {
	local file=$1
	shift
	"$@" >"$file.tmp.$$" || {
		rm -f "$file.tmp.$$"
		return 1
	}
	mv "$file.tmp.$$" "$file"
}

# spk2utt from utt2spk.
spk2utt() {
	awk '{utts[$2] = utts[$2] " " $1} END {for (s in utts) print s utts[s]}' "$1" | LC_ALL=C sort
}

# select_utterances FROM TO LIST: the files of a data folder, only utterances in LIST (first column).
select_utterances() {
	local name
	mkdir -p "$2"
	for name in wav.scp text utt2spk phones; do
		[ -e "$1/$name" ] || continue
		into "$2/$name" awk 'NR == FNR {keep[$1]; next} $1 in keep' "$3" "$1/$name"
	done
	into "$2/spk2utt" spk2utt "$2/utt2spk"
}
