"""Writes attention_<kind>.safetensors: one packed forward and backward of each kind of attention by itself.

q, k, v, output and the gradients dq, dk, dv, dout are (T, H * C); lengths says which rows are which utterance.
Where queries are keys there is no k, and dq is the gradient of both. LSH attention has its terms in the metadata.
"""

from functools import partial

import torch

import golden_file
import torch_model as model

LENGTHS = [17, 1, 40]
HEADS = 2
SIZE = 8
LSH = {"rounds": 3, "buckets": 4, "chunk": 4, "seed": 2**40 + 9, "step": 5, "site": 2}
KINDS = {"linear": model.packed_linear_attention,
         "causal-linear": model.packed_causal_linear_attention,
         "softmax": model.packed_softmax_attention,
         "causal-softmax": model.packed_causal_softmax_attention}
SHARED_KEY_KINDS = {"lsh": partial(model.packed_lsh_attention, lsh=LSH, causal=False),
                    "causal-lsh": partial(model.packed_lsh_attention, lsh=LSH, causal=True)}


def write(kind, attention, names, metadata):
    torch.manual_seed(20)
    shape = (sum(LENGTHS), HEADS * SIZE)
    *inputs, dout = (golden_file.rounded(torch.randn(shape)) for _ in range(len(names) + 1))
    inputs = [x.requires_grad_() for x in inputs]
    output = attention(*inputs, model.lengths_to_offsets(LENGTHS), HEADS)
    gradients = torch.autograd.grad(output, inputs, dout)
    tensors = {**dict(zip(names, inputs)), "output": output, "dout": dout}
    tensors.update(zip((f"d{name}" for name in names), gradients))
    tensors["lengths"] = golden_file.integers(LENGTHS)
    metadata = {"heads": HEADS, "head_width": SIZE, **metadata}
    golden_file.write(f"attention_{kind}.safetensors", tensors, {key: str(x) for key, x in metadata.items()})


def main():
    torch.set_num_threads(1)
    for kind, attention in KINDS.items():
        write(kind, attention, "qkv", {})
    for kind, attention in SHARED_KEY_KINDS.items():
        write(kind, attention, "qv", LSH)


if __name__ == "__main__":
    main()
