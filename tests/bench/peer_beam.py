"""Prefix beam search of flashlight-text, side by side with bench_beam on the same posteriors (T = 800, V = 42), without a
language model or, with --characters, with a character n-gram model.

flashlight's lexicon-free decoder adds the alignments of a prefix, as Linnet does, but a prefix that ends in the blank and
in its symbol takes two entries of its beam. Times are CPU seconds of one thread, flashlight's without the conversion of
Python objects: it gets a pointer. Both run in turns; the result is the median of the ratios. If the best hypotheses
differ, the script compares the log-probabilities of both (computed by bench_beam; higher is better).

usage: peer_beam.py BENCH_BEAM [--kinds peaked random] [--read FILE --symbols V] [--beams 16 50 100] [--rounds 7]
       peer_beam.py BENCH_BEAM --characters TEXT --linnet LINNET [--order 5] [--model-weight 1] [--utterances 8]
         [--noise 2] [--limits inf:all 10:12] [--beams 16 50 100] [--rounds 7]

--read reads posteriors, for example of a real model, from a file of raw float32. --characters estimates a model of the
characters of TEXT, one sentence per line, with `linnet ngram`. It decodes peaked posteriors of sentences of TEXT, with
peaks of 10 and noise of --noise. Both search with the same ARPA file, flashlight through its KenLM. --limits are pairs of
a score threshold and a number of symbols per frame for both ("inf:all": no limit).

BENCH_BEAM and LINNET are tests/bench_beam and tools/linnet of the build folder. Needs numpy, flashlight-text and kenlm
(requirements in ../golden).
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from importlib.metadata import version

import numpy as np
from flashlight.lib.text.decoder import CriterionType, LexiconFreeDecoder, LexiconFreeDecoderOptions, ZeroLM
from flashlight.lib.text.decoder.kenlm import KenLM
from flashlight.lib.text.dictionary import Dictionary

import peer_words

SYMBOLS, BLANK = 42, 0
SEPARATOR = "|"  # of words
LENGTHS = range(60, 81)  # characters of an accepted sentence


@dataclass
class Task:
    """Utterances of one length in a file of raw float32, and the settings of the search."""
    kind: str
    file: str
    symbols: int
    frames: int = 0  # of an utterance; 0: the file is one utterance
    bench: list = field(default_factory=list)  # options of bench_beam
    model: object = None
    weight: float = 0
    texts: list = None  # references, symbols separated by spaces
    names: list = None
    linnet: str = None

    def utterances(self):
        rows = np.fromfile(self.file, np.float32).reshape(-1, self.symbols)
        return np.split(rows, len(rows) // (self.frames or len(rows)))


def make_decoder(beam, symbols=SYMBOLS, model=None, weight=0, threshold=math.inf, top=10**6):
    # The silence token must be a symbol; without a silence score it has no effect.
    options = LexiconFreeDecoderOptions(beam_size=beam, beam_size_token=min(top, symbols),
                                        beam_threshold=min(threshold, 1e9), lm_weight=weight * math.log(10), sil_score=0,
                                        log_add=True, criterion_type=CriterionType.CTC)
    return LexiconFreeDecoder(options, model or ZeroLM(), BLANK, BLANK, [])


def collapse(path):
    return [x for i, x in enumerate(path) if x != BLANK and (i == 0 or x != path[i - 1])]


def decode(decoder, posteriors):
    frames, symbols = posteriors.shape
    results = decoder.decode(posteriors.ctypes.data, frames, symbols)
    return results[0].score, collapse(list(results[0].tokens))


def peer_ms(decoder, utterances, seconds=0.3):
    """Times for 800 frames."""
    times = []
    while sum(times) < seconds:
        start = time.thread_time()
        for posteriors in utterances:
            decode(decoder, posteriors)
        times.append(time.thread_time() - start)
    return statistics.median(times) * 800e3 / sum(map(len, utterances))


def ours(bench, task, beam, threshold, top):
    line = subprocess.run([bench, "--json", "--read", task.file, "--symbols", str(task.symbols), "--frames",
                           str(task.frames), "--beam", str(beam), "--threshold", str(threshold), "--top",
                           str(0 if top >= task.symbols else top), *task.bench],
                          capture_output=True, text=True, check=True).stdout
    return json.loads(line)


def error_rates(task, *results):
    """Error rates in percent of the results, which are lists of lists of symbols."""
    keys = [f"u{i}" for i in range(len(task.texts))]
    with tempfile.TemporaryDirectory() as folder:
        peer_words.write_table(folder, "ref", keys, task.texts)
        return [peer_words.error_rate(task.linnet, keys, [" ".join(task.names[x] for x in best) for best in result],
                                      folder, "phone") for result in results]


def compare_best(task, mine, theirs):
    """A text on the comparison; ours and theirs are pairs of a score and symbols, by utterance."""
    pairs = [(a, b) for (a, x), (b, y) in zip(mine, theirs) if x != y]
    words = f"same best {len(mine) - len(pairs)} of {len(mine)}"
    if pairs:
        words += f", of the others ours scores higher in {sum(a > b for a, b in pairs)}: " + ", ".join(
            f"{a:.3f} / {b:.3f}" for a, b in pairs)
    if task.texts:
        errors = error_rates(task, *([best for _, best in side] for side in (mine, theirs)))
        words += ", error rate {:.2f} / {:.2f} %".format(*errors)
    return words


def compare(bench, task, beam, rounds, threshold=math.inf, top=10**6):
    utterances = task.utterances()
    decoder = make_decoder(beam, task.symbols, task.model, task.weight, threshold, top)
    mine, theirs = [], []
    for _ in range(rounds):
        mine.append(ours(bench, task, beam, threshold, top))
        theirs.append(peer_ms(decoder, utterances))
    ratios = [peer / one["ms"] for peer, one in zip(theirs, mine)]
    ms = statistics.median(one["ms"] for one in mine)
    best = compare_best(task, [(h["score"], h["symbols"]) for h in mine[0]["hypotheses"]],
                        [decode(decoder, u) for u in utterances])
    print(f"{task.kind:10} T {len(utterances[0])} beam {beam:4} threshold {threshold:4} top {min(top, task.symbols):3}  "
          f"ours {ms:7.3f} ms, {800e3 / ms:8.0f} frames/s, {mine[0]['bytes']:.0f} bytes a hypothesis  "
          f"peer {statistics.median(theirs):8.2f} ms  ratio {statistics.median(ratios):.1f} ({min(ratios):.1f} to "
          f"{max(ratios):.1f})  {best}", flush=True)


def estimate(args, sentences, folder):
    """Estimates a model over characters; returns its ARPA file."""
    text, arpa = os.path.join(folder, "text"), os.path.join(folder, "arpa")
    with open(text, "w") as file:
        file.writelines(sentence + "\n" for sentence in sentences)
    # All characters are frequent: there are no unigrams of count 1 to estimate a discount from.
    subprocess.run([args.linnet, "ngram", "--order", str(args.order), "--discount-fallback", "--text", text, "--arpa", arpa],
                   capture_output=True, check=True)
    return arpa


def kenlm(arpa, names):
    dictionary = Dictionary()
    for name in names:
        dictionary.add_entry(name)
    return KenLM(arpa, dictionary)


def characters_task(args, folder, frames=800):
    sentences = [" ".join(line.strip().replace(" ", SEPARATOR)) for line in open(args.characters)]
    names = ["<blk>"] + sorted({name for sentence in sentences for name in sentence.split()})
    arpa, file, table = estimate(args, sentences, folder), os.path.join(folder, "rows"), os.path.join(folder, "symbols")
    with open(table, "w") as out:
        out.writelines(name + "\n" for name in names)
    random = np.random.default_rng(1)
    fit = [sentence for sentence in sentences if len(sentence.split()) in LENGTHS]
    texts = [fit[i] for i in random.choice(len(fit), args.utterances, replace=False)]
    rows = [peer_words.peaked_rows(random, [names.index(name) for name in text.split()], len(names), len(names), frames,
                                   LENGTHS[-1], args.noise) for text in texts]
    np.concatenate(rows).tofile(file)
    return Task("characters", file, len(names), frames,
                ["--model", arpa, "--names", table, "--model-weight", str(args.model_weight)],
                kenlm(arpa, names), args.model_weight, texts, names, args.linnet)


def tasks(args, folder):
    if args.characters:
        yield characters_task(args, folder)
    elif args.read:
        yield Task("read", args.read, args.symbols)
    for kind in args.kinds if not args.read and not args.characters else []:
        file = os.path.join(folder, kind)
        subprocess.run([args.bench, "--kind", kind, "--beam", "1", "--write", file], check=True, capture_output=True)
        yield Task(kind, file, SYMBOLS)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench")
    parser.add_argument("--kinds", nargs="+", default=["peaked", "random"])
    parser.add_argument("--read")
    parser.add_argument("--symbols", type=int, default=SYMBOLS)
    parser.add_argument("--characters")
    parser.add_argument("--linnet")
    parser.add_argument("--order", type=int, default=5)
    parser.add_argument("--model-weight", type=float, default=1)
    parser.add_argument("--utterances", type=int, default=8)
    parser.add_argument("--noise", type=float, default=2)
    parser.add_argument("--limits", nargs="+", type=peer_words.limits, default=[(math.inf, 10**6)])
    parser.add_argument("--beams", nargs="+", type=int, default=[16, 50, 100])
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    if args.characters and not args.linnet:
        parser.error("--characters needs --linnet")
    print(f"flashlight-text {version('flashlight-text')}, CPU milliseconds for 800 frames, medians of {args.rounds} rounds")
    with tempfile.TemporaryDirectory() as folder:
        for task in tasks(args, folder):
            for beam in args.beams:
                for threshold, top in args.limits:
                    compare(args.bench, task, beam, args.rounds, threshold, top)


if __name__ == "__main__":
    main()
