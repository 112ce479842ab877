"""What one short recording costs: time and memory of a whole process, Linnet beside PocketSphinx.

    peer_start.py LINNET FILE.wav [--other LINNET] [--runs 11]

Each run starts `linnet transcribe FILE --threads 1` (words and phones, in several precisions), the same with
another build of Linnet, and a Python process that recognises the words of FILE with PocketSphinx' en-us model, which
needs the package pocketsphinx and a WAV file of 16 kHz. Programs take turns. Prints medians of the processor time and of
the time by the clock, and the largest peak memory. Loading is nearly all of it where the recording is short.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

SPHINX = """import sys, wave
from pocketsphinx import Decoder
with wave.open(sys.argv[1]) as wav:
    assert wav.getframerate() == 16000, "the file must have 16 kHz"
    samples = wav.readframes(wav.getnframes())
decoder = Decoder(loglevel="FATAL")
decoder.start_utt()
decoder.process_raw(samples, full_utt=True)
decoder.end_utt()
print(decoder.hyp().hypstr)"""
OPTIONS = {
    "words, float32": [],
    "words, bfloat16": ["--precision", "bfloat16"],
    "words, int8": ["--precision", "int8"],
    "phones, float32": ["--phones"],
    "phones, int8": ["--phones", "--precision", "int8"],
}


def measure(command):
    """Seconds of the processor, seconds by the clock, peak memory in MB, and what the command prints."""
    begin = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    text = process.stdout.read().strip()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{command[0]}: exit status {status}")
    return usage.ru_utime + usage.ru_stime, time.monotonic() - begin, usage.ru_maxrss / 1024, text


def commands(options):
    builds = {"Linnet": options.linnet}
    if options.other:
        builds["other Linnet"] = options.other
    for what, arguments in OPTIONS.items():
        for name, program in builds.items():
            yield f"{name}, {what}", [program, "transcribe", "--threads", "1", *arguments, options.file]
    yield "PocketSphinx", [sys.executable, "-c", SPHINX, options.file]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("linnet")
    parser.add_argument("file", type=Path)
    parser.add_argument("--other", help="another build, measured in turns")
    parser.add_argument("--runs", type=int, default=11)
    options = parser.parse_args()
    programs = list(commands(options))
    runs = [[measure(command) for _, command in programs] for _ in range(options.runs)]
    print("| program | processor s | clock s | peak memory MB | text |\n|---|---|---|---|---|")
    for (name, _), results in zip(programs, zip(*runs)):
        processor, clock, memory, texts = zip(*results)
        print(f"| {name} | {statistics.median(processor):.2f} | {statistics.median(clock):.2f} | {max(memory):.0f} | "
              f"{texts[0]} |")


if __name__ == "__main__":
    main()
