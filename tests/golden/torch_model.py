"""A second implementation of Linnet's encoder, in PyTorch: the oracle for the C code.

Only the definition is shared with the C implementation. A batch is packed: frames of all
utterances follow each other in one (T, D) matrix, and by `offsets`, a list of B + 1 integers,
utterance b has rows offsets[b] .. offsets[b + 1] - 1.

Shapes: T frames of the batch after stacking, D width, H heads, C = D / H, F feed-forward width, V outputs.
Parameters have the names of the model file, because attributes have these names.
"""

import json
import math
from functools import partial
from itertools import accumulate

import torch
import torch.nn.functional as nnf
from torch import nn
from torch.nn.utils.rnn import pack_sequence, pad_sequence, unpack_sequence

BLANK = 0
ATTENTION_EPSILON = 1e-6
NORM_EPSILON = 1e-5
ACTIVATIONS = {"relu": nnf.relu, "gelu": nnf.gelu}  # nnf.gelu is the exact erf form


# ---- packed sequences ------------------------------------------------------------------------------------

def lengths_to_offsets(lengths):
    return [0, *accumulate(lengths)]


def offsets_to_lengths(offsets):
    return [end - start for start, end in zip(offsets, offsets[1:])]


def stack_frames(features, offsets, stack):
    """(sum T_i, input_dim) -> (sum ceil(T_i / stack), input_dim * stack) and the new offsets.

    Frames past the end of an utterance repeat its last frame.
    """
    lengths = offsets_to_lengths(offsets)
    stacked = [-(-length // stack) for length in lengths]
    rows = [start + torch.arange(count * stack).clamp(max=length - 1)
            for start, length, count in zip(offsets, lengths, stacked)]
    return features[torch.cat(rows)].reshape(sum(stacked), -1), lengths_to_offsets(stacked)


def sinusoidal_positions(length, width, dtype):
    """(length, width): sin in the even columns, cos in the odd ones, computed in double."""
    time = torch.arange(length, dtype=torch.float64).unsqueeze(1)
    angle = time / 10000.0 ** (torch.arange(0, width, 2, dtype=torch.float64) / width)
    return torch.stack([angle.sin(), angle.cos()], dim=2).reshape(length, width).to(dtype)


# ---- attention -------------------------------------------------------------------------------------------

def elu_map(x, _directions):
    return nnf.elu(x) + 1


def relu_map(x, _directions):
    return nnf.relu(x) + 1e-3


def polynomial_map(x, _directions):
    """(..., C) -> (..., C (C + 1) / 2): the upper triangle of x x^T, off the diagonal times sqrt(2)"""
    rows, columns = torch.triu_indices(x.shape[-1], x.shape[-1])
    return x[..., rows] * x[..., columns] * torch.where(rows == columns, 1.0, math.sqrt(2)).to(x.dtype)


def fourier_map(x, directions):
    angle = x * x.shape[-1] ** -0.25 @ directions.t()
    return torch.cat([angle.cos(), angle.sin()], dim=-1) / math.sqrt(directions.shape[0])


def positive_map(x, directions):
    x = x * x.shape[-1] ** -0.25
    exponent = x @ directions.t() - x.square().sum(-1, keepdim=True) / 2
    return exponent.clamp(max=20).exp() / math.sqrt(directions.shape[0])


FEATURE_MAPS = {"elu": elu_map, "relu": relu_map, "polynomial": polynomial_map, "fourier": fourier_map,
                "positive": positive_map}
MIN_NORMALISER = {"fourier": 1.0}


def normaliser(sums, feature_map):
    """Of sums phi(q) . z."""
    if feature_map in MIN_NORMALISER:
        sums = sums.clamp(min=MIN_NORMALISER[feature_map])
    return (sums + ATTENTION_EPSILON).unsqueeze(2)


def linear_attention(query, key, value, feature_map="elu", directions=None):
    """One utterance: query, key, value and the result are (T, H, C), directions (features, C)."""
    query, key = (FEATURE_MAPS[feature_map](x, directions) for x in (query, key))
    state = torch.einsum("thf,thm->hfm", key, value)                        # (H, F, C)
    sums = torch.einsum("thf,hf->th", query, key.sum(0))
    return torch.einsum("thf,hfm->thm", query, state) / normaliser(sums, feature_map)


def causal_linear_attention(query, key, value, feature_map="elu", directions=None):
    """The same with sums up to each frame, as a masked matrix of weights."""
    query, key = (FEATURE_MAPS[feature_map](x, directions) for x in (query, key))
    weights = torch.einsum("thf,shf->hts", query, key).tril()
    return torch.einsum("hts,shm->thm", weights / normaliser(weights.sum(2), feature_map), value)


def decaying_linear_attention(query, key, value, causal=False):
    """The same with weights that decay with the distance of two frames, faster in the first heads."""
    query, key = (elu_map(x, None) for x in (query, key))
    frames, heads = torch.arange(len(query)), torch.arange(query.shape[1])
    distances = (frames.unsqueeze(1) - frames).abs()
    decay = (1 - 2.0 ** -(2 + heads)).to(query.dtype)[:, None, None] ** distances
    weights = torch.einsum("thf,shf->hts", query, key) * (decay.tril() if causal else decay)
    return torch.einsum("hts,shm->thm", weights / normaliser(weights.sum(2), "elu"), value)


def softmax_attention(query, key, value, causal=False):
    """One utterance: query is (T, H, C), key (S, H, C), value (S, H, M), the result (T, H, M)."""
    scores = torch.einsum("thc,shc->hts", query, key) / math.sqrt(query.shape[2])
    if causal:
        scores = scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), -math.inf)
    return torch.einsum("hts,shm->thm", scores.softmax(2), value)


def packed_attention(attention, query, key, value, offsets, heads, **terms):
    """`attention` of a packed batch of (T, H * C) matrices; the sums stay inside each utterance."""
    lengths = offsets_to_lengths(offsets)
    parts = [x.unflatten(1, (heads, -1)).split(lengths) for x in (query, key, value)]
    return torch.cat([attention(q, k, v, **terms) for q, k, v in zip(*parts)]).flatten(1)


packed_linear_attention = partial(packed_attention, linear_attention)
packed_causal_linear_attention = partial(packed_attention, causal_linear_attention)
packed_decaying_linear_attention = partial(packed_attention, decaying_linear_attention)
packed_causal_decaying_linear_attention = partial(packed_attention, partial(decaying_linear_attention, causal=True))
packed_softmax_attention = partial(packed_attention, softmax_attention)
packed_causal_softmax_attention = partial(packed_attention, partial(softmax_attention, causal=True))


class Features(nn.Module):
    """Random directions (features, C), drawn once and not trained."""

    def __init__(self, features, width):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(features, width), requires_grad=False)


LSH_SELF = -1e5
LSH_EPSILON = 1e-6
MASK32 = 2**32 - 1


def philox(key, high, low):
    """Philox4x32-10: four 32-bit words from a 64-bit key and a 128-bit counter."""
    k0, k1 = key & MASK32, key >> 32
    c0, c1, c2, c3 = low & MASK32, low >> 32, high & MASK32, high >> 32
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = p1 >> 32 ^ c1 ^ k0, p1 & MASK32, p0 >> 32 ^ c3 ^ k1, p0 & MASK32
        k0, k1 = k0 + 0x9E3779B9 & MASK32, k1 + 0xBB67AE85 & MASK32
    return c0, c1, c2, c3


def lsh_rotation(lsh, width, index):
    """(C, buckets / 2) of round `index`: normal, float32 values."""
    count = width * lsh["buckets"] // 2
    values = []
    for element in range(0, count, 4):
        words = philox(lsh["seed"], lsh["step"] << 32 | lsh["site"], index << 32 | element // 4)
        for first, second in (words[:2], words[2:]):
            radius, angle = math.sqrt(-2 * math.log((first + 1) / 2**32)), 2 * math.pi * second / 2**32
            values += [radius * math.cos(angle), radius * math.sin(angle)]
    return torch.tensor(values[:count], dtype=torch.float32).double().reshape(width, -1)


def lsh_visible(query, rotation, chunk, causal):
    """(H, T, T): whether frame i attends to frame j in the round of this rotation."""
    length = query.shape[0]
    rotated = (query.detach() @ rotation).transpose(0, 1)                   # (H, T, buckets / 2)
    bucket = torch.cat([rotated, -rotated], 2).argmax(2)                    # (H, T)
    rank = bucket.sort(dim=1, stable=True).indices.argsort(dim=1)
    distance = (rank // chunk).unsqueeze(2) - (rank // chunk).unsqueeze(1)
    visible = (bucket.unsqueeze(2) == bucket.unsqueeze(1)) & ((distance == 0) | (distance == 1))
    return visible & torch.ones(length, length).tril().bool() if causal else visible


def lsh_attention(query, value, lsh, causal):
    """One utterance: query, value and the result are (T, H, C); masked (T, T) matrices, rounds combined as in Reformer."""
    key = query / (query.square().sum(2, keepdim=True) + LSH_EPSILON).sqrt()
    score = torch.einsum("ihc,jhc->hij", query, key) / math.sqrt(query.shape[2])
    score = score + LSH_SELF * torch.eye(query.shape[0])
    outputs, totals = [], []
    for index in range(lsh["rounds"]):
        visible = lsh_visible(query, lsh_rotation(lsh, query.shape[2], index), lsh["chunk"], causal)
        masked = score.masked_fill(~visible, -math.inf)
        outputs.append(torch.einsum("hij,jhm->him", masked.softmax(2), value))
        totals.append(masked.logsumexp(2))
    weight = torch.stack(totals).softmax(0).unsqueeze(3)                    # exp(lse_r - lse)
    return (weight * torch.stack(outputs)).sum(0).transpose(0, 1)


def packed_lsh_attention(query, value, offsets, heads, lsh, causal):
    lengths = offsets_to_lengths(offsets)
    parts = [x.unflatten(1, (heads, -1)).split(lengths) for x in (query, value)]
    return torch.cat([lsh_attention(q, v, lsh, causal) for q, v in zip(*parts)]).flatten(1)


class LinearAttention(nn.Module):
    def __init__(self, width, heads, feature_map="elu", features=0, causal=False):
        super().__init__()
        self.heads = heads
        self.attention = packed_causal_linear_attention if causal else packed_linear_attention
        self.feature_map = feature_map
        self.features = Features(features, width // heads) if features else None
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.output = nn.Linear(width, width)

    def forward(self, x, offsets):
        projected = self.query(x), self.key(x), self.value(x)
        directions = self.features.weight if self.features else None
        return self.output(self.attention(*projected, offsets, self.heads, feature_map=self.feature_map,
                                          directions=directions))


# ---- convolution module ----------------------------------------------------------------------------------

class Depthwise(nn.Module):
    """Convolution over time, one filter per channel, zero padded inside each utterance.

    weight is (kernel, D), time-major: tap j multiplies frame t + j - (kernel - 1 - lookahead).
    """

    def __init__(self, width, kernel, lookahead):
        super().__init__()
        assert 0 <= lookahead < kernel
        self.padding = kernel - 1 - lookahead, lookahead
        bound = 1 / math.sqrt(kernel)  # nn.Conv1d's default: fan-in is the kernel
        self.weight = nn.Parameter(torch.empty(kernel, width).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(width).uniform_(-bound, bound))

    def one(self, x):
        """(T, D) -> (T, D)"""
        kernel, width = self.weight.shape
        weight = self.weight.t().unsqueeze(1)  # (D, 1, kernel)
        return nnf.conv1d(nnf.pad(x.t().unsqueeze(0), self.padding), weight, self.bias, groups=width).squeeze(0).t()

    def forward(self, x, offsets):
        return torch.cat([self.one(part) for part in x.split(offsets_to_lengths(offsets))])


class Convolution(nn.Module):
    def __init__(self, width, kernel, lookahead):
        super().__init__()
        self.norm1 = nn.LayerNorm(width, eps=NORM_EPSILON)
        self.pointwise1 = nn.Linear(width, 2 * width)
        self.depthwise = Depthwise(width, kernel, lookahead)
        self.norm2 = nn.LayerNorm(width, eps=NORM_EPSILON)
        self.pointwise2 = nn.Linear(width, width)

    def forward(self, x, offsets):
        x = nnf.glu(self.pointwise1(self.norm1(x)), dim=1)  # first half * sigmoid(second half)
        return self.pointwise2(nnf.silu(self.norm2(self.depthwise(x, offsets))))


# ---- encoder ---------------------------------------------------------------------------------------------

class FeedForward(nn.Module):
    def __init__(self, width, inner, activation, dropout):
        super().__init__()
        self.activation = ACTIVATIONS[activation]
        self.dropout = nn.Dropout(dropout)
        self.linear1 = nn.Linear(width, inner)
        self.linear2 = nn.Linear(inner, width)

    def forward(self, x):
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


def layer_lookahead(config, index):
    """of a convolution: one number for all layers, or a list; centred if there is neither"""
    lookahead = config.get("convolution_lookahead", config["convolution"] // 2)
    return lookahead[index] if isinstance(lookahead, list) else lookahead


class Layer(nn.Module):
    def __init__(self, config, index):
        super().__init__()
        width, dropout = config["width"], config["dropout"]
        self.pre_norm = config["norm"] == "pre"
        self.dropout = nn.Dropout(dropout)
        self.attention = LinearAttention(width, config["heads"], config.get("feature_map", "elu"),
                                         config.get("features", 0), config["attention"] == "causal-linear")
        self.norm1 = nn.LayerNorm(width, eps=NORM_EPSILON)
        self.convolution = None
        if config["convolution"]:
            self.convolution = Convolution(width, config["convolution"], layer_lookahead(config, index))
        self.feed_forward = FeedForward(width, config["feed_forward"], config["activation"], dropout)
        self.norm2 = nn.LayerNorm(width, eps=NORM_EPSILON)

    def residual(self, norm, branch, x):
        if self.pre_norm:
            return x + self.dropout(branch(norm(x)))
        return norm(x + self.dropout(branch(x)))

    def forward(self, x, offsets):
        """(T, D) -> (T, D)"""
        x = self.residual(self.norm1, lambda y: self.attention(y, offsets), x)
        if self.convolution is not None:  # has its own norms, so both orders apply it in the same way
            x = x + self.dropout(self.convolution(x, offsets))
        return self.residual(self.norm2, self.feed_forward, x)


def check_config(config):
    fixed = {"encoder": ("transformer",), "attention": ("linear", "causal-linear"), "norm": ("post", "pre"),
             "position": ("sinusoidal", "none"), "activation": tuple(ACTIVATIONS)}
    for key, allowed in fixed.items():
        if config[key] not in allowed:
            raise ValueError(f"config: {key} is {config[key]!r}, known are {allowed}")
    if config["width"] % config["heads"] or config["width"] % 2:
        raise ValueError("config: width must be even and a multiple of heads")


class Encoder(nn.Module):
    def __init__(self, config):
        super().__init__()
        check_config(config)
        self.config = config
        width = config["width"]
        self.input = nn.Linear(config["input_dim"] * config["stack"], width)
        self.dropout = nn.Dropout(config["dropout"])
        self.layers = nn.ModuleList(Layer(config, i) for i in range(config["layers"]))
        self.norm = nn.LayerNorm(width, eps=NORM_EPSILON) if config["norm"] == "pre" else None
        self.output = nn.Linear(width, config["outputs"])

    def positions(self, x, offsets):
        """(T, D), counted from 0 in each utterance"""
        lengths = offsets_to_lengths(offsets)
        table = sinusoidal_positions(max(lengths), x.shape[1], x.dtype)
        return torch.cat([table[:length] for length in lengths])

    def forward(self, features, offsets):
        """(sum T_i, input_dim) -> log-probabilities (T, V) and their offsets"""
        x, offsets = stack_frames(features, offsets, self.config["stack"])
        x = self.input(x)
        if self.config["position"] == "sinusoidal":
            x = x + self.positions(x, offsets)
        x = self.dropout(x)
        for layer in self.layers:
            x = layer(x, offsets)
        if self.norm is not None:
            x = self.norm(x)
        return nnf.log_softmax(self.output(x), dim=1), offsets


# ---- bidirectional LSTM ----------------------------------------------------------------------------------

class BLSTM(nn.Module):
    """torch.nn.LSTM on packed sequences and a linear output; ignores keys of the transformer."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.lstm = nn.LSTM(config["input_dim"] * config["stack"], config["width"], config["layers"],
                            bidirectional=True, dropout=config["dropout"])
        self.output = nn.Linear(2 * config["width"], config["outputs"])

    def forward(self, features, offsets):
        """(sum T_i, input_dim) -> log-probabilities (T, V) and their offsets"""
        x, offsets = stack_frames(features, offsets, self.config["stack"])
        packed = pack_sequence(x.split(offsets_to_lengths(offsets)), enforce_sorted=False)
        x = torch.cat(unpack_sequence(self.lstm(packed)[0]))
        return nnf.log_softmax(self.output(x), dim=1), offsets


ENCODERS = {"transformer": Encoder, "blstm": BLSTM}


def make_encoder(config):
    return ENCODERS[config["encoder"]](config)


# ---- loss ------------------------------------------------------------------------------------------------

def is_feasible(labels, frames):
    """A path needs one frame per label and a blank between equal neighbours."""
    repeats = sum(a == b for a, b in zip(labels, labels[1:]))
    return len(labels) + repeats <= frames


def ctc_nll(log_probs, offsets, labels):
    """(T, V) and B lists of integers -> (B,) negative log-likelihoods, +inf (without gradient) where infeasible"""
    lengths = offsets_to_lengths(offsets)
    targets = torch.tensor([label for utterance in labels for label in utterance], dtype=torch.long)
    nll = nnf.ctc_loss(pad_sequence(log_probs.split(lengths)), targets, torch.tensor(lengths),
                       torch.tensor([len(utterance) for utterance in labels]),
                       blank=BLANK, reduction="none", zero_infinity=True)
    feasible = torch.tensor([is_feasible(*pair) for pair in zip(labels, lengths)])
    return torch.where(feasible, nll, math.inf)


def batch_loss(nll, labels):
    """Feasible utterances only: summed nll, summed label count and their quotient, which is the loss."""
    feasible = nll.detach().isfinite()
    total = nll[feasible].sum()
    count = sum(len(utterance) for utterance, ok in zip(labels, feasible.tolist()) if ok)
    return total, count, total / max(count, 1)


# ---- model file ------------------------------------------------------------------------------------------

def save_model(path, encoder, symbols, features):
    """`symbols`: V strings, the first is the blank. `features`: the feature configuration, a JSON string."""
    from safetensors.torch import save_file  # imported here, so that the model does not need it
    assert len(symbols) == encoder.config["outputs"]
    metadata = {"format": "linnet-1", "config": json.dumps(encoder.config), "symbols": json.dumps(symbols),
                "features": features}
    tensors = {name: x.to(torch.float32).contiguous() for name, x in encoder.state_dict().items()}
    save_file(tensors, path, metadata)


def load_model(path):
    """-> the encoder (float32), and the metadata as a dict of strings"""
    from safetensors import safe_open
    with safe_open(path, "pt") as file:
        metadata = file.metadata()
        tensors = {name: file.get_tensor(name) for name in file.keys()}
    encoder = make_encoder(json.loads(metadata["config"]))
    encoder.load_state_dict(tensors)
    return encoder, metadata
