"""The same work in PyTorch, as a peer to compare with: recognition, training steps, CTC, softmax attention.

    peer_torch.py --list                                            lists networks, sets and variants
    peer_torch.py training paper 4000x3.5s --variant padded --threads 2
    peer_torch.py --serve --threads 1                               one JSON request per line, from compare.py

Variants are different programs for the same function; each is checked with tests/golden/torch_model.py before it is
measured. "authors" is pytorch-fast-transformers if it is installed, else a copy of its linear attention;
for the Bi-LSTM it is torch.nn.LSTM, as in the paper. With "-bfloat16" after its name, a variant runs under
torch.autocast.
"""

import argparse
import json
import math
import re
import statistics
import sys
import time
from pathlib import Path

import torch
import torch.nn.functional as nnf
from torch import nn
from torch.nn.utils.rnn import pack_sequence, pad_sequence, unpack_sequence

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "golden"))
import torch_model  # noqa: E402

OUTPUTS = 42
ENCODER_FRAMES = 998  # 10 s
FRAMES_PER_LABEL = 8
PAPER = {"encoder": "transformer", "input_dim": 40, "stack": 1, "width": 192, "heads": 6, "layers": 9,
         "feed_forward": 768, "activation": "relu", "norm": "post", "dropout": 0.1, "position": "sinusoidal",
         "attention": "linear", "convolution": 0, "outputs": OUTPUTS}
NETWORKS = {"paper": {},
            "stack3": {"stack": 3, "norm": "pre"},
            "conv": {"norm": "pre", "convolution": 15},
            "stack3-conv": {"stack": 3, "norm": "pre", "convolution": 15},
            "blstm": {"encoder": "blstm", "width": 320, "layers": 3},
            "stack3-blstm": {"encoder": "blstm", "width": 320, "layers": 3, "stack": 3}}
SETS = {"4000x3.5s": (4000, 350), "12000x3.5s": (12000, 350), "12000x8s": (12000, 800)}  # frames, median
CTC_SETS = {f"B{batch}V{symbols}": (batch, symbols) for symbols in (42, 5000) for batch in (1, 16)}
CTC_FRAMES, CTC_LABELS = 800, 80
# KIND-PASS-FRAMESxHEADSxWIDTH, as in bench_attention.c
ATTENTION_KINDS = {"softmax": False, "causal-softmax": True}
ATTENTION_SETS = [f"{kind}-{part}-{frames}x{shape}" for kind in ATTENTION_KINDS for part in ("forward", "both")
                  for shape in ("6x32", "8x64") for frames in (512, 2048, 8192)]


def network_config(name):
    return PAPER | NETWORKS[name]


# ---- utterances ------------------------------------------------------------------------------------------

class Random:
    """splitmix64, as tests/test.h has it"""

    def __init__(self, seed):
        self.state = seed

    def next(self):
        mask = (1 << 64) - 1
        self.state = (self.state + 0x9E3779B97F4A7C15) & mask
        z = self.state
        z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ z >> 27) * 0x94D049BB133111EB) & mask
        return z ^ z >> 31

    def uniform(self):
        return (self.next() >> 11) * 2.0 ** -52 - 1


def utterance_lengths(limit, median, longest=math.inf):
    """Frames of utterances that fit into a batch of `limit` frames: the same as in bench_step.h."""
    random, lengths = Random(7), []
    while True:
        u, v, w = random.uniform(), random.uniform(), random.uniform()
        frames = min(int(median * math.exp(0.4 * (u + v + w))), longest)
        if not lengths:
            frames = min(frames, limit)
        if sum(lengths) + frames > limit:
            return lengths
        lengths.append(frames)


class Batch:
    """Stacked features of utterances of some lengths, and their labels."""

    def __init__(self, config, lengths):
        generator = torch.Generator().manual_seed(1)
        self.features = []
        for frames in lengths:
            x = torch.rand(frames, config["input_dim"], generator=generator) * 2 - 1
            self.features.append(torch_model.stack_frames(x, [0, frames], config["stack"])[0])
        self.frames = sum(lengths)
        self.labels = [torch.randint(1, OUTPUTS, (n // FRAMES_PER_LABEL,), generator=generator) for n in lengths]
        self.lengths = torch.tensor([len(x) for x in self.features])
        self.label_lengths = torch.tensor([len(x) for x in self.labels])
        self.all_labels = torch.cat(self.labels)
        self.total_labels = len(self.all_labels)


# ---- one network, several ways to write it ---------------------------------------------------------------

class Peer(nn.Module):
    """The encoder with torch_model's weights; shared by all variants. x is (B, T, D) or packed (T, D)."""

    packed = False

    def __init__(self, config, reference):
        super().__init__()
        self.config, self.heads = config, config["heads"]
        self.pre = config["norm"] == "pre"
        self.net = reference
        self.rate = config["dropout"]
        for layer in reference.layers:
            a = layer.attention
            joined = nn.Linear(config["width"], 3 * config["width"])
            with torch.no_grad():
                joined.weight.copy_(torch.cat([a.query.weight, a.key.weight, a.value.weight]))
                joined.bias.copy_(torch.cat([a.query.bias, a.key.bias, a.value.bias]))
            a.query = a.key = a.value = None
            a.joined = joined
        table = torch_model.sinusoidal_positions(4096, config["width"], torch.float32)
        self.register_buffer("positions", table, persistent=False)

    def drop(self, x):
        return nnf.dropout(x, self.rate, self.training) if self.training else x

    def attend(self, q, k, v, mask):
        """(B, T, H, C) each; mask (B, T, 1, 1) or None"""
        q, k = (nnf.elu(x) + 1 for x in (q, k))
        if mask is not None:
            k = k * mask
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
        state = k.transpose(2, 3) @ v
        normaliser = q @ k.sum(2).unsqueeze(3) + torch_model.ATTENTION_EPSILON
        return ((q @ state) / normaliser).transpose(1, 2)

    def attention(self, module, x, mask):
        q, k, v = module.joined(x).unflatten(-1, (3, self.heads, -1)).unbind(-3)
        return module.output(self.attend(q, k, v, mask).flatten(-2))

    def depthwise(self, module, x, mask):
        if mask is not None:
            x = x * mask.squeeze(3)
        weight = module.weight.t().unsqueeze(1)
        return nnf.conv1d(x.transpose(1, 2), weight, module.bias, padding=weight.shape[2] // 2,
                          groups=weight.shape[0]).transpose(1, 2)

    def convolution(self, module, x, mask):
        x = nnf.glu(module.pointwise1(module.norm1(x)), dim=-1)
        return module.pointwise2(nnf.silu(module.norm2(self.depthwise(module.depthwise, x, mask))))

    def feed_forward(self, module, x):
        return module.linear2(self.drop(module.activation(module.linear1(x))))

    def residual(self, norm, branch, x):
        if self.pre:
            return x + self.drop(branch(norm(x)))
        return norm(x + self.drop(branch(x)))

    def add_positions(self, x):
        return x + self.positions[:x.shape[-2]]

    def layer(self, layer, x, mask):
        x = self.residual(layer.norm1, lambda y: self.attention(layer.attention, y, mask), x)
        if layer.convolution is not None:
            x = x + self.drop(self.convolution(layer.convolution, x, mask))
        return self.residual(layer.norm2, lambda y: self.feed_forward(layer.feed_forward, y), x)

    def forward(self, x, mask=None):
        """(B, T, stacked dim) -> logits (B, T, V)"""
        x = self.drop(self.add_positions(self.net.input(x)))
        for layer in self.net.layers:
            x = self.layer(layer, x, mask)
        return self.net.output(self.net.norm(x) if self.pre else x)


class Packed(Peer):
    """Linear layers and norms on packed rows; attention and convolution on one utterance after the other."""

    packed = True

    def forward(self, x, lengths):
        self.lengths = lengths
        return super().forward(x.unsqueeze(0)).squeeze(0)

    def add_positions(self, x):
        return x + torch.cat([self.positions[:n] for n in self.lengths])

    def attend(self, q, k, v, mask):
        parts = [x.split(self.lengths, 1) for x in (q, k, v)]
        attend = super().attend
        return torch.cat([attend(*part, None) for part in zip(*parts)], 1)

    def depthwise(self, module, x, mask):
        depthwise = super().depthwise
        return torch.cat([depthwise(module, part, None) for part in x.split(self.lengths, 1)], 1)


class PackedCompiled(Packed):
    """Compiles the code between attention and convolution, which loop over utterances, once for all layers."""

    def __init__(self, config, reference):
        super().__init__(config, reference)
        import torch._inductor.config as inductor
        inductor.fallback_random = True  # its own generator is slower
        self.layer = torch.compile(super().layer, dynamic=False)

    @torch.compiler.disable
    def attend(self, q, k, v, mask):
        return super().attend(q, k, v, mask)

    @torch.compiler.disable
    def depthwise(self, module, x, mask):
        return super().depthwise(module, x, mask)


class Authors(nn.Module):
    """pytorch-fast-transformers, which has only post-norm and no convolution."""

    def __init__(self, config, reference):
        super().__init__()
        from fast_transformers.builders import TransformerEncoderBuilder
        from fast_transformers.masking import LengthMask
        assert config["norm"] == "post" and not config["convolution"]
        self.mask = LengthMask
        width = config["width"] // config["heads"]
        self.body = TransformerEncoderBuilder.from_kwargs(
            attention_type="linear", n_layers=config["layers"], n_heads=config["heads"], query_dimensions=width,
            value_dimensions=width, feed_forward_dimensions=config["feed_forward"], activation="relu",
            dropout=config["dropout"], final_normalization=False).get()
        self.input, self.output, self.dropout = reference.input, reference.output, reference.dropout
        for mine, theirs in zip(self.body.layers, reference.layers):
            mine.norm1, mine.norm2 = theirs.norm1, theirs.norm2
            mine.linear1, mine.linear2 = theirs.feed_forward.linear1, theirs.feed_forward.linear2
            a = theirs.attention
            mine.attention.query_projection, mine.attention.key_projection = a.query, a.key
            mine.attention.value_projection, mine.attention.out_projection = a.value, a.output
        table = torch_model.sinusoidal_positions(4096, config["width"], torch.float32)
        self.register_buffer("positions", table, persistent=False)

    def forward(self, x, lengths=None):
        x = self.dropout(self.input(x) + self.positions[:x.shape[1]])
        mask = None if lengths is None else self.mask(lengths, max_len=x.shape[1])
        return self.output(self.body(x, length_mask=mask))


class AuthorsRestated(Peer):
    """The library's linear attention with the same einsums, for machines without the library."""

    def attend(self, q, k, v, mask):
        q, k = (nnf.elu(x) + 1 for x in (q, k))
        if mask is not None:
            k = k * mask
        state = torch.einsum("nshd,nshm->nhmd", k, v)
        z = 1 / (torch.einsum("nlhd,nhd->nlh", q, k.sum(dim=1)) + torch_model.ATTENTION_EPSILON)
        return torch.einsum("nlhd,nhmd,nlh->nlhm", q, state, z)


class LSTM(nn.Module):
    """torch.nn.LSTM; x is (B, T, D), all utterances have the same length."""

    packed = False

    def __init__(self, config, reference):
        super().__init__()
        self.net = reference
        self.net.lstm.batch_first = True

    def forward(self, x, mask=None):
        assert mask is None, "the reverse direction would begin in the padding"
        return self.net.output(self.net.lstm(x)[0])


class PackedLSTM(LSTM):
    """torch.nn.LSTM on its own packed sequences; x is packed (T, D)."""

    packed = True

    def forward(self, x, lengths):
        packed = pack_sequence(x.split(lengths), enforce_sorted=False)
        return self.net.output(torch.cat(unpack_sequence(self.net.lstm(packed)[0])))


def has_authors_library(config):
    if config["encoder"] != "transformer" or config["norm"] != "post" or config["convolution"]:
        return False
    try:
        import fast_transformers.builders  # noqa: F401
    except ImportError:
        return False
    return True


def encoder_peer(config, reference, variant):
    if config["encoder"] == "blstm":
        return LSTM(config, reference)
    if variant == "authors":
        return (Authors if has_authors_library(config) else AuthorsRestated)(config, reference)
    return Peer(config, reference)


def training_peer(config, reference, variant):
    if config["encoder"] == "blstm":
        return {"authors": PackedLSTM, "packed": PackedLSTM, "one-by-one": LSTM}[variant](config, reference)
    authors = Authors if has_authors_library(config) else AuthorsRestated
    kinds = {"authors": authors, "packed": Packed, "compiled": PackedCompiled}
    return kinds.get(variant, Peer)(config, reference)


# ---- recognition -----------------------------------------------------------------------------------------

class LogSoftmax(nn.Module):
    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, x):
        return nnf.log_softmax(self.network(x), dim=-1)


def make_encoder(network, variant):
    config = network_config(network)
    torch.manual_seed(1)
    reference = torch_model.make_encoder(config).eval()
    features = torch.rand(ENCODER_FRAMES, config["input_dim"]) * 2 - 1
    with torch.inference_mode():
        expected = reference(features, [0, ENCODER_FRAMES])[0]
    stacked = torch_model.stack_frames(features, [0, ENCODER_FRAMES], config["stack"])[0].unsqueeze(0)
    model = LogSoftmax(encoder_peer(config, reference, variant)).eval()
    if variant == "jit":  # weights packed for oneDNN once
        with torch.no_grad():
            model = torch.jit.optimize_for_inference(torch.jit.freeze(torch.jit.trace(model, stacked)))
    if variant == "compiled":
        import torch._inductor.config as inductor
        inductor.freezing = True  # weights are constants, packed once
        model = torch.compile(model, dynamic=False)
    if variant == "int8":  # weights quantised once, activations in each call
        model = torch.ao.quantization.quantize_dynamic(model, {nn.Linear, nn.LSTM}, dtype=torch.qint8)

    def call():
        with torch.no_grad():
            return model(stacked)

    for _ in range(3):
        result = call()
    error = (result.squeeze(0) - expected).abs().max().item()
    assert error < (0.5 if variant == "int8" else 1e-3), f"{variant}: differs from torch_model by {error}"
    return call


# ---- training --------------------------------------------------------------------------------------------

def ctc_sum(logits, lengths, labels, label_lengths):
    """logits (B, T, V)"""
    log_probs = nnf.log_softmax(logits, dim=-1).transpose(0, 1)
    return nnf.ctc_loss(log_probs, labels, lengths, label_lengths, reduction="sum", zero_infinity=True)


def padded_loss(model, batch, authors):
    x = pad_sequence(batch.features, batch_first=True)
    if authors:
        logits = model(x, batch.lengths)
    else:
        mask = (torch.arange(x.shape[1]) < batch.lengths.unsqueeze(1)).to(x.dtype)[:, :, None, None]
        logits = model(x, mask)
    return ctc_sum(logits, batch.lengths, batch.all_labels, batch.label_lengths) / batch.total_labels


def packed_loss(model, batch):
    lengths = batch.lengths.tolist()
    logits = model(torch.cat(batch.features), lengths)
    padded = pad_sequence(logits.split(lengths), batch_first=True)
    return ctc_sum(padded, batch.lengths, batch.all_labels, batch.label_lengths) / batch.total_labels


def one_by_one_loss(model, batch):
    """Forward and backward of one utterance after the other, so that activations stay in the cache. Returns the loss."""
    total = 0
    for i, x in enumerate(batch.features):
        loss = ctc_sum(model(x.unsqueeze(0)), batch.lengths[i:i + 1], batch.labels[i],
                       batch.label_lengths[i:i + 1]) / batch.total_labels
        loss.backward()
        total += loss.detach()
    return total


def make_training(network, set_name, variant):
    config = network_config(network)
    batch = Batch(config, utterance_lengths(*SETS[set_name]))
    torch.manual_seed(1)
    reference = torch_model.make_encoder(config)
    offsets = torch_model.lengths_to_offsets(batch.lengths.tolist())
    with torch.no_grad():
        stacked = dict(config, stack=1)
        reference.config = stacked
        log_probs = reference.eval()(torch.cat(batch.features), offsets)[0]
        nll = torch_model.ctc_nll(log_probs, offsets, [x.tolist() for x in batch.labels])
        expected = torch_model.batch_loss(nll, [x.tolist() for x in batch.labels])[2]
    library = variant == "authors" and has_authors_library(config)
    model = training_peer(config, reference, variant)
    optimizer = torch.optim.RAdam(model.parameters(), lr=1e-4, foreach=variant != "authors" or None)
    def loss_of():
        if variant == "one-by-one":
            return one_by_one_loss(model, batch)
        loss = packed_loss(model, batch) if getattr(model, "packed", False) else padded_loss(model, batch, library)
        if loss.requires_grad:
            loss.backward()
        return loss.detach()

    model.eval()
    error = abs(loss_of() / expected - 1).item()
    assert error < 1e-3, f"{variant}: the loss differs from torch_model's by a factor of 1 + {error}"
    model.train()

    def call():
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss

    call()
    return call


# ---- CTC -------------------------------------------------------------------------------------------------

def make_ctc(set_name, variant):
    batch, symbols = CTC_SETS[set_name]
    torch.manual_seed(1)
    logits = (torch.rand(CTC_FRAMES, batch, symbols) * 2 - 1).requires_grad_()
    labels = torch.randint(1, symbols, (batch, CTC_LABELS))
    lengths, label_lengths = torch.full((batch,), CTC_FRAMES), torch.full((batch,), CTC_LABELS)

    def call():
        logits.grad = None
        nnf.ctc_loss(nnf.log_softmax(logits, dim=2), labels, lengths, label_lengths, reduction="sum").backward()

    call()
    return call


# ---- attention -------------------------------------------------------------------------------------------

def check_attention(q, k, v, causal, output):
    """A few rows of scaled_dot_product_attention, (1, H, T, C), against torch_model's."""
    rows = 8
    seen = rows if causal else q.shape[2]
    q, k, v = (x[0, :, :n].detach().transpose(0, 1).double() for x, n in ((q, rows), (k, seen), (v, seen)))
    expected = torch_model.softmax_attention(q, k, v, causal)
    error = (output[0, :, :rows].transpose(0, 1) - expected).abs().max().item()
    assert error < 1e-5, f"attention differs from torch_model's by {error}"


def make_attention(set_name, variant):
    kind, part, shape = re.fullmatch(r"(.+)-(\w+)-(\w+)", set_name).groups()
    frames, heads, width = map(int, shape.split("x"))
    causal = ATTENTION_KINDS[kind]
    torch.manual_seed(1)
    q, k, v, dout = (torch.rand(1, heads, frames, width) * 2 - 1 for _ in range(4))
    check_attention(q, k, v, causal, nnf.scaled_dot_product_attention(q, k, v, is_causal=causal))
    inputs = [x.requires_grad_(part == "both") for x in (q, k, v)]

    def call():
        output = nnf.scaled_dot_product_attention(*inputs, is_causal=causal)
        return torch.autograd.grad(output, inputs, dout) if part == "both" else output

    call()
    return call


# ---- running ---------------------------------------------------------------------------------------------

BFLOAT16 = "-bfloat16"  # after the name of a variant
VARIANTS = {"encoder": ["authors", "eager", "jit", "compiled", "int8"],
            "training": ["authors", "padded", "packed", "one-by-one", "compiled"],
            "ctc": ["eager"],
            "attention": ["sdpa"]}


def reduced(call):
    """The call with products of bfloat16 operands where torch.autocast chooses them."""
    def wrapped():
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return call()
    return wrapped


def make(work, network, set_name, variant):
    if variant.endswith(BFLOAT16):
        return reduced(make(work, network, set_name, variant.removesuffix(BFLOAT16)))
    if work == "encoder":
        return make_encoder(network, variant)
    if work == "training":
        return make_training(network, set_name, variant)
    if work == "attention":
        return make_attention(set_name, variant)
    return make_ctc(set_name, variant)


def measure(call, seconds):
    """Medians of wall and process CPU time of a call, over about `seconds` of calls after a warm-up call."""
    walls, cpus = [], []
    call()
    start = time.perf_counter()
    while not walls or time.perf_counter() - start < seconds:
        wall, cpu = time.perf_counter(), time.process_time()
        call()
        cpus.append(time.process_time() - cpu)
        walls.append(time.perf_counter() - wall)
    return {"wall": statistics.median(walls), "cpu": statistics.median(cpus), "calls": len(walls)}


def serve():
    calls = {}
    for line in sys.stdin:
        request = json.loads(line)
        key = tuple(request.get(name) for name in ("work", "network", "set", "variant"))
        try:
            if key not in calls:
                calls[key] = make(*key)
            reply = measure(calls[key], request["seconds"])
        except Exception as problem:  # a variant may not work on this machine
            reply = {"error": f"{type(problem).__name__}: {problem}"[:300]}
        print(json.dumps(reply), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", nargs="?", choices=VARIANTS)
    parser.add_argument("what", nargs="*", help="network and set, as --list names them")
    parser.add_argument("--variant", default=None)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--serve", action="store_true")
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.set_flush_denormal(True)
    if args.list:
        print(json.dumps({"networks": list(NETWORKS), "sets": list(SETS), "ctc": list(CTC_SETS),
                          "attention": ATTENTION_SETS, **VARIANTS}, indent=1))
        print(torch.__config__.show())
    elif args.serve:
        serve()
    elif args.work:
        network = next((x for x in args.what if x in NETWORKS), "paper")
        sets = {"ctc": CTC_SETS, "attention": ATTENTION_SETS}.get(args.work, SETS)
        set_name = next((x for x in args.what if x in sets), next(iter(sets)))
        for variant in [args.variant] if args.variant else VARIANTS[args.work]:
            result = measure(make(args.work, network, set_name, variant), args.seconds)
            print(f"{args.work} {network} {set_name} {variant}: wall {result['wall'] * 1e3:.2f} ms, "
                  f"CPU {result['cpu'] * 1e3:.2f} ms, {result['calls']} calls", flush=True)
    else:
        parser.error("say what to measure")


if __name__ == "__main__":
    main()
