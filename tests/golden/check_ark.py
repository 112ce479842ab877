"""Reads archives that `linnet features` wrote with two other programs, and compares.

kaldiio (independent code) and kaldi_native_io (Kaldi's code) read each script file; both must find the keys and values of
the first one, within the precision of its form.

usage: check_ark.py FLOAT.scp [OTHER.scp ...]      OTHER: the same features as text, cm, cm2, cm3 ...
"""

import sys

import kaldi_native_io
import kaldiio
import numpy as np


def by_kaldi(path):
    with kaldi_native_io.SequentialFloatMatrixReader("scp:" + path) as reader:
        return {key: np.array(matrix) for key, matrix in reader}


def by_kaldiio(path):
    return {key: np.array(matrix) for key, matrix in kaldiio.load_scp(path).items()}


def share_of_range(values, expected):
    assert values.shape == expected.shape
    return np.abs(values - expected).max() / np.ptp(expected)


def main():
    expected = by_kaldi(sys.argv[1])
    for path in sys.argv[1:]:
        for name, read in ("Kaldi", by_kaldi), ("kaldiio", by_kaldiio):
            found = read(path)
            keys = sorted(set(found) & set(expected))
            assert keys == sorted(found), path
            worst = max(share_of_range(found[key], expected[key]) for key in keys)
            print(f"{path} by {name}: {len(keys)} matrices, error {worst:.1e} of the range")


if __name__ == "__main__":
    main()
