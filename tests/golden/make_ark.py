"""Writes kaldi_forms.ark, kaldi_text.ark and kaldi_expected.ark: one matrix in every form, by Kaldi's own code.

kaldi_native_io (requirements.txt) is that code with a Python binding. Keys are

    float, double         20 x 13 values that look like features
    cm, cm2, cm3          the same, compressed by Kaldi
    few-cm                its first 4 rows, a special case of the first compression
    constant-cm           5 x 3 equal values, another
    vector                its first row, as a vector

kaldi_text.ark holds float and vector as text; kaldi_expected.ark holds, in float, what Kaldi reads from each key.

usage: make_ark.py
"""

import os

import kaldi_native_io as kaldi
import numpy as np

FOLDER = os.path.dirname(os.path.abspath(__file__))
MAX_BYTES = 20 * 1000
METHODS = {"cm": kaldi.CompressionMethod.kSpeechFeature, "cm2": kaldi.CompressionMethod.kTwoByteAuto,
           "cm3": kaldi.CompressionMethod.kOneByteAuto, "few-cm": kaldi.CompressionMethod.kSpeechFeature,
           "constant-cm": kaldi.CompressionMethod.kSpeechFeature}


def source():
    """Columns of different size, spread and skew"""
    random = np.random.default_rng(20)
    values = random.normal(size=(20, 13)) * np.linspace(0.1, 5, 13) + np.linspace(-8, 20, 13)
    values[:, 12] = np.exp(random.normal(size=20))
    return values.astype(np.float32)


def compressed_inputs(matrix):
    return {"cm": matrix, "cm2": matrix, "cm3": matrix, "few-cm": matrix[:4],
            "constant-cm": np.full((5, 3), 7.5, dtype=np.float32)}


def in_folder(name):
    return os.path.join(FOLDER, name)


def write_parts(matrix):
    with kaldi.FloatMatrixWriter("ark:float.part") as writer:
        writer.write("float", matrix)
    with kaldi.DoubleMatrixWriter("ark:double.part") as writer:
        writer.write("double", matrix.astype(np.float64) * np.pi)
    with kaldi.FloatVectorWriter("ark:vector.part") as writer:
        writer.write("vector", matrix[0])
    with kaldi.CompressedMatrixWriter("ark:packed.part") as writer:
        for key, values in compressed_inputs(matrix).items():
            writer.write(key, values, METHODS[key])
    with kaldi.FloatMatrixWriter("ark,t:text_matrix.part") as writer:
        writer.write("float", matrix)
    with kaldi.FloatVectorWriter("ark,t:text_vector.part") as writer:
        writer.write("vector", matrix[0])


def join(name, parts):
    data = b""
    for part in parts:
        with open(part, "rb") as file:
            data += file.read()
    assert len(data) <= MAX_BYTES
    with open(in_folder(name), "wb") as file:
        file.write(data)
    print(f"{name}: {len(data)} bytes")


def write_expected(matrix):
    with kaldi.FloatMatrixWriter("ark:" + in_folder("kaldi_expected.ark")) as writer:
        for part in ("float.part", "packed.part"):
            with kaldi.SequentialFloatMatrixReader("ark:" + part) as reader:
                for key, values in reader:
                    writer.write(key, values)
        with kaldi.SequentialDoubleMatrixReader("ark:double.part") as reader:
            for key, values in reader:
                writer.write(key, values.astype(np.float32))
        writer.write("vector", matrix[:1])


def main():
    matrix = source()
    write_parts(matrix)
    join("kaldi_forms.ark", ["float.part", "double.part", "packed.part", "vector.part"])
    join("kaldi_text.ark", ["text_matrix.part", "text_vector.part"])
    write_expected(matrix)
    for part in ("float", "double", "packed", "vector", "text_matrix", "text_vector"):
        os.remove(part + ".part")


if __name__ == "__main__":
    main()
