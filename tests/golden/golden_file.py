"""What the make_*.py scripts share: where golden files lie and how they are written."""

import os

import torch
from safetensors.torch import save_file

FOLDER = os.path.dirname(os.path.abspath(__file__))
MOST_BYTES = 300 * 1000


def as_stored(x):
    """Floats are stored as F32, integers as I32."""
    x = x.detach()
    return x.to(torch.float32 if x.is_floating_point() else torch.int32).contiguous().clone()


def rounded(x):
    """Inputs are rounded to float32 before they are used, so that the file holds exactly what was computed with."""
    return x.to(torch.float32).to(torch.float64)


def integers(values):
    return torch.tensor(values, dtype=torch.int32)


def write(name, tensors, metadata=None):
    path = os.path.join(FOLDER, name)
    save_file({key: as_stored(x) for key, x in tensors.items()}, path, metadata)
    size = os.path.getsize(path)
    print(f"{name}: {len(tensors)} tensors, {size} bytes")
    assert size < MOST_BYTES, name
