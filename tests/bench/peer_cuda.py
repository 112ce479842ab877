"""The work of bench_cuda in PyTorch: training steps on batches of the same lengths, and attention alone. compare_cuda.py
measures it in turns with bench_cuda.

Variants of a step; each is checked with tests/golden/torch_model.py before it is measured:

    authors   padded batches, sorted into buckets by length; linear attention in pytorch-fast-transformers' einsums
    padded    the same with batched products; softmax by scaled_dot_product_attention with a mask
    packed    rows without padding; linear attention on chunks of rows, softmax by scaled_dot_product_attention on
              jagged tensors (flash in bfloat16), torch.nn.LSTM (cuDNN) on packed sequences
    compiled, compiled-padded   layers of the two by torch.compile, for all lengths at once
    fla-chunk, fla-fused        causal linear attention alone by flash-linear-attention's Triton kernels

A step begins with features in page-locked host memory, padded beforehand, and ends with updated weights.
"""

import contextlib
import functools
import math
import statistics
import time

import torch
import torch.nn.functional as nnf
from torch import nn
from torch.nn.utils.rnn import pad_sequence

import peer_torch
import torch_model

PRECISIONS = ("float32", "tf32", "bfloat16")
MEDIAN, LONGEST = 740, 2400  # frames of an utterance, as in bench_cuda.c
CHECK_FRAMES = 3000
CHUNK = 64  # rows
BUCKET_FRAMES, MAX_BUCKETS = 5000, 12
BOUNDS = {"float32": 1e-3, "tf32": 1e-2, "bfloat16": 3e-2}  # of a loss, relative; of attention's outputs
NETWORKS = {"linear": "paper", "softmax": "paper", "blstm": "blstm"}


@contextlib.contextmanager
def products(precision, device):
    """Sets the rounding of operands of float32 products, and autocast for forward passes."""
    reduced = precision != "float32"
    torch.set_float32_matmul_precision("high" if reduced else "highest")
    torch.backends.cudnn.allow_tf32 = reduced
    with torch.autocast(device.type, dtype=torch.bfloat16, enabled=precision == "bfloat16"):
        yield


def synchronize(device):
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def pinned(x, device):
    return x.pin_memory() if device.type == "cuda" else x


# ---- batches ---------------------------------------------------------------------------------------------

class Labels:
    """Labels of a batch; lengths stay on the host, as nnf.ctc_loss needs them."""

    def __init__(self, labels, lengths, device):
        self.lengths = torch.tensor(lengths)
        self.label_lengths = torch.tensor([len(x) for x in labels])
        self.labels = torch.cat(labels).to(device)

    def loss(self, logits):
        """logits (B, T, V) -> the sum over the batch"""
        return peer_torch.ctc_sum(logits, self.lengths, self.labels, self.label_lengths)


class Padded:
    """Some utterances side by side: features (B, T, dim), T a multiple of 8, mask (B, T, 1, 1)."""

    def __init__(self, features, labels, device, dtype):
        lengths = [len(x) for x in features]
        longest = -(-max(lengths) // 8) * 8
        x = pad_sequence(features, batch_first=True)
        self.features = pinned(nnf.pad(x, (0, 0, 0, longest - x.shape[1])), device)
        mask = torch.arange(longest) < torch.tensor(lengths).unsqueeze(1)
        self.mask = mask.to(device, dtype)[:, :, None, None]
        self.labels = Labels(labels, lengths, device)
        self.device = device

    def loss(self, model):
        return self.labels.loss(model(self.features.to(self.device, non_blocking=True), self.mask))


class Packed:
    """The rows of all utterances, (T, dim), and indices of rows: `padded` (B, longest) and `chunks` (chunks, CHUNK)
    have the index of a row, or T for none; `row` (T) is the index of a row among those of the chunks."""

    def __init__(self, features, labels, device, dtype):
        lengths = [len(x) for x in features]
        total = sum(lengths)
        self.features = pinned(torch.cat(features), device)
        self.offsets = torch.tensor(torch_model.lengths_to_offsets(lengths))
        self.shortest, self.longest = min(lengths), max(lengths)
        rows = torch.arange(total).split(lengths)
        self.positions = torch.cat([torch.arange(n) for n in lengths]).to(device)
        self.padded = pad_sequence(rows, batch_first=True, padding_value=0).to(device)
        chunks = [nnf.pad(x, (0, -len(x) % CHUNK), value=total) for x in rows]
        self.sequence = torch.cat([torch.full((len(x) // CHUNK,), s) for s, x in enumerate(chunks)]).to(device)
        chunks = torch.cat(chunks)
        self.row = torch.nonzero(chunks < total).squeeze(1).to(device)
        self.kept = (chunks < total).to(device, dtype).view(-1, CHUNK, 1, 1)
        self.chunks = chunks.clamp(max=total - 1).to(device)
        self.offsets = self.offsets.to(device)
        self.labels = Labels(labels, lengths, device)
        self.lengths, self.device = lengths, device

    def loss(self, model):
        logits = model(self.features.to(self.device, non_blocking=True), self)
        padded = logits.index_select(0, self.padded.flatten()).view(*self.padded.shape, -1)
        return self.labels.loss(padded)


def bucket_count(frames):
    return max(1, min(MAX_BUCKETS, frames // BUCKET_FRAMES))


def make_batches(config, frames, packed, device, dtype):
    """-> the parts of a batch, and the batch in the form of peer_torch"""
    batch = peer_torch.Batch(config, peer_torch.utterance_lengths(frames, MEDIAN, LONGEST))
    order = sorted(range(len(batch.features)), key=lambda i: len(batch.features[i]))
    count = 1 if packed else min(bucket_count(frames), len(order))
    parts, kind = [], Packed if packed else Padded
    for b in range(count):
        chosen = order[len(order) * b // count:len(order) * (b + 1) // count]
        parts.append(kind([batch.features[i] for i in chosen], [batch.labels[i] for i in chosen], device, dtype))
    return parts, batch


# ---- networks --------------------------------------------------------------------------------------------

class PaddedSoftmax(peer_torch.Peer):
    def attend(self, q, k, v, mask):
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
        return nnf.scaled_dot_product_attention(q, k, v, attn_mask=mask.transpose(1, 3) > 0).transpose(1, 2)


class PackedLinear(peer_torch.Peer):
    """Linear attention on chunks of rows: their states are summed over each utterance."""

    packed = True

    def forward(self, x, batch):
        self.rows = batch
        return super().forward(x.unsqueeze(0), batch).squeeze(0)

    def add_positions(self, x):
        return x + self.positions[self.rows.positions]

    def attend(self, q, k, v, batch):
        q, k = (nnf.elu(x) + 1 for x in (q, k))
        q, k, v = (x.squeeze(0).index_select(0, batch.chunks).unflatten(0, (-1, CHUNK)) for x in (q, k, v))
        k = k * batch.kept
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))                # (chunks, H, CHUNK, C)
        state, z = k.transpose(2, 3) @ v, k.sum(2).unsqueeze(3)
        state, z = (x.new_zeros(batch.padded.shape[0], *x.shape[1:])
                    .index_add(0, batch.sequence, x).index_select(0, batch.sequence) for x in (state, z))
        out = (q @ state) / (q @ z + torch_model.ATTENTION_EPSILON)
        return out.transpose(1, 2).flatten(0, 1).index_select(0, batch.row).unsqueeze(0)


class PackedSoftmax(PackedLinear):
    def attend(self, q, k, v, batch):
        def jagged(x):  # without gaps between rows, for which PyTorch is slow
            return torch.nested.nested_tensor_from_jagged(x.squeeze(0).contiguous(), batch.offsets,
                                                          min_seqlen=batch.shortest, max_seqlen=batch.longest)
        q, k, v = (jagged(x).transpose(1, 2) for x in (q, k, v))
        return nnf.scaled_dot_product_attention(q, k, v).transpose(1, 2).values().unsqueeze(0)


class PackedLSTM(peer_torch.PackedLSTM):
    def forward(self, x, batch):
        return super().forward(x, batch.lengths)


def compiled(kind):
    """A kind of network whose layers are compiled, once for all layers and lengths."""
    class Compiled(kind):
        def __init__(self, config, reference):
            super().__init__(config, reference)
            self.layer = torch.compile(super().layer, dynamic=True)
    return Compiled


VARIANTS = {"linear": {"padded": peer_torch.Peer, "packed": PackedLinear, "authors": peer_torch.AuthorsRestated,
                       "compiled": compiled(PackedLinear), "compiled-padded": compiled(peer_torch.Peer)},
            "softmax": {"packed": PackedSoftmax, "padded": PaddedSoftmax, "compiled-padded": compiled(PaddedSoftmax)},
            "blstm": {"packed": PackedLSTM}}


# ---- training --------------------------------------------------------------------------------------------

def make_reference(network):
    config = peer_torch.network_config(NETWORKS[network])
    torch.manual_seed(1)
    return config, torch_model.make_encoder(config)


@functools.cache
def reference_loss(network):
    """torch_model's loss of a batch, in float32 on the host, for checking variants."""
    config, reference = make_reference(network)
    batch = peer_torch.Batch(config, peer_torch.utterance_lengths(CHECK_FRAMES, MEDIAN, LONGEST))
    lengths = batch.lengths.tolist()
    offsets = torch_model.lengths_to_offsets(lengths)
    plain = torch_model.packed_linear_attention
    if network == "softmax":
        torch_model.packed_linear_attention = lambda *args, feature_map, directions: \
            torch_model.packed_softmax_attention(*args)
    with torch.no_grad():
        log_probs = reference.eval()(torch.cat(batch.features), offsets)[0]
    torch_model.packed_linear_attention = plain
    labels = [x.tolist() for x in batch.labels]
    return torch_model.batch_loss(torch_model.ctc_nll(log_probs, offsets, labels), labels)[2].item()


class Training:
    """A network and its optimiser in one variant and precision; step(frames) returns a call to measure."""

    def __init__(self, network, variant, precision, device):
        self.precision, self.device = precision, device
        self.dtype = torch.bfloat16 if precision == "bfloat16" else torch.float32
        self.config, reference = make_reference(network)
        self.model = VARIANTS[network][variant](self.config, reference).to(device)
        self.check(reference_loss(network))
        self.model.train()
        self.optimizer = torch.optim.RAdam(self.model.parameters(), lr=1e-4, foreach=True)

    def batches(self, frames):
        return make_batches(self.config, frames, self.model.packed, self.device, self.dtype)

    def check(self, expected):
        parts, batch = self.batches(CHECK_FRAMES)
        self.model.eval()
        with torch.no_grad(), products(self.precision, self.device):
            loss = sum(part.loss(self.model).item() for part in parts) / batch.total_labels
        error = abs(loss / expected - 1)
        assert error < BOUNDS[self.precision], f"the loss differs from torch_model's by a factor of 1 + {error:.2g}"

    def step(self, frames):
        parts, batch = self.batches(frames)

        def call():
            self.optimizer.zero_grad(set_to_none=True)
            for part in parts:
                with products(self.precision, self.device):
                    loss = part.loss(self.model) / batch.total_labels
                loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()

        return call


# ---- attention alone -------------------------------------------------------------------------------------

HEADS, WIDTH = 6, 32
CAUSAL_CHUNK = 128


def linear(q, k, v):
    """(B, H, N, C) each"""
    q, k = nnf.elu(q) + 1, nnf.elu(k) + 1
    return (q @ (k.transpose(2, 3) @ v)) / (q @ k.sum(2).unsqueeze(3) + torch_model.ATTENTION_EPSILON)


def linear_einsum(q, k, v):
    q, k = nnf.elu(q) + 1, nnf.elu(k) + 1
    state = torch.einsum("nhsd,nhsm->nhmd", k, v)
    z = 1 / (torch.einsum("nhld,nhd->nhl", q, k.sum(dim=2)) + torch_model.ATTENTION_EPSILON)
    return torch.einsum("nhld,nhmd,nhl->nhlm", q, state, z)


def causal_linear(q, k, v):
    """Chunks: frames of the same chunk by a masked product, earlier ones by a state."""
    q, k = nnf.elu(q) + 1, nnf.elu(k) + 1
    q, k, v = (x.unflatten(2, (-1, CAUSAL_CHUNK)) for x in (q, k, v))   # (B, H, chunks, CHUNK, C)
    state, z = k.transpose(3, 4) @ v, k.sum(3).unsqueeze(4)
    state, z = state.cumsum(2) - state, z.cumsum(2) - z
    weights = (q @ k.transpose(3, 4)).tril()
    normaliser = weights.sum(4, keepdim=True) + q @ z.to(q.dtype) + torch_model.ATTENTION_EPSILON
    return ((weights @ v + q @ state.to(q.dtype)) / normaliser).flatten(2, 3)


def triton_linear(name):
    """A function of flash-linear-attention, if it is installed; tensors are (B, N, H, C), the scale cancels."""
    def function(q, k, v):
        import fla.ops.linear_attn
        q, k = nnf.elu(q) + 1, nnf.elu(k) + 1
        return getattr(fla.ops.linear_attn, name)(q, k, v, normalize=True)[0]
    function.rows_first = True
    return function


ATTENTION = {"linear": {"plain": linear, "einsum": linear_einsum, "compiled": linear},
             "causal-linear": {"plain": causal_linear, "compiled": causal_linear,
                               "fla-chunk": triton_linear("chunk_linear_attn"),
                               "fla-fused": triton_linear("fused_chunk_linear_attn")},
             "softmax": {"sdpa": nnf.scaled_dot_product_attention}}
REFERENCES = {"linear": torch_model.linear_attention, "causal-linear": torch_model.causal_linear_attention,
              "softmax": torch_model.softmax_attention}


class Attention:
    """Attention alone, forward and backward, tensors in the precision of the products."""

    def __init__(self, network, variant, precision, device):
        self.precision, self.device = precision, device
        self.dtype = torch.bfloat16 if precision == "bfloat16" else torch.float32
        self.function = ATTENTION[network][variant]
        self.rows_first = hasattr(self.function, "rows_first")
        if variant == "compiled":
            self.function = torch.compile(self.function, dynamic=True)
        self.check(REFERENCES[network])

    def inputs(self, length, sequences):
        shape = (length, HEADS) if self.rows_first else (HEADS, length)
        return [torch.rand(sequences, *shape, WIDTH, device=self.device).mul(2).sub(1).to(self.dtype)
                for _ in range(4)]

    def first(self, x):
        """(N, H, C) of the first sequence, on the host"""
        return (x[0] if self.rows_first else x[0].transpose(0, 1)).detach().cpu()

    def check(self, reference):
        torch.manual_seed(1)
        with self.reduced():
            q, k, v, _ = self.inputs(2 * CAUSAL_CHUNK, 2)
            output = self.first(self.function(q, k, v)).float()
        expected = reference(*(self.first(x).double() for x in (q, k, v)))
        error = (output - expected).abs().max().item()
        assert error < BOUNDS[self.precision], f"attention differs from torch_model's by {error:.2g}"

    @contextlib.contextmanager
    def reduced(self):
        with products("float32" if self.precision == "float32" else "tf32", self.device):
            yield

    def step(self, length, sequences):
        *inputs, dout = self.inputs(length, sequences)
        inputs = [x.requires_grad_() for x in inputs]

        def call():
            with self.reduced():
                torch.autograd.grad(self.function(*inputs), inputs, dout)

        return call


# ---- measuring -------------------------------------------------------------------------------------------

def sample(call, device, calls):
    start = time.perf_counter()
    for _ in range(calls):
        call()
    synchronize(device)
    return (time.perf_counter() - start) / calls


def measure(call, device, seconds, queued):
    """Median seconds of a call after two warm-up calls; with `queued`, several calls are queued before one wait."""
    once = min(sample(call, device, 1) for _ in range(2))
    if once > seconds:
        return once
    calls = max(1, min(1000, int(seconds / 7 / once))) if queued else 1
    count = 7 if queued else max(3, min(31, math.ceil(seconds / once)))
    return statistics.median(sample(call, device, calls) for _ in range(count))
