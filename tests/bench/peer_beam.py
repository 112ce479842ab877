"""Prefix beam search of flashlight-text, side by side with bench_beam on the same posteriors (T = 800, V = 42).

flashlight's lexicon-free decoder with ZeroLM adds the alignments of a prefix as ours does, but a prefix that ends in the
blank and in its symbol takes two places of its beam. Times are CPU seconds of one thread, flashlight's without the
conversion of Python's objects: it takes a pointer. Both run in turns; what counts is the median of the ratios. Where the
best hypotheses differ, the log-probability of both is shown (ours by bench_beam; higher is better).

usage: peer_beam.py BENCH_BEAM [--kinds peaked random] [--read FILE --symbols V] [--beams 16 50 100] [--rounds 7]

--read takes posteriors from a file of raw float32, such as a real model's.

BENCH_BEAM is tests/bench_beam of the build folder. Needs numpy and flashlight-text (requirements in ../golden).
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time
from importlib.metadata import version

import numpy as np
from flashlight.lib.text.decoder import CriterionType, LexiconFreeDecoder, LexiconFreeDecoderOptions, ZeroLM

SYMBOLS, BLANK = 42, 0


def make_decoder(beam, symbols=SYMBOLS):
    # The silence token must be a symbol; without LM and silence score it has no effect.
    options = LexiconFreeDecoderOptions(beam_size=beam, beam_size_token=symbols, beam_threshold=1e9, lm_weight=0,
                                        sil_score=0, log_add=True, criterion_type=CriterionType.CTC)
    return LexiconFreeDecoder(options, ZeroLM(), BLANK, BLANK, [])


def collapse(path):
    return [x for i, x in enumerate(path) if x != BLANK and (i == 0 or x != path[i - 1])]


def decode(decoder, posteriors):
    frames, symbols = posteriors.shape
    results = decoder.decode(posteriors.ctypes.data, frames, symbols)
    return results[0].score, collapse(list(results[0].tokens))


def peer_seconds(decoder, posteriors, seconds=0.3):
    times = []
    while sum(times) < seconds:
        start = time.thread_time()
        decode(decoder, posteriors)
        times.append(time.thread_time() - start)
    return statistics.median(times)


def ours(bench, file, symbols, beam, *more):
    line = subprocess.run([bench, "--json", "--read", file, "--symbols", str(symbols), "--beam", str(beam), *more],
                          capture_output=True, text=True, check=True).stdout
    return json.loads(line)


def compare(bench, kind, file, symbols, beam, rounds):
    posteriors = np.fromfile(file, np.float32).reshape(-1, symbols)
    decoder = make_decoder(beam, symbols)
    score, best = decode(decoder, posteriors)
    mine, theirs = [], []
    for _ in range(rounds):
        mine.append(ours(bench, file, symbols, beam))
        theirs.append(peer_seconds(decoder, posteriors) * 1e3)
    ratios = [peer / one["ms"] for peer, one in zip(theirs, mine)]
    return {"kind": kind, "frames": len(posteriors), "beam": beam, "ours_ms": statistics.median(one["ms"] for one in mine),
            "peer_ms": statistics.median(theirs), "ratio": statistics.median(ratios), "least": min(ratios),
            "most": max(ratios), "same": best == mine[0]["symbols"], "ours_score": mine[0]["score"],
            "peer_score": score}


def report(r):
    same = "same best" if r["same"] else f"best differs: {r['ours_score']:.3f}, peer {r['peer_score']:.3f}"
    print(f"{r['kind']:7} T {r['frames']} beam {r['beam']:4}  ours {r['ours_ms']:7.3f} ms  peer {r['peer_ms']:8.2f} ms  "
          f"ratio {r['ratio']:.1f} ({r['least']:.1f} to {r['most']:.1f})  {same}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench")
    parser.add_argument("--kinds", nargs="+", default=["peaked", "random"])
    parser.add_argument("--read")
    parser.add_argument("--symbols", type=int, default=SYMBOLS)
    parser.add_argument("--beams", nargs="+", type=int, default=[16, 50, 100])
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    print(f"flashlight-text {version('flashlight-text')}, CPU time, medians of {args.rounds} rounds")
    with tempfile.TemporaryDirectory() as folder:
        sets = [("read", args.read, args.symbols)] if args.read else []
        for kind in args.kinds if not args.read else []:
            file = os.path.join(folder, kind)
            subprocess.run([args.bench, "--kind", kind, "--beam", "1", "--write", file], check=True, capture_output=True)
            sets.append((kind, file, SYMBOLS))
        for kind, file, symbols in sets:
            for beam in args.beams:
                report(compare(args.bench, kind, file, symbols, beam, args.rounds))


if __name__ == "__main__":
    main()
