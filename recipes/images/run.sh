#!/bin/bash
# Autoregressive models of images: bits per dimension, samples, completions, and the speed of generation; see usage.
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=recipes/common/lib.sh
. "$here/../common/lib.sh"
# shellcheck source=recipes/images/local/kernels.sh
. "$here/local/kernels.sh"

usage() {
	cat <<'END'
Usage: run.sh --data DIR [--kinds "NAME..."] [--updates N] [--exp DIR] [OPTION...]

Trains causal transformers that predict images value by value (Katharopoulos et al. 2020, section 4.2, appendix C):
embeddings of values, learned positions, a mixture of 10 logistics, RAdam. Without options the network is the paper's
for MNIST: 8 layers of 8 heads of 32, feed-forward 1024, batches of 10. It needs days on a processor; the options make
it and the images smaller. Builds the programs first, unless $LINNET_EXPERIMENTS is a folder with them.

DIR has MNIST (train-images-idx3-ubyte and t10k-images-idx3-ubyte, each may be .gz) or CIFAR-10 (data_batch_1.bin to
data_batch_5.bin and test_batch.bin, or cifar-10-binary.tar.gz).

  1  EXP/data: the unpacked images; later stages refuse a --data that has others
  2  training: EXP/KIND.log, EXP/KIND.result, EXP/KIND.bits (of each test image), EXP/KIND.model; an interrupted one
     continues from its last checkpoint (EXP/KIND.checkpoint), and more --updates continue a finished one; results of
     other settings or other images (EXP/KIND.settings), or without that file, are refused
  3  pictures: EXP/KIND-samples.png, EXP/KIND-completions.png; those of LSH, which has no state, take about as long for
     each image as stage 4 measures
  4  speed of generation with the paper's networks and random weights: EXP/speed.tsv; finished rows are not repeated;
     rows of another processor or of another build of the program (EXP/speed.settings) are refused
  5  EXP/bits.svg, EXP/length.svg (where stage 4 measured lengths), and both as PNG; EXP/RESULTS.md

  --kinds NAMES      among linear, softmax, lsh-1, lsh-4 (default: linear softmax lsh-1 lsh-4)
  --updates N        number of updates (default 10000)
  --seconds S        stop each training after S seconds of the processor, so that all kinds have the same time
                     (default 0: only after --updates)
  --batch N          images of an update (default 10)
  --initial DIR      begin with the weights of DIR/KIND.checkpoint, of an earlier training of the same network; its other
                     settings may differ
  --rate R           learning rate (default 1e-4)
  --decay N          divide the rate by 10 over the last 1/N of the updates, linearly (default 1: never); not with
                     --seconds, which ends a training before its last updates
  --report N         updates of a line of EXP/KIND.log (default 10)
  --layers N, --heads N, --width N, --feed-forward N
                     the network (default 8, 8, 256, 1024; the paper has 16 layers for CIFAR-10)
  --scale N          divide height and width of the images by N (default 1)
  --train-images N   use only the first training images (default 0: all)
  --test-images N    use only the first test images (default 1000; 0: all)
  --speed NAMES      what stage 4 measures, among mnist, cifar, length (default: all three)
  --torch PYTHON     a Python with PyTorch, to measure the same loops in it
  --quick            small networks and numbers, only to see that everything runs
  --exp DIR          folder for all results (default exp/images)
  --seed S           seed of weights, of the order of images and of samples (default 1)
  --jobs J           threads of training (default: one per processor); speed is measured with one
  --kernels NAME     CPU kernels of training (default auto)
  --stage N          begin with this stage (default 1)
  --stop-stage N     end after this stage (default 5)
END
}

data='' kinds='linear softmax lsh-1 lsh-4' updates='' seconds=0 batch=10 initial='' rate=1e-4 decay=1 report=10 layers='' heads=''
width='' feed_forward='' scale='' train_images=0 test_images='' speed='mnist cifar length' torch='' exp=exp/images seed=1
jobs=$(nproc) kernels=auto stage=1 stop_stage=5
take_options "data kinds updates seconds batch initial rate decay report layers heads width feed-forward scale train-images test-images speed
	torch exp seed jobs kernels stage stop-stage quick!" "$@"
check_stages 5
if [ -n "$quick" ]; then
	: "${updates:=10}" "${layers:=1}" "${heads:=2}" "${width:=16}" "${feed_forward:=32}" "${scale:=4}" "${test_images:=20}"
	network=(--heads 2 --width 16 --feed-forward 32)
	mnist_layers=1 mnist_side=4 mnist_batches=(1 3) cifar_layers=1 cifar_side=2 cifar_batches=(2) lengths='8 16 32'
else
	network=(--heads 8 --width 256 --feed-forward 1024)
	mnist_layers=8 mnist_side=28 mnist_batches=(1 10 100 1000) cifar_layers=16 cifar_side=32 cifar_batches=(1 10 100)
	lengths='256 1024 4096 16384 65536'
fi
: "${updates:=10000}" "${layers:=8}" "${heads:=8}" "${width:=256}" "${feed_forward:=1024}" "${scale:=1}" "${test_images:=1000}"
read -r -d '' -a kinds <<<"$kinds" || true
for kind in "${kinds[@]}"; do one_of --kinds "$kind" linear softmax lsh-1 lsh-4; done
[[ -z $initial || ! $initial -ef $exp ]] || die "--initial $initial: is --exp; more --updates continue a training"
for name in $speed; do one_of --speed "$name" mnist cifar length; done
[[ $exp != *,* ]] || die "--exp $exp: must have no comma, which separates files of images"

# --- data -----------------------------------------------------------------------------------------------------------

# Prints the names of the files of --data.
image_files() {
	if [ -e "$data/cifar-10-binary.tar.gz" ] || [ -e "$data/data_batch_1.bin" ]; then
		echo data_batch_{1..5}.bin test_batch.bin
	else
		echo train-images-idx3-ubyte t10k-images-idx3-ubyte
	fi
}

# contents NAME: of a file of --data, decompressed
contents() {
	if [ -e "$data/cifar-10-binary.tar.gz" ]; then
		tar -xzOf "$data/cifar-10-binary.tar.gz" "cifar-10-batches-bin/$1"
	elif [ -e "$data/$1.gz" ]; then
		gzip -dc "$data/$1.gz"
	else
		need_file "$data/$1" "--data must name a folder with MNIST or CIFAR-10"
		cat "$data/$1"
	fi
}

# unpacked train|test: its files in EXP, with commas between them. Earlier versions wrote such a list, with folders that may
# have been renamed since.
unpacked() {
	local files
	read -r -d '' -a files < <(tr , '\n' <"$exp/data/$1" | sed 's/.*\///') || true
	files=("${files[@]/#/"$exp/data/"}")
	(IFS=, && echo "${files[*]}")
}

# Prints the checksum of all images of --data.
images_of_data() {
	local name
	for name in $(image_files); do contents "$name" || exit; done | cksum | cut -d ' ' -f 1
}

# EXP has one set of images. Without --data, they are those of stage 1.
choose_images() {
	local before=''
	[ ! -e "$exp/data/checksum" ] || before=$(<"$exp/data/checksum")
	images=$before
	[ -n "$data" ] || return 0
	images=$(images_of_data)
	[ -z "$before" ] || [ "$before" = "$images" ] ||
		die "--data $data: $exp was begun with other images: choose another folder with --exp"
}

unpack_images() {
	local files name
	[ -n "$data" ] || die "--data is missing: the folder of MNIST or CIFAR-10"
	read -r -a files <<<"$(image_files)"
	mkdir -p "$exp/data"
	for name in "${files[@]}"; do into "$exp/data/$name" contents "$name"; done
	echo "${files[-1]}" >"$exp/data/test"
	echo "${files[@]::${#files[@]}-1}" >"$exp/data/train"
	into "$exp/data/checksum" echo "$images"
}

# --- training and pictures ------------------------------------------------------------------------------------------

# attention_of KIND: its options
attention_of() {
	case "$1" in
	lsh-*) echo "--attention causal-lsh --rounds ${1#lsh-}" ;;
	*) echo "--attention causal-$1" ;;
	esac
}

# The settings that the results of a training depend on, besides its length
training_settings() {
	echo "--batch $batch --rate $rate --decay $decay --report $report --layers $layers --heads $heads --width $width" \
		"--feed-forward $feed_forward --scale $scale --train-images $train_images --test-images $test_images --seed $seed"
}

# initial_weights KIND: the checkpoint that its training begins with
initial_weights() { echo "$initial/$1.checkpoint"; }

# result_settings KIND: the same with the images and the initial weights
result_settings() {
	echo "$(training_settings); images with the checksum $images${initial:+; initial weights with the checksum $(
		cksum <"$(initial_weights "$1")" | cut -d ' ' -f 1
	)}"
}

train() {
	local attention settings
	read -r -a attention <<<"$(attention_of "$1")"
	read -r -a settings <<<"$(training_settings)"
	[ -z "$initial" ] || settings+=(--initial "$(initial_weights "$1")")
	into "$exp/$1.settings" result_settings "$1"
	"$trainer" --train "$(unpacked train)" --test "$(unpacked test)" --out "$exp/$1" "${attention[@]}" \
		"${settings[@]}" --updates "$updates" --seconds "$seconds" --threads "$jobs" --kernels "$kernels" --checkpoint 5
}

# check_result KIND: refuses a result, or a training that was interrupted, of other settings or other images
check_result() {
	local settings
	[ -z "$initial" ] || need_file "$(initial_weights "$1")" "--initial must name the folder of an earlier training"
	settings=$(result_settings "$1")
	check_settings "$exp/$1.result" "$settings"
	check_settings "$exp/$1.checkpoint" "$settings"
}

trained() {
	[ -s "$exp/$1.result" ] &&
		awk -F '\t' -v updates="$updates" -v seconds="$seconds" \
			'{exit !($2 >= updates || (seconds > 0 && $7 >= seconds))}' "$exp/$1.result"
}

# LSH has no state: the network runs over all values so far for each new one.
pictures() {
	local options=(--model "$exp/$1.model" --seed "$seed" --threads "$jobs")
	[[ $1 != lsh-* ]] || options+=(--whole)
	"$generator" "${options[@]}" --out "$exp/$1-samples.png"
	"$generator" "${options[@]}" --out "$exp/$1-completions.png" --complete "$(unpacked test)" --scale "$scale" \
		--count 24
}

# --- speed ----------------------------------------------------------------------------------------------------------

# measure LABEL PROGRAM...: appends "LABEL, columns of the program" to the table, unless the label is there
measure() {
	local line
	awk -F '\t' -v label="$1" '$1 == label {found = 1} END {exit found}' "$exp/speed.tsv" || return 0
	say "measuring $1"
	line=$("${@:2}")
	printf '%s\t%s\n' "$1" "$line" >>"$exp/speed.tsv"
}

# measure_precisions IMAGES KIND COUNT OPTION...: in all precisions that the processor has; $run is the program
measure_precisions() {
	local int8 bfloat16
	int8=$(int8_kernels)
	bfloat16=$(bfloat16_kernels)
	measure "$1 $2 $3" "${run[@]}" "${@:4}"
	[ -z "$bfloat16" ] || measure "$1 $2-bfloat16 $3" "${run[@]}" "${@:4}" --kernels "$bfloat16"
	[ -z "$int8" ] || measure "$1 $2-int8 $3" "${run[@]}" "${@:4}" --kernels "$int8"
}

# measure_torch LABEL OPTION...: in float32, and in bfloat16 if the processor has it; $peer is the program, and LABEL has %s
# in the place of the precision
measure_torch() {
	measure "${1/\%s/}" "${peer[@]}" "${@:2}"
	[ -z "$(bfloat16_kernels)" ] || measure "${1/\%s/-bfloat16}" "${peer[@]}" "${@:2}" --dtype bfloat16
}

# measure_images NAME LAYERS SIDE CHANNELS LARGEST BATCH...: all ways to generate images; batches of stateful softmax have at
# most LARGEST, because each image holds its keys and values
measure_images() {
	local n run=("$meter" --threads 1 "${network[@]}" --layers "$2" --side "$3" --channels "$4")
	local peer=("$torch" "$here/local/peer_torch.py" "${network[@]}" --layers "$2" --steps "$(($3 * $3 * $4))")
	for n in "${@:6}"; do
		measure_precisions "$1" linear "$n" --batch 0 --count "$n"
		[ -z "$torch" ] || measure_torch "$1 torch-linear%s $n" --batch "$n"
	done
	for n in "${@:6}"; do
		[ "$n" -gt "$5" ] ||
			measure_precisions "$1" stateful-softmax "$n" --attention causal-softmax --batch "$n" --count "$n"
	done
	[ -z "$torch" ] || measure_torch "$1 torch-stateful-softmax%s 1" --softmax --batch 1
	measure_precisions "$1" softmax 1 --attention causal-softmax --whole
	[ -z "$torch" ] || measure_torch "$1 torch-softmax%s 1" --whole
	for n in 1 4; do measure_precisions "$1" "lsh-$n" 1 --attention causal-lsh --rounds "$n" --whole; done
}

# The network of the lengths is small, so that attention takes a part of the time that can be seen.
measure_lengths() {
	local n run=("$meter" --threads 1 --layers 2 --heads 4 --width 128 --feed-forward 512)
	for n in $lengths; do measure "length linear $n" "${run[@]}" --length "$n"; done
	for n in $lengths; do
		measure "length stateful-softmax $n" "${run[@]}" --attention causal-softmax --length "$n"
		measure "length softmax $n" "${run[@]}" --attention causal-softmax --length "$n" --whole --points 4
	done
}

# What the rows of stage 4 depend on: the machine that measured them, and the networks
speed_settings() {
	echo "$1; ${network[*]}; mnist: layers $mnist_layers, side $mnist_side; cifar: layers $cifar_layers, side $cifar_side"
}

measure_all() {
	local name
	into "$exp/speed.settings" speed_settings "$(this_machine "$meter")"
	touch "$exp/speed.tsv"
	for name in $speed; do
		case "$name" in
		mnist) measure_images mnist "$mnist_layers" "$mnist_side" 1 10 "${mnist_batches[@]}" ;;
		cifar) measure_images cifar "$cifar_layers" "$cifar_side" 3 1 "${cifar_batches[@]}" ;;
		length) measure_lengths ;;
		esac
	done
}

# --- results --------------------------------------------------------------------------------------------------------

plot_bits() {
	local kind column separator
	echo 'set grid; set ylabel "bits per dimension, training batches"; set multiplot layout 1,2'
	for column in 1:updates 3:'seconds of the processor'; do
		separator=''
		printf 'set xlabel "%s"; plot' "${column#*:}"
		for kind in "${kinds[@]}"; do
			printf '%s "%s" using %s:2 with lines title "%s"' "$separator" "$exp/$kind.log" "${column%%:*}" "$kind"
			separator=,
		done
		echo
	done
	echo 'unset multiplot'
}

# lengths_of KIND: length, milliseconds of processor time per value
lengths_of() { awk -F '\t' -v name="length $1 " 'index($1, name) == 1 {print $4, 1000 * $8 / $4}' "$exp/speed.tsv"; }

# Whether the report has lengths: --speed names them, and stage 4 measured some
has_lengths() { [[ $speed == *length* ]] && grep -q '^length ' "$exp/speed.tsv"; }

plot_lengths() {
	local kind separator='' some=()
	echo 'set grid; set logscale xy; set key left top; set xlabel "values of a sequence"'
	echo 'set ylabel "milliseconds of processor time per value"'
	for kind in linear stateful-softmax softmax; do
		[ -n "$(lengths_of "$kind")" ] || continue
		some+=("$kind")
		printf '$%s << EOD\n%s\nEOD\n' "${kind/-/_}" "$(lengths_of "$kind")"
	done
	printf plot
	for kind in "${some[@]}"; do
		printf '%s $%s using 1:2 with linespoints title "%s"' "$separator" "${kind/-/_}" "$kind"
		separator=,
	done
	echo
}

# The paper's figures: bits per dimension and images per second of its tables 1, 2 and 4, seconds on its CPU of table 5.
published() {
	case "$1" in
	'mnist linear') echo '142.8 | 5.5' ;;
	'mnist softmax') echo '0.45 | 72.6' ;;
	'mnist stateful-softmax') echo '7.56 | 7.4' ;;
	'mnist lsh-1') echo '0.68 | 46.0' ;;
	'mnist lsh-4') echo '0.27 | 112.0' ;;
	'cifar linear') echo '17.85 | 45.1' ;;
	'cifar softmax') echo '0.004 | 8651.4' ;;
	'cifar stateful-softmax') echo '0.32 | 71.9' ;;
	'cifar lsh-1') echo '0.015 | 2318.9' ;;
	'cifar lsh-4') echo '0.005 | 5263.7' ;;
	*) echo ' | ' ;;
	esac
}

published_bits() {
	case "$1" in
	linear) echo '0.644 | 3.40' ;;
	softmax) echo '0.621 | 3.47' ;;
	lsh-1) echo '0.745 | 3.39' ;;
	lsh-4) echo '0.676 | 3.51' ;;
	esac
}

# difference KIND: from the first kind, on the same test images, with its interval
difference() {
	[ "$1" != "${kinds[0]}" ] || return 0
	paste "$exp/${kinds[0]}.bits" "$exp/$1.bits" | awk '
		{d = $2 - $1; sum += d; squares += d * d; n++}
		END {m = sum / n; printf "%+.4f ± %.4f", m, 1.96 * sqrt((squares / n - m * m) / n)}'
}

write_bits() {
	local kind
	cat <<END
## Bits per dimension

A network of $layers layers of $heads heads, width $width, feed-forward $feed_forward; height and width of the images
divided by $scale; batches of $batch images, learning rate $rate. The first $test_images test images (0: all); intervals
are 95 %, of the mean over images. Differences from ${kinds[0]} are on the same images. The paper trains larger networks on whole images, for 250 epochs (MNIST) or a week on
a GPU (CIFAR-10).

| attention | updates | bits per dimension | difference | parameters | s of the processor | paper: MNIST | paper: CIFAR-10 |
|---|---|---|---|---|---|---|---|
END
	for kind in "${kinds[@]}"; do
		awk -F '\t' -v kind="$kind" -v paper="$(published_bits "$kind")" -v difference="$(difference "$kind")" \
			'{printf "| %s | %s | %s ± %s | %s | %s | %s | %s |\n", kind, $2, $3, $4, difference, $6, $7, paper}' "$exp/$kind.result"
	done
	printf '\n![bits per dimension](bits.svg)\n\n'
	for kind in "${kinds[@]}"; do
		printf 'Samples of %s, and test images completed from their upper halves:\n\n' "$kind"
		printf '![samples](%s-samples.png)\n\n![completions](%s-completions.png)\n\n' "$kind" "$kind"
	done
}

write_speed() {
	local label line name kind n
	cat <<END
## Speed of generation

The paper's networks (8 layers for MNIST, 16 for CIFAR-10, 8 heads of 32, feed-forward 1024) with random weights, on one
thread. Seconds are of the processor, so that other programs on the machine matter less; the last column is the clock's.
The third column is the number of images; \`linear\` generates them in groups, the others together.
\`linear\` and \`stateful-softmax\` step with a state. \`softmax\` and \`lsh\` run the network over all values so far
for each new one: 8 lengths are measured, and each stands for an eighth of the steps. \`torch\` is
\`local/peer_torch.py\`. The paper's images per second are of its GPU with large batches, its seconds of its CPU with one
image at a time. Measured on $(recorded_machine "$exp/speed.tsv").

| images | attention | number | images/s | s for an image | paper: images/s | paper: s | s by the clock |
|---|---|---|---|---|---|---|---|
END
	while IFS=$'\t' read -r label line; do
		read -r name kind n <<<"$label"
		[ "$name" = length ] || awk -F '\t' -v head="$name | $kind | $n" -v paper="$(published "$name $kind")" \
			'{printf "| %s | %s | %.4g | %s | %.4g |\n", head, $9, $7 / $5, paper, $6 / $5}' <<<"$line"
	done <"$exp/speed.tsv"
}

write_lengths() {
	cat <<END

Against the length of the sequence, a small network (2 layers, 4 heads of 32) and batch 1; milliseconds of the processor
per value:

| values | linear | stateful softmax | softmax |
|---|---|---|---|
END
	awk -F '\t' '{split($1, name, " ")}
		name[1] == "length" {if (!(name[3] in seen)) order[++n] = name[3]; seen[name[3]]; ms[name[2], name[3]] = sprintf("%.3g", 1000 * $8 / $4)}
		END {for (i = 1; i <= n; i++) printf "| %s | %s | %s | %s |\n", order[i], ms["linear", order[i]], ms["stateful-softmax", order[i]], ms["softmax", order[i]]}' \
		"$exp/speed.tsv"
	printf '\n![time per value](length.svg)\n'
}

write_results() {
	cat <<END
# Results of recipes/images

- command: \`recipes/images/run.sh $arguments\`
- commit: $(commit), seed $seed
- processor: $(processor), $jobs threads in training, kernels $kernels

END
	write_bits
	write_speed
	! has_lengths || write_lengths
}

# --- the stages -----------------------------------------------------------------------------------------------------

mkdir -p "$exp"
choose_images
! runs 1 || unpack_images
if runs 2; then
	build_experiment images-train && trainer=$experiment
	need_file "$exp/data/checksum" "run stage 1 first"
	for kind in "${kinds[@]}"; do
		check_result "$kind"
		trained "$kind" || train "$kind"
	done
fi
if runs 3; then
	build_experiment images-generate && generator=$experiment
	need_file "$exp/data/checksum" "run stage 1 first"
	for kind in "${kinds[@]}"; do
		need_file "$exp/$kind.model" "run stage 2 first"
		check_result "$kind"
		pictures "$kind"
	done
fi
if runs 4; then
	build_experiment images-speed && meter=$experiment
	check_settings "$exp/speed.tsv" "$(speed_settings "$(this_machine "$meter")")"
	measure_all
fi
if runs 5; then
	need_file "$exp/data/checksum" "run stage 1 first"
	for kind in "${kinds[@]}"; do
		need_file "$exp/$kind.bits" "run stage 2 first"
		check_result "$kind"
	done
	need_file "$exp/speed.tsv" "run stage 4 first"
	check_settings "$exp/speed.tsv" "$(speed_settings "$(recorded_machine "$exp/speed.tsv")")"
	plot_bits | draw "$exp/bits" 1200,500
	if has_lengths; then
		plot_lengths | draw "$exp/length" 900,600
	elif [[ $speed == *length* ]]; then
		say "$exp/speed.tsv has no rows of length, so there is no length.svg: measure them with --stage 4 --speed length"
	fi
	into "$exp/RESULTS.md" write_results
	cat "$exp/RESULTS.md"
fi
