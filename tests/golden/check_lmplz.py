"""Compares the models that `linnet ngram` and KenLM's lmplz estimate from a text, order by order.

    python tests/golden/check_lmplz.py LINNET LMPLZ TEXT [ORDER...]

With --golden FILE as the first arguments, it also writes lmplz's values of n-grams at equal distances in the order of
their bytes, for tests/recipe/ngram_lmplz.sh. The file has no words of the text.
"""

import subprocess
import sys
import tempfile

RANKS = 40  # n-grams of each order in a golden file


def read_arpa(path):
    table, order = {}, 0
    with open(path, encoding="utf-8") as file:
        for line in file:
            line = line.rstrip("\n")
            if line.endswith("-grams:"):
                order = int(line[1:-7])
            elif order and line and not line.startswith("\\end"):
                fields = line.split("\t")
                table[fields[1]] = (float(fields[0]), float(fields[2]) if len(fields) > 2 else 0.0)
    return table


def difference(a, b):
    return 0.0 if a == b else abs(a - b)


def write_golden(file, order, table):
    """Lines: order of the model, order of n-grams, how many, rank of one, its log10 probability and back-off weight."""
    for n in range(1, int(order) + 1):
        words = sorted((w for w in table if len(w.split(" ")) == n), key=str.encode)
        for rank in range(0, len(words), len(words) // RANKS + 1):
            print(order, n, len(words), rank, *table[words[rank]], sep="\t", file=file)


def main():
    arguments = sys.argv[1:]
    golden = None
    if arguments[0] == "--golden":
        golden = open(arguments[1], "w", encoding="utf-8")
        arguments = arguments[2:]
    linnet, lmplz, text = arguments[:3]
    worst = 0.0
    for order in arguments[3:] or ["1", "2", "3", "4", "5", "6"]:
        with tempfile.TemporaryDirectory() as folder:
            ours, theirs = folder + "/ours", folder + "/theirs"
            subprocess.run([linnet, "ngram", "--order", order, "--text", text, "--arpa", ours], check=True)
            subprocess.run([lmplz, "-o", order, "-S", "10%", "-T", folder, "--text", text, "--arpa", theirs],
                           check=True, stderr=subprocess.DEVNULL)
            a, b = read_arpa(ours), read_arpa(theirs)
        assert a.keys() == b.keys(), "the models have different n-grams"
        if golden:
            write_golden(golden, order, b)
        value = max(difference(a[w][0], b[w][0]) for w in a)
        weight = max(difference(a[w][1], b[w][1]) for w in a)
        print("order %s: %d n-grams, largest difference %.2g in log10 probabilities, %.2g in back-off weights"
              % (order, len(a), value, weight))
        worst = max(worst, value, weight)
    return worst > 1e-4


sys.exit(main())
