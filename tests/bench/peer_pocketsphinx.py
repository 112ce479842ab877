#!/usr/bin/env python3
"""Recognises Kaldi data folders with Linnet and with PocketSphinx 5 (its en-us model), one after the other on each set.

Both search for words, each with its own lexicon and language model, and for phones: Linnet greedily, PocketSphinx with
its phone loop (allphone) and phone trigram. `linnet score` rates both against the same references. Words are compared in
upper case, with plain apostrophes, and hyphens as spaces; phones without silence, noise and stress. The real-time factor
is processor time divided by the duration of the audio: for Linnet that of the whole process on one thread, with loading
and reading audio; for PocketSphinx that of its calls alone, without loading and reading.

    peer_pocketsphinx.py LINNET NAME=DIR... [--model PATH] [--every K] [--seconds S] [--peer-only NAME=DIR...]

A folder has wav.scp (audio files), text, utt2spk and phones, as recipes/english prepares them. --every K takes every Kth
utterance, --seconds S stops a set after so much audio. --peer-only: sets on which only PocketSphinx runs, such as test
sets on which Linnet was scored before. Prints a Markdown table. Needs pocketsphinx and soundfile (see README.md).
"""
import argparse
import os
import re
import resource
import subprocess
import tempfile
import time

import pocketsphinx
import soundfile

RATE = 16000


def read_table(path):
    with open(path, encoding="utf-8") as lines:
        rows = (line.split(None, 1) for line in lines if line.strip())
        return {row[0]: row[1].strip() if len(row) > 1 else "" for row in rows}


def write_table(path, table):
    with open(path, "w", encoding="utf-8") as out:
        for key in sorted(table):
            out.write(f"{key} {table[key]}".rstrip() + "\n")


def normal_words(text):
    """The form of words that both systems and the references share."""
    return " ".join(text.upper().replace("\u2019", "'").replace("-", " ").split())


def normal_phones(text):
    phones = (re.sub("[012]$", "", phone) for phone in text.upper().split())
    return " ".join(phone for phone in phones if phone != "SIL" and not phone.startswith("+"))


class Peer:
    """A decoder of PocketSphinx; adds up its processor time."""

    def __init__(self, **settings):
        self.decoder = pocketsphinx.Decoder(loglevel="FATAL", **settings)
        self.spent = 0

    def recognise(self, samples):
        start = time.process_time()
        self.decoder.start_utt()
        self.decoder.process_raw(samples, full_utt=True)
        self.decoder.end_utt()
        hypothesis = self.decoder.hyp()
        self.spent += time.process_time() - start
        return hypothesis.hypstr if hypothesis else ""


def peers():
    """The settings for phones are those of its documentation."""
    phones = pocketsphinx.get_model_path("en-us/en-us-phone.lm.bin")
    return {"words": Peer(), "phones": Peer(lm=None, allphone=phones, beam=1e-20, pbeam=1e-20, lw=2.0)}


class DataSet:
    def __init__(self, name, folder, work, every, seconds):
        self.name, self.folder = name, os.path.join(work, name)
        os.makedirs(self.folder)
        audio = read_table(os.path.join(folder, "wav.scp"))
        self.audio, self.seconds = {}, 0.0
        for key in sorted(audio)[::every]:
            if self.seconds >= seconds:
                break
            self.audio[key] = os.path.join(folder, audio[key])
            self.seconds += soundfile.info(self.audio[key]).duration
        write_table(self.path("wav.scp"), self.audio)
        write_table(self.path("utt2spk"), {key: key for key in self.audio})
        for unit, file, normal in ("words", "text", normal_words), ("phones", "phones", normal_phones):
            table = read_table(os.path.join(folder, file))
            write_table(self.path(unit + ".ref"), {key: normal(table[key]) for key in self.audio if key in table})

    def path(self, name):
        return os.path.join(self.folder, name)

    def error_rate(self, linnet, unit, hypotheses, normal):
        write_table(self.path("normal.hyp"), {key: normal(text) for key, text in hypotheses.items()})
        report = subprocess.run([linnet, "score", "--bootstrap", "0", "--allow-extra", "--unit", unit.rstrip("s"),
                                 self.path(unit + ".ref"), self.path("normal.hyp")],
                                check=True, capture_output=True, text=True).stdout
        return float(re.search(r"^%[WP]ER ([\d.]+)", report, re.M).group(1))


def linnet_times(linnet, model, data, unit):
    """Runs Linnet; returns its hypotheses and processor time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    output = data.path(unit + ".hyp")
    subprocess.run([linnet, "transcribe", "--threads", "1", "--data", data.folder, "--output", output, "--" + unit] +
                   (["--model", model] if model else []), check=True, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return read_table(output), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def peer_times(peer, data):
    start, texts = peer.spent, {}
    for key, path in data.audio.items():
        samples, rate = soundfile.read(path, dtype="int16")
        assert rate == RATE and samples.ndim == 1, f"{path}: must have one channel and 16 kHz"
        texts[key] = peer.recognise(samples.tobytes())
    return texts, peer.spent - start


def row(args, data, own, decoders):
    """The row of a set in the table."""
    rates, factors = [], []
    for unit, normal in ("words", normal_words), ("phones", normal_phones):
        runs = ([linnet_times(args.linnet, args.model, data, unit)] if own else []) + [peer_times(decoders[unit], data)]
        some = [(f"{data.error_rate(args.linnet, unit, texts, normal):.2f}", f"{spent / data.seconds:.4f}")
                for texts, spent in runs]
        some = some if own else [("", "")] + some
        rates += [rate for rate, _ in some]
        factors += [factor for _, factor in some]
    cells = [data.name, str(len(data.audio)), f"{data.seconds / 60:.1f}"] + rates + factors
    return "| " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("linnet")
    parser.add_argument("sets", nargs="*", metavar="NAME=DIR")
    parser.add_argument("--model", help="model or folder of a recognizer (default: the one that ships)")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--peer-only", nargs="+", default=[], metavar="NAME=DIR")
    args = parser.parse_args()
    decoders = peers()
    print("| set | utterances | minutes | WER %, Linnet | PocketSphinx | PER %, Linnet | PocketSphinx | "
          "real-time factor, words: Linnet | PocketSphinx | phones: Linnet | PocketSphinx |")
    print("|---|" + "---|" * 10, flush=True)
    with tempfile.TemporaryDirectory() as work:
        for entry in args.sets + args.peer_only:
            name, folder = entry.split("=", 1)
            data = DataSet(name, folder, work, args.every, args.seconds)
            print(row(args, data, entry in args.sets, decoders), flush=True)


if __name__ == "__main__":
    main()
