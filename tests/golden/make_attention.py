"""Writes attention_<kind>.safetensors: one packed forward and backward of each kind of attention alone; linear
attention also with each feature map, with its random directions (features, C) or none.

q, k, v, output and the gradients dq, dk, dv, dout are (T, H * C); lengths says which rows are which utterance.
If queries are keys, there is no k, and dq is the gradient of both. The metadata of LSH attention have its settings.
"""

from functools import partial

import torch

import golden_file
import torch_model as model

LENGTHS = [17, 1, 40]
HEADS = 2
SIZE = 8
FEATURES = 12
LSH = {"rounds": 3, "buckets": 4, "chunk": 4, "seed": 2**40 + 9, "step": 5, "site": 2}
KINDS = {"linear": model.packed_linear_attention,
         "causal-linear": model.packed_causal_linear_attention,
         "linear-decay": model.packed_decaying_linear_attention,
         "causal-linear-decay": model.packed_causal_decaying_linear_attention,
         "softmax": model.packed_softmax_attention,
         "causal-softmax": model.packed_causal_softmax_attention}
MAPS = ["relu", "polynomial", "fourier", "positive"]
SHARED_KEY_KINDS = {"lsh": partial(model.packed_lsh_attention, lsh=LSH, causal=False),
                    "causal-lsh": partial(model.packed_lsh_attention, lsh=LSH, causal=True)}


def write(kind, attention, names, metadata, feature_map=None):
    torch.manual_seed(20)
    shape = (sum(LENGTHS), HEADS * SIZE)
    *inputs, dout = (golden_file.rounded(torch.randn(shape)) for _ in range(len(names) + 1))
    terms = {}
    if feature_map:  # each query has a key near it, so that normalisers are away from 0
        inputs[:2] = (golden_file.rounded(0.5 * x + 0.5) for x in inputs[:2])
        terms = {"feature_map": feature_map, "directions": directions_of(feature_map)}
    inputs = [x.requires_grad_() for x in inputs]
    output = attention(*inputs, model.lengths_to_offsets(LENGTHS), HEADS, **terms)
    gradients = torch.autograd.grad(output, inputs, dout)
    tensors = {**dict(zip(names, inputs)), "output": output, "dout": dout}
    tensors.update(zip((f"d{name}" for name in names), gradients))
    tensors["lengths"] = golden_file.integers(LENGTHS)
    if terms.get("directions") is not None:
        tensors["directions"] = terms["directions"]
    name = f"{kind}_{feature_map}" if feature_map else kind
    metadata = {"heads": HEADS, "head_width": SIZE, **metadata}
    golden_file.write(f"attention_{name}.safetensors", tensors, {key: str(x) for key, x in metadata.items()})


def directions_of(feature_map):
    torch.manual_seed(21)
    return golden_file.rounded(torch.randn(FEATURES, SIZE)) if feature_map in ("fourier", "positive") else None


def main():
    torch.set_num_threads(1)
    for kind, attention in KINDS.items():
        write(kind, attention, "qkv", {})
    for feature_map in MAPS:
        for kind in "linear", "causal-linear":
            write(kind, KINDS[kind], "qkv", {}, feature_map)
    for kind, attention in SHARED_KEY_KINDS.items():
        write(kind, attention, "qv", LSH)


if __name__ == "__main__":
    main()
