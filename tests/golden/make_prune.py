"""Writes ngram_prune.tsv: the result of entropy pruning of ngram_lmplz.arpa.gz, the 4-gram of ngram_text.txt.

    python tests/golden/make_prune.py

A. Stolcke, "Entropy-based pruning of backoff language models" (1998), equations 2 to 9, in double, over dictionaries of
words: lines "HISTORIES THRESHOLD<tab>WORDS<tab>PROBABILITY<tab>WEIGHT" of the remaining n-grams, log10 as in ARPA,
without single words of weight 0. HISTORIES: "model", as in SRILM, or "text", the counts of ngram_text.txt (Chelba et al. 2010).
"""

import collections
import gzip
import itertools
import math
import os

FOLDER = os.path.dirname(os.path.abspath(__file__))
ORDER = 4
CASES = [("model", 1e-4), ("text", 1e-4), ("text", 1e-3)]  # changed slightly, away from the losses of n-grams


def path(name):
    return os.path.join(FOLDER, "ngram_" + name)


def read_arpa(text):
    """{words: [probability, log10 back-off weight]}"""
    table, order = {}, 0
    for line in text.splitlines():
        if line.endswith("-grams:"):
            order = int(line[1:-7])
        elif order and line and not line.startswith("\\end"):
            fields = line.split("\t")
            table[tuple(fields[1].split(" "))] = [10 ** float(fields[0]),
                                                  10 ** float(fields[2]) if len(fields) > 2 else 1.0]
    return table


def probability(table, context, word):
    weight = 1.0
    while context + (word,) not in table:
        weight *= table[context][1] if context in table else 1.0
        context = context[1:]
    return weight * table[context + (word,)][0]


def histories_of_model(table):
    """P(context) as SRILM's contextProb: <s> is as probable as </s>"""
    def of(context):
        product = 1.0
        for i, word in enumerate(context):
            product *= probability(table, context[:i], "</s>" if i == 0 and word == "<s>" else word)
        return product
    return of


def histories_of_text(sentences):
    counts, total = collections.Counter(), 0
    for sentence in sentences:
        words = ("<s>",) + tuple(sentence.split()) + ("</s>",)
        total += len(words)
        counts.update(words[i:i + k] for k in range(1, ORDER) for i in range(len(words) - k + 1))
    return lambda context: counts[context] / total


def children(table):
    by_context = collections.defaultdict(list)
    for words in table:
        if len(words) > 1:
            by_context[words[:-1]].append(words[-1])
    return by_context


def losses(table, history):
    """{words: increase of the relative entropy without them}, each for the unpruned model"""
    result = {}
    for context, words in children(table).items():
        left = 1 - sum(table[context + (word,)][0] for word in words)
        lower_left = 1 - sum(probability(table, context[1:], word) for word in words)
        weight = left / lower_left
        for word in words:
            own, lower = table[context + (word,)][0], probability(table, context[1:], word)
            changed = (left + own) / (lower_left + lower)
            result[context + (word,)] = -history(context) * (
                own * (math.log(lower) + math.log(changed) - math.log(own)) +
                left * (math.log(changed) - math.log(weight)))
    return result


def clear_threshold(loss, about):
    """The threshold with three digits near `about` that is farthest from the loss of any n-gram"""
    def distance(threshold):
        return min(abs(math.log(max(value, 1e-30) / threshold)) for value in loss.values())
    best = max((round(about * step / 1000, 9) for step in range(700, 1400)), key=distance)
    assert distance(best) > 1e-3, distance(best)
    return best


def prune(table, loss, threshold):
    kept = {words for words in table if len(words) == 1}
    for order in range(ORDER, 1, -1):
        contexts = {words[:-1] for words in kept}
        kept |= {words for words in table if len(words) == order and (loss[words] >= threshold or words in contexts)}
    pruned = {words: [table[words][0], 1.0] for words in kept}
    for context, words in sorted(children(pruned).items(), key=lambda item: len(item[0])):
        left = 1 - sum(pruned[context + (word,)][0] for word in words)
        pruned[context][1] = left / (1 - sum(probability(pruned, context[1:], word) for word in words))
    return pruned


def check_sums(table):
    words = [w[0] for w in table if len(w) == 1 and w[0] != "<s>"]
    for context in itertools.islice(children(table), 0, None, 7):
        total = sum(probability(table, context, word) for word in words)
        assert abs(total - 1) < 1e-4, (context, total)


def main():
    with gzip.open(path("lmplz.arpa.gz"), "rt", encoding="utf-8") as file:
        table = read_arpa(file.read())
    with open(path("text.txt"), encoding="utf-8") as file:
        sentences = file.read().splitlines()
    kinds = {"model": histories_of_model(table), "text": histories_of_text(sentences)}
    with open(path("prune.tsv"), "w", encoding="utf-8") as file:
        for kind, about in CASES:
            loss = losses(table, kinds[kind])
            threshold = clear_threshold(loss, about)
            pruned = prune(table, loss, threshold)
            check_sums(pruned)
            for words, (value, weight) in sorted(pruned.items()):
                if len(words) > 1 or weight != 1.0:
                    file.write("%s %g\t%s\t%.5f\t%.5f\n" % (kind, threshold, " ".join(words), math.log10(value),
                                                           math.log10(weight)))
            print(kind, threshold, [sum(len(w) == k for w in pruned) for k in range(1, 5)], "of",
                  [sum(len(w) == k for w in table) for k in range(1, 5)])


main()
