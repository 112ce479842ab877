"""Writes optimizer.safetensors: parameters after each of 12 steps with given gradients.

RAdam's rectified branch begins at step 6 (with beta2 = .999), so the three steps of encoder_*.safetensors never
reach it. `start` is (N), `grads` (12, N), `radam` and `adam` (12, N): row i is the parameters after step i + 1.
No clipping. One parameter always has gradient 0, and one a tiny one.
"""

import torch

import golden_file

STEPS, SIZE = 12, 40
LEARNING_RATE = 1e-2


def run(optimiser_class, start, gradients):
    parameter = torch.nn.Parameter(start.clone())
    optimiser = optimiser_class([parameter], lr=LEARNING_RATE)
    rows = []
    for gradient in gradients:
        parameter.grad = gradient.clone()
        optimiser.step()
        rows.append(parameter.detach().clone())
    return torch.stack(rows)


def main():
    torch.manual_seed(30)
    start = golden_file.rounded(torch.randn(SIZE))
    gradients = torch.randn(STEPS, SIZE)
    gradients[:, 0] = 0
    gradients[:, 1] *= 1e-6
    gradients = golden_file.rounded(gradients)
    tensors = {"start": start, "grads": gradients, "radam": run(torch.optim.RAdam, start, gradients),
               "adam": run(torch.optim.Adam, start, gradients)}
    golden_file.write("optimizer.safetensors", tensors, {"learning_rate": str(LEARNING_RATE)})


if __name__ == "__main__":
    main()
