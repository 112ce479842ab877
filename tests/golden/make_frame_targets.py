"""Writes frame_targets.safetensors: the cross entropy of frames against known symbols, and its gradient.

Case i is `i.logits` (T, V), symbol 0 being blank; `i.targets` (T): 1 ... V-1, or 0 for a frame without loss; `i.loss`
(1): the sum over the other frames of the cross entropy of the softmax over the symbols 1 ... V-1; `i.grad` (T, V): its
gradient with respect to the logits. Torch's answers are checked against the definition in NumPy.
"""

import numpy as np
import torch
import torch.nn.functional as F

import golden_file

# name, T, V, factor on the logits, part of the frames that have a target
CASES = [
    ("one frame, one symbol", 1, 2, 1, 1),
    ("small", 9, 5, 1, 0.7),
    ("no targets", 4, 6, 1, 0),
    ("phones", 40, 40, 3, 0.6),
    ("peaked", 30, 12, 15, 1),
    ("many symbols", 7, 130, 5, 0.8),
]


def check(logits, targets, loss):
    z, k = logits.detach().numpy(), targets.numpy()
    rows = np.flatnonzero(k)
    q = np.exp(z[:, 1:] - z[:, 1:].max(1, keepdims=True))
    q = np.concatenate([np.zeros((len(z), 1)), q / q.sum(1, keepdims=True)], 1)
    expected = -float(np.log(q[rows, k[rows]]).sum())
    assert abs(loss - expected) < 1e-9 * max(1, expected), (loss, expected)
    q[rows, k[rows]] -= 1
    q[k == 0] = 0
    assert np.abs(logits.grad.numpy() - q).max() < 1e-12
    return f"loss {loss:.6f}, {len(rows)} targets"


def make(frames, outputs, factor, part):
    logits = golden_file.rounded(factor * torch.randn(frames, outputs, dtype=torch.float64)).requires_grad_()
    targets = torch.randint(1, outputs, (frames,)) * (torch.rand(frames) < part)
    loss = F.cross_entropy(logits[:, 1:], targets - 1, ignore_index=-1, reduction="sum")
    loss.backward()
    return logits, targets, loss.detach()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(14)
    tensors, names = {}, {}
    for i, (name, *shape) in enumerate(CASES):
        logits, targets, loss = make(*shape)
        print(f"{i} {name}: {check(logits, targets, loss.item())}")
        tensors.update({f"{i}.logits": logits, f"{i}.targets": targets, f"{i}.loss": loss.reshape(1),
                        f"{i}.grad": logits.grad})
        names[f"{i}.name"] = name
    golden_file.write("frame_targets.safetensors", tensors, {"cases": str(len(CASES)), **names})


if __name__ == "__main__":
    main()
