"""Measures the speed of kaldi-native-fbank's filterbank, with --bench in turns with bench_fbank.

Prints audio-seconds per CPU-second on one thread. The Python binding turns the samples into a C++ vector first; that
is measured with the same samples and hardly any frames, and also left out ("without binding").

usage: peer_fbank.py [--seconds 600] [--rounds 5] [--bench PATH_OF_bench_fbank]
"""

import argparse
import json
import statistics
import subprocess
import time

import kaldi_native_fbank
import numpy as np

RATE = 16000


def options(shift_ms):
    options = kaldi_native_fbank.FbankOptions()
    options.frame_opts.samp_freq, options.frame_opts.dither = RATE, 0.0
    options.frame_opts.frame_length_ms, options.frame_opts.frame_shift_ms = 25.0, shift_ms
    options.frame_opts.window_type, options.frame_opts.snip_edges = "povey", True
    options.mel_opts.num_bins, options.mel_opts.low_freq, options.mel_opts.high_freq = 40, 20.0, 0.0
    options.use_energy = False
    return options


def cpu_seconds(samples, shift_ms):
    computer = kaldi_native_fbank.OnlineFbank(options(shift_ms))
    start = time.thread_time()
    computer.accept_waveform(RATE, samples)
    computer.input_finished()
    return time.thread_time() - start, computer.num_frames_ready


def peer_round(samples, seconds):
    whole, frames = cpu_seconds(samples, 10.0)
    assert frames == 1 + (len(samples) - 400) // 160
    binding, _ = cpu_seconds(samples, 1e6)
    return seconds / whole, seconds / (whole - binding)


def our_round(bench, seconds):
    done = subprocess.run([bench, "--json", str(seconds)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["audio_s_per_cpu_s"]


def main():
    parser = argparse.ArgumentParser(description="filterbank speed of kaldi-native-fbank")
    parser.add_argument("--seconds", type=int, default=600, help="length of the audio")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--bench", help="bench_fbank, run in turn with the peer")
    arguments = parser.parse_args()
    noise = np.random.default_rng(1).uniform(-10000, 10000, arguments.seconds * RATE)
    samples = noise.astype(np.float32).tolist()
    called, bare, ours = [], [], []
    for _ in range(arguments.rounds):
        as_called, without = peer_round(samples, arguments.seconds)
        called.append(as_called)
        bare.append(without)
        if arguments.bench:
            ours.append(our_round(arguments.bench, arguments.seconds))
    result = {"bench": "fbank", "peer": f"kaldi-native-fbank {kaldi_native_fbank.__version__}",
              "rounds": arguments.rounds, "peer_as_called": round(statistics.median(called)),
              "peer_without_binding": round(statistics.median(bare))}
    if ours:
        result["linnet"] = round(statistics.median(ours))
        result["ratio_as_called"] = round(statistics.median(ours) / statistics.median(called), 1)
        result["ratio_without_binding"] = round(statistics.median(ours) / statistics.median(bare), 1)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
