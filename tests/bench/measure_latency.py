#!/usr/bin/env python3
"""Measures the latency of live recognition: how long after the end of a word it is shown, and is final.

`linnet transcribe --live` gets recordings of a Kaldi data folder at real time. A word's end is that of its final result.
It is shown with the first partial or final result that has it at its position, with the same time within 0.2 seconds; it
is final with the result of its segment. Latency is the clock of that event minus the end of the word.

    measure_latency.py LINNET DATA [--model FOLDER] [--utterances N]
"""
import argparse
import json
import os
import statistics
import subprocess
import sys


def events(linnet, model, path):
    command = [linnet, "transcribe", "--live", "--format", "json"] + (["--model", model] if model else []) + [path]
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    return [json.loads(line) for line in run.stdout.splitlines()]


def latencies(lines):
    """Seconds from the ends of words to the moments when they are shown and final."""
    shown, final = [], []
    for last in (line for line in lines if line["type"] == "final"):
        same = [line for line in lines if line["segment"] == last["segment"]]
        for i, word in enumerate(last["words"]):
            for line in same:
                there = line["words"][i:i + 1]
                if there and there[0]["word"] == word["word"] and abs(there[0]["start"] - word["start"]) < 0.2:
                    shown.append(line["clock"] - word["end"])
                    break
        if last["words"]:
            final.append(last["clock"] - last["words"][-1]["end"])
    return shown, final


def row(title, seconds):
    ms = sorted(1000 * s for s in seconds)
    part = [ms[min(int(len(ms) * p), len(ms) - 1)] for p in (0.5, 0.9)]
    print(f"| {title} | {len(ms)} | {part[0]:.0f} | {part[1]:.0f} | {statistics.mean(ms):.0f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("linnet")
    parser.add_argument("data")
    parser.add_argument("--model", help="folder of a recognizer (default: the one that ships)")
    parser.add_argument("--utterances", type=int, default=10)
    options = parser.parse_args()
    with open(os.path.join(options.data, "wav.scp"), encoding="utf-8") as scp:
        paths = [os.path.join(options.data, line.split()[1]) for line in scp]
    shown, final = [], []
    for path in paths[::max(len(paths) // options.utterances, 1)][:options.utterances]:
        one = latencies(events(options.linnet, options.model, path))
        shown += one[0]
        final += one[1]
    print("| ms after the end of a word | words | median | 90 % | mean |")
    print("|---|---|---|---|---|")
    row("the word is shown", shown)
    row("the last word of a segment is final", final)


if __name__ == "__main__":
    sys.exit(main())
