"""Writes ctc.safetensors: the CTC loss -log p(labels) and its gradient with respect to the logits.

Case i is `i.logits` (T, V), `i.labels` (N), `i.loss` (1), `i.grad` (T, V). An infeasible case has loss +inf and
gradient 0. Torch's answers are checked against a forward pass in plain Python and its central differences, and,
where few paths exist, against the sum over all of them.
"""

import itertools
import math

import numpy as np
import torch

import golden_file
import torch_model as model

# name, T, V, labels, factor on the logits
CASES = [
    ("one frame", 1, 3, [1], 1),
    ("one frame, no label", 1, 5, [], 1),
    ("no label", 12, 5, [], 1),
    ("repeats, one frame to spare", 7, 4, [1, 1, 2, 2], 1),
    ("repeats, a single path", 6, 4, [1, 1, 2, 2], 1),
    ("infeasible by the repeats", 5, 4, [1, 1, 2, 2], 1),
    ("long", 40, 12, [3, 3, 11, 1, 7, 7, 7, 2, 10, 5, 5, 9, 4, 8, 6], 1),
    ("peaked", 40, 12, [5, 1, 9], 20),
    ("two outputs", 9, 2, [1, 1, 1, 1], 1),
    ("more labels than frames", 3, 6, [1, 2, 3, 4], 1),
]
MAX_PATHS = 20000


def log_softmax(logits):
    shifted = logits - logits.max(1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(1, keepdims=True))


def add(values):
    """log of the sum of exponentials"""
    top = max(values)
    return top if top == -math.inf else top + math.log(sum(math.exp(value - top) for value in values))


def loss_by_recursion(logits, labels):
    """Graves' forward variables, state by state"""
    log_probs = log_softmax(logits)
    states = [0] + [symbol for label in labels for symbol in (label, 0)]
    alpha = [0.0] + [-math.inf] * (len(states) - 1)  # before the first frame, in the first blank
    for t, row in enumerate(log_probs):
        previous, alpha = alpha, []
        for s, symbol in enumerate(states):
            sources = [previous[s]]
            if s > 0:
                sources.append(previous[s - 1])
            if t > 0 and s > 1 and symbol not in (0, states[s - 2]):
                sources.append(previous[s - 2])
            alpha.append(add(sources) + row[symbol])
    return -add(alpha[-2:])


def loss_by_paths(logits, labels):
    frames, outputs = logits.shape
    log_probs = log_softmax(logits)
    paths = [path for path in itertools.product(range(outputs), repeat=frames) if collapse(path) == labels]
    return -add([sum(log_probs[t, k] for t, k in enumerate(path)) for path in paths] or [-math.inf])


def collapse(path):
    return [symbol for symbol, _ in itertools.groupby(path) if symbol != 0]


def gradient_by_differences(logits, labels, step=1e-5):
    gradient = np.zeros_like(logits)
    for index in np.ndindex(*logits.shape):
        moved = [logits.copy(), logits.copy()]
        moved[0][index] += step
        moved[1][index] -= step
        above, below = (loss_by_recursion(x, labels) for x in moved)
        gradient[index] = (above - below) / (2 * step)
    return gradient


def check(logits, labels, loss, gradient):
    logits, gradient = logits.detach().numpy(), gradient.numpy()
    frames, outputs = logits.shape
    if math.isinf(loss):
        assert math.isinf(loss_by_recursion(logits, labels)) and not gradient.any()
        return "infeasible"
    error = abs(loss - loss_by_recursion(logits, labels))
    if outputs ** frames <= MAX_PATHS:
        error = max(error, abs(loss - loss_by_paths(logits, labels)))
    assert error < 1e-10, error
    slope = np.abs(gradient - gradient_by_differences(logits, labels)).max()
    assert slope < 1e-6, slope
    return f"loss {loss:.6f}, error {error:.1e}, gradient error {slope:.1e}"


def make(frames, outputs, labels, factor):
    logits = golden_file.rounded(factor * torch.randn(frames, outputs)).requires_grad_()
    nll = model.ctc_nll(logits.log_softmax(1), [0, frames], [labels])
    total, _, _ = model.batch_loss(nll, [labels])
    total.backward()
    return logits, nll.detach(), logits.grad


def main():
    torch.set_num_threads(1)
    torch.manual_seed(10)
    tensors, names = {}, {}
    for i, (name, frames, outputs, labels, factor) in enumerate(CASES):
        logits, nll, gradient = make(frames, outputs, labels, factor)
        print(f"{i} {name}: {check(logits, labels, nll.item(), gradient)}")
        tensors.update({f"{i}.logits": logits, f"{i}.labels": golden_file.integers(labels), f"{i}.loss": nll,
                        f"{i}.grad": gradient})
        names[f"{i}.name"] = name
    golden_file.write("ctc.safetensors", tensors, {"cases": str(len(CASES)), **names})


if __name__ == "__main__":
    main()
