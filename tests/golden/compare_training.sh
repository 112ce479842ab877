#!/usr/bin/env bash
# Trains the same model with linnet and with PyTorch (train_torch.py), from the same initial weights, on the same features
# and the same batches in the same order, and prints both curves side by side.
#
#   compare_training.sh --train DIR --dev DIR --out DIR [--model JSON] [--epochs N] [--threads N] [--every N]
#
#   --train, --dev  data folders as for linnet train (wav.scp, utt2spk, phones)
#   --model         the "model" section of a configuration (default: 6 layers with convolution modules, stacked by 3)
#   --every N       only every N-th training utterance (default 1: all)
#
# $LINNET names the command (default build/release/tools/linnet), $PYTHON a Python with requirements.txt installed.
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
linnet=${LINNET:-$here/../../build/release/tools/linnet}
python=${PYTHON:-python3}

model='{"stack": 3, "layers": 6, "norm": "pre", "convolution": 15, "position": "none"}'
train='' dev='' out='' epochs=6 threads=$(nproc) every=1
while [[ $# -gt 0 ]]; do
  case "$1" in
    --train | --dev | --out | --model | --epochs | --threads | --every) printf -v "${1#--}" %s "$2" && shift 2 ;;
    *) sed -n '2,12s/^# \{0,1\}//p' "$0" && exit 2 ;;
  esac
done
[[ -n $train && -n $dev && -n $out ]] || { sed -n '2,12s/^# \{0,1\}//p' "$0" && exit 2; }

# Stores normalised features, so that both sides read the same numbers.
store() { # FOLDER NAME EVERY
  local to=$out/$2
  mkdir -p "$to"
  for file in wav.scp utt2spk phones; do awk -v n="$3" '(NR - 1) % n == 0' "$1/$file" > "$to/$file"; done
  [[ -s $to/feats.scp ]] ||
    "$linnet" features "$to" --cmvn utterance --cmvn-variance --out "$to/feats.ark" --scp "$to/feats.scp"
  rm "$to/wav.scp"
}
mkdir -p "$out"
store "$train" train "$every"
store "$dev" dev 1

# The learning rate is constant after the warm-up, so validation does not change it.
cat > "$out/config.json" << END
{"model": $model, "features": {"cmvn": "none"},
 "training": {"learning_rate": 1e-3, "warmup_steps": 200, "plateau_patience": 1000000, "clip_norm": 1,
              "batch_frames": 4000, "epochs": $epochs, "keep_models": 0}}
END
rm -rf "$out/linnet" "$out/torch" "$out/initial"
cut -d' ' -f2- "$out/train/phones" "$out/dev/phones" | tr ' ' '\n' | sort -u > "$out/symbols"
# Both start from the same weights, which come from a training with negligible steps.
"$linnet" train --train "$out/dev" --dev "$out/dev" --symbols "$out/symbols" --exp "$out/initial" --threads "$threads" \
  --config "$out/config.json" --set learning_rate=1e-12 --set min_learning_rate=0 --set epochs=1 2> /dev/null
"$linnet" train --train "$out/train" --dev "$out/dev" --symbols "$out/symbols" --exp "$out/linnet" --batches \
  --config "$out/config.json" --initial "$out/initial/model.safetensors" --threads "$threads"

"$linnet" info --json "$out/linnet/model.safetensors" > "$out/model.json"
"$python" - "$out" << 'END'
import json, sys
out = sys.argv[1]
model = json.load(open(out + "/model.json"))
config = model["config"] if isinstance(model["config"], dict) else json.loads(model["config"])
json.dump(config, open(out + "/torch.json", "w"))
index = {symbol: i for i, symbol in enumerate(model["symbols"])}
for name in ("train", "dev"):
    with open(f"{out}/{name}.labels", "w") as file:
        for line in open(f"{out}/{name}/phones"):
            utterance, *phones = line.split()
            print(utterance, *(index[phone] for phone in phones), file=file)
END
"$python" "$here/train_torch.py" --config "$out/torch.json" --train-features "$out/train/feats.scp" \
  --train-labels "$out/train.labels" --dev-features "$out/dev/feats.scp" --dev-labels "$out/dev.labels" \
  --batches "$out/linnet/batches.txt" --epochs "$epochs" --lr 1e-3 --warmup 200 --clip 1 --threads "$threads" \
  --init "$out/initial/model.safetensors" --out "$out/torch"

"$python" - "$out" << 'END'
import json, sys
ours, theirs = ([json.loads(line) for line in open(f"{sys.argv[1]}/{side}/log.jsonl")] for side in ("linnet", "torch"))
print("epoch  linnet: dev loss   PER %     s    PyTorch: dev loss   PER %     s")
for a, b in zip(ours, theirs):
    print(f"{a['epoch']:5d} {a['dev_loss']:17.4f} {a['dev_per']:7.2f} {a['train_seconds']:5.0f}"
          f" {b['dev_loss']:20.4f} {b['dev_per']:7.2f} {b['seconds']:5.0f}")
END
