#!/usr/bin/env bash
# What recipes/wsj, english and speechocean762 request from a cluster, and what the command gets there. Slurm, GridEngine,
# mpirun and linnet are scripts here, which note their arguments.
#
#   recipe_jobs.sh LINNET
# shellcheck source=tests/recipe/command.sh
. "$(dirname "$0")/command.sh"
recipes=$(realpath "$here/../../recipes")
export LINNET_CMD_WAIT=0.1
# shellcheck source=tests/recipe/fake_slurm.sh
. "$here/fake_slurm.sh"
cat > bin/qsub << 'END_OF_SCRIPT'
#!/bin/bash
echo "qsub $*" >> "$FAKE/calls"
SGE_TASK_ID=1 PE_HOSTFILE=$FAKE/slots bash "${@: -1}"
END_OF_SCRIPT
cat > bin/mpirun << 'END_OF_SCRIPT'
#!/bin/bash
[ "$1" != --version ] || { echo 'mpirun (Open MPI) 4.1.4' && exit; }
echo "mpirun $*" >> "$FAKE/calls"
while [[ $1 != "$LINNET" ]]; do shift; done
"$@"
END_OF_SCRIPT
cat > bin/linnet << 'END_OF_SCRIPT'
#!/bin/bash
echo "linnet $*" >> "$FAKE/calls"
[ "$1" != score ] || { echo '%PER 50.00' && exit; }
while [ $# -gt 0 ]; do
  case "$1" in
  --data) data=$2 ;;
  --output) output=$2 ;;
  esac
  shift
done
[ ! -v output ] || { [ -v data ] && sed 's/ .*/ A/' "$data/utt2spk" || echo model; } > "$output"
echo works
END_OF_SCRIPT
printf '#!/bin/bash\ncat > /dev/null\n' > bin/gnuplot
chmod +x bin/*
echo 'one 16 all.q@one UNDEFINED' > slots
export LINNET=$PWD/bin/linnet
mkdir -p exp/wsj/feats/train_si284 exp/english/data/train exp/speechocean762/data
echo x | tee exp/wsj/feats/train_si284/feats.scp exp/english/data/train/phones > exp/speechocean762/data/provenance
declare -A stage=([wsj]=5 [english]=2 [speechocean762]=2)

# train RECIPE OPTION...: only the stage of training
train() {
  rm -f calls
  check 0 'works' "$recipes/$1/run.sh" --stage "${stage[$1]}" --stop-stage "${stage[$1]}" --jobs 4 "${@:2}"
}

# called TEXT...: whether each text is in a line of calls
called() {
  local text
  for text; do grep -qF -- "$text" calls || fail "no '$text' in: $(cat calls)"; done
}

# trained_with WANTED: the threads and shards that linnet train gets
trained_with() {
  local got
  got=$(grep '^linnet train' calls | grep -oE -- '--threads [0-9]+|shards=[0-9]+' | paste -s -d ' ')
  [[ $got == "$1" ]] || fail "linnet train gets '$got', expected '$1': $(cat calls)"
}

for recipe in "${!stage[@]}"; do
  # threads: those of the way, or of --jobs
  train "$recipe" --train-cmd 'slurm --threads 16 --partition=long'
  called ' --cpus-per-task=16 ' ' --partition=long ' 'srun --kill-on-bad-exit=1 --cpus-per-task=16 '
  trained_with '--threads 16'
  train "$recipe" --train-cmd 'slurm -c 16'
  called ' --cpus-per-task=16 --requeue'
  trained_with '--threads 16'
  train "$recipe" --train-cmd 'slurm --cpus-per-task=16'
  called ' --cpus-per-task=16 --requeue'
  trained_with '--threads 16'
  train "$recipe" --train-cmd 'slurm --notice 600'
  called ' --cpus-per-task=4 ' ' --signal=TERM@600 '
  trained_with '--threads 4'
  train "$recipe" --train-cmd 'gridengine --threads 3'
  called ' -pe smp 3 '
  trained_with '--threads 3'
  train "$recipe" --train-cmd 'gridengine --pe orte' --ranks 4
  called ' -pe orte 16 '
  trained_with 'shards=16 --threads 4'
  train "$recipe"
  trained_with '--threads 4'

  # shards: enough for the ranks, unless --set says how many
  train "$recipe" --ranks 2
  trained_with '--threads 2'
  train "$recipe" --ranks 3
  called 'mpirun -n 3 '
  trained_with 'shards=16 --threads 2'
  train "$recipe" --ranks 20 --train-cmd 'slurm --threads 8'
  called ' --cpus-per-task=8 --ntasks=20 '
  trained_with 'shards=32 --threads 8'
  train "$recipe" --ranks 5 --device cuda --train-cmd 'slurm --gpus 1 --threads 2'
  trained_with 'shards=8 --threads 2'
  train "$recipe" --ranks 20 --train-cmd 'slurm --threads 8' --set epochs=3 training.shards=128
  trained_with 'shards=128 --threads 8'
  called 'epochs=3 '
  train "$recipe" --train-cmd slurm --set 'augment.specaugment={}'
  called 'augment.specaugment={}'
done

# --- the report of WSJ has the keys that --set changes

# wsj_settings WANTED OPTION...
wsj_settings() {
  rm exp/wsj/linear/settings
  train wsj "${@:2}"
  [[ $(sed 's/, commit [^,]*//' exp/wsj/linear/settings) == "train_si284, chosen on test_dev93, $1" ]] ||
    fail "settings of ${*:2}: $(cat exp/wsj/linear/settings)"
}
wsj_settings 'seed 4, device cpu, float32' --seed 4
wsj_settings 'device cpu, float32, --set training.seed=7 epochs=3' --set training.seed=7 epochs=3
wsj_settings 'seed 1, device cpu, float32, --set shards=16 epochs=3' --set epochs=3 --ranks 3

# They are those that the training was begun with.
touch exp/wsj/linear/checkpoint.safetensors
train wsj --seed 7
grep -q ', seed 1, .*shards=16 epochs=3' exp/wsj/linear/settings ||
  fail "settings of a training that continues: $(cat exp/wsj/linear/settings)"
rm exp/wsj/linear/checkpoint.safetensors
train wsj --seed 7
grep -q ', seed 7, ' exp/wsj/linear/settings || fail "settings of a new training: $(cat exp/wsj/linear/settings)"

# --- a training of English with CTC-CRF has an n-gram of its own phones, until it continues

touch exp/english/train/phones.bin
train english --objective ctc-crf
called 'linnet ngram '
touch exp/english/train/checkpoint.safetensors
train english --objective ctc-crf
! grep 'linnet ngram' calls || fail 'another n-gram for a training that continues'

# --- recognition of speechocean762: parts of one thread, or as many as --decode-cmd names, and jobs of a calibration

mkdir -p exp/speechocean762/data/{dev,test}
for set in dev test; do
  printf '%s s1\n%s s2\n' $set-a $set-b | tee "exp/speechocean762/data/$set/utt2spk" > "exp/speechocean762/data/$set/wav.scp"
  printf '%s A\n' $set-a $set-b > "exp/speechocean762/data/$set/phones"
done
echo 's1 30' > exp/speechocean762/data/test/spk2age
echo model > exp/speechocean762/conv/model.safetensors
for way in 'slurm --threads 2 --partition=long' 'slurm --partition=long'; do
  rm -rf calls exp/speechocean762/conv/*.hyp*
  check 0 'calibration: ' "$recipes/speechocean762/run.sh" --stage 3 --stop-stage 5 --jobs 4 --decode-cmd "$way"
  [[ $(grep -c -- ' --array=1,2 .* --partition=long' calls) -eq 4 && $(grep -c -- ' --array=1 .* --partition=long' calls) -eq 2 ]] ||
    fail "not four sets in parts and two whole ones: $(cat calls)"
  [[ $(grep '^linnet transcribe' calls | grep -oE -- '--threads [0-9]+' | uniq -c | tr -s ' \n' ' ') == \
    "$([[ $way == *threads* ]] && echo ' 10 --threads 2 ' || echo ' 8 --threads 1 2 --threads 4 ')" ]] || fail "$way: $(cat calls)"
  [[ $(paste -s -d , exp/speechocean762/conv/test.hyp) == 'test-a A,test-b A' ]] || fail "$(cat exp/speechocean762/conv/test.hyp)"
done
# Parts that run here: as many at a time as --jobs says.
cat > bin/parallel << 'END_OF_SCRIPT'
#!/bin/bash
echo "parallel $*" >> "$FAKE/calls"
while read -r part; do bash "${@: -1}" "$part"; done
END_OF_SCRIPT
chmod +x bin/parallel
rm -rf calls exp/speechocean762/conv/*.hyp*
check 0 'test: %PER' "$recipes/speechocean762/run.sh" --stage 4 --stop-stage 4 --jobs 3 --decode-cmd parallel
called 'parallel --quote --jobs 3 bash '
for way in 'parallel x:5' 'local:5' 'slurm --mem 1G:'; do
  check 0 "jobs ${way##*:}." bash -c '. "$0"; echo "jobs $(jobs_here "$1" 5)."' "$recipes/common/lib.sh" "${way%:*}"
done
for recipe in wsj english speechocean762; do
  check 1 '--jobs two: must be a number above 0' "$recipes/$recipe/run.sh" --jobs two
done
for script in wsj/run.sh speechocean762/run.sh english/evaluate.sh english/local/prepare.sh \
  common/{decode,score_sets,make_features,plot_training}.sh; do
  check 2 '--quick: is not an option' "$recipes/$script" --quick
done
check 1 '--decode-cmd cloud: must be one of local' "$recipes/speechocean762/run.sh" --decode-cmd cloud
check 1 '--decode-cmd cloud: must be one of local' "$recipes/english/run.sh" --decode-cmd cloud

echo "$failures failures"
[[ $failures -eq 0 ]]
