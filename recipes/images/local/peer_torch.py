"""Generates images in PyTorch, as linnet-images-speed does: the same network with random weights, step by step.

Linear attention keeps the sums S and z (Katharopoulos et al. 2020, section 3.4), as the recurrent layers of
fast-transformers do; softmax attention keeps keys and values. Queries, keys and values come from one product, and the
mixture of logistics is sampled as in PixelCNN++. Prints one line like linnet-images-speed: kind, 0, steps, batch,
sequences, seconds, seconds of processor time, sequences per second of either.
"""

import argparse
import time

import torch
import torch.nn.functional as F
from torch import nn


class Linear:
    """State of a layer: sums over the steps so far."""

    def __init__(self, batch, heads, width, steps):
        self.s, self.z = torch.zeros(batch, heads, width, width), torch.zeros(batch, heads, width)

    def step(self, q, k, v):
        q, k = F.elu(q) + 1, F.elu(k) + 1
        self.s += k.unsqueeze(3) * v.unsqueeze(2)
        self.z += k
        scale = 1 / ((q * self.z).sum(2, keepdim=True) + 1e-6)
        return torch.matmul(q.unsqueeze(2), self.s).squeeze(2) * scale


class Softmax:
    """State of a layer: all keys and values so far."""

    def __init__(self, batch, heads, width, steps):
        self.k, self.v = (torch.empty(batch, heads, steps, width) for _ in range(2))
        self.t = 0

    def step(self, q, k, v):
        self.k[:, :, self.t], self.v[:, :, self.t] = k, v
        self.t += 1
        keys, values = self.k[:, :, :self.t], self.v[:, :, :self.t]
        weights = torch.matmul(keys, q.unsqueeze(3)).squeeze(3) / q.shape[2] ** 0.5
        return torch.matmul(weights.softmax(2).unsqueeze(2), values).squeeze(2)


class Layer(nn.Module):
    def __init__(self, width, heads, feed_forward):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, feed_forward), nn.Linear(feed_forward, width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x, state):
        q, k, v = self.qkv(x).view(len(x), 3, self.heads, -1).unbind(1)
        x = self.norm1(x + self.out(state.step(q, k, v).reshape(len(x), -1)))
        return self.norm2(x + self.down(F.relu(self.up(x))))


def sample(outputs):
    logits, means, log_scales = outputs.chunk(3, 1)
    gumbel = -torch.log(-torch.log(torch.rand_like(logits).clamp(1e-5, 1 - 1e-5)))
    best = (logits + gumbel).argmax(1, keepdim=True)
    u = torch.rand(len(outputs), 1).clamp(1e-5, 1 - 1e-5)
    x = means.gather(1, best) + log_scales.gather(1, best).clamp(min=-7).exp() * (u.log() - (1 - u).log())
    return ((x.clamp(-1, 1) + 1) * 127.5 + 0.5).long().squeeze(1)


def generate(a, layers, tokens, positions, output):
    states = [(Softmax if a.softmax else Linear)(a.batch, a.heads, a.width // a.heads, a.steps) for _ in layers]
    value = torch.full((a.batch,), 256)
    for t in range(a.steps):
        x = tokens(value) + positions.weight[t]
        for layer, state in zip(layers, states):
            x = layer(x, state)
        value = sample(output(x))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    for name, default in (("layers", 8), ("heads", 8), ("width", 256), ("feed-forward", 1024), ("steps", 784),
                          ("batch", 1), ("components", 10), ("threads", 1)):
        parser.add_argument("--" + name, type=int, default=default)
    parser.add_argument("--softmax", action="store_true")
    a = parser.parse_args()
    torch.set_num_threads(a.threads)
    torch.manual_seed(1)
    with torch.inference_mode():
        layers = [Layer(a.width, a.heads, a.feed_forward) for _ in range(a.layers)]
        network = layers, nn.Embedding(257, a.width), nn.Embedding(a.steps, a.width), nn.Linear(a.width, 3 * a.components)
        start, used = time.monotonic(), time.process_time()
        generate(a, *network)
        start, used = time.monotonic() - start, time.process_time() - used
    kind = "torch-causal-" + ("softmax" if a.softmax else "linear")
    print(kind, 0, a.steps, a.batch, a.batch, f"{start:.4g}", f"{used:.4g}", f"{a.batch / start:.4g}",
          f"{a.batch / used:.4g}", sep="\t")


if __name__ == "__main__":
    main()
