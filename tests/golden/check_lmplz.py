"""Compares the models that `linnet ngram` and KenLM's lmplz estimate from a text, order by order.

    python tests/golden/check_lmplz.py LINNET LMPLZ TEXT [ORDER...]
"""

import subprocess
import sys
import tempfile


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


def main():
    linnet, lmplz, text = sys.argv[1:4]
    worst = 0.0
    for order in sys.argv[4:] or ["1", "2", "3", "4", "5"]:
        with tempfile.TemporaryDirectory() as folder:
            ours, theirs = folder + "/ours", folder + "/theirs"
            subprocess.run([linnet, "ngram", "--order", order, "--text", text, "--arpa", ours], check=True)
            subprocess.run([lmplz, "-o", order, "-S", "10%", "-T", folder, "--text", text, "--arpa", theirs],
                           check=True, stderr=subprocess.DEVNULL)
            a, b = read_arpa(ours), read_arpa(theirs)
        assert a.keys() == b.keys(), "the models have different n-grams"
        value = max(difference(a[w][0], b[w][0]) for w in a)
        weight = max(difference(a[w][1], b[w][1]) for w in a)
        print("order %s: %d n-grams, largest difference %.2g in log10 probabilities, %.2g in back-off weights"
              % (order, len(a), value, weight))
        worst = max(worst, value, weight)
    return worst > 1e-4


sys.exit(main())
