"""Writes logistic_mixture.safetensors: the discretised mixture of logistics of PixelCNN++ (Salimans et al. 2017).

Case i is `i.outputs` (T, 3 K): logits, means and log-scales; `i.values` (T); `i.loss` (1): the sum of the negative
log-likelihoods in nats; `i.gradient` (T, 3 K). They are computed in float64 by differences of sigmoids, as in the
paper, from PyTorch's autograd; the cases avoid the intervals whose probability is rounded to zero, where the paper
replaces the difference by the density.
"""

import torch

import golden_file

# name, T, K, levels, spread of the means, middle of the log-scales
CASES = [
    ("one component", 8, 1, 256, 1, -1),
    ("pixels", 60, 10, 256, 1, -2),
    ("wide", 20, 5, 256, 1, 1),
    ("levels", 30, 3, 4, 1, -1),
    ("two levels", 12, 3, 2, 1, 0),
]


def log_likelihood(outputs, values, levels):
    logits, means, log_scales = outputs.chunk(3, 1)
    inverse = torch.exp(-log_scales.clamp(min=-7))
    x = (2 * values / (levels - 1) - 1).unsqueeze(1)
    above = torch.sigmoid((x + 1 / (levels - 1) - means) * inverse)
    below = torch.sigmoid((x - 1 / (levels - 1) - means) * inverse)
    above = torch.where(values.unsqueeze(1) == levels - 1, torch.ones_like(above), above)
    below = torch.where(values.unsqueeze(1) == 0, torch.zeros_like(below), below)
    p = above - below
    assert p.min() > 1e-9, p.min()
    return torch.logsumexp(logits.log_softmax(1) + p.log(), 1)


def make(rows, components, levels, spread, middle):
    parts = [2 * torch.randn(rows, components), spread * (2 * torch.rand(rows, components) - 1),
             middle + torch.rand(rows, components)]
    outputs = golden_file.rounded(torch.cat(parts, 1)).requires_grad_()
    values = torch.randint(levels, (rows,))
    values[0], values[1] = 0, levels - 1
    loss = -log_likelihood(outputs, values.double(), levels).sum()
    loss.backward()
    return outputs, values, loss.detach()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(12)
    tensors, metadata = {}, {"cases": str(len(CASES))}
    for i, (name, rows, components, levels, spread, middle) in enumerate(CASES):
        outputs, values, loss = make(rows, components, levels, spread, middle)
        print(f"{i} {name}: loss {loss.item():.6f}")
        tensors.update({f"{i}.outputs": outputs, f"{i}.values": values, f"{i}.loss": loss.reshape(1),
                        f"{i}.gradient": outputs.grad, f"{i}.levels": torch.tensor([levels])})
        metadata[f"{i}.name"] = name
    golden_file.write("logistic_mixture.safetensors", tensors, metadata)


if __name__ == "__main__":
    main()
