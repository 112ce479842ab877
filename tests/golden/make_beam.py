"""Writes beam.safetensors: the best hypotheses of flashlight-text's lexicon-free CTC decoder with summed alignments,
without a language model.

Case i is `i.posteriors` (T, V), `i.scores` (N), `i.exact` (N), `i.counts` (N) and `i.symbols`, the hypotheses' symbols one
after the other. `exact` is the log-probability over all alignments (torch's CTC loss in double); a beam drops those that
pass through dropped prefixes, which long inputs cannot avoid. For these, the file has only the best hypothesis, whose
score is a lower bound. The last case is real: log-posteriors of models/english/phones.safetensors, from an archive made
by `linnet posteriors --out FILE.ark AUDIO` (any speech; the stored ones are of LJ001-0002 of LJ Speech, public domain).

usage: make_beam.py FILE.ark
"""

import argparse
import itertools
import math
import os
import sys
from collections import defaultdict

import numpy as np
import torch
from kaldiio import load_ark

import golden_file

sys.path.insert(0, os.path.join(golden_file.FOLDER, "..", "bench"))
import peer_beam  # noqa: E402

BEAM, HYPOTHESES = 2000, 5


def log_softmax(logits):
    return (logits - np.log(np.exp(logits).sum(1, keepdims=True))).astype(np.float32)


def noise(frames, symbols, factor, generator):
    return log_softmax(factor * generator.normal(size=(frames, symbols)))


def peaked(frames, symbols, generator):
    """Blanks, about every eighth frame a symbol, and sometimes a rival"""
    logits = generator.normal(size=(frames, symbols))
    logits[:, 0] += 8
    for t in range(3, frames - 2, 8):
        symbol, rival = generator.integers(1, symbols, 2)
        logits[t:t + 2, symbol] += 9
        logits[t, rival] += generator.uniform(0, 9)
    return log_softmax(logits)


def decode(posteriors):
    """[(score, symbols)], best first; flashlight may have one sequence twice, of which the first counts"""
    decoder = peer_beam.make_decoder(BEAM, posteriors.shape[1])
    found = {}
    for result in decoder.decode(posteriors.ctypes.data, *posteriors.shape):
        found.setdefault(tuple(peer_beam.collapse(list(result.tokens))), result.score)
    return [(score, list(symbols)) for symbols, score in found.items()][:HYPOTHESES]


def exact(posteriors, symbols):
    log_probs = torch.tensor(posteriors, dtype=torch.float64)[:, None]
    return -torch.nn.functional.ctc_loss(log_probs, torch.tensor([symbols]), [len(posteriors)], [len(symbols)],
                                         reduction="sum").item()


def converged(posteriors, hypotheses):
    """All hypotheses if the beam dropped no alignment, else the best one"""
    incomplete = any(abs(score - exact(posteriors, symbols)) > 1e-5 for score, symbols in hypotheses)
    return hypotheses[:1] if incomplete else hypotheses


def check_by_paths(posteriors, hypotheses):
    frames, symbols = posteriors.shape
    total = defaultdict(float)
    for path in itertools.product(range(symbols), repeat=frames):
        total[tuple(peer_beam.collapse(path))] += math.exp(sum(posteriors[t, k] for t, k in enumerate(path)))
    best = sorted(total, key=total.get, reverse=True)[:HYPOTHESES]
    assert best == [tuple(h) for _, h in hypotheses], (best, hypotheses)
    assert all(abs(exact(posteriors, h) - math.log(total[tuple(h)])) < 1e-6 for _, h in hypotheses)


def real(archive):
    _, posteriors = next(iter(load_ark(archive)))
    return np.ascontiguousarray(posteriors, dtype=np.float32)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive")
    args = parser.parse_args()
    generator = np.random.default_rng(4)
    cases = [("all paths", noise(7, 4, 1, generator)), ("noise", noise(10, 4, 2, generator)),
             ("sharp noise", noise(60, 12, 7, generator)), ("peaked", peaked(200, 42, generator)),
             ("real", real(args.archive))]
    tensors, names = {}, {}
    for i, (name, posteriors) in enumerate(cases):
        hypotheses = converged(posteriors, decode(posteriors))
        if i == 0:
            check_by_paths(posteriors, hypotheses)
        print(f"{name}: {posteriors.shape}, {len(hypotheses)} hypotheses, best {hypotheses[0][0]:.6f} "
              f"of {exact(posteriors, hypotheses[0][1]):.6f}, {len(hypotheses[0][1])} symbols")
        tensors.update({f"{i}.posteriors": torch.tensor(posteriors),
                        f"{i}.scores": torch.tensor([score for score, _ in hypotheses]),
                        f"{i}.exact": torch.tensor([exact(posteriors, h) for _, h in hypotheses]),
                        f"{i}.counts": golden_file.integers([len(h) for _, h in hypotheses]),
                        f"{i}.symbols": golden_file.integers([x for _, h in hypotheses for x in h])})
        names[f"{i}.name"] = name
    golden_file.write("beam.safetensors", tensors, {"cases": str(len(cases)), "beam": str(BEAM), **names})


if __name__ == "__main__":
    main()
