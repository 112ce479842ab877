"""Writes corpus/lexicon, corpus/align and corpus/lattice: small good inputs, and some that must be refused.

    python tests/fuzz/make_decoder_corpus.py
"""

import os
import random

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus")


def write(kind, name, data):
    os.makedirs(os.path.join(FOLDER, kind), exist_ok=True)
    with open(os.path.join(FOLDER, kind, name), "wb") as file:
        file.write(data if isinstance(data, bytes) else data.encode())


def posteriors(rng, symbols, frames):
    return bytes(rng.choice((2, 40, 100, 200)) for _ in range(symbols * frames))


def word(*variants):
    return bytes([len(variants) - 1]) + b"".join(bytes([len(v) - 1, *v]) for v in variants)


def main():
    write("lexicon", "cmudict", ";;; comment\na AH0\nA(2)  EY1 # more\nback B AE1 K\n'cause K AH0 Z\n")
    write("lexicon", "kaldi", "\ufeffab AH B\r\nab B\r\n<unk> K\r\nx AH\tB  K\r\n")
    write("lexicon", "empty_pronunciation", "a AH\nb\n")
    rng = random.Random(1)
    text = word([0, 1]) + word([2], [3, 1, 0]) + word([1, 1])
    for name, flags in (("plain", 0), ("jumps", 1), ("band", 2), ("jumps_band", 3)):
        write("align", name, bytes([3, 3 << 2 | flags]) + text + posteriors(rng, 5, 20))
    write("align", "too_long", bytes([3, 3 << 2]) + text + posteriors(rng, 5, 3))
    write("align", "impossible", bytes([3, 3 << 2]) + text + b"\0" * 100)
    write("align", "not_a_number", bytes([3, 3 << 2]) + text + b"\xff" * 50 + posteriors(rng, 5, 20))
    write("lattice", "compact", "u \n0\t1\t1\t0.5,2.25,\n0\t2\t2\t1,0,1_1_2\n1\t3\t3\n2\t3\t3\t0,1,\n3\t0.25,0,\n\n"
          "v \n0\n\n")
    write("lattice", "plain", "u\n0 1 17 4 1,2\n0 1 18 4 2,1\n1 2 3 0\n1 3 3 5\n2 0.25,0\n3\n")
    steps = [f"{a} {b} {rng.randint(0, 2)} {rng.random():.3f},{rng.random():.3f},\n"
             for a in range(8) for b in range(a + 1, 9) if rng.random() < 0.6]
    write("lattice", "ambiguous", "u\n" + "".join(steps) + "8\n")
    write("lattice", "cycle", "u \n0\t1\t1\t0,0,\n1\t0\t2\t0,0,\n1\n\n")


if __name__ == "__main__":
    main()
