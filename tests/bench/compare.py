"""Linnet against PyTorch, in turns: each round runs ours, the peer as installed and the peer tuned, one after the other,
and what counts is the median of the rounds' ratios.

    compare.py BUILD_FOLDER [--python PYTHON] [--quick] [--only encoder training ctc] [--threads 1 2] [--markdown]

BUILD_FOLDER is where CMake built the benchmarks. PYTHON has PyTorch (tests/golden/requirements.txt), and better also
pytorch-fast-transformers (see README.md here). "Tuned" is the fastest float32 variant of peer_torch.py, with MKL told
to use what the processor has: a first short look chooses it per work and number of threads.
"""

import argparse
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
# MKL runs its slow path on processors that are not Intel's unless this function says otherwise.
MKL_SHIM = "int mkl_serv_intel_cpu_true(void) { return 1; }\n"
STOCK = {"encoder": "authors", "training": "authors", "ctc": "eager"}
TUNED = {"encoder": ["authors", "eager", "jit", "compiled"], "training": ["padded", "packed", "one-by-one", "compiled"],
         "ctc": ["eager"]}
WORK = {"encoder": [{"network": n} for n in ("paper", "stack3-conv")],
        "training": [{"network": "paper", "set": "4000x3.5s"}, {"network": "paper", "set": "12000x8s"},
                     {"network": "stack3-conv", "set": "12000x3.5s"}],
        "ctc": [{"set": s} for s in ("B1V42", "B16V42", "B1V5000", "B16V5000")]}
QUICK = {"encoder": WORK["encoder"][:1], "training": WORK["training"][:1], "ctc": WORK["ctc"][:1]}
SECONDS = {"encoder": 0.5, "training": 1.0, "ctc": 0.3}  # of each side in each round


# ---- the sides -------------------------------------------------------------------------------------------

class Peer:
    """A process of peer_torch.py that answers requests; it waits, idle, in between."""

    def __init__(self, python, threads, preload):
        environment = dict(os.environ, OMP_NUM_THREADS=str(threads))
        if preload:
            environment["LD_PRELOAD"] = preload
        self.process = subprocess.Popen([python, HERE / "peer_torch.py", "--serve", "--threads", str(threads)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        text=True, env=environment)

    def ask(self, **request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        return json.loads(line) if line else {"error": "the peer's process ended"}

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def ours_ctc(build, case):
    """bench_ctc measures all its batches in CPU time of its only thread: lines such as "avx512  B=16 V=42  5.1 ms"."""
    batch, symbols = re.fullmatch(r"B(\d+)V(\d+)", case["set"]).groups()
    pattern = rf"^\S+ +B={batch} +V={symbols} +([\d.]+) ms"
    seconds = float(re.search(pattern, run(build / "tests/bench_ctc"), re.MULTILINE).group(1)) * 1e-3
    return {"wall": seconds, "cpu": seconds}


def ours(build, work, case, threads, seconds):
    """One short run of our benchmark."""
    if work == "ctc":
        return ours_ctc(build, case)
    options = [word for key, value in case.items() for word in (f"--{key}", value)]
    line = run(build / f"tests/bench_{work}", "--json", "--seconds", str(seconds), "--threads", str(threads), *options)
    return json.loads(line)


def build_shim(folder):
    """The path of a library that makes MKL use its best kernels; None without a compiler."""
    source, library = Path(folder) / "mkl_shim.c", Path(folder) / "mkl_shim.so"
    source.write_text(MKL_SHIM)
    try:
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return str(library)


# ---- a comparison ----------------------------------------------------------------------------------------

def choose_tuned(peers, work, case, quick):
    """The fastest (peer, variant) of all, by CPU time: other programs on the machine do not disturb that."""
    best = None
    for name, peer in peers.items():
        for variant in TUNED[work]:
            if quick and variant == "compiled":
                continue
            reply = peer.ask(work=work, variant=variant, seconds=SECONDS[work] / 2, **case)
            if "error" in reply:
                print(f"  {work} {name} {variant}: {reply['error']}", file=sys.stderr)
                continue
            print(f"  {work} {' '.join(case.values())} {name} {variant}: CPU {reply['cpu'] * 1e3:.2f} ms",
                  file=sys.stderr)
            if best is None or reply["cpu"] < best[0]:
                best = (reply["cpu"], name, variant)
    return best[1:]


def compare(args, peers, work, case, threads):
    name, variant = choose_tuned(peers, work, case, args.quick)
    rounds = []
    for _ in range(3 if args.quick else args.rounds):
        seconds = SECONDS[work]
        mine = ours(args.build, work, case, threads, seconds)
        stock = peers["stock"].ask(work=work, variant=STOCK[work], seconds=seconds, **case)
        tuned = peers[name].ask(work=work, variant=variant, seconds=seconds, **case)
        rounds.append((mine, stock, tuned))
    clock = args.clock

    def middle(side, key=clock):
        return statistics.median(r[side][key] for r in rounds)

    def ratio(side):
        return statistics.median(r[side][clock] / r[0][clock] for r in rounds)

    share = middle(0, "share") if "share" in rounds[0][0] else None
    return {"work": " ".join([work, *case.values()]), "threads": threads, "ours": middle(0), "stock": middle(1),
            "tuned": middle(2), "stock_ratio": ratio(1), "tuned_ratio": ratio(2), "share": share,
            "variant": f"{variant}{', MKL shim' if name == 'shim' else ''}", "rounds": len(rounds)}


# ---- the table -------------------------------------------------------------------------------------------

HEADER = ["work", "threads", "ours ms", "peer ms", "ratio", "tuned ms", "ratio", "share of peak", "tuned is"]


def cells(row):
    return [row["work"], str(row["threads"]), f"{row['ours'] * 1e3:.2f}", f"{row['stock'] * 1e3:.2f}",
            f"{row['stock_ratio']:.2f}", f"{row['tuned'] * 1e3:.2f}", f"{row['tuned_ratio']:.2f}",
            f"{row['share'] * 100:.0f} %" if row["share"] else "", row["variant"]]


def print_table(rows, markdown):
    table = [HEADER] + [cells(row) for row in rows]
    widths = [max(len(line[i]) for line in table) for i in range(len(HEADER))]
    for number, line in enumerate(table):
        padded = [x.ljust(w) if i in (0, 8) else x.rjust(w) for i, (x, w) in enumerate(zip(line, widths))]
        print("| " + " | ".join(padded) + " |" if markdown else "  ".join(padded))
        if markdown and number == 0:
            print("|" + "|".join("-" * (w + 2) for w in widths) + "|")


def processor():
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.machine()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--quick", action="store_true", help="one case of each work, three rounds, nothing compiled")
    parser.add_argument("--only", nargs="+", choices=WORK, default=list(WORK))
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--clock", choices=["cpu", "wall"], default="wall",
                        help="wall (default); cpu on a machine that others use, for one thread")
    parser.add_argument("--markdown", action="store_true")
    args = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        shim = build_shim(folder)
        for threads in args.threads:
            peers = {"stock": Peer(args.python, threads, None)}
            if shim:
                peers["shim"] = Peer(args.python, threads, shim)
            for work in args.only:
                if work == "ctc" and threads > 1:  # ours runs one sequence on one thread; threads take different ones
                    continue
                for case in (QUICK if args.quick else WORK)[work]:
                    rows.append(compare(args, peers, work, case, threads))
            for peer in peers.values():
                peer.close()
    print(f"{processor()}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}; {args.clock} time, medians of "
          f"{rows[0]['rounds']} rounds" if rows else "nothing")
    print_table(rows, args.markdown)


if __name__ == "__main__":
    main()
