#!/usr/bin/env python3
"""Measures where Linnet puts words and phones, on synthetic speech whose times the synthesizers report.

Sentences of a text are read by voices of flite, which reports all its phones and words, and of espeak-ng, which reports
when words begin. `linnet align` gets the words, `linnet transcribe --phones` finds phones by greedy decoding. Errors are
Linnet's time minus the synthesizer's, in milliseconds. Phones count where both sequences agree (alignment with the
fewest edits), words where `transcribe` finds the same word.

    measure_boundaries.py LINNET TEXT [--model FOLDER] [--utterances N] [--work DIR]
    measure_boundaries.py LINNET --data DIR [--name NAME] [--model FOLDER]

The first synthesizes, and needs libflite and libespeak-ng (packages flite and espeak-ng). It writes a Kaldi data folder
with the times, words.ctm and phones.ctm (lines "ID 1 START SECONDS TOKEN"; 0 seconds: the end is unknown). The second
measures such a folder, which needs only one of the two files.
"""
import argparse
import array
import ctypes
import difflib
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import wave

FLITE = ["slt", "rms", "awb", "kal16"]
ESPEAK = ["en-us", "en-us+f3", "en-gb", "en-us+m5"]
RATES = [1.0, 0.85, 1.2]  # durations of flite, relative
KINDS = ["words", "phones"]
FOLDED = {"ax": "AH", "axr": "ER", "ix": "IH", "ux": "UW", "el": "L", "em": "M", "en": "N", "dx": "D", "hv": "HH"}


def sentences(path, count):
    """Sentences of 5 to 14 words that a lexicon is likely to have."""
    with open(path, encoding="utf-8") as text:
        lines = [line.split() for line in text]
    fit = [words for words in lines if 5 <= len(words) <= 14 and all(re.fullmatch("[A-Z']+", w) for w in words)]
    step = max(len(fit) // count, 1)
    return fit[::step][:count]


class Flite:
    def __init__(self):
        for name in ("libflite", "libflite_usenglish", "libflite_cmulex"):
            lib = ctypes.CDLL(name + ".so.1", mode=ctypes.RTLD_GLOBAL)
            if name == "libflite":
                self.lib = lib
        self.lib.flite_init()
        for name, result in {"flite_synth_text": ctypes.c_void_p, "utt_relation": ctypes.c_void_p,
                             "utt_wave": ctypes.c_void_p, "relation_head": ctypes.c_void_p,
                             "item_next": ctypes.c_void_p, "ffeature_string": ctypes.c_char_p,
                             "ffeature_float": ctypes.c_float}.items():
            getattr(self.lib, name).restype = result
        self.voices = {}

    def voice(self, name):
        if name not in self.voices:
            register = getattr(ctypes.CDLL(f"libflite_cmu_us_{name}.so.1"), f"register_cmu_us_{name}")
            register.restype = ctypes.c_void_p
            self.voices[name] = ctypes.c_void_p(register(None))
        return self.voices[name]

    def items(self, utterance, relation):
        item = self.lib.relation_head(ctypes.c_void_p(self.lib.utt_relation(ctypes.c_void_p(utterance), relation)))
        while item:
            yield ctypes.c_void_p(item)
            item = self.lib.item_next(ctypes.c_void_p(item))

    def text(self, item, path):
        return self.lib.ffeature_string(item, path).decode()

    def seconds(self, item, path):
        return self.lib.ffeature_float(item, path)

    def speak(self, words, voice, stretch, path):
        """Writes the audio; returns words and phones as (name, start, end)."""
        handle = self.voice(voice)
        self.lib.feat_set_float(self.features(handle), b"duration_stretch", ctypes.c_float(stretch))
        utterance = self.lib.flite_synth_text(" ".join(words).lower().encode(), handle)
        found = []
        for word in self.items(utterance, b"Word"):
            first, last = b"R:SylStructure.daughter1.daughter1.R:Segment.", b"R:SylStructure.daughtern.daughtern.R:Segment."
            found.append((self.text(word, b"name").upper(), self.seconds(word, first + b"p.end"),
                          self.seconds(word, last + b"end")))
        phones, before = [], 0.0
        for segment in self.items(utterance, b"Segment"):
            name, end = self.text(segment, b"name"), self.seconds(segment, b"end")
            if name != "pau":
                phones.append((FOLDED.get(name, name.upper()), before, end))
            before = end
        self.lib.cst_wave_save_riff(ctypes.c_void_p(self.lib.utt_wave(ctypes.c_void_p(utterance))), path.encode())
        self.lib.delete_utterance(ctypes.c_void_p(utterance))
        return found, phones

    @staticmethod
    def features(voice):
        """cst_voice begins with its name and its features."""
        return ctypes.c_void_p(ctypes.cast(voice, ctypes.POINTER(ctypes.c_void_p))[1])


class EspeakEvent(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("identifier", ctypes.c_uint), ("position", ctypes.c_int),
                ("length", ctypes.c_int), ("milliseconds", ctypes.c_int), ("sample", ctypes.c_int),
                ("user", ctypes.c_void_p), ("id", ctypes.c_char * 8)]


class Espeak:
    WORD = 1

    def __init__(self):
        self.lib = ctypes.CDLL("libespeak-ng.so.1")
        self.rate = self.lib.espeak_Initialize(2, 0, None, 0)
        kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int,
                                ctypes.POINTER(EspeakEvent))
        self.callback = kind(self.on_audio)
        self.lib.espeak_SetSynthCallback(self.callback)
        self.samples, self.starts = array.array("h"), []

    def on_audio(self, samples, count, events):
        self.samples.extend(samples[:count])
        i = 0
        while events[i].type:
            if events[i].type == self.WORD:
                self.starts.append((events[i].position - 1, events[i].length, events[i].sample / self.rate))
            i += 1
        return 0

    def speak(self, words, voice, path):
        """Writes the audio; returns words as (name, start, None), and no phones."""
        text = " ".join(words).lower()
        self.samples, self.starts = array.array("h"), []
        self.lib.espeak_SetVoiceByName(voice.encode())
        self.lib.espeak_Synth(text.encode(), len(text) + 1, 0, 0, 0, 1, None, None)
        self.lib.espeak_Synchronize()
        with wave.open(path, "wb") as out:
            out.setparams((1, 2, self.rate, 0, "NONE", ""))
            out.writeframes(self.samples.tobytes())
        spoken = [(text[first:first + length].strip().upper(), start, None) for first, length, start in self.starts]
        return [word for word in spoken if word[0]], []  # an event may have no word


def synthesize(chosen, work):
    """A data folder in `work`; returns (source, words, phones) by utterance, each with the spans (name, start, end)."""
    flite, espeak, truth = Flite(), Espeak(), {}
    with open(os.path.join(work, "wav.scp"), "w") as scp, open(os.path.join(work, "text"), "w") as text:
        for i, words in enumerate(chosen):
            name = f"utt-{i:04}"
            path = os.path.join(work, name + ".wav")
            if i % 10 < 7:
                found = ("flite",) + flite.speak(words, FLITE[i % len(FLITE)], RATES[i % len(RATES)], path)
            else:
                found = ("espeak-ng",) + espeak.speak(words, ESPEAK[i % len(ESPEAK)], path)
            truth[name] = found
            print(name, path, file=scp)
            print(name, *words, file=text)
    with open(os.path.join(work, "utt2spk"), "w") as speakers:
        speakers.writelines(f"{name} {name}\n" for name in truth)
    for i, kind in enumerate(KINDS, 1):
        with open(os.path.join(work, kind + ".ctm"), "w") as times:
            for name, found in truth.items():
                times.writelines(f"{name} 1 {start:.4f} {(end or start) - start:.4f} {token}\n"
                                 for token, start, end in found[i])
    return truth


def read_times(folder, source):
    """The times of a data folder, as synthesize returns them."""
    truth = {}
    for i, kind in enumerate(KINDS, 1):
        path = os.path.join(folder, kind + ".ctm")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as lines:
                for name, _, start, length, token in (line.split()[:5] for line in lines):
                    end = float(start) + float(length) if float(length) else None
                    truth.setdefault(name, (source, [], []))[i].append((token.upper(), float(start), end))
    return truth


def results(command):
    """Lines of JSON by utterance."""
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    return {line["utterance"]: line for line in map(json.loads, run.stdout.splitlines())}


def spans(line, kind):
    key = "word" if kind == "words" else "symbol"
    return [(token[key].upper(), token["start"], token["end"]) for token in line.get(kind, [])]


def pairs(true, found):
    """The spans that both sequences have in common."""
    matcher = difflib.SequenceMatcher(None, [t[0] for t in true], [f[0] for f in found], autojunk=False)
    for block in matcher.get_matching_blocks():
        for i in range(block.size):
            yield true[block.a + i], found[block.b + i]


def row(title, errors, count):
    """Of errors in seconds; `count` is the number of boundaries that could have been found."""
    if not errors:
        return
    ms = [1000 * e for e in errors]
    size = sorted(abs(e) for e in ms)
    part = [100 * sum(e <= limit for e in size) / len(size) for limit in (20, 50, 100)]
    print(f"| {title} | {len(ms)} of {count} | {round(statistics.median(ms))} | {statistics.mean(size):.0f} | "
          f"{statistics.median(size):.0f} | {part[0]:.0f} / {part[1]:.0f} / {part[2]:.0f} |")


def report(title, truth, lines, kind, source):
    starts, ends, total, total_ends = [], [], 0, 0
    for name, (origin, words, phones) in truth.items():
        true = words if kind == "words" else phones
        if origin != source or not true:
            continue
        total += len(true)
        total_ends += sum(t[2] is not None for t in true)
        for t, f in pairs(true, spans(lines.get(name, {}), kind)):
            starts.append(f[1] - t[1])
            if t[2] is not None:
                ends.append(f[2] - t[2])
    row(f"{source} | {title}, start", starts, total)
    row(f"{source} | {title}, end", ends, total_ends)


def measure(options, work, truth):
    common = (["--model", options.model] if options.model else []) + ["--data", work, "--format", "json"]
    aligned = results([options.linnet, "align", "--unit", "phone"] + common)
    words = results([options.linnet, "align"] + common)
    greedy = results([options.linnet, "transcribe", "--phones"] + common)
    searched = results([options.linnet, "transcribe"] + common)
    print("| speech | boundary | found | median error, ms | mean size | median size | % within 20 / 50 / 100 ms |")
    print("|---|---|---|---|---|---|---|")
    for source in dict.fromkeys(found[0] for found in truth.values()):
        report("words, aligned", truth, words, "words", source)
        report("words, recognised", truth, searched, "words", source)
        report("phones, aligned", truth, aligned, "phones", source)
        report("phones, greedy", truth, greedy, "phones", source)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("linnet")
    parser.add_argument("text", nargs="?")
    parser.add_argument("--data", help="folder with times to measure")
    parser.add_argument("--name", default="", help="its name in the table")
    parser.add_argument("--model", help="folder of a recognizer (default: the one that ships)")
    parser.add_argument("--utterances", type=int, default=500)
    parser.add_argument("--work", help="folder for the audio (default: a temporary one)")
    options = parser.parse_args()
    if bool(options.text) == bool(options.data):
        parser.error("name either a text or --data DIR")
    if options.data:
        measure(options, options.data, read_times(options.data, options.name))
        return
    with tempfile.TemporaryDirectory() as temporary:
        work = options.work or temporary
        os.makedirs(work, exist_ok=True)
        measure(options, work, synthesize(sentences(options.text, options.utterances), work))


if __name__ == "__main__":
    sys.exit(main())
