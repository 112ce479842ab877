"""Writes corpus/g2p, small models of pronunciations (LINNET is the command).

    python tests/fuzz/make_g2p_corpus.py LINNET
"""

import os
import subprocess
import sys

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus", "g2p")

WORDS = """phone F OW N
fox F AA K S
fix F IH K S
tape T EY P
tap T AE P
hat HH AE T
that DH AE T
photo F OW T OW
"""


def main():
    os.makedirs(FOLDER, exist_ok=True)
    lexicon = os.path.join(FOLDER, "words.tmp")
    with open(lexicon, "w") as file:
        file.write(WORDS)
    for order in (1, 2, 4):
        subprocess.run([sys.argv[1], "g2p", "--train", lexicon, "--order", str(order), "--prune", "0", "--output",
                        os.path.join(FOLDER, "order%d.bin" % order)], check=True)
    os.remove(lexicon)


main()
