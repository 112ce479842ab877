"""Trains the same model in PyTorch, for the comparison "same model, same features, same batches".

Every line of --batches, "epoch utt utt ...", is one optimiser step, in the order of the file; --epochs is
the number of the file's epochs to use. Features are Kaldi archives of float matrices, to which the other side's
CMVN must already be applied. Labels are lines "utt id id ...".

After each epoch one line is printed and one JSON object appended to OUT/log.jsonl:
  train_loss   summed negative log-likelihood over summed labels of the epoch's batches, each before its step
  dev_loss     the same over the development set, without dropout
  dev_per      phoneme error rate in percent of the greedy decoding: argmax, collapse repeats, drop blanks
  seconds      wall time of the training steps; dev_seconds that of the evaluation
The weights are written to OUT/model.safetensors.
"""

import argparse
import json
import os
import struct
import time

import editdistance
import numpy as np
import torch

import torch_model as model

DEV_FRAMES = 20000  # input frames evaluated at once
OPTIMISERS = {"radam": torch.optim.RAdam, "adam": torch.optim.Adam}


# ---- input -----------------------------------------------------------------------------------------------

def read_lines(path):
    """Non-empty lines as lists of words"""
    with open(path, encoding="utf-8") as file:
        return [line.split() for line in file if line.strip()]


def read_matrix(path, offset):
    """The (T, D) matrix at a byte offset: "\\0B", "FM ", then twice a size byte 4 with an int32, then float32s."""
    with open(path, "rb") as file:
        file.seek(offset)
        header = file.read(15)
        if header[:5] != b"\0BFM ":
            raise ValueError(f"{path}:{offset}: not a binary float matrix, but {header[:5]!r}")
        size_rows, rows, size_columns, columns = struct.unpack("<bibi", header[5:])
        if size_rows != 4 or size_columns != 4 or rows < 0 or columns < 0:
            raise ValueError(f"{path}:{offset}: damaged header")
        data = np.fromfile(file, dtype="<f4", count=rows * columns)
    if data.size != rows * columns:
        raise ValueError(f"{path}:{offset}: truncated")
    return torch.from_numpy(data.reshape(rows, columns))


def read_features(scp):
    """Lines "utt path:offset" -> {utt: (T, D)}"""
    features = {}
    with open(scp, encoding="utf-8") as file:
        for line in file:
            utterance, position = line.strip().split(maxsplit=1)
            path, offset = position.rsplit(":", 1)
            features[utterance] = read_matrix(path, int(offset))
    return features


def read_labels(path):
    return {words[0]: [int(word) for word in words[1:]] for words in read_lines(path)}


def read_batches(path, epochs):
    """-> [(epoch as named in the file, [[utt, ...], ...]), ...], in the order in which epochs appear"""
    plan = {}
    for epoch, *utterances in read_lines(path):
        plan.setdefault(epoch, []).append(utterances)
    if len(plan) < epochs:
        raise ValueError(f"{path} has {len(plan)} epochs, but {epochs} are needed")
    return list(plan.items())[:epochs]


class Corpus:
    """Utterances with features and labels, all in memory"""

    def __init__(self, scp, labels):
        self.features, self.labels = read_features(scp), read_labels(labels)

    def pack(self, utterances):
        """-> features (T, D), offsets, labels"""
        features = [self.features[utterance] for utterance in utterances]
        offsets = model.lengths_to_offsets([len(x) for x in features])
        return torch.cat(features), offsets, [self.labels[utterance] for utterance in utterances]

    def batches(self, frames):
        """All utterances, shortest first, in batches of about this number of frames"""
        batches, held = [[]], 0
        for utterance in sorted(self.features, key=lambda name: len(self.features[name])):
            if batches[-1] and held + len(self.features[utterance]) > frames:
                batches.append([])
                held = 0
            batches[-1].append(utterance)
            held += len(self.features[utterance])
        return batches


# ---- training --------------------------------------------------------------------------------------------

class Trainer:
    def __init__(self, encoder, arguments):
        self.encoder, self.clip = encoder, arguments.clip
        self.rate, self.warmup, self.steps = arguments.lr, arguments.warmup, 0
        self.optimiser = OPTIMISERS[arguments.optimizer](encoder.parameters(), lr=arguments.lr)

    def set_rate(self):
        """Linear warm-up: step i of the first `warmup`, counted from 1, runs at i / warmup of the rate"""
        factor = min(1.0, self.steps / self.warmup) if self.warmup else 1.0
        for group in self.optimiser.param_groups:
            group["lr"] = self.rate * factor

    def step(self, features, offsets, labels):
        """-> summed loss and label count of the batch"""
        self.steps += 1
        self.set_rate()
        self.optimiser.zero_grad()
        nll = model.ctc_nll(*self.encoder(features, offsets), labels)
        total, count, loss = model.batch_loss(nll, labels)
        loss.backward()
        if self.clip > 0:
            torch.nn.utils.clip_grad_norm_(self.encoder.parameters(), self.clip)
        self.optimiser.step()
        return total.item(), count, infeasible(nll)

    def epoch(self, corpus, batches):
        """-> loss per label, and the number of infeasible utterances"""
        self.encoder.train()
        totals = np.sum([self.step(*corpus.pack(batch)) for batch in batches], axis=0)
        return totals[0] / max(totals[1], 1), int(totals[2])


def infeasible(nll):
    return int(nll.isinf().sum())


def greedy(log_probs):
    """(T, V) -> labels"""
    best = log_probs.argmax(1).unique_consecutive()
    return best[best != model.BLANK].tolist()


@torch.no_grad()
def evaluate(encoder, corpus):
    """-> loss per label, phoneme error rate in percent"""
    encoder.eval()
    total = count = errors = reference = 0
    for batch in corpus.batches(DEV_FRAMES):
        features, offsets, labels = corpus.pack(batch)
        log_probs, offsets = encoder(features, offsets)
        batch_total, batch_count, _ = model.batch_loss(model.ctc_nll(log_probs, offsets, labels), labels)
        total, count = total + batch_total.item(), count + batch_count
        guesses = [greedy(part) for part in log_probs.split(model.offsets_to_lengths(offsets))]
        errors += sum(editdistance.eval(*pair) for pair in zip(guesses, labels))
        reference += sum(map(len, labels))
    return total / max(count, 1), 100 * errors / max(reference, 1)


# ---- the run ---------------------------------------------------------------------------------------------

def parse_arguments():
    parser = argparse.ArgumentParser(description="train the encoder in PyTorch")
    parser.add_argument("--config", required=True, help="the model's JSON")
    for name in ("train-features", "train-labels", "dev-features", "dev-labels", "batches", "out"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--epochs", type=int, required=True)
    parser.add_argument("--lr", type=float, default=1e-4)
    parser.add_argument("--clip", type=float, default=0, help="maximum gradient norm, 0 for none")
    parser.add_argument("--optimizer", choices=sorted(OPTIMISERS), default="radam")
    parser.add_argument("--warmup", type=int, default=0, help="steps of linear warm-up")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--init", help="a model file of the same architecture with the initial weights")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def start_model(arguments):
    """-> encoder, symbols, feature configuration"""
    with open(arguments.config, encoding="utf-8") as file:
        config = json.load(file)
    encoder = model.make_encoder(config)
    if not arguments.init:
        return encoder, ["<blk>", *map(str, range(1, config["outputs"]))], "{}"
    initial, metadata = model.load_model(arguments.init)
    encoder.load_state_dict(initial.state_dict())
    return encoder, json.loads(metadata["symbols"]), metadata["features"]


def timed(function, *values):
    start = time.monotonic()
    return function(*values), time.monotonic() - start


def report(out, record):
    with open(os.path.join(out, "log.jsonl"), "a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")
    print(f"epoch {record['epoch']}: train loss {record['train_loss']:.4f}, dev loss {record['dev_loss']:.4f}, "
          f"dev PER {record['dev_per']:.2f} %, {record['seconds']:.1f} s", flush=True)


def main():
    arguments = parse_arguments()
    torch.manual_seed(arguments.seed)
    torch.set_num_threads(arguments.threads)
    os.makedirs(arguments.out, exist_ok=True)
    encoder, symbols, feature_config = start_model(arguments)
    train = Corpus(arguments.train_features, arguments.train_labels)
    dev = Corpus(arguments.dev_features, arguments.dev_labels)
    trainer = Trainer(encoder, arguments)
    print(f"{sum(x.numel() for x in encoder.parameters())} parameters, torch {torch.__version__}")
    for epoch, batches in read_batches(arguments.batches, arguments.epochs):
        (train_loss, skipped), seconds = timed(trainer.epoch, train, batches)
        (dev_loss, dev_per), dev_seconds = timed(evaluate, encoder, dev)
        report(arguments.out, {"epoch": epoch, "steps": trainer.steps, "train_loss": train_loss, "infeasible": skipped,
                               "dev_loss": dev_loss, "dev_per": dev_per, "seconds": seconds,
                               "dev_seconds": dev_seconds})
    model.save_model(os.path.join(arguments.out, "model.safetensors"), encoder, symbols, feature_config)


if __name__ == "__main__":
    main()
