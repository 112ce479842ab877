"""Writes attention_<kind>.safetensors: one packed forward and backward of each kind of attention by itself.

q, k, v, output and the gradients dq, dk, dv, dout are (T, H * C); lengths says which rows are which utterance.
"""

import torch

import golden_file
import torch_model as model

LENGTHS = [17, 1, 40]
HEADS = 2
SIZE = 8
KINDS = {"linear": model.packed_linear_attention}


def write(kind, attention):
    torch.manual_seed(20)
    shape = (sum(LENGTHS), HEADS * SIZE)
    q, k, v, dout = (golden_file.rounded(torch.randn(shape)) for _ in range(4))
    inputs = [x.requires_grad_() for x in (q, k, v)]
    output = attention(*inputs, model.lengths_to_offsets(LENGTHS), HEADS)
    gradients = torch.autograd.grad(output, inputs, dout)
    tensors = {"q": q, "k": k, "v": v, "output": output, "dout": dout}
    tensors.update(zip(("dq", "dk", "dv"), gradients))
    tensors["lengths"] = golden_file.integers(LENGTHS)
    golden_file.write(f"attention_{kind}.safetensors", tensors, {"heads": str(HEADS), "head_width": str(SIZE)})


def main():
    torch.set_num_threads(1)
    for kind, attention in KINDS.items():
        write(kind, attention)


if __name__ == "__main__":
    main()
