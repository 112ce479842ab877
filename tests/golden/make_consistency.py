"""Writes consistency.safetensors: the consistency loss of two views of a sequence (Yao et al. 2024) and its gradients.

Case i is `i.a`, `i.b` (T, V): logits; `i.loss` (1): the sum over frames of (KL(b || a) + KL(a || b)) / 2;
`i.grad_a`, `i.grad_b` (T, V): its gradients, where the first argument of each divergence is a constant. Torch's
answers are checked against the definition in NumPy.
"""

import numpy as np
import torch
import torch.nn.functional as F

import golden_file

# name, T, V, factor on the logits, factor on the difference of the views
CASES = [
    ("one frame, two outputs", 1, 2, 1, 1),
    ("one output", 3, 1, 1, 1),
    ("small", 9, 5, 1, 1),
    ("phones", 40, 39, 3, 1),
    ("peaked", 30, 12, 15, 5),
    ("almost equal", 20, 17, 4, 1e-2),
    ("opposite", 6, 8, 1, 60),
]


def divergence(target, logits):
    """The sum over frames of KL(target || softmax of the logits), both logits; no gradient through the target."""
    return F.kl_div(logits.log_softmax(1), target.detach().log_softmax(1), reduction="sum", log_target=True)


def posteriors(logits):
    shifted = np.exp(logits - logits.max(1, keepdims=True))
    return shifted / shifted.sum(1, keepdims=True)


def check(a, b, loss):
    p, q = (posteriors(x.detach().numpy()) for x in (a, b))
    expected = 0.5 * float(np.sum(q * np.log(q / p)) + np.sum(p * np.log(p / q)))
    assert abs(loss - expected) < 1e-9 * max(1, expected), (loss, expected)
    slope = np.abs(a.grad.numpy() - (p - q) / 2).max()
    assert slope < 1e-12 and torch.allclose(a.grad, -b.grad, rtol=0, atol=1e-12), slope
    return f"loss {loss:.6f}"


def make(frames, outputs, factor, apart):
    a = golden_file.rounded(factor * torch.randn(frames, outputs, dtype=torch.float64))
    b = golden_file.rounded(a + apart * torch.randn(frames, outputs, dtype=torch.float64)).requires_grad_()
    a.requires_grad_()
    loss = (divergence(b, a) + divergence(a, b)) / 2
    loss.backward()
    return a, b, loss.detach()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(11)
    tensors, names = {}, {}
    for i, (name, *shape) in enumerate(CASES):
        a, b, loss = make(*shape)
        print(f"{i} {name}: {check(a, b, loss.item())}")
        tensors.update({f"{i}.a": a, f"{i}.b": b, f"{i}.loss": loss.reshape(1), f"{i}.grad_a": a.grad,
                        f"{i}.grad_b": b.grad})
        names[f"{i}.name"] = name
    golden_file.write("consistency.safetensors", tensors, {"cases": str(len(CASES)), **names})


if __name__ == "__main__":
    main()
