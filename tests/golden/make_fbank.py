"""Writes fbank_synthetic.safetensors and fbank_real.safetensors: golden filterbanks by kaldi-native-fbank.

40 mel bands, 16 kHz, 25 ms frames every 10 ms, Povey window, pre-emphasis .97, DC removed, 20 Hz to Nyquist,
no dither, no energy, samples on the int16 scale, whole frames only (snip_edges).

The synthetic signal is made of integers, so that C can make the very same samples:

    uint32_t x = 12345;
    for (int n = 0; n < 16000; n++) {
        x = x * 1664525u + 1013904223u;
        int sample = (int16_t)(x >> 16) / 4;          /* division truncates towards zero */
        sample += (n / 40) % 2 ? -3000 : 3000;        /* a square wave of 200 Hz */
        if (n >= 8000 && n < 9600)
            sample = 0;                               /* digital silence: frames 50 to 57 hit the log's floor */
        signal[n] = sample;
    }

usage: make_fbank.py DATA RECORDING RECORDING ...      RECORDING is a path relative to DATA
"""

import argparse
import json
import os

import kaldi_native_fbank
import numpy as np
import soundfile
import torch
import torchaudio

import golden_file

RATE = 16000
BANDS = 40
REAL_FRAMES = 100
AGREEMENT = 1e-3


def synthetic_signal():
    state, samples = 12345, []
    for n in range(RATE):
        state = (state * 1664525 + 1013904223) % 2 ** 32
        noise = state >> 16
        noise = noise - 65536 if noise >= 32768 else noise
        sample = abs(noise) // 4 * (1 if noise >= 0 else -1) + (-3000 if n // 40 % 2 else 3000)
        samples.append(0 if 8000 <= n < 9600 else sample)
    return np.array(samples, dtype=np.float32)


def fbank_options():
    options = kaldi_native_fbank.FbankOptions()
    frame, mel = options.frame_opts, options.mel_opts
    frame.samp_freq, frame.dither, frame.preemph_coeff = RATE, 0.0, 0.97
    frame.frame_length_ms, frame.frame_shift_ms = 25.0, 10.0
    frame.window_type, frame.remove_dc_offset, frame.snip_edges = "povey", True, True
    mel.num_bins, mel.low_freq, mel.high_freq = BANDS, 20.0, 0.0
    options.use_energy, options.use_log_fbank, options.use_power = False, True, True
    return options


def fbank(signal):
    """(n) samples on the int16 scale -> (T, BANDS)"""
    computer = kaldi_native_fbank.OnlineFbank(fbank_options())
    computer.accept_waveform(RATE, signal.tolist())
    computer.input_finished()
    features = np.stack([computer.get_frame(t) for t in range(computer.num_frames_ready)])
    assert features.shape == (1 + (len(signal) - 400) // 160, BANDS)
    return torch.from_numpy(features)


def compare_with_torchaudio(name, signal, features):
    other = torchaudio.compliance.kaldi.fbank(
        torch.from_numpy(signal).unsqueeze(0), num_mel_bins=BANDS, sample_frequency=RATE, dither=0.0,
        window_type="povey", preemphasis_coefficient=0.97, low_freq=20.0, high_freq=0.0,
        remove_dc_offset=True, snip_edges=True, use_energy=False)
    difference = (features - other).abs().max().item()
    print(f"{name}: {tuple(features.shape)}, torchaudio differs by {difference:.1e}, bound {AGREEMENT:.0e}")
    assert difference <= AGREEMENT


def read_recording(path):
    """Decodes to float and scales, without rounding to int16"""
    signal, rate = soundfile.read(path, dtype="float32")
    assert rate == RATE and signal.ndim == 1, path
    return signal * np.float32(32768)


def make_synthetic():
    signal = synthetic_signal()
    features = fbank(signal)
    compare_with_torchaudio("synthetic", signal, features)
    tensors = {"features": features, "first_samples": golden_file.integers(signal[:64].astype(int).tolist())}
    golden_file.write("fbank_synthetic.safetensors", tensors, {"generator": __doc__.split("usage:")[0].strip()})


def make_real(data, recordings):
    tensors, metadata = {}, {"scale": "decoded to float32, times 32768, not rounded to int16"}
    for i, recording in enumerate(recordings):
        signal = read_recording(os.path.join(data, recording))
        features = fbank(signal)
        compare_with_torchaudio(recording, signal, features)
        tensors[f"{i}.features"] = features[:REAL_FRAMES]
        metadata[f"{i}.path"] = recording
        metadata[f"{i}.samples"] = json.dumps(len(signal))
    golden_file.write("fbank_real.safetensors", tensors, metadata)


def main():
    parser = argparse.ArgumentParser(description="golden filterbanks")
    parser.add_argument("data", help="the folder of recordings")
    parser.add_argument("recordings", nargs="+", help="paths relative to it")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    make_synthetic()
    make_real(arguments.data, arguments.recordings)


if __name__ == "__main__":
    main()
