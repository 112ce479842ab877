"""Tests the oracle: compares each part of torch_model.py with loops over scalars. Exits non-zero on failure."""

import math
import os
import tempfile

import numpy as np
import torch

import torch_model as model

CONFIG = {"encoder": "transformer", "input_dim": 5, "stack": 3, "width": 12, "heads": 2, "layers": 2,
          "feed_forward": 16, "activation": "gelu", "norm": "pre", "dropout": 0.1, "position": "sinusoidal",
          "attention": "linear", "convolution": 15, "outputs": 4}
BOUND = 1e-12


def compare(name, got, expected, bound=BOUND):
    error = float(np.abs(np.asarray(got) - np.asarray(expected)).max())
    print(f"{name:28s} error {error:.2e} bound {bound:.0e}")
    assert error <= bound, name


def phi(x):
    return x + 1 if x > 0 else math.exp(x)


def attention_by_loops(query, key, value, heads, causal):
    """(T, D) each; every pair of frames, as in the sum that defines the kernel form; causal: up to the frame itself"""
    frames, width = query.shape
    size = width // heads
    result = np.zeros((frames, width))
    for head in range(heads):
        columns = range(head * size, (head + 1) * size)
        for i in range(frames):
            seen = range(i + 1 if causal else frames)
            weights = [sum(phi(query[i, c]) * phi(key[j, c]) for c in columns) for j in seen]
            for c in columns:
                dividend = sum(weights[j] * value[j, c] for j in seen)
                result[i, c] = dividend / (sum(weights) + 1e-6)
    return result


def depthwise_by_loops(x, weight, bias, lookahead):
    """Taps 0 ... 14 read frames from t + lookahead - 14 to t + lookahead."""
    frames, width = x.shape
    result = np.tile(bias, (frames, 1))
    for t in range(frames):
        for j in range(15):
            if 0 <= t + j - 14 + lookahead < frames:
                result[t] += weight[j] * x[t + j - 14 + lookahead]
    return result


def norm_by_hand(x, layer):
    weight, bias = layer.weight.detach().numpy(), layer.bias.detach().numpy()
    centred = x - x.mean(1, keepdims=True)
    return centred / np.sqrt((centred ** 2).mean(1, keepdims=True) + 1e-5) * weight + bias


def linear_by_hand(x, layer):
    return x @ layer.weight.detach().numpy().T + layer.bias.detach().numpy()


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def convolution_by_hand(x, module, lookahead):
    x = linear_by_hand(norm_by_hand(x, module.norm1), module.pointwise1)
    x = x[:, :12] * sigmoid(x[:, 12:])
    depthwise = module.depthwise
    x = depthwise_by_loops(x, depthwise.weight.detach().numpy(), depthwise.bias.detach().numpy(), lookahead)
    x = norm_by_hand(x, module.norm2)
    return linear_by_hand(x * sigmoid(x), module.pointwise2)


def attention_by_hand(x, module, causal):
    parts = [linear_by_hand(x, part) for part in (module.query, module.key, module.value)]
    return linear_by_hand(attention_by_loops(*parts, module.heads, causal), module.output)


def feed_forward_by_hand(x, module):
    inner = linear_by_hand(x, module.linear1)
    gelu = np.vectorize(lambda y: y * 0.5 * (1 + math.erf(y / math.sqrt(2))))
    return linear_by_hand(gelu(inner), module.linear2)


def layer_by_hand(x, layer, norm, causal, lookahead):
    if norm == "pre":
        x = x + attention_by_hand(norm_by_hand(x, layer.norm1), layer.attention, causal)
        x = x + convolution_by_hand(x, layer.convolution, lookahead)
        return x + feed_forward_by_hand(norm_by_hand(x, layer.norm2), layer.feed_forward)
    x = norm_by_hand(x + attention_by_hand(x, layer.attention, causal), layer.norm1)
    x = x + convolution_by_hand(x, layer.convolution, lookahead)
    return norm_by_hand(x + feed_forward_by_hand(x, layer.feed_forward), layer.norm2)


def stack_by_hand(x, stack):
    last = len(x) - 1
    return np.array([np.concatenate([x[min(stack * t + j, last)] for j in range(stack)])
                     for t in range(math.ceil(len(x) / stack))])


def position_by_hand(t, column, width):
    angle = t / 10000 ** (column // 2 * 2 / width)
    return math.cos(angle) if column % 2 else math.sin(angle)


def encoder_by_hand(x, encoder, causal, lookahead):
    """One utterance (T, input_dim) -> (T', V); lookahead: of each layer"""
    width = encoder.config["width"]
    x = linear_by_hand(stack_by_hand(x, encoder.config["stack"]), encoder.input)
    x = x + np.array([[position_by_hand(t, c, width) for c in range(width)] for t in range(len(x))])
    for layer, frames in zip(encoder.layers, lookahead):
        x = layer_by_hand(x, layer, encoder.config["norm"], causal, frames)
    if encoder.config["norm"] == "pre":
        x = norm_by_hand(x, encoder.norm)
    logits = linear_by_hand(x, encoder.output)
    return logits - np.log(np.exp(logits).sum(1, keepdims=True))


def check_encoder(name, config, lookahead=(7, 7)):
    encoder = model.Encoder({**CONFIG, **config}).double().eval()
    causal = config.get("attention") == "causal-linear"
    lengths = [20, 7, 1]
    features = torch.randn(sum(lengths), CONFIG["input_dim"], dtype=torch.float64)
    got, offsets = encoder(features, model.lengths_to_offsets(lengths))
    expected = [encoder_by_hand(part.numpy(), encoder, causal, lookahead) for part in features.split(lengths)]
    assert model.offsets_to_lengths(offsets) == [len(part) for part in expected] == [7, 3, 1]
    compare(f"encoder, {name}", got.detach(), np.concatenate(expected))


def check_attention_gradient():
    inputs = [torch.randn(6, 4, dtype=torch.float64, requires_grad=True) for _ in range(3)]
    offsets = [0, 5, 6]
    assert torch.autograd.gradcheck(lambda *x: model.packed_linear_attention(*x, offsets, 2), inputs)
    print("attention gradient           equals central differences")


def check_loss():
    """One frame, one label: p is the probability of the label; an infeasible neighbour does not change loss and gradient."""
    logits = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    log_probs = logits.log_softmax(1)
    labels = [[2], [1, 1]]
    nll = model.ctc_nll(log_probs, [0, 1, 3], labels)
    total, count, loss = model.batch_loss(nll, labels)
    loss.backward()
    assert math.isinf(nll[1].item()) and count == 1 and total.item() == loss.item()
    compare("loss of one frame", loss.detach(), -log_probs[0, 2].detach())
    expected = log_probs[0].detach().exp()
    expected[2] -= 1
    compare("its gradient", logits.grad, torch.stack([expected, *torch.zeros(2, 4)]))


def check_model_file():
    encoder = model.Encoder(CONFIG)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.safetensors")
        model.save_model(path, encoder, ["<blk>", "a", "b", "c"], '{"kind":"fbank"}')
        loaded, metadata = model.load_model(path)
    assert metadata["format"] == "linnet-1" and loaded.config == CONFIG
    for name, x in encoder.state_dict().items():
        assert torch.equal(x, loaded.state_dict()[name]), name
    print("model file                   comes back equal")


def main():
    torch.set_num_threads(1)
    torch.manual_seed(1)
    check_encoder("pre-norm", {})
    check_encoder("post-norm", {"norm": "post"})
    check_encoder("causal, look-ahead 1 and 0", {"attention": "causal-linear", "convolution_lookahead": [1, 0]}, (1, 0))
    check_attention_gradient()
    check_loss()
    check_model_file()


if __name__ == "__main__":
    main()
