#!/usr/bin/env python3
"""Measures the latency of live recognition: how long after the end of a word it is shown, and is final.

`linnet transcribe --live` gets recordings of a Kaldi data folder at real time. A word's end is that of its final result.
It is shown with the first partial or final result that has it at its position, with the same time within 0.2 seconds; it
is final with the result of its segment, if an endpoint ended that and not the end of the recording. Latency is the clock
of that event minus the end of the word. A peer gets the same recordings after Linnet, at real time in frames of 30 ms,
with its own endpoints. Also printed are word errors, segments, the words that the next event of their segment no longer
has (at a start within 0.2 seconds), and CPU time.

    measure_latency.py LINNET DATA [--model FOLDER] [--utterances N] [--peer pocketsphinx]
    measure_latency.py LINNET DATA [--model FOLDER] [--utterances N] --lookahead S

The second form shows which part of the latency is the algorithm's. It does not wait: an event comes S seconds of audio
after the end of its result, as on a machine that needs no time. S is the look-ahead of the model with the rest of the
window of a frame: 0.225 for a model that looks 7 frames of 30 ms ahead.

Without other work on the machine, or with a higher priority: a process that waits for a processor is late. The peer
needs the packages pocketsphinx and soundfile.
"""
import argparse
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import time


def cpu_seconds():
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def linnet_events(options, path):
    model = ["--model", options.model] if options.model else []
    speed = ["--live-speed", "0"] if options.lookahead is not None else []
    command = [options.linnet, "transcribe", "--live", "--format", "json"] + speed + model + [path]
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    lines = [json.loads(line) for line in run.stdout.splitlines()]
    lines[-1]["at_end"] = True
    for line in lines if speed else []:
        line["clock"] = min(line["end"] + options.lookahead, lines[-1]["end"])
    return lines


class PocketSphinx:
    """The decoder with the model and the endpointer of its package, as in its example of live recognition."""

    def __init__(self):
        from pocketsphinx import Decoder
        self.decoder = Decoder(samprate=16000, loglevel="FATAL")

    def words(self, start):
        rate = 100
        words = [(re.sub(r"\(\d+\)$", "", s.word), s) for s in self.decoder.seg() or []]
        return [{"word": word.upper(), "start": start + s.start_frame / rate, "end": start + (s.end_frame + 1) / rate}
                for word, s in words if not word.startswith(("<", "["))]

    def events(self, _, path):
        import soundfile
        from pocketsphinx import Endpointer
        audio, rate = soundfile.read(path, dtype="int16")
        assert rate == 16000, f"{path}: {rate} Hz"
        endpointer, lines, segment, began = Endpointer(sample_rate=rate), [], 0, time.monotonic()
        data, size, spoken, start = audio.tobytes(), endpointer.frame_bytes, False, 0
        for at in range(0, len(data), size):
            last = at + size >= len(data)
            time.sleep(max(0, began + min(at + size, len(data)) / 2 / rate - time.monotonic()))
            speech = endpointer.end_stream(data[at:]) if last else endpointer.process(data[at:at + size])
            if speech is not None and not spoken:
                self.decoder.start_utt()
                spoken, start = True, endpointer.speech_start
            if speech:
                self.decoder.process_raw(speech)
            ended = spoken and (last or not endpointer.in_speech)
            if ended:
                self.decoder.end_utt()
            if spoken:
                lines.append({"type": "final" if ended else "partial", "segment": segment, "words": self.words(start),
                              "clock": time.monotonic() - began, "at_end": last})
            segment += ended
            spoken = spoken and not ended
        return lines


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
        if last["words"] and not last.get("at_end"):
            final.append(last["clock"] - last["words"][-1]["end"])
    return shown, final


def num_changed(lines):
    """The words that the next event of the segment does not have."""
    def is_near(word, event):
        return any(w["word"] == word["word"] and abs(w["start"] - word["start"]) < 0.2 for w in event["words"])
    pairs = [(a, b) for a, b in zip(lines, lines[1:]) if a["segment"] == b["segment"]]
    return sum(not is_near(word, b) for a, b in pairs for word in a["words"])


def distance(a, b):
    """The edit distance of two lists of words."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        left, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            left, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, left + (x != y))
    return row[-1]


def row(system, title, goal, seconds):
    ms = sorted(1000 * s for s in seconds)
    part = [ms[min(int(len(ms) * p), len(ms) - 1)] for p in (0.5, 0.9)]
    reached = 100 * sum(x <= goal for x in ms) / len(ms)
    print(f"| {system} | {title} | {goal} | {len(ms)} | {reached:.0f} % | {part[0]:.0f} | {part[1]:.0f} "
          f"| {statistics.mean(ms):.0f} |")


def measure(system, events, options, recordings):
    """Prints the rows of a system. Returns a sentence on its errors and speed."""
    shown, final, errors, spoken, heard, cpu = [], [], 0, 0, 0.0, cpu_seconds()
    segments, changed, found = 0, 0, 0
    for path, text in recordings:
        began = time.monotonic()
        lines = events(options, path)
        heard += lines[-1].get("end", time.monotonic() - began)
        words = [w["word"] for line in lines if line["type"] == "final" for w in line["words"]]
        segments += sum(line["type"] == "final" and len(line["words"]) > 0 for line in lines)
        changed += num_changed(lines)
        found += len(words)
        errors += distance(text, words)
        spoken += len(text)
        one = latencies(lines)
        shown += one[0]
        final += one[1]
    row(system, "a word is shown", 350, shown)
    row(system, "the last word before an endpoint is final", 500, final)
    return (f"{system}: {errors} errors in {spoken} words, {100 * errors / spoken:.2f} %; {segments} segments; "
            f"{changed / found:.2f} changes a word; {1000 * (cpu_seconds() - cpu) / heard:.0f} ms of CPU time a second")


def read_folder(folder, count):
    with open(os.path.join(folder, "text"), encoding="utf-8") as file:
        texts = {line.split()[0]: line.split()[1:] for line in file}
    with open(os.path.join(folder, "wav.scp"), encoding="utf-8") as scp:
        entries = [line.split()[:2] for line in scp]
    chosen = entries[::max(len(entries) // count, 1)][:count]
    return [(os.path.join(folder, path), texts.get(name, [])) for name, path in chosen]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("linnet")
    parser.add_argument("data")
    parser.add_argument("--model", help="folder of a recognizer (default: the one that ships)")
    parser.add_argument("--utterances", type=int, default=10)
    parser.add_argument("--lookahead", type=float, metavar="S", help="the latency of the algorithm alone")
    parser.add_argument("--peer", choices=["pocketsphinx"], help="also measure this program")
    options = parser.parse_args()
    recordings = read_folder(options.data, options.utterances)
    print("| system | ms after the end of a word | goal | words | within the goal | median | 90 % | mean |")
    print("|---|---|---|---|---|---|---|---|")
    sentences = [measure("Linnet", linnet_events, options, recordings)]
    if options.peer:
        sentences.append(measure("PocketSphinx", PocketSphinx().events, options, recordings))
    print(*sentences, sep="\n")


if __name__ == "__main__":
    sys.exit(main())
