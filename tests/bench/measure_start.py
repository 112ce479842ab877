"""How long `linnet train` takes from its start to its first step, with a corpus of many utterances.

    measure_start.py LINNET [--utterances 300000] [--ranks 1 2] [--audio] [--keep FOLDER]

Makes a simulated corpus: 128 utterances a speaker, about 12 s each, 124 phones each. Either features in 100 archives,
which hold 30 utterances each and which feats.scp names repeatedly, so that they stay in the cache; or, with --audio,
100 FLAC files of 16 kHz with a link for each utterance (this needs sox). A real corpus also waits for the disk. The
network is tiny. Starts a training with each number of ranks: without an index, with the files that this start has
left, and, for features, with utt2num_frames. Prints for each start the processor time of all ranks together, the
largest peak memory of a rank, and the time by the clock.
"""

import argparse
import itertools
import os
import random
import signal
import struct
import subprocess
import tempfile
import time
from pathlib import Path

ARCHIVES, PER_ARCHIVE, RECORDINGS, NUM_MEL = 100, 30, 100, 8
MPIRUN = ["mpirun", "--oversubscribe", "--allow-run-as-root", "--bind-to", "none", "-n"]
CONFIG = """{"model": {"input_dim": 8, "width": 16, "heads": 2, "feed_forward": 32, "layers": 1, "stack": 3},
 "features": {"num_mel": 8, "cmvn": "speaker"},
 "training": {"epochs": 1, "batch_frames": 16000, "keep_models": 0, "shards": 2}}"""


def make_archives(folder, generator):
    """Places of matrices, and their lengths: one after another, without end."""
    places = []
    for a in range(ARCHIVES):
        with open(folder / f"feats.{a}.ark", "wb") as ark:
            for _ in range(PER_ARCHIVE):
                rows = generator.randint(800, 1600)
                ark.write(b"utt ")
                places.append((f"{folder}/feats.{a}.ark:{ark.tell()}", rows))
                ark.write(b"\0BFM " + struct.pack("<bibi", 4, rows, 4, NUM_MEL))
                ark.write(struct.pack("<f", generator.random()) * (rows * NUM_MEL))
    return itertools.cycle(places)


def make_recordings(folder, generator):
    """Links to recordings, each with another name, and no lengths."""
    for r in range(RECORDINGS):
        seconds = str(generator.uniform(8, 16))
        subprocess.run(["sox", "-R", "-n", "-r", "16000", "-b", "16", folder / f"{r}.flac", "synth", seconds, "pinknoise"],
                       check=True)
    links = folder / "links"
    for u in itertools.count():
        link = links / f"{u // 1000}" / f"{u}.flac"
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(folder / f"{u % RECORDINGS}.flac")
        yield link, 0


def make_data(folder, utterances, audio):
    generator = random.Random(1)
    folder.mkdir(parents=True)
    places = (make_recordings if audio else make_archives)(folder, generator)
    texts = [" ".join(f"P{generator.randint(1, 39)}" for _ in range(124)) for _ in range(50)]
    with open(folder / ("wav.scp" if audio else "feats.scp"), "w") as scp, open(folder / "phones", "w") as phones, \
            open(folder / "utt2spk", "w") as speakers, open(folder / "lengths", "w") as lengths:
        for u, (place, rows) in zip(range(utterances), places):
            name = f"{u // 128:05}-{u:07}"
            print(name, place, file=scp)
            print(name, texts[u % len(texts)], file=phones)
            print(name, name[:5], file=speakers)
            print(name, rows, file=lengths)


def make_dev(folder, train, audio):
    folder.mkdir()
    for name in ("wav.scp" if audio else "feats.scp", "phones", "utt2spk"):
        with open(train / name) as lines, open(folder / name, "w") as out:
            out.writelines(line for _, line in zip(range(100), lines))


def usage_of(exp):
    """Processor seconds of the ranks together, and the largest peak memory of one in MB; they train in the folder."""
    seconds, megabytes = 0, 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
            if str(exp).encode() not in words or b"mpirun" in words[0]:
                continue
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            peak = next(x for x in (folder / "status").read_text().splitlines() if x.startswith("VmHWM"))
        except (OSError, StopIteration):
            continue
        seconds += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        megabytes = max(megabytes, int(peak.split()[1]) / 1024)
    return seconds, megabytes


def start(linnet, work, ranks):
    """Runs until the first step; processor seconds, MB, seconds."""
    exp = Path(tempfile.mkdtemp(dir=work))
    command = [*(MPIRUN + [str(ranks)] if ranks > 1 else []), linnet, "train", "--threads", "1", "--train", work / "train",
               "--dev", work / "dev", "--exp", exp, "--config", work / "config.json", "--batches"]
    before = time.monotonic()
    with open(work / "log", "w") as log:
        process = subprocess.Popen([str(x) for x in command], stderr=log)
    batches = exp / "batches.txt"
    while not (batches.exists() and batches.stat().st_size):
        if process.poll() is not None:
            raise SystemExit((work / "log").read_text())
        time.sleep(0.01)
    step = time.monotonic() - before
    seconds, megabytes = usage_of(exp)
    process.send_signal(signal.SIGTERM)
    process.wait()
    return seconds, megabytes, step


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("linnet")
    parser.add_argument("--utterances", type=int, default=300000)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--audio", action="store_true", help="recordings instead of features")
    parser.add_argument("--keep", type=Path, help="make or find the corpus in this folder, and leave it there")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = (args.keep or Path(temporary)).resolve()
        train = work / "train"
        if not train.exists():
            make_data(train, args.utterances, args.audio)
            make_dev(work / "dev", train, args.audio)
        (work / "config.json").write_text(CONFIG)
        listed = train / "utt2num_frames"
        print("ranks  start             CPU s  peak MB  s to the first step", flush=True)
        for ranks in args.ranks:
            for index in [*train.glob(".linnet-*"), listed]:
                index.unlink(missing_ok=True)
            for name in ("no index", "index") + (() if args.audio else ("utt2num_frames",)):
                if name == "utt2num_frames":
                    (train / "lengths").rename(listed)
                seconds, megabytes, step = start(args.linnet, work, ranks)
                print(f"{ranks:5}  {name:16} {seconds:6.1f}  {megabytes:7.0f}  {step:19.1f}", flush=True)
            if listed.exists():
                listed.rename(train / "lengths")


if __name__ == "__main__":
    main()
