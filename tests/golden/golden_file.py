"""Functions that the make_*.py scripts share: the folder of golden files, and writing them."""

import json
import os
import struct

import torch
from safetensors.torch import save

FOLDER = os.path.dirname(os.path.abspath(__file__))
MAX_BYTES = 300 * 1000


def as_stored(x):
    """Floats are stored as F32, integers as I32."""
    x = x.detach()
    return x.to(torch.float32 if x.is_floating_point() else torch.int32).contiguous().clone()


def rounded(x):
    """Inputs are rounded to float32 before they are used, so that the file has exactly the inputs of the computation."""
    return x.to(torch.float32).to(torch.float64)


def integers(values):
    return torch.tensor(values, dtype=torch.int32)


def with_sorted_metadata(data):
    """Sorts metadata, which the library writes in random order, so that the same values give the same bytes."""
    size, = struct.unpack_from("<Q", data)
    header = json.loads(data[8:8 + size])
    if "__metadata__" in header:
        header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data[8 + size:]


def write(name, tensors, metadata=None):
    data = with_sorted_metadata(save({key: as_stored(x) for key, x in tensors.items()}, metadata))
    assert len(data) < MAX_BYTES, name
    with open(os.path.join(FOLDER, name), "wb") as file:
        file.write(data)
    print(f"{name}: {len(tensors)} tensors, {len(data)} bytes")
