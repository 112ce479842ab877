#!/usr/bin/env python3
"""Measures the endpoints of live recognition: false alarms, misses and delay.

Utterances of a Kaldi data folder are joined with pauses of 0.5 to 3 seconds into one recording, to which noise is added
at several signal-to-noise ratios. The true pauses are known from the clean audio: at least 0.3 seconds below 35 dB under
the loudest frames, also inside utterances. An endpoint in such a pause is right, any other is a false alarm. A pause
between utterances without an endpoint is a miss. The delay is from the start of the pause to the endpoint.

    measure_endpoints.py BENCH_ENDPOINTS RECOGNIZER DATA [--utterances N] [--noise FILE] [--snr DB]...

Needs ffmpeg, which reads the audio.
"""
import argparse
import array
import math
import os
import random
import subprocess
import sys
import tempfile

RATE = 16000
FRAME = 160
SHORTEST = 0.3  # seconds: the shortest pause of the clean audio
RANGE = 35  # dB
LATE = 0.1  # seconds into speech at which an endpoint still belongs to the pause before


def read_audio(path):
    command = ["ffmpeg", "-v", "error", "-i", path, "-ac", "1", "-ar", str(RATE), "-f", "s16le", "-"]
    samples = array.array("h")
    samples.frombytes(subprocess.run(command, check=True, capture_output=True).stdout)
    return samples


def read_folder(folder, count):
    with open(os.path.join(folder, "wav.scp"), encoding="utf-8") as scp:
        paths = [line.split()[1] for _, line in zip(range(count), scp)]
    return [read_audio(os.path.join(folder, path)) for path in paths]


def power(samples):
    return sum(x * x for x in samples) / max(len(samples), 1)


def join(utterances, seed):
    """The recording, and where the pauses between utterances are, in samples."""
    chance = random.Random(seed)
    whole, gaps = array.array("h"), []
    for samples in utterances:
        start = len(whole)
        whole.extend(round(chance.gauss(0, 2)) for _ in range(int(chance.uniform(0.5, 3) * RATE)))
        gaps.append((start, len(whole)))
        whole.extend(samples)
    start = len(whole)
    whole.extend(round(chance.gauss(0, 2)) for _ in range(2 * RATE))
    gaps.append((start, len(whole)))
    return whole, gaps


def find_pauses(samples):
    """Pauses of the clean audio, [start, end) in seconds."""
    levels = [power(samples[i : i + FRAME]) for i in range(0, len(samples), FRAME)]
    threshold = sorted(levels)[int(len(levels) * 0.98)] * 10 ** (-RANGE / 10)
    pauses, start = [], None
    for t, level in enumerate(levels + [math.inf]):
        if level < threshold and start is None:
            start = t
        elif level >= threshold and start is not None:
            if (t - start) * FRAME >= SHORTEST * RATE:
                pauses.append((start * FRAME / RATE, t * FRAME / RATE))
            start = None
    return pauses


def add_noise(samples, noise, snr, speech_power):
    gain = math.sqrt(speech_power / power(noise) / 10 ** (snr / 10))
    mixed = (int(x + gain * noise[i % len(noise)]) for i, x in enumerate(samples))
    return array.array("h", (max(-32768, min(32767, x)) for x in mixed))


def find_endpoints(program, recognizer, samples):
    with tempfile.NamedTemporaryFile(suffix=".raw") as raw:
        raw.write(samples.tobytes())
        raw.flush()
        done = subprocess.run([program, recognizer, raw.name], check=True, stdout=subprocess.PIPE, text=True)
    return [float(line) for line in done.stdout.split()][:-1]  # without the end of the recording


def compare(ends, pauses, gaps):
    """False alarms, missed gaps, sorted delays of the first endpoint of each gap."""
    inside = [any(a < t <= b + LATE for a, b in pauses) for t in ends]
    missed, delays = 0, []
    for first, last in gaps:
        # The pause of the clean audio that contains the gap begins before it.
        around = [(a, b) for a, b in pauses if a <= (first + last) / 2 <= b]
        start, stop = around[0] if around else (first, last)
        found = [t for t in ends if start < t <= stop + LATE]
        missed += not found
        delays.extend(t - start for t in found[:1])
    return inside.count(False), missed, sorted(delays)


def report(name, ends, pauses, gaps, seconds):
    false, missed, delays = compare(ends, pauses, gaps)
    middle = delays[len(delays) // 2] if delays else math.nan
    late = delays[int(len(delays) * 0.9)] if delays else math.nan
    print(f"{name}\t{len(ends)}\t{false}\t{60 * false / seconds:.2f}\t{missed}/{len(gaps)}\t{middle:.2f}\t{late:.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("recognizer")
    parser.add_argument("data")
    parser.add_argument("--utterances", type=int, default=30)
    parser.add_argument("--noise", help="a recording of noise (default: white noise)")
    parser.add_argument("--snr", type=float, action="append", help="dB; several are possible (default 20, 10, 5)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    utterances = read_folder(options.data, options.utterances)
    clean, gaps = join(utterances, options.seed)
    chance = random.Random(options.seed)
    noise = read_audio(options.noise) if options.noise else [chance.gauss(0, 1000) for _ in range(RATE * 7)]
    pauses = find_pauses(clean)
    seconds = len(clean) / RATE
    speech_power = sum(power(u) * len(u) for u in utterances) / sum(len(u) for u in utterances)
    # What comes before the first utterance has no speech to end.
    between = [(a / RATE, b / RATE) for a, b in gaps[1:]]
    print(f"{len(utterances)} utterances, {seconds:.0f} s, {len(pauses)} pauses", file=sys.stderr)
    print("SNR\tendpoints\tfalse\tper minute\tmissed\tmedian delay\t90 %")
    report("clean", find_endpoints(options.program, options.recognizer, clean), pauses, between, seconds)
    for snr in options.snr or [20, 10, 5]:
        mixed = add_noise(clean, noise, snr, speech_power)
        report(f"{snr:g} dB", find_endpoints(options.program, options.recognizer, mixed), pauses, between, seconds)


if __name__ == "__main__":
    main()
