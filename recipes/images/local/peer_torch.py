"""Generates images in PyTorch, as linnet-images-speed does: the same network with random weights, step by step.

Linear attention keeps the sums S and z (Katharopoulos et al. 2020, section 3.4), as the recurrent layers of
fast-transformers do; softmax attention keeps keys and values, or with --whole nothing: then the network runs over all
values so far for each new one, and 8 lengths are measured, as linnet-images-speed does. Queries, keys and values come
from one product, and the mixture of logistics is sampled as in PixelCNN++. With --dtype bfloat16 all but the sums of
linear attention has that type: they would lose small terms, and Linnet has them in float32, too. Prints one line like
linnet-images-speed: kind, 0, steps, batch, sequences, seconds, seconds of processor time, sequences per second of
each.
"""

import argparse
import math
import time

import torch
import torch.nn.functional as F
from torch import nn


class Linear:
    """State of a layer: sums over the steps so far, in float32."""

    def __init__(self, batch, heads, width, steps):
        self.s, self.z = (torch.zeros(n, dtype=torch.float32) for n in
                          ((batch, heads, width, width), (batch, heads, width)))

    def step(self, q, k, v):
        q, k, v = F.elu(q.float()) + 1, F.elu(k.float()) + 1, v.float()
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


class Whole:
    """No state: the rows are the steps of one sequence."""

    def step(self, q, k, v):
        q, k, v = (x.transpose(0, 1).unsqueeze(0) for x in (q, k, v))
        return F.scaled_dot_product_attention(q, k, v, is_causal=True).squeeze(0).transpose(0, 1)


class Layer(nn.Module):
    def __init__(self, width, heads, feed_forward):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, feed_forward), nn.Linear(feed_forward, width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x, state):
        q, k, v = self.qkv(x).view(len(x), 3, self.heads, -1).unbind(1)
        x = self.norm1(x + self.out(state.step(q, k, v).to(x.dtype).reshape(len(x), -1)))
        return self.norm2(x + self.down(F.relu(self.up(x))))


def sample(outputs):
    outputs = outputs.float()
    logits, means, log_scales = outputs.chunk(3, 1)
    gumbel = -torch.log(-torch.log(torch.rand_like(logits).clamp(1e-5, 1 - 1e-5)))
    best = (logits + gumbel).argmax(1, keepdim=True)
    u = torch.rand(len(outputs), 1, dtype=torch.float32).clamp(1e-5, 1 - 1e-5)
    x = means.gather(1, best) + log_scales.gather(1, best).clamp(min=-7).exp() * (u.log() - (1 - u).log())
    return ((x.clamp(-1, 1) + 1) * 127.5 + 0.5).long().squeeze(1)


def run_whole(length, layers, tokens, positions, output):
    x = tokens(torch.arange(length) * 37 % 256) + positions.weight[:length]
    for layer in layers:
        x = layer(x, Whole())
    return output(x)


def seconds(function, *arguments):
    """Of the clock and of the processor."""
    start, used = time.monotonic(), time.process_time()
    function(*arguments)
    return time.monotonic() - start, time.process_time() - used


def measure_whole(a, *network):
    part = a.steps / a.points
    return [part * sum(times) for times in
            zip(*(seconds(run_whole, math.ceil((i + 0.5) * part), *network) for i in range(a.points)))]


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
                          ("batch", 1), ("components", 10), ("threads", 1), ("points", 8)):
        parser.add_argument("--" + name, type=int, default=default)
    parser.add_argument("--softmax", action="store_true")
    parser.add_argument("--whole", action="store_true", help="softmax attention without a state, batch 1")
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), default="float32")
    a = parser.parse_args()
    if a.whole and a.batch != 1:
        parser.error("--whole needs --batch 1")
    torch.set_num_threads(a.threads)
    torch.manual_seed(1)
    torch.set_default_dtype(getattr(torch, a.dtype))
    with torch.inference_mode():
        layers = [Layer(a.width, a.heads, a.feed_forward) for _ in range(a.layers)]
        network = layers, nn.Embedding(257, a.width), nn.Embedding(a.steps, a.width), nn.Linear(a.width, 3 * a.components)
        clock, used = measure_whole(a, *network) if a.whole else seconds(generate, a, *network)
    kind = "torch-causal-" + ("softmax-whole" if a.whole else "softmax" if a.softmax else "linear")
    print(kind, 0, a.steps, a.batch, a.batch, f"{clock:.4g}", f"{used:.4g}", f"{a.batch / clock:.4g}",
          f"{a.batch / used:.4g}", sep="\t")


if __name__ == "__main__":
    main()
