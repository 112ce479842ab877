#!/usr/bin/env bash
# Training with CTC-CRF and with intermediate CTC on the command line: an n-gram of the transcripts, the losses in the
# log, and what is refused.
#
#   train_ctc_crf.sh LINNET
# shellcheck source=tests/recipe/command.sh
. "$(dirname "$0")/command.sh"
make_tones
cat > conf.json << 'END'
{"model": {"input_dim": 8, "width": 16, "heads": 2, "feed_forward": 32, "layers": 2, "stack": 2},
 "features": {"num_mel": 8, "sample_rate": 8000},
 "training": {"epochs": 2, "batch_frames": 100, "keep_models": 0}}
END
for text in 'A B A C' 'A B'; do echo "$text"; done > all
grep -v C all > few
for name in all few; do
  "$linnet" ngram --order 2 --discount-fallback --text "$name" --binary "$name.bin" 2> /dev/null || fail "$name: no n-gram"
done

# train STATUS TEXT EXP SETTING...
train() {
  local keys=() key
  for key in "${@:4}"; do keys+=(--set "$key"); done
  check "$1" "$2" "$linnet" train --train data --dev data --exp "$3" --config conf.json --threads 2 ${keys[@]+"${keys[@]}"}
}

crf=(objective=ctc-crf denominator=all.bin)
train 0 'epoch   2' crf "${crf[@]}"
[[ $(grep -c '"crf_loss": [0-9]' crf/log.jsonl) -eq 2 ]] || fail "no loss of CTC-CRF: $(cat crf/log.jsonl)"
train 0 'epoch   2' ctc
! grep crf_loss ctc/log.jsonl || fail 'CTC has a loss of CTC-CRF'
train 0 'epoch   2' intermediate "${crf[@]}" intermediate_ctc=1 intermediate_weight=0.5
[[ $(grep -c '"intermediate_loss": [0-9]' intermediate/log.jsonl) -eq 2 ]] || fail "no loss: $(cat intermediate/log.jsonl)"
! grep intermediate crf/log.jsonl || fail 'CTC-CRF has an intermediate loss'
! cmp -s crf/model.safetensors intermediate/model.safetensors || fail 'intermediate CTC changes nothing'
! cmp -s crf/model.safetensors ctc/model.safetensors || fail 'the objective changes nothing'
train 1 'ctc_weight 0.1, not 0.5' crf "${crf[@]}" ctc_weight=0.5

train 1 'objective is "mmi"; it must be "ctc" or "ctc-crf"' refused objective=mmi
train 1 'denominator is 3; it must be the name of a file' refused objective=ctc-crf denominator=3
train 1 '"ctc-crf" needs training.denominator' refused objective=ctc-crf
train 1 'need "objective": "ctc-crf"' refused denominator=all.bin
train 1 'need "objective": "ctc-crf"' refused ctc_weight=0.5
train 1 'ctc_weight is -1; it must be a number of 0 to 100' refused "${crf[@]}" ctc_weight=-1
train 1 'nothing.bin: No such file' refused objective=ctc-crf denominator=nothing.bin
train 1 'few.bin: training.denominator lacks 1 of 3 symbols, such as "C"' refused objective=ctc-crf denominator=few.bin
train 1 'intermediate CTC after layer 2 of 2' refused intermediate_ctc=2
train 1 'intermediate_weight is -1; it must be a number of 0 to 100' refused intermediate_ctc=1 intermediate_weight=-1
train 1 'intermediate_ctc is "last"; it must be a whole number' refused intermediate_ctc=last

echo "$failures failures"
[[ $failures -eq 0 ]]
