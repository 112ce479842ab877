"""Writes corpus/lexicon, corpus/align, corpus/lattice, corpus/text and corpus/recognizer: small good inputs, and some that
must be refused.

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
    write("lexicon", "probabilities", "a 1.0 AH0\na 0.25 EY1\nback 1e-3 B AE1 K\n")
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
    write("lattice", "gzip_id", b"u \n0\t1\t1\t0,0,\n1\n\n\x1f\x8bv \n0\t1\t1\t0,0,\n1\n\n")
    write("text", "words", "It’s “one” — two… three-four\nNASA FBI A.B.C. café\u00a0Mr. R2D2 O’Neil\n")
    write("text", "numbers", "25 1984 1,000,000 -5 3.14 £5.50 50% 3rd 1990s 1/2 2½ 2:30 7pm 10–12 12/25/2024 007 #1\n")
    write("text", "addresses", "https://example.com/a_b?c=d me@example.com AT&T C++ 1.2.3 \U0001F642 ===== 'tis\n")
    write("text", "not_utf8", b"one two\n three\xed\xa0\x80four\n")
    write("text", "rules", "# rules\ntable fold ’ '\nkeys outer . , ! ?\nkeys join - --\nkeys vowel a e\n"
          "table letter a a. | a\ntable symbol & and\ntable abbreviation Mr. mister | mr\n"
          "number n 0 zero\nnumber n 1 one\nnumber n 20 twenty | twenty >\nnumber n 100 < hundred | < hundred >\n"
          "number o like n\nnumber o 0 oh\ntable money $ dollars | dollar\n"
          "rule {n:1-9} = {1:n}\nrule {n} = {1:n}\nrule {d:3} = {1:each:o}\nrule {money}{n} = {2:n} {1.1}\n"
          "rule {w}+ = {1} plus\n\f1 120 $20 Mr. a-b & 007 x+\n")
    write("text", "endless", "number a 0 > > > >\nrule {n} = {1:a}\ntable symbol & and\n\f7 77-7\n")
    write("recognizer", "phones", '{"model": "m.safetensors"}')
    write("recognizer", "words", '{"model": "m", "search": "words", "lexicon": "l", "language_model": "/n", '
          '"hotwords": "h", "silences": ["SIL", "SPN"], "num_alternatives": 3, "beam": 20, "top_symbols": 9, '
          '"symbol_threshold": 5.5, "score_threshold": 1e2, "language_model_weight": 0.5, "word_bonus": -1, '
          '"unknown_penalty": 8, "priors": "p", "prior_scale": 0.25, "confidence": {"slope": 0.5, "offset": -1}}')
    write("recognizer", "symbols", '{"search": "symbols", "model": "m", "insertion_bonus": 1, "grammar": "g"}')
    write("recognizer", "lengths", '{"model": "m", "max_silence": 0.6, "edge_silence": 0}')
    write("recognizer", "endpoint", '{"model": "m", "partial_interval": 0.1, "endpoint": {"restart": false, "rules": '
          '[{"speech": true, "word": true, "silence": 0.2, "quiet": 0.35}, {"length": 20}]}}')
    write("recognizer", "unknown_key", '{"model": "m", "lexikon": "l"}')
    write("recognizer", "falling", '{"model": "m", "word_confidence": {"slope": -1, "offset": 0}}')


if __name__ == "__main__":
    main()
