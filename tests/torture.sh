#!/bin/bash
# Stress tests of Linnet; see usage.
set -euo pipefail
export LC_ALL=C

usage() {
	cat <<'END'
Usage: tests/torture.sh [OPTIONS] [PART...]

Parts (default: all):
  kills        kills trainings at random moments and in the middle of writing, and resumes them: model, log of losses and
               batches.txt must be those of an uninterrupted training
  ranks        kills single ranks of trainings over MPI, a tenth of --kills, and lets other numbers of ranks continue
  allocations  lets every allocation of the context and of the process fail once; then again under AddressSanitizer
  null         passes NULL for every pointer of every public function
  disk         runs each command on disks of 4, 8, 12 ... KiB: it must fail and name the file and the reason, leave no
               incomplete file under the final name, and succeed when there is space (tmpfs as root, else a limit on
               file sizes)
  fuzz         every fuzz target with libFuzzer (needs clang)
  day          24 hours of audio, by phones of a small causal model, and by words of models/english-live: faster than
               real time, in constant memory; LINNET_DATA may have speech for it (librispeech/dev)
  tsan         recognition and training under ThreadSanitizer

  --quick         kills, null, disk and day, each in a few seconds, without a build of their own (for CTest)
  --full          every allocation, ten minutes for each fuzz target
  --kills N       number of kills (default 200, with --quick 6)
  --minutes M     minutes for each fuzz target, may be a fraction (default 0.5, with --full 10)
  --hours H       hours of audio in `day` (default 24, with --quick 1)
  --build DIR     an optimised build with its tests (default: build/release, which is then built first)
  --seed N        seed of the moments of kills (default 1)
  --log DIR       folder of the logs (default build/torture)

By default everything takes at most 40 minutes on two cores, after the builds. It prints a table for RESULTS.md; the
exit code is 0 if nothing failed.
END
}

here=$(cd "$(dirname "$0")/.." && pwd)
quick='' full='' kills='' minutes='' hours='' build='' seed=1 logs=$here/build/torture
parts=()
while [ $# -gt 0 ]; do
	case "$1" in
	-h | --help) usage && exit 0 ;;
	--quick) quick=yes ;;
	--full) full=yes ;;
	--kills | --minutes | --hours | --build | --seed | --log)
		[ $# -gt 1 ] || { echo "torture.sh: $1 needs a value; see --help" >&2 && exit 2; }
		name=${1#--}
		[ "$name" != log ] || name=logs
		printf -v "$name" %s "$2"
		shift
		;;
	kills | ranks | allocations | null | disk | fuzz | day | tsan) parts+=("$1") ;;
	*)
		echo "torture.sh: $1: is not an option or part; see --help" >&2
		exit 2
		;;
	esac
	shift
done
if [ -n "$quick" ]; then
	kills=${kills:-6} hours=${hours:-1}
	[ ${#parts[@]} -gt 0 ] || parts=(kills null disk day)
fi
kills=${kills:-200} hours=${hours:-24} minutes=${minutes:-$([ -n "$full" ] && echo 10 || echo 0.5)}
[ ${#parts[@]} -gt 0 ] || parts=(kills ranks allocations null disk fuzz day tsan)

mkdir -p "$logs"
logs=$(cd "$logs" && pwd)
work=$(mktemp -d)
mounted=''
# shellcheck disable=SC2317 # called by the trap
clean_up() {
	[ -z "$mounted" ] || umount "$mounted" 2>/dev/null || true
	rm -rf "$work"
}
trap clean_up EXIT

# --- reports ---------------------------------------------------------------------------------------------------------

table=() failed=0
log=/dev/null

# result PART WHAT OK: a row of the table; OK is 0 if all is well.
result() {
	local verdict=ok
	[ "$3" = 0 ] || { verdict='**failed**' && failed=1; }
	table+=("| $1 | $2 | $verdict | $((SECONDS - since)) s |")
	echo "$1: $2: $verdict ($((SECONDS - since)) s)"
}

# quietly COMMAND...: writes the output to the log of the part.
quietly() {
	echo "+ $*" >>"$log"
	"$@" >>"$log" 2>&1 </dev/null
}

complain() {
	echo "FAILED: $*" | tee -a "$log" >&2
	complaints=$((complaints + 1))
}

# --- shared functions ------------------------------------------------------------------------------------------------

launcher=()
! command -v ccache >/dev/null || launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache)

build_tree() { # PRESET TARGET...
	local preset=$1
	shift
	quietly cmake -S "$here" --preset "$preset" -B "$here/build/$preset" -DLINNET_CUDA=OFF "${launcher[@]}" &&
		quietly cmake --build "$here/build/$preset" --parallel "$(nproc)" --target "$@"
}

if [ -z "$build" ]; then
	build=$here/build/release
	log=$logs/build.log
	: >"$log"
	build_tree release linnet_tool test_allocations test_null_arguments torture_day
fi
build=$(cd "$build" && pwd)
linnet=$build/tools/linnet

# data_folder DIR UTTERANCES SEED: a data folder of stored features. Each of three phones has its own band.
data_folder() {
	mkdir -p "$1"
	awk -v n="$2" -v seed="$3" -v ark="$1/feats.ark" -v scp="$1/feats.scp" -v phones="$1/phones" '
		BEGIN {
			srand(seed)
			for (u = 1; u <= n; u++) {
				id = sprintf("utt-%03d", u)
				text = id " "
				printf "%s %s:%d\n", id, ark, bytes + length(text) > scp
				labels = id
				text = text " [\n"
				count = 2 + int(4 * rand())
				for (i = 0; i < count; i++) {
					label = int(3 * rand())
					labels = labels " " substr("ABC", label + 1, 1)
					for (t = 0; t < 8; t++) {
						for (d = 0; d < 6; d++) text = text sprintf(" %.4f", (int(d / 2) == label && t < 6) * 2 + rand())
						text = text (i == count - 1 && t == 7 ? " ]\n" : "\n")
					}
				}
				printf "%s", text > ark
				bytes += length(text)
				print labels > phones
			}
		}'
}

training=("$linnet" train --train "$work/train" --dev "$work/dev" --config "$work/config.json" --batches --exp)
train() { # EXP
	quietly "${training[@]}" "$1"
}

prepare() {
	data_folder "$work/train" 60 1
	data_folder "$work/dev" 10 2
	cat >"$work/config.json" <<-'END'
		{"model": {"input_dim": 6, "width": 16, "heads": 2, "layers": 2, "feed_forward": 32, "stack": 2, "attention": "causal-linear"},
		 "features": {"num_mel": 6, "cmvn": "none"},
		 "training": {"epochs": 4, "batch_frames": 200, "learning_rate": 1e-2, "keep_models": 2, "seed": 3,
		  "checkpoint_seconds": 0}}
	END
	awk 'BEGIN { srand(5); for (i = 0; i < 3000; i++) {
		for (w = 0; w < 8; w++) printf "%s ", substr("ABCDEFGH", 1 + int(8 * rand() * rand()), 1); print "" } }' >"$work/text"
	head -c 96000 "$linnet" >"$work/noise.raw"
}

# --- kills -----------------------------------------------------------------------------------------------------------

# Prints all that must be the same: losses (not seconds), batches, models, and the names of files, except for checkpoints,
# of which there may be one more, and temporary files of the killed process.
summary() { # EXP
	sed 's/"train_seconds.*"frames"/"frames"/; s/"peak_megabytes.*//' "$1/log.jsonl"
	cat "$1/batches.txt"
	(cd "$1" && sha256sum -- *model*.safetensors epoch-*.safetensors)
	(cd "$1" && ls) | grep -v -e '\.tmp\.' -e '^checkpoint' -e '\.torture$'
}

# Kills the training in EXP after some milliseconds, or when it writes a file whose name begins with NAME. Succeeds if the
# training finished before. Unfinished files have a suffix such as ".tmp.PID".
kill_training() { # EXP MILLISECONDS|NAME
	local process status=0 moment=$2
	"${training[@]}" "$1" >>"$log" 2>&1 &
	process=$!
	if [[ $moment =~ ^[0-9]+$ ]]; then
		sleep "$((moment / 1000)).$(printf %03d $((moment % 1000)))"
	else
		while kill -0 "$process" 2>/dev/null && ! compgen -G "$1/$moment*tmp*" >/dev/null; do :; done
	fi
	kill -KILL "$process" 2>/dev/null || true
	wait "$process" 2>/dev/null || status=$?
	case $status in
	0) return 0 ;;
	137) return 1 ;;
	*)
		complain "a resumed training ended with status $status: $(tail -n 1 "$log")"
		return 0
		;;
	esac
}

part_kills() {
	local done=0 round=0 length started moments=(checkpoint model epoch- log checkpoint) stale=0
	RANDOM=$seed
	train "$work/whole" || complain "the training fails: $(tail -n 1 "$log")"
	summary "$work/whole" >"$work/wanted"
	started=$(date +%s%N)
	train "$work/timed"
	length=$((($(date +%s%N) - started) / 1000000))
	while [ "$done" -lt "$kills" ]; do
		round=$((round + 1))
		local exp=$work/killed$round ended=''
		while [ -z "$ended" ]; do
			local moment=$((RANDOM * RANDOM % (length / 3 + 1)))
			[ $((done % 3)) != 0 ] || moment=${moments[RANDOM % ${#moments[@]}]}
			[ "$done" -lt "$kills" ] || moment=600000
			if [ "$moment" = 600000 ]; then
				train "$exp" || complain "the last run of round $round failed"
				ended=yes
			elif kill_training "$exp" "$moment"; then
				ended=yes
			else
				done=$((done + 1))
			fi
		done
		summary "$exp" >"$work/got"
		cmp -s "$work/wanted" "$work/got" ||
			complain "round $round: $(diff "$work/wanted" "$work/got" | head -n 3 | cut -c 1-100 | tr '\n' ';')"
		stale=$((stale + $(find "$exp" -name '*.tmp.*' | wc -l)))
		rm -rf "$exp"
	done
	result kills "$done kills in $round trainings, $complaints of which ended otherwise; $stale temporary files left" "$complaints"
}

# --- ranks -----------------------------------------------------------------------------------------------------------

# Kills single ranks of trainings over MPI, 20 times or a tenth of --kills.
part_ranks() {
	local count=$((kills / 10)) status=0
	SEED=$seed "$here/tests/recipe/train_ranks.sh" "$linnet" "$count" >>"$log" 2>&1 </dev/null || status=$?
	if [ $status = 77 ]; then
		table+=('| ranks | no MPI | skipped | |')
		return 0
	fi
	result ranks "$(sed -n 's/^\(killed .*\)/one rank \1/p' "$log" | tail -n 1)" $status
}

# --- allocations, NULL -----------------------------------------------------------------------------------------------

failures_of() { # COMMAND...
	local status=0
	quietly "$@" || status=$?
	[ $status = 0 ] || complaints=$((complaints + 1))
}

part_allocations() {
	export LINNET_TORTURE_FULL=${full:+1}
	[ -n "$full" ] || unset LINNET_TORTURE_FULL
	failures_of "$build/tests/test_allocations"
	build_tree asan-ubsan test_allocations &&
		LSAN_OPTIONS=suppressions=$here/tests/lsan.supp failures_of "$here/build/asan-ubsan/tests/test_allocations"
	local count
	count=$(sed -n 's/^.* \([0-9]*\) allocations of.*/\1/p' "$log" | awk '{ n += $1 } END { print n + 0 }')
	result allocations "$count allocations failed in turn, one and two threads, plain and under ASan and UBSan" $complaints
}

part_null() {
	failures_of "$build/tests/test_null_arguments"
	failures_of "$here/tests/check_null_arguments.sh" "$build/tests/test_null_arguments" "$build/liblinnet.so"
	result null "$(sed -n 's/ functions exported.*//p' "$log" | tail -n 1) public functions" $complaints
}

# --- a full disk ----------------------------------------------------------------------------------------------------

# on_disk KIB COMMAND...: runs the command in $work/disk, which has space for KIB KiB.
on_disk() {
	local size=$1 status=0
	shift
	if [ -n "$tmpfs" ]; then
		mount -t tmpfs -o "size=${size}k,nr_inodes=64" none "$work/disk"
		mounted=$work/disk
		(cd "$work/disk" && "$@") >"$work/disk.out" 2>"$work/disk.err" </dev/null || status=$?
	else
		rm -rf "$work/disk" && mkdir "$work/disk"
		(trap '' XFSZ && ulimit -f "$size" && cd "$work/disk" && "$@") >"$work/disk.out" 2>"$work/disk.err" </dev/null || status=$?
	fi
	return $status
}

leave_disk() {
	[ -z "$mounted" ] || umount "$mounted"
	mounted=''
}

# fills NAME OUTPUTS COMMAND...: runs it with 4, 8, 12 ... KiB until it succeeds. After a failure, OUTPUTS must not exist
# (those with a "+" may: they are complete or grow). After the success check_NAME looks at the disk, if there is such a
# function.
fills() {
	local name=$1 outputs=$2 size=0 step=4 status=1 output
	shift 2
	while [ $status != 0 ] && [ $size -lt 4096 ]; do
		size=$((size + step))
		[ -z "$quick" ] || step=$((step * 2))
		status=0
		on_disk $size "$@" || status=$?
		cat "$work/disk.err" >>"$log"
		if [ $status != 0 ]; then
			[ $status -lt 126 ] || complain "$name with $size KiB: status $status"
			grep -qE 'No space left|File too large' "$work/disk.err" || complain "$name with $size KiB gives no reason: $(tail -n 1 "$work/disk.err")"
			for output in $outputs; do
				[ ! -e "$work/disk/$output" ] || complain "$name with $size KiB leaves $output"
			done
			grep -qE "$(tr ' ' '|' <<<"${outputs:-.}")|tmp" "$work/disk.err" || complain "$name with $size KiB names no file: $(tail -n 1 "$work/disk.err")"
		fi
		[ $status != 0 ] || ! declare -F "check_$name" >/dev/null || "check_$name" || complain "$name with $size KiB: lost output"
		runs=$((runs + 1))
		leave_disk
	done
	[ $status = 0 ] || complain "$name: fails with $size KiB, too: $(tail -n 1 "$work/disk.err")"
	echo "$name: succeeds with $size KiB" >>"$log"
}

# Trainings that succeed have lost no line of their logs.
# shellcheck disable=SC2317 # fills calls it
check_train() {
	diff <(summary "$work/whole") <(summary "$work/disk/exp") >>"$log"
}
# shellcheck disable=SC2317
check_logs() {
	diff <(summary "$work/long") <(summary "$work/disk/exp") >>"$log"
}

part_disk() {
	local tmpfs='' runs=0 model=$here/models/english/phones.safetensors raw
	mkdir -p "$work/disk"
	if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=4k none "$work/disk" 2>/dev/null; then
		umount "$work/disk"
		tmpfs=yes
	fi
	raw=(--raw s16le "$work/noise.raw")
	[ -e "$work/whole/model.safetensors" ] || train "$work/whole" || complain "the training fails: $(tail -n 1 "$log")"
	fills transcribe out.json "$linnet" transcribe --model "$model" --format json -o out.json "${raw[@]}" "${raw[@]:2}" "${raw[@]:2}"
	fills features "feats.ark feats.scp" "$linnet" features --out feats.ark --scp feats.scp "${raw[@]}"
	fills posteriors "post.ark post.scp" "$linnet" posteriors --model "$model" --out post.ark --scp post.scp "${raw[@]}"
	fills arpa lm.arpa "$linnet" ngram --order 3 --discount-fallback --text "$work/text" --arpa lm.arpa
	fills binary lm.bin "$linnet" ngram --order 3 --discount-fallback --text "$work/text" --binary lm.bin
	fills average mean.safetensors "$linnet" average --output mean.safetensors "$work/whole/model.safetensors"
	! command -v gnuplot >/dev/null || fills plot plot.svg "$linnet" plot --model "$model" --output plot.svg "${raw[@]}"
	fills train '' "${training[@]}" "$work/disk/exp"
	# The logs are the largest files: a limit on sizes stops them alone.
	local long=(--set epochs=40 --set model.width=4 --set model.layers=1 --set model.feed_forward=4)
	quietly "${training[@]}" "$work/long" "${long[@]}" || complain "the training fails: $(tail -n 1 "$log")"
	tmpfs='' fills logs '' "${training[@]}" "$work/disk/exp" "${long[@]}"
	result disk "$runs runs of 9 commands, a disk of 4, 8, 12 ... KiB ($([ -n "$tmpfs" ] && echo tmpfs || echo limit on file sizes)): $complaints faults" "$complaints"
}

# --- fuzz ------------------------------------------------------------------------------------------------------------

# fuzz_target PROGRAM: from the inputs found before and the corpus; its log is $logs/fuzz-NAME.log.
fuzz_target() {
	local name
	name=$(basename "$1")
	mkdir -p "$logs/found/$name"
	cd "$logs/found/$name"
	"$1" -max_total_time="$(awk "BEGIN { print int(60 * $minutes) }")" -print_final_stats=1 "$logs/found/$name" \
		"$here/tests/fuzz/corpus/${name#fuzz_}" >"$logs/fuzz-$name.log" 2>&1 </dev/null ||
		echo "ERROR: exit status $?" >>"$logs/fuzz-$name.log"
}

part_fuzz() {
	command -v clang >/dev/null || {
		table+=('| fuzz | no clang | skipped | |')
		return 0
	}
	local tree=$here/build/fuzz target name targets=() running=0 executions
	CC=clang quietly cmake -S "$here" -B "$tree" -G Ninja -DCMAKE_BUILD_TYPE=Release -DLINNET_CUDA=OFF -DLINNET_FUZZER=ON "${launcher[@]}" \
		-DLINNET_SANITIZE=fuzzer-no-link,address,undefined
	for target in "$here"/tests/fuzz/fuzz_*.c "$here"/tests/fuzz/frontend/fuzz_*.c; do targets+=("$(basename "$target" .c)"); done
	quietly cmake --build "$tree" --parallel "$(nproc)" --target "${targets[@]}" || complain 'the build failed'
	rm -f "$logs"/fuzz-*.log
	for name in "${targets[@]}"; do
		if [ $running -ge "$(nproc)" ]; then
			wait -n || true
			running=$((running - 1))
		fi
		fuzz_target "$tree/tests/fuzz/$name" &
		running=$((running + 1))
	done
	wait
	for name in "${targets[@]}"; do
		! grep -q 'ERROR: ' "$logs/fuzz-$name.log" || complain "$name: $(grep -E 'ERROR|SUMMARY' "$logs/fuzz-$name.log" | tail -n 2 | tr '\n' ' ')"
	done
	executions=$(cat "$logs"/fuzz-*.log | awk '/number_of_executed_units/ { n += $2 } END { printf "%.1f million", n / 1e6 }')
	result fuzz "${#targets[@]} targets, $minutes minutes each, one per processor at a time, $executions inputs" "$complaints"
}

# --- a day of audio --------------------------------------------------------------------------------------------------

# day_of WHAT MODEL HOURS [FILE...]
day_of() {
	local status=0 what=$1
	shift
	"$build/tests/torture/torture_day" "$@" >"$work/day" 2>&1 || status=$?
	cat "$work/day" >>"$log"
	result day "$what: $(tail -n 1 "$work/day")" $status
}

part_day() {
	local data=${LINNET_DATA:-$here/../shared/data}/librispeech/dev files=()
	[ -e "$work/whole/model.safetensors" ] || train "$work/whole" || complain "the training fails: $(tail -n 1 "$log")"
	day_of phones "$work/whole/model.safetensors" "$hours"
	[ -e "$here/models/english-live/recognizer.json" ] || return 0
	[ ! -e "$data/wav.scp" ] ||
		mapfile -t files < <(awk -v folder="$data" 'NR % 11 == 1 { print folder "/" $2 }' "$data/wav.scp")
	[ -z "$quick" ] || files=("${files[@]:0:5}")
	since=$SECONDS
	day_of words "$here/models/english-live" "$([ -n "$quick" ] && echo 0.02 || echo "$hours")" "${files[@]}"
}

# --- threads ---------------------------------------------------------------------------------------------------------

part_tsan() {
	local tests=(test_context test_pool test_encoder test_posterior_stream test_trainer test_ranks test_recurrence test_allocations) name
	build_tree tsan "${tests[@]}" || complain 'the build failed'
	for name in "${tests[@]}"; do
		TSAN_OPTIONS=second_deadlock_stack=1 quietly "$here/build/tsan/tests/$name" || complain "$name under ThreadSanitizer"
	done
	result tsan "${tests[*]#test_}" "$complaints"
}

# ---------------------------------------------------------------------------------------------------------------------

prepare
for part in "${parts[@]}"; do
	since=$SECONDS complaints=0
	log=$logs/$part.log
	: >"$log"
	case $part in
	kills) part_kills ;;
	ranks) part_ranks ;;
	allocations) part_allocations ;;
	null) part_null ;;
	disk) part_disk ;;
	fuzz) part_fuzz ;;
	day) part_day ;;
	tsan) part_tsan ;;
	esac
done
{
	echo
	echo '| part | what | result | time |'
	echo '|---|---|---|---|'
	printf '%s\n' "${table[@]}"
} | tee "$logs/table.md"
echo "Logs are in $logs"
exit $failed
