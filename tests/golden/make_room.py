"""Writes room.safetensors: impulse responses of rooms by the image method, from pyroomacoustics.

Case i is `i.size`, `i.source`, `i.microphone` (3), in metres, `i.reflection` (1), and `i.response` (COUNT): the samples
from the moment of emission on, at 16 kHz. pyroomacoustics delays all of them by half of its window, and leaves out the
factor 1 / (4 pi).
"""

import numpy as np
import pyroomacoustics
import torch

import golden_file

RATE, COUNT = 16000, 1200

# size, source, microphone, reflection of the pressure
CASES = [
    ((4, 5, 3), (1, 2, 1.5), (3, 4, 1.2), 0.8),
    ((3.1, 3.3, 2.4), (0.4, 0.5, 0.6), (0.9, 0.5, 0.7), 0.5),
    ((8, 7.5, 3.5), (7.2, 0.5, 1.7), (0.6, 6.6, 1.1), 0.92),
    ((5, 5, 2.5), (2.5, 2.5, 1), (2.5, 2.5, 2), 0),
]


def response(size, source, microphone, reflection):
    pyroomacoustics.constants.set("rir_hpf_enable", False)
    material = pyroomacoustics.Material(1.0 - reflection**2)
    order = int(COUNT / RATE * 343 / min(size)) + 3 if reflection > 0 else 0
    room = pyroomacoustics.ShoeBox(size, fs=RATE, materials=material, max_order=3 * order, air_absorption=False)
    room.add_source(source)
    room.add_microphone(microphone)
    room.compute_rir()
    half = pyroomacoustics.constants.get("frac_delay_length") // 2
    values = np.zeros(COUNT)
    found = np.asarray(room.rir[0][0], dtype=float)[half:half + COUNT]
    values[:len(found)] = found / (4 * np.pi)
    return values


def main():
    tensors = {}
    for i, (size, source, microphone, reflection) in enumerate(CASES):
        for name, values in (("size", size), ("source", source), ("microphone", microphone),
                             ("reflection", [reflection]), ("response", response(size, source, microphone, reflection))):
            tensors[f"{i}.{name}"] = torch.tensor(values, dtype=torch.float32)
    golden_file.write("room.safetensors", tensors, {"cases": str(len(CASES))})


main()
