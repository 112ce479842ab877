"""Writes ngram_text.txt, ngram_lmplz.arpa.gz, ngram_pruned.arpa.gz and ngram_scores.tsv.

    python tests/golden/make_ngram.py LMPLZ

LMPLZ is KenLM's program (https://github.com/kpu/kenlm, built with boost); scores come from its Python package (`pip
install kenlm`) and are checked with back-off by dictionary. In the pruned model some n-grams are removed, so that ends of
longer ones are missing: only the dictionary computes its scores.
"""

import gzip
import itertools
import math
import os
import random
import subprocess
import sys
import tempfile

import kenlm

FOLDER = os.path.dirname(os.path.abspath(__file__))
ORDER = 4


def path(name):
    return os.path.join(FOLDER, "ngram_" + name)


def make_text(draw):
    """Sentences of a small language: words with Zipf's frequencies, often followed by the same word as before"""
    words = ["\u00e9t\u00e9", "don't", "\\slash", "<angle"] + ["w%d" % i for i in range(250)]
    weights = [1 / (i + 1) for i in range(len(words))]
    for _ in range(500):
        sentence = []
        for _ in range(draw.randrange(0, 12)):
            if sentence and draw.random() < 0.7:
                index = (index * 5 + draw.choice((1, 1, 1, 2, 3))) % len(words)
            else:
                index = draw.choices(range(len(words)), weights)[0]
            sentence.append(words[index])
        yield " ".join(sentence)
    # lmplz counts the n-grams that end in the newest word by their occurrences, not by the words before them (the end
    # of AdjustCounts::Run). If these differ, its discounts are wrong by one n-gram; here both are 1.
    yield "w1 w2 w3 newest"


def read_arpa(text):
    """{words: (log10 probability, log10 back-off weight)}"""
    table, order = {}, 0
    for line in text.splitlines():
        if line.endswith("-grams:"):
            order = int(line[1:-7])
        elif order and line and not line.startswith("\\end"):
            fields = line.split("\t")
            weight = float(fields[2]) if len(fields) > 2 else 0.0
            table[tuple(fields[1].split(" "))] = (float(fields[0]), weight)
    return table


def write_arpa(table):
    lines = ["\\data\\"]
    lines += ["ngram %d=%d" % (k, sum(len(w) == k for w in table)) for k in range(1, ORDER + 1)]
    for k in range(1, ORDER + 1):
        lines += ["", "\\%d-grams:" % k]
        for words, (value, weight) in table.items():
            if len(words) == k:
                lines.append("%r\t%s%s" % (value, " ".join(words), "\t%r" % weight if k < ORDER else ""))
    return "\n".join(lines + ["", "\\end\\", ""])


def prune(table, draw):
    """Removes a third of the bigrams and trigrams that are not contexts of others, also ends of longer n-grams"""
    contexts = {words[:-1] for words in table}
    return {words: value for words, value in table.items()
            if len(words) in (1, ORDER) or words in contexts or draw.random() > 0.6}


def score(table, context, word):
    for skip in itertools.count():
        rest = context[skip:]
        if rest + (word,) in table:
            return sum(table.get(context[i:], (0, 0))[1] for i in range(skip)) + table[rest + (word,)][0]
        assert rest, word


def score_sentence(table, words):
    known = [word if (word,) in table else "<unk>" for word in words] + ["</s>"]
    history = ["<s>"]
    for word in known:
        yield score(table, tuple(history[-(ORDER - 1):]), word)
        history.append(word)


def queries(draw, text):
    """Sentences of the text, shuffled ones, and ones with unknown words"""
    for sentence in draw.sample(text, 60):
        words = sentence.split()
        yield words
        yield draw.sample(words, len(words))
        yield ["never" if draw.random() < 0.3 else word for word in words]


def main():
    draw = random.Random(4)
    text = list(make_text(draw))
    with open(path("text.txt"), "w", encoding="utf-8") as file:
        file.write("\n".join(text) + "\n")
    with open(path("text.txt"), "rb") as file:
        arpa = subprocess.run([sys.argv[1], "-o", str(ORDER), "-S", "10%"], stdin=file, check=True,
                              capture_output=True).stdout.decode()
    whole = read_arpa(arpa)
    pruned = prune(whole, draw)
    for name, contents in (("lmplz", arpa), ("pruned", write_arpa(pruned))):
        with open(path(name + ".arpa.gz"), "wb") as file:
            file.write(gzip.compress(contents.encode(), mtime=0))
    with tempfile.NamedTemporaryFile(suffix=".arpa") as file:
        file.write(arpa.encode())
        file.flush()
        oracle = kenlm.Model(file.name)
    with open(path("scores.tsv"), "w", encoding="utf-8") as file:
        for words in queries(draw, text):
            scores = [value for value, _, _ in oracle.full_scores(" ".join(words))]
            again = list(score_sentence(whole, words))
            assert all(math.isclose(a, b, abs_tol=1e-5) for a, b in zip(scores, again)), words
            for model, values in (("lmplz", scores), ("pruned", score_sentence(pruned, words))):
                file.write("%s\t%s\t%s\n" % (model, " ".join(words), " ".join("%.6f" % value for value in values)))


main()
