"""Training by several ranks on this machine: step time, bytes, and the share of time in communication.

    measure_ranks.py LINNET [--ranks 1 2] [--frames 4000] [--batches 2] [--epochs 12] [--peer PYTHON] [--computing SECONDS]
                     [--links BENCH_RANKS] [--network RATE]

Trains the network of recipes/english/conf/conv.json on synthetic features, with one thread per rank, by mpirun. Prints
one line per number of ranks. With --links, the program bench_ranks, it first measures latency and bandwidth with the
largest number of ranks, and then prints beside each step time what the model of the cost says. With --peer, a Python that
has PyTorch, peer_ranks.py trains on the same batches. With --network, such as 10gbit, two ranks are on hosts of their own,
which a link of this rate joins (two_hosts.py). Then prints the table of docs/scale.md: the model of the cost there with the
step time of one rank.
"""

import argparse
import contextlib
import json
import math
import random
import struct
import subprocess
import tempfile
from pathlib import Path

import numpy

from two_hosts import OneHost, two_hosts

MODEL = {"stack": 3, "layers": 6, "norm": "pre", "convolution": 15, "position": "none"}
NUM_MEL = 40
PHONES = [f"P{i}" for i in range(41)]
SHARDS = 8
# name, bytes per second and seconds of latency of a rank's link
LINKS = [("10 Gbit/s", 1.1e9, 30e-6), ("100 Gbit/s", 11e9, 5e-6), ("NVLink", 150e9, 5e-6)]


def make_data(folder, batches, frames):
    """Utterances of about 3.5 s that fill so many batches."""
    generator, numbers = random.Random(1), numpy.random.default_rng(1)
    folder.mkdir()
    total, u = 0, 0
    with open(folder / "feats.ark", "wb") as ark, open(folder / "feats.scp", "w") as scp, \
            open(folder / "phones", "w") as phones, open(folder / "utt2spk", "w") as speakers, \
            open(folder / "utt2num_frames", "w") as lengths:
        while total < batches * frames:
            rows, name = generator.randint(200, 500), f"utt-{u:05}"
            ark.write(f"{name} ".encode())
            print(f"{name} {folder}/feats.ark:{ark.tell()}", file=scp)
            ark.write(b"\0BFM " + struct.pack("<bibi", 4, rows, 4, NUM_MEL))
            ark.write(numbers.standard_normal((rows, NUM_MEL), dtype=numpy.float32).tobytes())
            print(name, *(generator.choice(PHONES) for _ in range(rows // 8)), file=phones)
            print(name, name, file=speakers)
            print(name, rows, file=lengths)
            total, u = total + rows, u + 1


def train(args, work, hosts, ranks):
    """The fastest epoch of log.jsonl: other programs on the machine disturb it least."""
    exp = work / f"exp-{ranks}"
    config = {"model": MODEL, "features": {"cmvn": "none", "num_mel": NUM_MEL},
              "training": {"epochs": args.epochs, "batch_frames": args.frames, "keep_models": 0, "shards": SHARDS,
                           "wire_precision": args.wire}}
    (work / "config.json").write_text(json.dumps(config))
    command = [*hosts.mpirun(ranks), args.linnet, "train", "--mpi", "on", "--threads", "1", "--batches", "--train", work / "train",
               "--dev", work / "dev", "--exp", exp, "--config", work / "config.json"]
    subprocess.run([str(x) for x in command], check=True, stderr=subprocess.DEVNULL)
    lines = [json.loads(x) for x in (exp / "log.jsonl").read_text().splitlines()]
    steps = lines[-1]["step"] // len(lines)
    best = min(lines[1:] or lines, key=lambda x: x["train_seconds"])
    return {"step": best["train_seconds"] / steps, "exchange": best.get("exchange_seconds", 0) / steps,
            "hidden": best.get("hidden_seconds", 0) / steps,
            "waiting": best.get("waiting_seconds", 0) / steps, "bytes": best.get("sent_bytes", 0) / steps}


BLOCK, MAX_BUCKETS = 8192, 8  # lib/train/division.h


def write_lengths(work, exp):
    """A line per batch of the first epoch, with the frames of its utterances, for the peer."""
    frames = dict(line.split() for line in (work / "train/utt2num_frames").read_text().splitlines())
    batches = [line.split() for line in (exp / "batches.txt").read_text().splitlines()]
    (work / "lengths").write_text("".join(" ".join(frames[u] for u in b[1:]) + "\n" for b in batches if b[0] == "1"))


def run_peer(args, work, hosts, ranks):
    processes = []
    for rank in range(ranks):
        prefix, interface, address = hosts.peer(rank)
        command = [*prefix, args.peer, Path(__file__).with_name("peer_ranks.py"), "--ranks", ranks, "--rank", rank, "--batches",
                   work / "lengths", "--interface", interface, "--address", address, "--epochs", args.epochs]
        processes.append(subprocess.Popen([str(x) for x in command]))
    if any([p.wait() for p in processes]):
        raise SystemExit("the peer failed")


def measure_links(program, linnet, hosts, ranks):
    """Prints the times of operations; seconds and bytes per second of a link."""
    module = Path(linnet).resolve().parent.parent / "lib/linnet/linnet-mpi.so"
    output = subprocess.run([*hosts.mpirun(ranks), str(Path(program).resolve()), str(module)], check=True,
                            stdout=subprocess.PIPE, text=True)
    print(output.stdout, end="", flush=True)
    _, latency, _, bandwidth = output.stdout.splitlines()[-1].split()
    return float(latency), float(bandwidth)


def largest_part(blocks, buckets, ranks):
    """The most parameters that a rank has: whole blocks of each bucket (lib/train/division.c)."""
    def first(bucket, rank):
        begin, end = (blocks * b // buckets for b in (bucket, bucket + 1))
        return begin + (end - begin) * rank // ranks
    return BLOCK * max(sum(first(k, r + 1) - first(k, r) for k in range(buckets)) for r in range(ranks))


def predict(computing, parameters, ranks, bandwidth, latency, shards=1, gpu=False):
    """Seconds of a step whose batch has the work of `ranks` batches of one rank. See docs/scale.md."""
    blocks = math.ceil(parameters / BLOCK)
    buckets = 1 if gpu else max(1, min(MAX_BUCKETS, blocks // (2 * ranks)))
    part = 4 * largest_part(blocks, buckets, ranks) * (ranks - 1) / bandwidth + buckets * (ranks - 1) * latency
    hidden = min(part * (buckets - 1) / buckets, 2 / 3 * computing / shards)
    return computing + 2 * part - hidden + 6 * math.log2(ranks) * latency


def print_table(computing, parameters, gpu):
    print(f"\n| link | {' | '.join(f'{n} ranks' for n in (8, 64, 512))} |\n|---|---|---|---|")
    for name, bandwidth, latency in LINKS:
        shares = (100 * computing / predict(computing, parameters, n, bandwidth, latency, gpu=gpu) for n in (8, 64, 512))
        print(f"| {name} | {' | '.join(f'{x:.0f} %' for x in shares)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("linnet")
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--frames", type=int, default=4000)
    parser.add_argument("--batches", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--wire", default="float32", choices=["float32", "bfloat16"])
    parser.add_argument("--peer")
    parser.add_argument("--links", metavar="BENCH_RANKS")
    parser.add_argument("--network", metavar="RATE")
    parser.add_argument("--computing", type=float, help="seconds of a step for the table, in place of the measured one")
    parser.add_argument("--gpu", action="store_true", help="the table for ranks on GPUs, which hide no transfers")
    args = parser.parse_args()
    if args.network and max(args.ranks) > 2:
        parser.error("--network has two hosts, so --ranks can be 1 and 2")
    args.linnet = Path(args.linnet).resolve()
    with tempfile.TemporaryDirectory() as folder, \
            two_hosts(args.network) if args.network else contextlib.nullcontext(OneHost()) as hosts:
        work, computing = Path(folder), None
        make_data(work / "train", args.batches, args.frames)
        make_data(work / "dev", 1, 1000)
        link = measure_links(args.links, args.linnet, hosts, max(args.ranks)) if args.links and max(args.ranks) > 1 else None
        for ranks in args.ranks:
            r = train(args, work, hosts, ranks)
            computing = computing or r["step"]
            print(f"{ranks} ranks: {r['step'] * 1e3:.1f} ms a step, {r['exchange'] * 1e3:.2f} ms in transfers, "
                  f"{r['hidden'] * 1e3:.2f} ms of them hidden, {r['waiting'] * 1e3:.2f} ms waiting, "
                  f"{r['bytes'] / 1e6:.2f} MB sent by a rank", flush=True)
            if link and ranks > 1 and args.ranks[0] == 1:
                step = predict(computing / ranks, 3.39e6, ranks, link[1], link[0], SHARDS // ranks)
                print(f"  the model says {step * 1e3:.1f} ms, with {computing / ranks * 1e3:.1f} ms of computing", flush=True)
        write_lengths(work, work / f"exp-{args.ranks[0]}")
        for ranks in args.ranks if args.peer else []:
            run_peer(args, work, hosts, ranks)
    print_table(args.computing or computing, 3.39e6, args.gpu)


if __name__ == "__main__":
    main()
