"""Writes the corpora of fuzz_audio, fuzz_ark and fuzz_chunks: small files of each kind.

usage: make_frontend_corpus.py        (needs numpy and soundfile; tests/golden/make_ark.py and make_shorten.py must
have run)
"""

import os
import shutil

import numpy as np
import soundfile

HERE = os.path.dirname(os.path.abspath(__file__))
AUDIO = [("pcm.wav", "WAV", "PCM_16", 1), ("stereo.wav", "WAV", "FLOAT", 2), ("mulaw.wav", "WAV", "ULAW", 1),
         ("adpcm.wav", "WAV", "IMA_ADPCM", 1), ("pcm.flac", "FLAC", "PCM_16", 1), ("pcm.aiff", "AIFF", "PCM_24", 1),
         ("pcm.au", "AU", "PCM_16", 1), ("pcm.caf", "CAF", "PCM_16", 1), ("pcm.w64", "W64", "PCM_16", 1),
         ("pcm.sph", "NIST", "PCM_16", 1)]


def corpus(name):
    folder = os.path.join(HERE, "corpus", name)
    os.makedirs(folder, exist_ok=True)
    return folder


def make_audio():
    for name, form, subtype, channels in AUDIO:
        time = np.arange(200)[:, None] / 16000
        samples = np.repeat(0.3 * np.sin(2 * np.pi * 440 * time), channels, axis=1)
        soundfile.write(os.path.join(corpus("audio"), name), samples, 16000, subtype=subtype, format=form)
    for name in ("shorten_v2_stereo.sph", "shorten_v1.sph", "shorten_v2_ulaw_zeros.sph"):
        shutil.copy(os.path.join(HERE, "..", "golden", name), corpus("audio"))
    with open(os.path.join(corpus("audio"), "huge_floats.raw"), "wb") as file:
        file.write(b"l" * 2 + b"w" * 103)


def make_ark():
    for name in ("kaldi_forms.ark", "kaldi_text.ark"):
        shutil.copy(os.path.join(HERE, "..", "golden", name), corpus("ark"))
    with open(os.path.join(corpus("ark"), "statistics.ark"), "wb") as file:
        statistics = np.array([[1, 2, 3], [4, 5, 0]], dtype="<f8")
        file.write(b"speaker \0BDM \4\2\0\0\0\4\3\0\0\0" + statistics.tobytes())
    with open(os.path.join(corpus("ark"), "return_in_key.ark"), "wb") as file:
        file.write(b"a\rb  [ 1 2 ]\n")


def make_chunks():
    for kind in range(4):
        with open(os.path.join(corpus("chunks"), f"kind{kind}"), "wb") as file:
            file.write(bytes([kind] + [53, 1, 0, 54, 133, 255, 7] * 6))


if __name__ == "__main__":
    make_audio()
    make_ark()
    make_chunks()
