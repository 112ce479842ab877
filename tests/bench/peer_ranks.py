"""Data-parallel training in PyTorch, as a peer of `linnet train` over MPI: DistributedDataParallel with gloo.

    peer_ranks.py RANKS [--frames 4000] [--steps 10]

Starts RANKS processes of one thread on this machine, which share each batch. The network is that of
recipes/english/conf/conv.json. Prints one JSON object: milliseconds of the fastest step, of the slowest rank,
milliseconds without communication (no_sync), and bytes through the loopback interface per step and rank.
"""

import argparse
import json
import os
import time

import peer_torch
import torch
import torch.distributed as distributed
import torch.multiprocessing as processes
from torch.nn.parallel import DistributedDataParallel

CONFIG = peer_torch.PAPER | {"stack": 3, "layers": 6, "norm": "pre", "convolution": 15}


def loopback_bytes():
    with open("/proc/net/dev") as table:
        for line in table:
            name, _, fields = line.partition(":")
            if name.strip() == "lo":
                return int(fields.split()[0])
    return 0


def fastest_step(step, count):
    times, before = [], loopback_bytes()
    for _ in range(count):
        distributed.barrier()
        started = time.perf_counter()
        step()
        times.append(time.perf_counter() - started)
    slowest = torch.tensor([min(times)], dtype=torch.float64)
    distributed.all_reduce(slowest, op=distributed.ReduceOp.MAX)
    return slowest.item(), (loopback_bytes() - before) / count


def run(rank, ranks, frames, steps):
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29871", "GLOO_SOCKET_IFNAME": "lo"}
    distributed.init_process_group("gloo", rank=rank, world_size=ranks)
    torch.set_num_threads(1)
    torch.manual_seed(1)
    lengths = peer_torch.utterance_lengths(frames, 350)
    batch = peer_torch.Batch(CONFIG, lengths[rank::ranks])
    reference = peer_torch.torch_model.make_encoder(CONFIG)
    network = DistributedDataParallel(peer_torch.Packed(CONFIG, reference), find_unused_parameters=False)
    network.packed = True
    optimizer = torch.optim.RAdam(network.parameters(), lr=1e-4, foreach=True)

    def step():
        optimizer.zero_grad()
        peer_torch.packed_loss(network, batch).backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1)
        optimizer.step()

    def alone():
        with network.no_sync():
            step()

    fastest_step(step, 2)
    seconds, moved = fastest_step(step, steps)
    computing, _ = fastest_step(alone, steps)
    if rank == 0:
        parameters = sum(p.numel() for p in network.parameters())
        print(json.dumps({"peer": f"PyTorch {torch.__version__} DDP gloo", "ranks": ranks, "frames": sum(lengths),
                          "parameters": parameters, "step_ms": seconds * 1e3, "computing_ms": computing * 1e3,
                          "sent_bytes": moved / ranks}), flush=True)
    distributed.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ranks", type=int)
    parser.add_argument("--frames", type=int, default=4000)
    parser.add_argument("--steps", type=int, default=10)
    args = parser.parse_args()
    processes.spawn(run, (args.ranks, args.frames, args.steps), nprocs=args.ranks)


if __name__ == "__main__":
    main()
