"""`launch/serve --hosts` over what stands in for ssh: hosts of names, boot ids, disks and networks of their own."""

import os
import shlex
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest
from kit.host_environments import Worlds
from kit.live_partitions import Network
from kit.live_ranks import ROOT, Ranks
from kit.waiting import until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (ROOT / ".venv" / "bin" / "mpirun").exists(), reason="needs mpirun in .venv"),
]
HOSTS = ("ha", "hb", "hc")
SSH = """#!/usr/bin/env bash
while [[ $1 == -* ]]; do shift; done
host=$1
shift
echo "$host $*" >> {folder}/ssh.log
case $host in
{cases}
esac
"""
"""A host knows nothing of the environment of whoever comes to it."""


class OverSsh(Ranks):
    """The service of three such hosts, begun on the first one."""

    program = ROOT / "launch" / "serve", "--hosts", ",".join(HOSTS)

    def __init__(self, folder, network):
        super().__init__(folder)
        self.network = network
        self.worlds = Worlds(folder, {name: network.address(host) for host, name in enumerate(HOSTS)})
        ssh = folder / "ssh"
        bare = ["env", "-i", "HOME=/root", "PATH=/usr/bin:/bin", f"PYTHONPATH={ROOT}"]
        cases = [f'{name}) exec {shlex.join([*bare, *self.within(name)])} sh -c "$*" ;;' for name in HOSTS]
        ssh.write_text(SSH.format(folder=folder, cases="\n".join(cases)))
        ssh.chmod(0o755)
        self.environment = self.environment | {"PRTE_MCA_plm_ssh_agent": str(ssh)}

    def within(self, name):
        """Words of a command that becomes a process of a host."""
        return [*self.network.within(HOSTS.index(name)), *self.worlds.within(name)]

    def start(self):
        self.folder = self.place = self.worlds.place / "s"  # as they have it
        super().start(wait=False, under=self.within(HOSTS[0]))
        self.folder = self.worlds.disk(HOSTS[0]) / "s"
        self.ready()
        return self


@pytest.fixture
def live():
    if os.geteuid() != 0:
        pytest.skip("only root makes networks")
    try:
        network = Network(len(HOSTS))
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no networks can be made here: {error}")
    with tempfile.TemporaryDirectory(prefix="ssh-", dir="/tmp") as folder:  # a socket's path must be short
        live = OverSsh(Path(folder), network)
        try:
            if why := live.worlds.hindrance(HOSTS[0]):
                pytest.skip(why)
            yield live.start()
        finally:
            if live.service is not None:
                live.end()
            network.close()


def test_lost_host_is_restarted_over_ssh(live):
    by = live.ran.with_suffix(".by")
    array = "0-5"
    numbers = live.submit(f"hostname >> {by}; echo $DARDIS_JOB_ID >> $RAN; sleep 6", cpus=4, array=array)
    until(lambda: by.exists() and sorted(by.read_text().split()) == sorted([*HOSTS, *HOSTS]))
    lines = (live.worlds.folder / "ssh.log").read_text().splitlines()
    assert sorted(line.split()[0] for line in lines if not line.endswith(" true")) == ["hb", "hc"]  # asked who is there
    epoch, ranks = live.client.get("/status")["epoch"], live.ranks()
    daemon = next(
        process for process in live.network.processes(1)
        if b"prted" in Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")[0]
    )  # fmt: skip
    os.kill(daemon, signal.SIGKILL)
    until(lambda: not set(ranks.values()) & set(live.ranks().values()))
    live.ready()
    assert live.client.get("/status")["epoch"] == epoch + 1
    assert {live.ended(number)["state"] for number in numbers} == {"completed"}
    assert live.lines() == dict.fromkeys(numbers, 1)
    live.client.post("/stop")
    assert live.service.wait(30) == 0
