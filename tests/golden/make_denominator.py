"""Writes denominator.safetensors: the denominator of CTC-CRF (Xiang and Ou 2019) and its gradient.

Case i is `i.logits` (T, V); `i.table` (V, V, V): the probability of a symbol, or at 0 of the end, after the last two
symbols, where 0 stands for the beginning; `i.value` (1): the logarithm of the sum over all label sequences of CTC's
probability times the model's; `i.gradient` (T, V): its derivative with respect to the logits; `i.labels` (L): a label
sequence, `i.loss` (1): its CTC-CRF loss; the text `i.order`: that of the model (a smaller one has equal rows).
Two programs must agree: PyTorch, in log space over pairs of symbols, with automatic differentiation; and, where the
paths are few, a plain sum over all sequences of frames.
"""

import itertools
import math

import torch
import torch.nn.functional as F

import golden_file

IMPOSSIBLE = -1e30  # finite, so that automatic differentiation gives 0 and not NaN

# name, T, V, order, factor on the logits, labels
CASES = [
    ("one frame", 1, 3, 3, 1, [2]),
    ("one label", 7, 2, 3, 1, [1, 1]),
    ("unigram", 6, 4, 1, 2, [3, 1]),
    ("bigram", 6, 4, 2, 1, [1, 1, 2]),
    ("trigram", 6, 4, 3, 1, []),
    ("peaked", 6, 4, 3, 12, [2, 3, 2]),
    ("phones, bigram", 40, 24, 2, 3, [4, 4, 23, 1, 20, 7]),
    ("trigram of 20", 30, 20, 3, 3, [19, 2, 2, 5]),
]


def make_table(symbols, order):
    table = torch.softmax(3 * torch.randn(symbols, symbols, symbols, dtype=torch.float64), 2)
    if order < 3:
        table = table[:1].repeat(symbols, 1, 1)
    if order < 2:
        table = table[:, :1].repeat(1, symbols, 1)
    return golden_file.rounded(table.contiguous())


def log_value(logits, table):
    """States are (symbol before, last symbol), on the symbol or on the blank after it; (0, 0) is the beginning."""
    log_p, model = logits.log_softmax(1), table.log()
    symbols = table.shape[0]
    impossible = torch.full((symbols, symbols), IMPOSSIBLE, dtype=logits.dtype)
    on, off = impossible, impossible.clone()
    off[0, 0] = 0
    same = torch.eye(symbols, dtype=torch.bool)
    for row in log_p:
        leave = torch.logaddexp(on, off)
        arcs = torch.where(same, off[:, :, None], leave[:, :, None]) + model  # (before, last, label)
        into = arcs.logsumexp(0)  # (last, label): the pair after it
        into = torch.where(torch.arange(symbols) == 0, IMPOSSIBLE, into)
        on, off = torch.logaddexp(on, into) + row[None, :], leave + row[0]
    return (torch.logaddexp(on, off) + model[:, :, 0]).flatten().logsumexp(0)


def label_score(table, labels):
    before = last = 0
    score = 0.0
    for label in labels:
        score += table[before, last, label].log().item()
        before, last = last, label
    return score + table[before, last, 0].log().item()


def all_paths(logits, table):
    p, total = logits.softmax(1), 0.0
    frames, symbols = logits.shape
    for path in itertools.product(range(symbols), repeat=frames):
        labels = [k for k, _ in itertools.groupby(path) if k != 0]
        weight = torch.prod(p[range(frames), path]).item()
        total += weight * math.exp(label_score(table, labels))
    return math.log(total)


def ctc(logits, labels):
    return F.ctc_loss(logits.log_softmax(1)[:, None], torch.tensor([labels], dtype=torch.long).reshape(1, -1),
                      [logits.shape[0]], [len(labels)], reduction="sum").item()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(22)
    tensors, names = {}, {}
    for i, (name, frames, symbols, order, factor, labels) in enumerate(CASES):
        table = make_table(symbols, order)
        logits = golden_file.rounded(factor * torch.randn(frames, symbols, dtype=torch.float64)).requires_grad_()
        value = log_value(logits, table)
        value.backward()
        if symbols**frames < 5000:
            paths = all_paths(logits.detach(), table)
            assert abs(paths - value.item()) < 1e-9, (name, paths, value.item())
        loss = value.item() + ctc(logits.detach(), labels) - label_score(table, labels)
        print(f"{i} {name}: value {value.item():.6f}, loss {loss:.6f}")
        tensors.update({f"{i}.logits": logits, f"{i}.table": table, f"{i}.value": value.detach().reshape(1),
                        f"{i}.gradient": logits.grad, f"{i}.labels": torch.tensor(labels, dtype=torch.float64),
                        f"{i}.loss": torch.tensor([loss], dtype=torch.float64)})
        names[f"{i}.name"] = name
        names[f"{i}.order"] = str(order)
    golden_file.write("denominator.safetensors", tensors, {"cases": str(len(CASES)), **names})


if __name__ == "__main__":
    main()
