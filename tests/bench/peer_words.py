"""Search for words by flashlight-text (LexiconDecoder with KenLM) and ctcdecode, in turns with bench_words on the same
posteriors, lexicon and language model. Prints CPU times and word error rates.

flashlight returns to the root of its trie after one frame of a word's last phone. It cannot use more frames of this phone,
unless the spelling has the phone twice. So it gets the lexicon and, as a variant, also each spelling with its last phone
doubled; the better result counts. ctcdecode finds words between separators that the network writes, in letters: with
--spelled, the lexicon has the words of the language model, spelled in letters and followed by a separator.

usage: peer_words.py LINNET BENCH_WORDS --symbols FILE --lexicon FILE --arpa FILE
         --posteriors FILE.ark --text FILE | --sentences FILE
       peer_words.py LINNET BENCH_WORDS --spelled --arpa FILE --sentences FILE [--ctcdecode PROGRAM]
         [--utterances 27] [--beams 50] [--lm-weight 1] [--word-bonus 0] [--rounds 5] [--limits 10:3:6]

LINNET and BENCH_WORDS are tools/linnet and tests/bench_words of the build folder, --posteriors is written by `linnet
posteriors`, --text has their words; --sentences are texts of which peaked posteriors are made instead (T = 800, V = 42).
`linnet ngram` writes --arpa. --limits are pairs of a score threshold and a number of symbols per frame ("inf:all": no
limit) for Linnet and flashlight (ctcdecode gets the number of symbols). PROGRAM is peer_ctcdecode. Needs numpy,
flashlight-text and kenlm (requirements in ../golden).
"""

import argparse
import json
import math
import os
import re
import statistics
import struct
import subprocess
import tempfile
import time
from importlib.metadata import version

import numpy as np
from flashlight.lib.text.decoder import CriterionType, LexiconDecoder, LexiconDecoderOptions, SmearingMode, Trie
from flashlight.lib.text.decoder.kenlm import KenLM
from flashlight.lib.text.dictionary import Dictionary

BLANK = 0
LN10 = math.log(10)


def read_ark(path):
    data, at = open(path, "rb").read(), 0
    while at < len(data):
        space = data.index(b" ", at)
        key, start = data[at:space].decode(), space + 16
        assert data[space + 1:space + 6] == b"\0BFM ", "not a binary archive of float matrices"
        rows, = struct.unpack_from("<i", data, space + 7)
        cols, = struct.unpack_from("<i", data, space + 12)
        at = start + rows * cols * 4
        yield key, np.frombuffer(data[start:at], np.float32).reshape(rows, cols)


def read_lexicon(path):
    """Words in upper case with their pronunciations, without stress digits and duplicates."""
    lexicon = {}
    for line in open(path, encoding="utf8"):
        word, *phones = line.split("#")[0].split()
        word = re.sub(r"\(\d+\)$", "", word).upper()
        spelling = tuple(re.sub(r"[012]$", "", p) for p in phones)
        if spelling not in lexicon.setdefault(word, []):
            lexicon[word].append(spelling)
    return lexicon


def peaked_rows(random, labels, meant, symbols=42, frames=800, max_labels=80, noise=2):
    """Log-posteriors like those of bench_beam's kind "peaked": every label is a peak of one to three frames between
    blanks, one in five has a rival among the first `meant` symbols. A peak's logit is 10, noise its amplitude."""
    logits = noise * random.uniform(-1, 1, (frames, symbols))
    logits[:, BLANK] += 9
    for i, label in enumerate(labels):
        start = i * (frames // max_labels) + 2 + random.integers(4)
        for t in range(start, start + random.integers(1, 4)):
            logits[t, BLANK] = 5 + 2 * random.uniform(-1, 1)
            logits[t, label] += 10
        if random.integers(5) == 0:
            logits[start, random.integers(1, meant)] += 9 + random.uniform(-1, 1)
    return (logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))).astype(np.float32)


def make_peaked(args, count, max_labels=80):
    """Peaked posteriors of sentences of --sentences: 42 symbols: those of the file and two that never occur."""
    lexicon, names = read_lexicon(args.lexicon), open(args.symbols).read().split()
    random = np.random.default_rng(1)
    texts = [words for words in map(str.split, open(args.sentences)) if all(w in lexicon for w in words)]
    random.shuffle(texts)
    for number in range(count):
        words, phones = [], []
        for word in (w for text in texts[number::count] for w in text):
            spelling = lexicon[word][0]
            if len(phones) + len(spelling) > max_labels:
                break
            words.append(word)
            phones += [names.index(p) for p in spelling]
        yield f"p{number}", " ".join(words), peaked_rows(random, phones, len(names))


def spell(args, folder):
    """Replaces symbols and lexicon by letters, and by the words of the language model in letters."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ'"
    unigrams = open(args.arpa, encoding="utf8").read().split("\\1-grams:", 1)[1].split("\\2-grams:", 1)[0]
    words = [line.split()[1] for line in unigrams.splitlines() if line.strip()]
    args.symbols, args.lexicon = os.path.join(folder, "letters"), os.path.join(folder, "spelled")
    with open(args.symbols, "w") as file:
        file.writelines(name + "\n" for name in ["<blk>", *letters, "|"])
    with open(args.lexicon, "w") as file:
        file.writelines(f"{w} {' '.join(w)} |\n" for w in words if set(w) <= set(letters))


class Flashlight:
    def __init__(self, args, doubled):
        self.names = args.names
        self.title = "flashlight, doubled" if doubled else "flashlight"
        index = {name: i for i, name in enumerate(self.names)}
        lexicon = read_lexicon(args.lexicon)
        words = Dictionary()
        for word in lexicon:
            words.add_entry(word)
        words.add_entry("<unk>")
        self.words, self.lm = words, KenLM(args.arpa, words)
        trie, start = Trie(len(self.names), BLANK), self.lm.start(False)
        for word, spellings in lexicon.items():
            number = words.get_index(word)
            _, score = self.lm.score(start, number)
            for spelling in spellings:
                path = [index[p] for p in spelling]
                trie.insert(path, number, score)
                if doubled:
                    trie.insert(path + path[-1:], number, score)
        trie.smear(SmearingMode.MAX)
        self.trie = trie

    def decoder(self, args, beam, threshold, top):
        options = LexiconDecoderOptions(
            beam_size=beam, beam_size_token=min(top, len(self.names)), beam_threshold=min(threshold, 1e9),
            lm_weight=args.lm_weight * LN10, word_score=args.word_bonus, unk_score=-math.inf, sil_score=0, log_add=True,
            criterion_type=CriterionType.CTC)
        return LexiconDecoder(options, self.trie, self.lm, BLANK, BLANK, self.words.get_index("<unk>"), [], False)

    def run(self, decoder, utterances):
        """Returns the CPU seconds, without the conversion of the best words, and these words."""
        seconds, found = 0, []
        for values in utterances:
            start = time.thread_time()
            results = decoder.decode(values.ctypes.data, *values.shape)
            seconds += time.thread_time() - start
            found.append(" ".join(self.words.get_entry(w) for w in results[0].words if w >= 0) if results else "")
        return seconds, found


class Ctcdecode:
    title = "ctcdecode"

    def __init__(self, args, folder):
        self.args, self.folder = args, folder

    def decoder(self, args, beam, threshold, top):
        return beam, top

    def run(self, decoder, utterances):
        """Results for all utterances of the folder."""
        files = [os.path.join(self.folder, name) for name in ("raw", "lengths")]
        lines = subprocess.run(
            [self.args.ctcdecode, os.path.join(self.folder, "symbols"), self.args.arpa, *files, *map(str, decoder),
             str(self.args.lm_weight), str(self.args.word_bonus)], capture_output=True, text=True, check=True).stdout.split("\n")
        return float(lines[0]), lines[1:len(utterances) + 1]


def write_table(folder, name, keys, texts):
    with open(os.path.join(folder, name), "w") as file:
        file.writelines(f"{key} {text}\n" for key, text in zip(keys, texts))


def error_rate(linnet, keys, found, folder, unit="word"):
    """Error rate in percent of texts, with the table "ref" in the folder as reference."""
    write_table(folder, "hyp", keys, found)
    lines = subprocess.run([linnet, "score", "--unit", unit, "--bootstrap", "0", os.path.join(folder, "ref"),
                            os.path.join(folder, "hyp")], capture_output=True, text=True, check=True).stdout
    return float(re.search(r"%[A-Z]+ ([0-9.]+)", lines).group(1))


def ours(args, folder, beam, threshold, top, *more):
    line = subprocess.run(
        [args.bench, os.path.join(folder, "symbols"), args.lexicon, args.arpa, os.path.join(folder, "raw"), os.path.join(folder, "lengths"),
         "--beam", str(beam), "--lm-weight", str(args.lm_weight), "--word-bonus", str(args.word_bonus),
         "--threshold", str(threshold), "--top", str(0 if top > 1000 else top), *more],
        capture_output=True, text=True, check=True).stdout
    return line.splitlines() if "--text" in more else json.loads(line)


def compare(args, peers, keys, utterances, folder, beam, threshold, top):
    frames = sum(map(len, utterances))
    decoders = [p.decoder(args, beam, threshold, top) for p in peers]
    mine, theirs = [], [[] for _ in peers]
    for _ in range(args.rounds):
        mine.append(ours(args, folder, beam, threshold, top))
        for peer, decoder, times in zip(peers, decoders, theirs):
            times.append(peer.run(decoder, utterances)[0] * 800e3 / frames)
    errors = [error_rate(args.linnet, keys, p.run(d, utterances)[1], folder) for p, d in zip(peers, decoders)]
    error = error_rate(args.linnet, keys, ours(args, folder, beam, threshold, top, "--text"), folder)
    ms = statistics.median(m["ms"] for m in mine)
    print(f"beam {beam:4} threshold {threshold:4} top {top:4}  ours {ms:7.3f} ms, {800e3 / ms:8.0f} frames/s, "
          f"{mine[0]['bytes']:.0f} bytes a state, WER {error:5.2f}", end="")
    for peer, times, wer in zip(peers, theirs, errors):
        ratio = statistics.median(t / m["ms"] for t, m in zip(times, mine))
        print(f"  | {peer.title} {statistics.median(times):7.2f} ms, WER {wer:5.2f}, "
              f"ratio {ratio:.1f}", end="")
    print(flush=True)


def limits(text):
    threshold, top = text.split(":")
    return float(threshold), 10**6 if top == "all" else int(top)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("linnet")
    parser.add_argument("bench")
    for name in ["symbols", "lexicon", "arpa", "posteriors", "text", "sentences"]:
        parser.add_argument("--" + name, required=name == "arpa")
    parser.add_argument("--spelled", action="store_true")
    parser.add_argument("--ctcdecode")
    parser.add_argument("--utterances", type=int, default=27)
    parser.add_argument("--beams", nargs="+", type=int, default=[50])
    parser.add_argument("--lm-weight", type=float, default=1)
    parser.add_argument("--word-bonus", type=float, default=0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--limits", nargs="+", type=limits, default=[limits("inf:all"), limits("14:12")])
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if args.spelled:
            spell(args, folder)
        run(args, folder)


def run(args, folder):
    args.names = open(args.symbols).read().split()
    if args.sentences:
        items = list(make_peaked(args, args.utterances))
        args.names += [f"unused{i}" for i in range(42 - len(args.names))]
    else:
        wanted = dict(line.split(maxsplit=1) for line in open(args.text))
        items = [(key, wanted[key].strip(), values) for key, values in read_ark(args.posteriors)][:args.utterances]
    keys, texts, utterances = zip(*items)
    print(f"flashlight-text {version('flashlight-text')}, {len(items)} utterances, {sum(map(len, utterances))} frames, "
          f"{len(read_lexicon(args.lexicon))} words, CPU milliseconds for 800 frames, medians of {args.rounds} rounds")
    peers = [Flashlight(args, 0), Flashlight(args, 1)] + ([Ctcdecode(args, folder)] if args.ctcdecode else [])
    np.concatenate(utterances).tofile(os.path.join(folder, "raw"))
    with open(os.path.join(folder, "lengths"), "w") as file:
        file.writelines(f"{len(u)}\n" for u in utterances)
    write_table(folder, "ref", keys, texts)
    with open(os.path.join(folder, "symbols"), "w") as file:
        file.writelines(name + "\n" for name in args.names)
    for beam in args.beams:
        for threshold, top in args.limits:
            compare(args, peers, keys, utterances, folder, beam, threshold, top)


if __name__ == "__main__":
    main()
