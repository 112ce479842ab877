"""Compares Linnet with PyTorch in turns: each round runs Linnet and then the peers. The result is the median of the rounds'
ratios, with the smallest and the largest.

    compare.py BUILD_FOLDER [--python PYTHON] [--quick] [--plain] [--only encoder training ctc attention] [--threads 1 2]
               [--precision float32|bfloat16|int8] [--markdown]

BUILD_FOLDER is the build folder of the benchmarks. PYTHON has PyTorch (tests/golden/requirements.txt), and preferably also
pytorch-fast-transformers (see README.md here). With bfloat16 or int8, Linnet's products have such operands, and each
variant of the peers runs in bfloat16 (torch.autocast) and in float32, and with int8 also after quantize_dynamic.
The peers:

    stock     the authors' algorithm on PyTorch as installed
    tuned     the fastest of peer_torch.py's variants in plain PyTorch, with MKL as installed or forced to use all
              instructions of the processor
    compiled  the fastest of all, including packed weights (TorchScript) and torch.compile, without the time for
              compiling

A short first run chooses them for each work and number of threads.
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
STOCK = {"encoder": "authors", "training": "authors", "ctc": "eager", "attention": "sdpa"}
TUNED = {"encoder": ["authors", "eager"], "training": ["authors", "padded", "packed", "one-by-one"], "ctc": ["eager"],
         "attention": ["sdpa"]}
COMPILED = {"encoder": ["jit", "compiled"], "training": ["compiled"], "ctc": [], "attention": []}
WORK = {"encoder": [{"network": n} for n in ("paper", "stack3-conv", "blstm")],
        "training": [{"network": "paper", "set": "4000x3.5s"}, {"network": "paper", "set": "12000x8s"},
                     {"network": "stack3-conv", "set": "12000x3.5s"},
                     {"network": "blstm", "set": "4000x3.5s"}, {"network": "blstm", "set": "12000x8s"}],
        "ctc": [{"set": s} for s in ("B1V42", "B16V42", "B1V5000", "B16V5000")],
        "attention": [{"set": f"{kind}-{part}-{frames}x{shape}"} for kind in ("softmax", "causal-softmax")
                      for part in ("forward", "both") for shape in ("6x32", "8x64") for frames in (512, 2048, 8192)]}
QUICK = {"encoder": WORK["encoder"][:1], "training": WORK["training"][:1], "ctc": WORK["ctc"][:1],
         "attention": WORK["attention"][:1]}
REDUCED = ("encoder", "training")  # works that products of less than float32 change
PRECISIONS = ("float32", "bfloat16", "int8")  # the last for recognition only
SECONDS = {"encoder": 0.5, "training": 1.0, "ctc": 0.3, "attention": 0.3}  # of each side in each round


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


def reduced_kernels(precision):
    """The fastest kernels of this processor with such products."""
    if precision == "bfloat16":
        return "avx512-bf16"
    flags = Path("/proc/cpuinfo").read_text().split()
    kernels = {"avx512_vnni": "avx512-vnni", "avx_vnni": "avxvnni", "avx2": "avx2-int8", "asimddp": "dotprod"}
    found = [name for flag, name in kernels.items() if flag in flags]  # best first
    return found[0] if found else sys.exit("this processor has no products of 8-bit integers")


def ours(build, work, case, threads, precision, seconds):
    """Runs Linnet's benchmark for a short time."""
    if work == "ctc":
        return ours_ctc(build, case)
    options = [word for key, value in case.items() for word in (f"--{key}", value)]
    if precision != "float32" and work in REDUCED:
        options += ["--kernels", reduced_kernels(precision)]
    line = run(build / f"tests/bench_{work}", "--json", "--seconds", str(seconds), "--threads", str(threads), *options)
    return json.loads(line)


def build_shim(folder):
    """Returns the path of a library that makes MKL use its best kernels; None without a compiler."""
    source, library = Path(folder) / "mkl_shim.c", Path(folder) / "mkl_shim.so"
    source.write_text(MKL_SHIM)
    try:
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return str(library)


# ---- a comparison ----------------------------------------------------------------------------------------

def look(peers, work, case, clock, variants):
    """Returns the times of all (peer, variant) that work on this machine, fastest first."""
    found = []
    for variant in variants:
        for name, peer in peers.items():
            reply = peer.ask(work=work, variant=variant, seconds=SECONDS[work] / 2, **case)
            what = f"{' '.join([work, *case.values()])}, {variant}, {name}"
            if "error" in reply:
                print(f"{what}: {reply['error']}", file=sys.stderr)
                continue
            print(f"{what}: {reply[clock] * 1e3:.2f} ms", file=sys.stderr)
            found.append((reply[clock], name, variant))
    return sorted(found)


def choose(args, peers, work, case):
    """{side: (peer, variant)}; "compiled" only where it is faster than "tuned"."""
    endings = ["", "-bfloat16"] if args.precision != "float32" and work in REDUCED else [""]
    variants = [v + ending for v in TUNED[work] for ending in endings]
    if args.precision == "int8" and work == "encoder":
        variants.append("int8")
    plain = look(peers, work, case, args.clock, variants)
    sides = {"stock": ("stock", STOCK[work]), "tuned": plain[0][1:]}
    if not args.quick and not args.plain:
        best = sorted(plain + look(peers, work, case, args.clock, [v + ending for v in COMPILED[work] for ending in endings]))[0]
        sides["compiled"] = best[1:]
    return sides


def compare(args, peers, work, case, threads):
    sides = choose(args, peers, work, case)
    rounds = []
    for _ in range(3 if args.quick else args.rounds):
        one = {"ours": ours(args.build, work, case, threads, args.precision, SECONDS[work])}
        for side, (name, variant) in sides.items():
            if sides[side] == sides["tuned"] and side == "compiled":
                one[side] = one["tuned"]
            else:
                one[side] = peers[name].ask(work=work, variant=variant, seconds=SECONDS[work], **case)
        rounds.append(one)
    shares = [one["ours"]["share"] for one in rounds if "share" in one["ours"]]
    row = {"work": " ".join([work, *case.values()]), "threads": threads, "rounds": len(rounds),
           "share": statistics.median(shares) if shares else None,
           "ours": statistics.median(one["ours"][args.clock] for one in rounds)}
    for side, (name, variant) in sides.items():
        ratios = [one[side][args.clock] / one["ours"][args.clock] for one in rounds]
        row[side] = {"seconds": statistics.median(one[side][args.clock] for one in rounds), "ratios": ratios,
                     "what": variant + (", MKL forced" if name == "forced" else "")}
    return row


# ---- the table -------------------------------------------------------------------------------------------

HEADER = ["work", "threads", "ours ms", "of peak", "stock ms", "ratio", "tuned ms", "ratio", "is", "compiled ms",
          "ratio", "is"]
LEFT = (0, 8, 11)


def ratio_text(ratios):
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def cells(row):
    line = [row["work"], str(row["threads"]), f"{row['ours'] * 1e3:.2f}",
            f"{row['share'] * 100:.0f} %" if row["share"] else ""]
    for side in ("stock", "tuned", "compiled"):
        peer = row.get(side)
        line += [f"{peer['seconds'] * 1e3:.2f}", ratio_text(peer["ratios"])] if peer else ["", ""]
        if side != "stock":
            line.append(peer["what"] if peer else "")
    return line


def print_table(rows, markdown):
    table = [HEADER] + [cells(row) for row in rows]
    widths = [max(len(line[i]) for line in table) for i in range(len(HEADER))]
    for number, line in enumerate(table):
        padded = [x.ljust(w) if i in LEFT else x.rjust(w) for i, (x, w) in enumerate(zip(line, widths))]
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
    parser.add_argument("--plain", action="store_true", help="all cases, nothing compiled")
    parser.add_argument("--only", nargs="+", choices=WORK, default=list(WORK))
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--match", default="", help="only cases whose name contains this, such as 'paper 4000x3.5s'")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--clock", choices=["cpu", "wall"], default="wall",
                        help="wall (default); cpu for one thread on a machine with other load")
    parser.add_argument("--precision", choices=PRECISIONS, default="float32")
    parser.add_argument("--markdown", action="store_true")
    args = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        shim = build_shim(folder)
        for threads in args.threads:
            peers = {"stock": Peer(args.python, threads, None)}
            if shim:
                peers["forced"] = Peer(args.python, threads, shim)
            for work in args.only:
                if work in ("ctc", "attention") and threads > 1:  # an op runs on one thread; threads take different ones
                    continue
                for case in (QUICK if args.quick else WORK)[work]:
                    if args.match not in " ".join([work, *case.values()]):
                        continue
                    rows.append(compare(args, peers, work, case, threads))
            for peer in peers.values():
                peer.close()
    print(f"{processor()}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}; {args.clock} time, medians of "
          f"{rows[0]['rounds']} rounds" if rows else "nothing")
    print_table(rows, args.markdown)


if __name__ == "__main__":
    main()
