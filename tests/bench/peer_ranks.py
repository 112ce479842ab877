"""Data-parallel training in PyTorch, as a peer of `linnet train` over MPI: DistributedDataParallel with gloo.

    peer_ranks.py --ranks RANKS --rank RANK --batches FILE [--interface lo] [--address 127.0.0.1] [--epochs 12]

One of RANKS processes of one thread, which share each batch. FILE has a line per batch with the frames of its utterances.
The network is that of recipes/english/conf/conv.json. ADDRESS is that of rank 0. Rank 0 prints one JSON object: milliseconds
of a step, the mean over the fastest epoch, with communication and without (no_sync), and the bytes that a rank sends in a
step, as the interface counts them.
"""

import argparse
import json
import os
import time
from pathlib import Path

import peer_torch
import torch
import torch.distributed as distributed
from torch.nn.parallel import DistributedDataParallel

CONFIG = peer_torch.PAPER | {"stack": 3, "layers": 6, "norm": "pre", "convolution": 15}


def sent_bytes(interface):
    with open("/proc/net/dev") as table:
        for line in table:
            name, _, fields = line.partition(":")
            if name.strip() == interface:
                return int(fields.split()[8])
    return 0


def fastest_epoch(step, batches, epochs, interface):
    """Seconds of a step and bytes that go through the interface in one, the means over an epoch."""
    times, before = [], sent_bytes(interface)
    for _ in range(epochs):
        distributed.barrier()
        started = time.perf_counter()
        for batch in batches:
            step(batch)
        times.append((time.perf_counter() - started) / len(batches))
    slowest = torch.tensor([min(times)], dtype=torch.float64)
    distributed.all_reduce(slowest, op=distributed.ReduceOp.MAX)
    return slowest.item(), (sent_bytes(interface) - before) / epochs / len(batches)


def train(args, batches, frames):
    reference = peer_torch.torch_model.make_encoder(CONFIG)
    network = DistributedDataParallel(peer_torch.Packed(CONFIG, reference), find_unused_parameters=False)
    network.packed = True
    optimizer = torch.optim.RAdam(network.parameters(), lr=1e-4, foreach=True)

    def step(batch):
        optimizer.zero_grad()
        peer_torch.packed_loss(network, batch).backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1)
        optimizer.step()

    def alone(batch):
        with network.no_sync():
            step(batch)

    fastest_epoch(step, batches, 1, args.interface)
    seconds, moved = fastest_epoch(step, batches, args.epochs, args.interface)
    computing, _ = fastest_epoch(alone, batches, args.epochs, args.interface)
    if args.rank == 0:
        shared = args.ranks if args.interface == "lo" else 1 # all ranks send through one interface
        print(json.dumps({"peer": f"PyTorch {torch.__version__} DDP gloo", "ranks": args.ranks, "frames": frames,
                          "parameters": sum(p.numel() for p in network.parameters()), "step_ms": seconds * 1e3,
                          "computing_ms": computing * 1e3, "sent_bytes": moved / shared}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--rank", type=int, required=True)
    parser.add_argument("--batches", type=Path, required=True)
    parser.add_argument("--interface", default="lo")
    parser.add_argument("--address", default="127.0.0.1")
    parser.add_argument("--epochs", type=int, default=12)
    args = parser.parse_args()
    os.environ |= {"MASTER_ADDR": args.address, "MASTER_PORT": "29871", "GLOO_SOCKET_IFNAME": args.interface}
    torch.set_num_threads(1)
    torch.manual_seed(1)
    distributed.init_process_group("gloo", rank=args.rank, world_size=args.ranks)
    lengths = [[int(n) for n in line.split()] for line in args.batches.read_text().splitlines()]
    train(args, [peer_torch.Batch(CONFIG, x[args.rank::args.ranks]) for x in lengths], sum(map(sum, lengths)) / len(lengths))
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
