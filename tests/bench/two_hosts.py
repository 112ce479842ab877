"""Two hosts on this machine, in network namespaces that a link of limited rate joins. Needs root, ip and tc."""

import contextlib
import os
import subprocess
import tempfile
from pathlib import Path

HOSTS = {"linnet-a": "10.77.0.1", "linnet-b": "10.77.0.2"}


def run(command):
    subprocess.run(command.split(), check=True)


def inside(host):
    """The beginning of a command that runs on a host."""
    return ["ip", "netns", "exec", host, "unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"', host]


class TwoHosts:
    """Starts one rank on each host."""

    def __init__(self, agent):
        self.agent = agent

    def mpirun(self, ranks):
        """The beginning of a command that starts an MPI job."""
        if ranks == 1:
            return inside("linnet-a")
        options = {"plm_rsh_agent": self.agent, "btl": "tcp,self", "btl_tcp_if_include": "10.77.0.0/24",
                   "oob_tcp_if_include": "10.77.0.0/24"}
        return inside("linnet-a") + ["mpirun", "--allow-run-as-root", "--bind-to", "none", "--host", ",".join(HOSTS.values()),
                                     "--map-by", "ppr:1:node"] + [x for o in options.items() for x in ("--mca", *o)] + [
                                         "-n", str(ranks)]

    def peer(self, rank):
        """The beginning of a command that starts a rank by itself, and the names of its interface and of the first host."""
        host = list(HOSTS)[rank]
        return inside(host), host, HOSTS["linnet-a"]


class OneHost:
    """Starts all ranks here: MPI then uses shared memory."""

    def mpirun(self, ranks):
        return ["mpirun", "--oversubscribe", "--allow-run-as-root", "--bind-to", "none", "-n", str(ranks)]

    def peer(self, rank):
        return [], "lo", "127.0.0.1"


@contextlib.contextmanager
def two_hosts(rate):
    """rate: as tc writes it, such as 10gbit"""
    with tempfile.TemporaryDirectory() as folder:
        agent = Path(folder) / "agent" # in the place of ssh: HOST COMMAND...
        names = " ".join(f"{address}) host={host} ;;" for host, address in HOSTS.items())
        agent.write_text(f'#!/bin/bash\ncase $1 in {names} esac\nshift\n'
                         'exec ip netns exec $host unshare --uts sh -c "hostname $host; $*"\n')
        agent.chmod(0o755)
        try:
            for host in HOSTS:
                run(f"ip netns add {host}")
            run("ip link add linnet-a type veth peer name linnet-b")
            for host, address in HOSTS.items():
                run(f"ip link set {host} netns {host}")
                run(f"ip -n {host} address add {address}/24 dev {host}")
                run(f"ip -n {host} link set {host} up")
                run(f"ip -n {host} link set lo up")
                run(f"tc -n {host} qdisc add dev {host} root tbf rate {rate} burst 128kb latency 100ms")
            yield TwoHosts(os.fspath(agent))
        finally:
            for host in HOSTS:
                subprocess.run(["ip", "netns", "delete", host], stderr=subprocess.DEVNULL, check=False)
