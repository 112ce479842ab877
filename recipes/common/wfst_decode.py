#!/usr/bin/env python3
"""Recognises words in log-posteriors with a WFST, as Kaldi and EESEN do, independently of linnet decode.

Builds the graph T o det(L o G) from a lexicon and an ARPA model with kaldifst (OpenFst), and searches it with the
decoder of kaldi-decoder:  pip install kaldifst kaldi-decoder numpy

  T  CTC: repeated symbols are one, blanks none
  L  pronunciations; symbols of silence may stand between words
  G  the n-gram model, with backoff arcs

The score of a sentence is that of linnet decode --words: log-posteriors + LM-WEIGHT log P(words) + WORD-BONUS per word.
"""
import argparse
import gzip
import math
import struct
import sys
import time

BLANK = 1  # input label of the blank: the decoder reads column label - 1


def read_symbols(path):
    """Names of the columns but the first, which is the blank; a file without the blank has all others."""
    names = [line.split()[0] for line in open(path, encoding="utf-8") if line.strip()]
    return names[1:] if names[0].startswith("<") else names


def read_lexicon(path, units):
    """[(word, [unit, ...])]"""
    label = {unit: BLANK + 1 + i for i, unit in enumerate(units)}
    lexicon = []
    for line in open(path, encoding="utf-8"):
        word, *pronunciation = line.split()
        if word and pronunciation:
            missing = [unit for unit in pronunciation if unit not in label]
            if missing:
                sys.exit(f"wfst_decode.py: {path}: {word} has {missing[0]}, which is no symbol of the model")
            lexicon.append((word, [label[unit] for unit in pronunciation]))
    return lexicon, label


def read_arpa(path):
    """Yields (words, ln P, ln backoff) for each n-gram."""
    opened = gzip.open(path, "rt") if path.endswith(".gz") else open(path, encoding="utf-8")
    order = 0
    for line in opened:
        if line.startswith("\\"):
            order = int(line[1 : line.index("-")]) if line[1:2].isdigit() else 0
        elif order and line.strip():
            fields = line.split()
            backoff = float(fields[order + 1]) if len(fields) > order + 1 else 0.0
            yield tuple(fields[1 : order + 1]), float(fields[0]) * math.log(10), backoff * math.log(10)


def number_words(lexicon):
    return {word: i + 1 for i, word in enumerate(sorted({word for word, _ in lexicon}))}


def new_fst(states):
    import kaldifst

    fst = kaldifst.StdVectorFst()
    for _ in range(states):
        fst.add_state()
    fst.start = 0
    return fst


def add_arc(fst, source, ilabel, olabel, cost, target):
    import kaldifst

    fst.add_arc(source, kaldifst.StdArc(ilabel=ilabel, olabel=olabel, weight=cost, nextstate=target))


def make_g(arpa, words, weight, bonus, backoff_label):
    """States are histories; words that the lexicon lacks are left out."""
    grams = [g for g in read_arpa(arpa) if all(w in words or w in ("<s>", "</s>") for w in g[0])]
    state = {("<s>",): 0, (): 1}
    for gram, _, _ in grams:
        if gram[-1] != "</s>":
            state.setdefault(gram, len(state))
    fst = new_fst(len(state))

    def reached(history):  # the longest suffix that is a state
        while history not in state:
            history = history[1:]
        return state[history]

    longest = max(len(gram) for gram, _, _ in grams)
    for gram, probability, backoff in grams:
        source = state.get(gram[:-1])
        if gram[-1] == "</s>" and source is not None:
            fst.set_final(source, -weight * probability)
        elif gram[-1] != "<s>" and source is not None:
            target = reached(gram if len(gram) < longest else gram[1:])
            add_arc(fst, source, words[gram[-1]], words[gram[-1]], -weight * probability - bonus, target)
        if gram[-1] != "</s>":
            add_arc(fst, state[gram], backoff_label, 0, -weight * backoff, reached(gram[1:]))
    return fst


def make_l(lexicon, words, silence, backoff_label, word_backoff_label):
    """Words with the same pronunciation, and those that begin others, end with marks #1, #2, ... for determinization; the
    mark #0, `backoff_label`, goes along with the backoff arcs of G."""
    begins, marks, counts = set(), {}, {}
    for _, pronunciation in lexicon:
        begins.update(tuple(pronunciation[:n]) for n in range(1, len(pronunciation)))
    for _, pronunciation in lexicon:
        counts[tuple(pronunciation)] = counts.get(tuple(pronunciation), 0) + 1
    fst = new_fst(1)
    fst.set_final(0, 0)
    add_arc(fst, 0, backoff_label, word_backoff_label, 0, 0)
    for label in silence:
        add_arc(fst, 0, label, 0, 0, 0)
    for word, pronunciation in lexicon:
        labels = list(pronunciation)
        key = tuple(pronunciation)
        if counts[key] > 1 or key in begins:
            marks[key] = marks.get(key, 0) + 1
            labels.append(backoff_label + marks[key])
        source = 0
        for i, label in enumerate(labels):
            target = 0 if i == len(labels) - 1 else fst.add_state()
            add_arc(fst, source, label, words[word] if i == 0 else 0, 0, target)
            source = target
    return fst


def make_t(labels):
    """The topology of CTC: state 0 follows a blank, state i the i-th label."""
    fst = new_fst(len(labels) + 1)
    add_arc(fst, 0, BLANK, 0, 0, 0)
    for i, label in enumerate(labels, 1):
        add_arc(fst, 0, label, label, 0, i)
        add_arc(fst, i, label, 0, 0, i)
        add_arc(fst, i, BLANK, 0, 0, 0)
        for j, other in enumerate(labels, 1):
            if i != j:
                add_arc(fst, i, other, other, 0, j)
    for i in range(len(labels) + 1):
        fst.set_final(i, 0)
    return fst


def without_marks(fst, first):
    """Input labels from `first` on become epsilon."""
    import kaldifst

    result = new_fst(fst.num_states)
    result.start = fst.start
    for state in kaldifst.StateIterator(fst):
        final = float(fst.final(state).value)
        if math.isfinite(final):
            result.set_final(state, final)
        for arc in kaldifst.ArcIterator(fst, state):
            ilabel = 0 if arc.ilabel >= first else arc.ilabel
            add_arc(result, state, ilabel, arc.olabel, float(arc.weight.value), arc.nextstate)
    return result


def make_graph(options, words, lexicon, label):
    import kaldifst

    backoff = BLANK + 1 + len(label)  # and the marks #1, #2, ... after it
    silence = [label[name] for name in options.silence.split(",") if name]
    g = make_g(options.arpa, words, options.lm_weight, options.word_bonus, len(words) + 1)
    l = make_l(lexicon, words, silence, backoff, len(words) + 1)
    kaldifst.arcsort(l, "olabel")
    kaldifst.arcsort(g, "ilabel")
    lg = kaldifst.compose(l, g)
    kaldifst.determinize_star(lg)
    kaldifst.minimize_encoded(lg)
    lg = without_marks(lg, backoff)
    t = make_t([BLANK + 1 + i for i in range(len(label))])
    kaldifst.arcsort(t, "olabel")
    kaldifst.arcsort(lg, "ilabel")
    return kaldifst.compose(t, lg)


def read_matrices(path):
    """Yields (key, float32 matrix) of a binary archive of Kaldi without compression."""
    import numpy

    with open(path, "rb") as stream:
        while True:
            key = b""
            while (byte := stream.read(1)) not in (b" ", b""):
                key += byte
            if not byte:
                return
            head = stream.read(15)
            kind = {b"FM ": numpy.float32, b"DM ": numpy.float64}.get(head[2:5])
            if head[:2] != b"\0B" or kind is None:
                sys.exit(f"wfst_decode.py: {path}: {key.decode()} is no binary matrix without compression")
            _, rows, _, columns = struct.unpack("<bibi", head[5:])
            values = numpy.frombuffer(stream.read(rows * columns * numpy.dtype(kind).itemsize), kind)
            yield key.decode(), values.reshape(rows, columns).astype(numpy.float32)


def decode(graph, options, names):
    """Writes the hypotheses; returns utterances, frames and seconds."""
    import kaldi_decoder
    import kaldifst

    settings = kaldi_decoder.FasterDecoderOptions(beam=options.beam, max_active=options.max_active)
    decoder = kaldi_decoder.FasterDecoder(graph, settings)
    utterances, frames, seconds = 0, 0, 0.0
    with open(options.output, "w", encoding="utf-8") as output:
        for key, matrix in read_matrices(options.posteriors):
            start = time.process_time()
            decoder.decode(kaldi_decoder.DecodableCtc(matrix))
            found, path = decoder.get_best_path()
            labels = kaldifst.get_linear_symbol_sequence(path)[2] if found else []
            seconds += time.process_time() - start
            output.write(" ".join([key] + [names[label] for label in labels]) + "\n")
            utterances, frames = utterances + 1, frames + len(matrix)
    return utterances, frames, seconds


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("posteriors", help="archive of linnet posteriors")
    parser.add_argument("--symbols", required=True, help="units of the model, one per line, with or without the blank")
    parser.add_argument("--lexicon", required=True, help="words and units, one pronunciation per line")
    parser.add_argument("--arpa", required=True, help="n-gram model of words, also compressed (.gz)")
    parser.add_argument("--output", required=True, help="hypotheses: utterance and words")
    parser.add_argument("--lm-weight", type=float, default=1.0)
    parser.add_argument("--word-bonus", type=float, default=0.0)
    parser.add_argument("--silence", default="", help="symbols that may stand between words, such as NSN,SPN")
    parser.add_argument("--beam", type=float, default=16.0)
    parser.add_argument("--max-active", type=int, default=7000)
    return parser.parse_args()


def main():
    options = read_options()
    try:
        import kaldi_decoder  # noqa: F401
        import kaldifst  # noqa: F401
        import numpy  # noqa: F401
    except ImportError as error:
        sys.exit(f"wfst_decode.py: {error.name} is missing: pip install kaldifst kaldi-decoder numpy")
    lexicon, label = read_lexicon(options.lexicon, read_symbols(options.symbols))
    words = number_words(lexicon)
    start = time.process_time()
    graph = make_graph(options, words, lexicon, label)
    built = time.process_time() - start
    names = {number: word for word, number in words.items()}
    utterances, frames, seconds = decode(graph, options, names)
    print(
        f"graph: {graph.num_states} states in {built:.1f} s; {utterances} utterances, {frames} frames in {seconds:.3f} s",
        file=sys.stderr,
    )


if __name__ == "__main__":
    main()
