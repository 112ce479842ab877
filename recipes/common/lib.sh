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

# Builds the linnet command unless $LINNET names one, and puts it into $linnet.
build_linnet() {
	linnet=${LINNET:-}
	[ -z "$linnet" ] || return 0
	"$linnet_root/recipes/common/packages.sh" build recipe
	say "building linnet (build/release)"
	cmake -S "$linnet_root" -B "$linnet_root/build/release" -G Ninja -DCMAKE_BUILD_TYPE=Release -DLINNET_TESTS=OFF \
		>"$linnet_root/build-recipe.log" 2>&1 &&
		cmake --build "$linnet_root/build/release" --target linnet_tool >>"$linnet_root/build-recipe.log" 2>&1 ||
		die "the build failed: see build-recipe.log"
	rm -f "$linnet_root/build-recipe.log"
	# shellcheck disable=SC2034 # for the recipe that sources this
	linnet=$(find "$linnet_root/build/release" -maxdepth 2 -type f -name linnet -perm -u+x -print -quit)
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
