"""Writes corpus/arpa, small language models as text, and corpus/ngram, the same in binary form (LINNET is the command).

    python tests/fuzz/make_ngram_corpus.py LINNET
"""

import gzip
import os
import subprocess
import sys

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus")

SMALL = ("\\data\\\nngram 1=5\nngram 2=4\nngram 3=2\n\n\\1-grams:\n-99\t<s>\t-0.3\n-1\t</s>\n-0.5\ta\t-0.25\n"
         "-0.75\tb\t-0.125\n-2\t<unk>\n\n\\2-grams:\n-0.1\t<s> a\t-0.5\n-0.2\ta b\t-0.0625\n-0.4\tb </s>\n-0.6\tb a\n\n"
         "\\3-grams:\n-0.05\t<s> a b\n-0.07\ta b </s>\n\n\\end\\\n")
WORDS = "\ufeff\\data\\\r\nngram 1=2\r\n\r\n\\1-grams:\r\n-inf a -0.5\r\n-1.5e-1 \u00e9\r\n\r\n\\end\\\r\n"


def write(kind, name, data):
    os.makedirs(os.path.join(FOLDER, kind), exist_ok=True)
    with open(os.path.join(FOLDER, kind, name), "wb") as file:
        file.write(data)
    return file.name


def main():
    small = write("arpa", "small.arpa", SMALL.encode())
    write("arpa", "words.arpa", WORDS.encode())
    write("arpa", "small.arpa.gz", gzip.compress(SMALL.encode(), mtime=0))
    for name, options in (("small.bin", []), ("quantized.bin", ["--quantize"])):
        subprocess.run([sys.argv[1], "ngram", "--model", small, "--binary", write("ngram", name, b"")] + options,
                       check=True)


main()
