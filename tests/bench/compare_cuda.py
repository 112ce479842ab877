"""Compares bench_cuda with PyTorch on the same device in turns: each round runs Linnet and then the peers. The result is
the median of the rounds' ratios, with the smallest and the largest.

    compare_cuda.py BUILD_FOLDER [--device cuda] [--limit 240] [--rounds 5] [--only training attention]
                    [--match 'linear bfloat16'] [--precision float32 tf32 bfloat16] [--plain]

BUILD_FOLDER is the build folder of the benchmarks; this script needs a Python with PyTorch. peer_cuda.py has the
variants of the peers. The first round runs all variants, those of torch.compile last. Then, if the remaining time is
too short for two more rounds, it drops variants that are slower than another one of the same case, the slowest first;
the list of dropped variants follows the table.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

import torch

import peer_cuda

GROUPS = [("training", "linear"), ("training", "softmax"), ("training", "blstm"), ("attention", "linear"),
          ("attention", "causal-linear"), ("attention", "softmax")]
TABLES = {"training": peer_cuda.VARIANTS, "attention": peer_cuda.ATTENTION}
KINDS = {"training": peer_cuda.Training, "attention": peer_cuda.Attention}
ROUNDS_WANTED = 2    # after the first
COMPILE_SECONDS = 30  # compiling begins only if this time remains


# ---- cases -----------------------------------------------------------------------------------------------

def case_of(line):
    """(work, network, precision, size): size is that of peer_cuda's step for a line of bench_cuda."""
    size = (line["length"], line["sequences"]) if line["work"] == "attention" else (line["frames"],)
    return line["work"], line["network"], line["precision"], size


def case_name(case):
    work, network, precision, size = case
    return f"{work} {network} {precision} {' x '.join(map(str, size))}"


class Ours:
    """bench_cuda, a process for each group and round."""

    def __init__(self, args, deadline):
        self.args, self.deadline = args, deadline

    def run(self, group):
        """{case: line of bench_cuda}"""
        work, network = group
        command = [self.args.build / "tests/bench_cuda", "--json", "--no-limits", "--device", self.args.device,
                   "--work", work, "--network", network, "--seconds", str(self.args.seconds)]
        if self.args.frames:
            command += ["--frames", str(self.args.frames)]
        lines = []
        for options in ([["--precision", p] for p in self.args.precision] if len(self.args.precision) < 3 else [[]]):
            lines += self.lines(group, command + options)
        return {case_of(line): line for line in lines if "wall" in line}

    def lines(self, group, command):
        left = max(1, self.deadline - time.monotonic())
        try:
            done = subprocess.run(command + ["--limit", str(left)], capture_output=True, text=True, timeout=left + 30)
        except subprocess.TimeoutExpired:
            print(f"bench_cuda {' '.join(group)}: no answer in {left + 30:.0f} s", file=sys.stderr)
            return []
        if done.returncode or done.stderr:
            print(f"bench_cuda {' '.join(group)}: {(done.stderr or done.stdout).strip()}", file=sys.stderr)
        return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


class Peers:
    """Calls of PyTorch, created at their first use."""

    def __init__(self, args):
        self.device, self.seconds = torch.device(args.device), args.seconds
        self.makers, self.calls, self.errors = {}, {}, {}

    def call(self, case, variant):
        work, network, precision, size = case
        maker = (work, network, precision, variant)
        if maker not in self.makers:
            self.makers[maker] = KINDS[work](network, variant, precision, self.device)
        if (case, variant) not in self.calls:
            self.calls[case, variant] = self.makers[maker].step(*size)
        return self.calls[case, variant]

    def measure(self, case, variant):
        """Returns the seconds of a call, or None if it does not work on this machine."""
        if (case, variant) in self.errors:
            return None
        try:
            call = self.call(case, variant)
            return peer_cuda.measure(call, self.device, self.seconds, case[0] == "attention")
        except Exception as problem:  # a variant may not work on this machine
            self.errors[case, variant] = f"{type(problem).__name__}: {str(problem).strip()}"[:160]
            self.calls.pop((case, variant), None)
            return None

    def memory(self, case, variant):
        """Returns the maximum bytes of the device that a call uses besides parameters, moments and batch."""
        if self.device.type != "cuda" or (case, variant) in self.errors:
            return 0
        before = torch.cuda.memory_allocated(self.device)
        torch.cuda.reset_peak_memory_stats(self.device)
        self.calls[case, variant]()
        peer_cuda.synchronize(self.device)
        return torch.cuda.max_memory_allocated(self.device) - before

    def release(self):
        if self.device.type == "cuda":
            torch.cuda.empty_cache()


# ---- rounds ----------------------------------------------------------------------------------------------

def is_compiled(variant):
    return variant.startswith("compiled")


class Comparison:
    def __init__(self, args):
        self.args, self.started = args, time.monotonic()
        self.deadline = self.started + args.limit
        self.ours, self.peers = Ours(args, self.deadline), Peers(args)
        self.times = defaultdict(dict)     # case: {variant or "ours": [seconds of each round, None if not run]}
        self.cost = {}                     # seconds that a group of ours, or a (case, variant), takes in a round
        self.lines, self.memory, self.dropped = {}, {}, []
        self.groups = [g for g in GROUPS if g[0] in args.only]

    def left(self):
        return self.deadline - time.monotonic()

    def timed(self, key, function, *arguments):
        start = time.monotonic()
        result = function(*arguments)
        self.cost[key] = time.monotonic() - start
        return result

    def run_ours(self, group, number):
        self.peers.release()
        found = self.timed(group, self.ours.run, group)
        for case, line in found.items():
            if self.args.match in case_name(case):
                self.lines[case] = line
                self.note(case, "ours", number, line["wall"])

    def note(self, case, variant, number, seconds):
        values = self.times[case].setdefault(variant, [])
        values += [None] * (number - len(values)) + [seconds]

    def run_peer(self, case, variant, number):
        seconds = self.timed((case, variant), self.peers.measure, case, variant)
        if seconds is not None:
            self.note(case, variant, number, seconds)

    def cases(self, group):
        return [case for case in self.lines if case[:2] == group]

    def first_round(self):
        for group in self.groups:
            if self.left() > 0:
                self.run_ours(group, 0)
            for case in self.cases(group):
                for variant in TABLES[group[0]][group[1]]:
                    if not is_compiled(variant):
                        self.try_first(case, variant, 0)
        if not self.args.plain:
            self.first_compiled()

    def first_compiled(self):
        """Runs one compiled variant of each case, then the second ones; reserves the time for a round of the others."""
        reserve = COMPILE_SECONDS + self.round_cost(lambda case: self.variants(case)[:1])
        named = [[(case, variant) for variant in TABLES[case[0]][case[1]] if is_compiled(variant)]
                 for case in self.lines]
        for rank in range(max(map(len, named), default=0)):
            for entries in named:
                if rank < len(entries):
                    self.try_first(*entries[rank], reserve)

    def try_first(self, case, variant, reserve):
        if self.left() <= reserve:
            self.dropped.append(f"{case_name(case)}, {variant}: the time is over")
            return
        self.run_peer(case, variant, 0)
        self.memory[case, variant] = self.peers.memory(case, variant)
        if variant in self.times[case]:  # later rounds neither make nor compile anything
            self.cost[case, variant] = self.args.seconds + 9 * self.times[case][variant][0]

    def variants(self, case):
        """Returns the variants that work, fastest first."""
        return sorted((v for v in self.times[case] if v != "ours"), key=lambda v: self.times[case][v][0])

    def round_cost(self, variants):
        peers = sum(self.cost[case, v] for case in self.lines for v in variants(case))
        return peers + sum(self.cost.get(group, 0) for group in self.groups)

    def drop_slow(self):
        """Drops variants that are not the fastest of their case, the slowest first, until there is time for two rounds."""
        slow = []
        for case in self.lines:
            times, found = self.times[case], self.variants(case)
            slow += [(times[v][0] / times[found[0]][0], case, v) for v in found[1:]]
        slow.sort(key=lambda entry: entry[0])
        while slow and ROUNDS_WANTED * self.round_cost(self.variants) > self.left():
            ratio, case, variant = slow.pop()
            seconds = self.times[case].pop(variant)[0]
            self.dropped.append(f"{case_name(case)}, {variant}: after one round, {seconds * 1e3:.2f} ms, "
                                f"{ratio:.2f} times the fastest")

    def later_round(self, number):
        """Runs another round; returns False if there was no time for all of it."""
        for group in self.groups:
            if self.left() < self.cost.get(group, 0):
                return False
            self.run_ours(group, number)
            for case in self.cases(group):
                for variant in self.variants(case):
                    if self.left() < self.cost[case, variant]:
                        return False
                    self.run_peer(case, variant, number)
        return True

    def run(self):
        self.first_round()
        self.drop_slow()
        for number in range(1, self.args.rounds):
            if not self.later_round(number):
                break


# ---- the table -------------------------------------------------------------------------------------------

HEADER = ["work", "network", "products", "size", "ours ms", "kframes/s", "kB/frame", "peer", "ms", "kB/frame", "ratio",
          "rounds", "others ms"]


def ratios(times, variant):
    return [p / o for o, p in zip(times["ours"], times[variant]) if o and p]


def median(values):
    return statistics.median(v for v in values if v is not None)


def kilobytes(count, frames):
    return f"{count / frames * 1e-3:.1f}" if count else ""


def cells(comparison, case):
    work, network, precision, size = case
    times, line = comparison.times[case], comparison.lines[case]
    frames = size[0] * size[1] if work == "attention" else size[0]
    ours = median(times["ours"])
    row = [work, network, precision, " x ".join(map(str, size)), f"{ours * 1e3:.3f}", f"{frames / ours * 1e-3:.0f}",
           kilobytes(line.get("memory", 0), frames)]
    found = sorted((v for v in comparison.variants(case) if ratios(times, v)), key=lambda v: median(times[v]))
    if not found:
        return row + [""] * 6
    best, values = found[0], ratios(times, found[0])
    others = ", ".join(f"{v} {median(times[v]) * 1e3:.3f}" for v in found[1:])
    return row + [best, f"{median(times[best]) * 1e3:.3f}", kilobytes(comparison.memory.get((case, best), 0), frames),
                  f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})", str(len(values)), others]


def print_table(comparison):
    table = [HEADER, ["---"] * len(HEADER)] + [cells(comparison, case) for case in comparison.lines]
    for line in table:
        print("| " + " | ".join(line) + " |")


def print_notes(comparison):
    for (case, variant), text in comparison.peers.errors.items():
        print(f"\nDoes not work on this machine: {case_name(case)}, {variant}: {text}")
    for text in comparison.dropped:
        print(f"\nDropped: {text}")


def device_name(device):
    device = torch.device(device)
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("--device", default="cuda", help="cuda, cuda:N or cpu")
    parser.add_argument("--limit", type=float, default=240, help="seconds for everything")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.2, help="seconds of measuring each case and side in each round")
    parser.add_argument("--frames", type=int, default=0, help="frames of a batch (default: 20000 to 200000)")
    parser.add_argument("--only", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--match", default="", help="only cases whose name contains this")
    parser.add_argument("--precision", nargs="+", choices=peer_cuda.PRECISIONS, default=list(peer_cuda.PRECISIONS))
    parser.add_argument("--plain", action="store_true", help="without compiled variants")
    return parser.parse_args()


def allow_recompiling():
    """Allows more compiled versions of a function: there is one for each network, precision and kind of batch."""
    import torch._dynamo.config as dynamo
    for name in ("recompile_limit", "cache_size_limit", "accumulated_recompile_limit", "accumulated_cache_size_limit"):
        if hasattr(dynamo, name):
            setattr(dynamo, name, 256)


def main():
    args = parse()
    if not args.plain:
        allow_recompiling()
    comparison = Comparison(args)
    comparison.run()
    if not comparison.lines:
        sys.exit("bench_cuda measured nothing")
    print(f"{device_name(args.device)}, PyTorch {torch.__version__}, {time.monotonic() - comparison.started:.0f} s. "
          f"Above 1 ours is faster; medians of rounds in turns.\n")
    print_table(comparison)
    print_notes(comparison)


if __name__ == "__main__":
    main()
