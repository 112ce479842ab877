#!/bin/bash
# Times of a step of the paper's networks, in Linnet and in PyTorch, in turns; see usage.
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=recipes/common/lib.sh
. "$here/../../common/lib.sh"
# shellcheck source=recipes/images/local/kernels.sh
. "$here/kernels.sh"

usage() {
	cat <<'END'
Usage: compare_torch.sh --torch PYTHON [--images mnist] [--batches "1 10 100"] [--rounds 5] [--steps 196] [--out FILE]

Runs the steps of linear attention of the network for MNIST (8 layers) or CIFAR-10 (16 layers), with random weights and
one thread. In each round every program runs once, so that other programs on the machine disturb all of them. Sequences
have --steps values: with the state of linear attention, a step takes the same time in sequences of any length. Linnet
steps in groups of images, as linnet_sample does; PyTorch with all images at once. A batch of one image runs ten
times in Linnet, because it is short.

FILE (default compare-IMAGES.tsv) has each measurement: round, images, program, milliseconds of the processor a step of
all images. Printed are medians over the rounds, and the medians of the ratios of each round. Measurements that FILE has
are not repeated, and those that need kernels that the processor lacks are left out. A FILE of other --images or --steps,
another processor or another build of the program is refused; its name with .settings says what it is of.
Builds the program first, unless $LINNET_EXPERIMENTS is a folder with it.
END
}

torch='' images=mnist batches='1 10 100' rounds=5 steps=196 out=
take_options "torch images batches rounds steps out" "$@"
one_of --images "$images" mnist cifar
out=${out:-compare-$images.tsv}
[ -n "$torch" ] || die "--torch is missing: a Python with PyTorch"
layers=8
[ "$images" = mnist ] || layers=16
build_experiment images-speed && meter=$experiment
network=(--heads 8 --width 256 --feed-forward 1024 --layers "$layers" --threads 1)

# milliseconds COUNT: a step of COUNT sequences, from a line of the program
milliseconds() { awk -F '\t' -v count="$1" '{printf "%.4g", 1000 * $7 / $3 * count / $5}'; }

# linnet BATCH KERNELS
linnet() {
	local count=$1
	[ "$1" -gt 1 ] || count=10
	"$meter" "${network[@]}" --length "$steps" --batch "$((count == $1 ? 0 : 1))" --count "$count" --kernels "$2"
}

# peer BATCH TYPE
peer() { "$torch" -W ignore "$here/peer_torch.py" "${network[@]}" --steps "$steps" --batch "$1" --dtype "$2"; }

# measure ROUND BATCH NAME COMMAND...
measure() {
	local line
	! grep -q "^$1	$2	$3	" "$out" || return 0
	line=$("${@:4}" 2>/dev/null) || die "$3 failed with $2 images: ${*:4}"
	printf '%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$(milliseconds "$2" <<<"$line")" >>"$out"
}

# of BATCH NAME: the milliseconds of each round
of() { awk -F '\t' -v n="$1" -v name="$2" '$2 == n && $3 == name {print $4}' "$out"; }

# ratio BATCH NAME NAME: the median of the quotients of each round
ratio() { paste <(of "$1" "$2") <(of "$1" "$3") | awk 'NF == 2 {printf "%.2g\n", $1 / $2}' | median; }

settings="$(this_machine "$meter"); --images $images --steps $steps"
check_settings "$out" "$settings"
touch "$out"
into "$(settings_of "$out")" echo "$settings"
int8=$(int8_kernels) bfloat16=$(bfloat16_kernels)
for ((round = 1; round <= rounds; round++)); do
	for n in $batches; do
		measure "$round" "$n" float32 linnet "$n" auto
		measure "$round" "$n" torch-float32 peer "$n" float32
		[ -z "$bfloat16" ] || measure "$round" "$n" bfloat16 linnet "$n" "$bfloat16"
		measure "$round" "$n" torch-bfloat16 peer "$n" bfloat16
		[ -z "$int8" ] || measure "$round" "$n" int8 linnet "$n" "$int8"
	done
done

echo "$(processor), medians of $rounds rounds, milliseconds of the processor a step, $images:"
echo
echo '| images at once | float32 | bfloat16 | int8 | PyTorch, float32 | PyTorch, bfloat16 | PyTorch / Linnet, float32 |' \
	'both bfloat16 | PyTorch float32 / int8 | PyTorch bfloat16 / int8 |'
echo '|---|---|---|---|---|---|---|---|---|---|'
for n in $batches; do
	printf '| %s |' "$n"
	for name in float32 bfloat16 int8 torch-float32 torch-bfloat16; do printf ' %s |' "$(of "$n" "$name" | median)"; done
	printf ' %s | %s | %s | %s |\n' "$(ratio "$n" torch-float32 float32)" "$(ratio "$n" torch-bfloat16 bfloat16)" \
		"$(ratio "$n" torch-float32 int8)" "$(ratio "$n" torch-bfloat16 int8)"
done
