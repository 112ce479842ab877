#!/bin/bash
# Training and recognition with synthetic speech, without any data; see usage.
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=recipes/common/lib.sh
. "$here/../common/lib.sh"

usage() {
	cat <<'END'
Usage: run.sh [--quick] [--exp DIR] [--hours H] [--seed S] [--jobs J] [--stage N] [--stop-stage N]

Synthesises a corpus of English speech with flite and espeak-ng, trains a small linear-attention model on it, scores it
on sentences and on a voice that were not in training, and transcribes a new file. This takes about a quarter of an hour
on two cores. First installs missing Debian packages and builds linnet, unless $LINNET names it.

  1  corpus: EXP/data/{train,dev,test,test_voice}
  2  training: EXP/model.safetensors, log.jsonl, training.svg, training.png; resumes an interrupted training
  3  recognition and phoneme error rates: EXP/results.txt, EXP/RESULTS.md
  4  transcription of EXP/data/new.wav

  --quick         five minutes of speech and a tiny model, about two minutes in all, only to see that everything runs
  --exp DIR       folder for all output (default exp/synth, or exp/synth-quick)
  --hours H       hours of speech (default 2; with --quick 0.083)
  --seed S        seed of corpus and training (default 1)
  --jobs J        processes and threads (default: one per processor)
  --stage N       begin with this stage (default 1)
  --stop-stage N  end after this stage (default 4)
END
}

exp='' hours='' seed=1 jobs=$(nproc) stage=1 stop_stage=4
take_options "exp hours seed jobs stage stop-stage quick!" "$@"
check_stages 4
conf=$here/conf/$([ -n "$quick" ] && echo quick || echo full).json
exp=${exp:-exp/synth${quick:+-quick}}
hours=${hours:-$([ -n "$quick" ] && echo 0.083 || echo 2)}
data=$exp/data

score_set() {
	"$linnet" transcribe --threads "$jobs" --model "$exp/model.safetensors" --data "$data/$1" --output "$exp/$1.hyp"
	"$linnet" score --utt2spk "$data/$1/utt2spk" --per-speaker "$exp/$1.speakers" --confusions "$exp/$1.confusions" \
		--per-utt "$exp/$1.utterances" "$data/$1/phones" "$exp/$1.hyp" >"$exp/$1.score"
	echo "$1: $(grep '^%PER' "$exp/$1.score")"
}

# `into` ends at the first set that fails.
score_sets() {
	score_set test
	score_set test_voice
}

# The phones in the order of their first use in the training data, then those that a small corpus lacks there: other sets
# may have them.
list_symbols() {
	{
		cut -d ' ' -f 2- "$data/train/phones" | tr ' ' '\n'
		awk '!/^#/ && $2 != "-" {print $2}' "$here/../common/flite_phones.tsv"
	} | awk 'NF && !seen[$1]++'
}

write_results() {
	cat <<END
# Results of recipes/synth

- command: \`recipes/synth/run.sh $arguments\`
- commit: $(commit), seed $seed
- processor: $(processor), $jobs threads
- corpus: $hours h asked for; $(wc -l <"$data/train/phones") utterances for training
- training: $(tail -n 1 "$exp/log.jsonl" | awk 'match($0, /"total_seconds": [0-9]+/) {print substr($0, RSTART + 17, RLENGTH - 17)}') s, $(wc -l <"$exp/log.jsonl") epochs

| set | $(printf '%s' 'phoneme error rate') |
|---|---|
$(sed 's/^\([a-z_]*\): /| \1 | /; s/$/ |/' "$exp/results.txt")

\`test\`: new sentences, known voices; \`test_voice\`: new sentences, a voice that was not in training.
END
}

mkdir -p "$exp"
build_linnet
runs 1 && "$here/local/make_corpus.sh" --out "$data" --hours "$hours" --seed "$seed" --jobs "$jobs"
if runs 2; then
	need_file "$data/train/phones" "run stage 1 first"
	into "$exp/symbols" list_symbols
	"$linnet" train --threads "$jobs" --train "$data/train" --dev "$data/dev" --exp "$exp" --config "$conf" \
		--symbols "$exp/symbols" --set "seed=$seed" --name synth \
		--provenance "speech synthesised with flite and espeak-ng by recipes/synth"
	"$here/../common/plot_training.sh" --out "$exp/training" "$exp"
fi
if runs 3; then
	need_file "$exp/model.safetensors" "run stage 2 first"
	into "$exp/results.txt" score_sets
	into "$exp/RESULTS.md" write_results
	cat "$exp/results.txt"
fi
if runs 4; then
	need_file "$exp/model.safetensors" "run stage 2 first"
	echo "words:      $(cat "$data/new.txt")"
	echo "phones:     $(cat "$data/new.phones")"
	echo "recognised: $("$linnet" transcribe --model "$exp/model.safetensors" "$data/new.wav")"
fi
