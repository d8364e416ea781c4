"""A live service of three hosts that are network namespaces, so that a network between them can be cut."""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress

import pytest
from kit.live_ranks import ROOT, Ranks

HOSTS = 3
DOWN, SWALLOWED = "down", "swallowed"
"""How a host is cut off: its network is down, which it sees; or what it sends gets lost, and it sees nothing."""
HUB, SWITCH = "hub", "switch"


def _ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


@contextmanager
def skip_without_namespaces():
    """Skip the test where no network can be made."""
    if os.geteuid() != 0:
        pytest.skip("only root makes network namespaces")
    try:
        yield
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no network of namespaces can be made here: {getattr(error, 'stderr', error)}")


class Network:
    """Hosts 0, 1, …, each with an address, on one switch. Raises OSError or CalledProcessError where none can be."""

    def __init__(self, hosts):
        self._hosts = range(hosts)
        self._made = []
        self._cut = {}
        try:
            self._make(HUB)
            _ip("-n", self._name(HUB), "link", "add", SWITCH, "type", "bridge")
            _ip("-n", self._name(HUB), "link", "set", SWITCH, "up")
            for host in self._hosts:
                self._join(host)
        except BaseException:
            self.close()
            raise

    def _name(self, what):
        return f"dardis-{os.getpid()}-{what}"

    def _make(self, what):
        _ip("netns", "add", self._name(what))
        self._made.append(what)
        _ip("-n", self._name(what), "link", "set", "lo", "up")

    def _join(self, host):
        self._make(host)
        _ip(
            "-n", self._name(HUB), "link", "add", f"port{host}", "type", "veth", "peer", "name", "eth0",
            "netns", self._name(host),
        )  # fmt: skip
        _ip("-n", self._name(HUB), "link", "set", f"port{host}", "master", SWITCH, "up")
        _ip("-n", self._name(host), "address", "add", f"{self.address(host)}/24", "dev", "eth0")
        _ip("-n", self._name(host), "link", "set", "eth0", "up")

    def address(self, host):
        return f"10.0.0.{host + 1}"

    def within(self, host):
        """Words of a command that becomes a process on a host."""
        return ["nsenter", f"--net=/run/netns/{self._name(host)}"]

    def cut(self, host, how):
        """Cut a host off from all others."""
        assert host not in self._cut
        self._cut[host] = how
        if how == DOWN:
            _ip("-n", self._name(host), "link", "set", "eth0", "down")
        else:
            _ip("-n", self._name(HUB), "link", "set", f"port{host}", "nomaster")

    def heal(self):
        """Join all that were cut off."""
        while self._cut:
            host, how = self._cut.popitem()
            if how == DOWN:
                _ip("-n", self._name(host), "link", "set", "eth0", "up")
            else:
                _ip("-n", self._name(HUB), "link", "set", f"port{host}", "master", SWITCH)

    def processes(self, host):
        """All that run there."""
        told = subprocess.run(
            ["ip", "netns", "pids", self._name(host)], check=True, capture_output=True, text=True
        ).stdout
        return [int(word) for word in told.split()]

    def close(self):
        """End all that runs on the hosts, and the network."""
        for what in self._made:
            while left := self.processes(what):
                for process in left:
                    with suppress(ProcessLookupError):
                        os.kill(process, signal.SIGKILL)
                time.sleep(0.01)
            _ip("netns", "delete", self._name(what))
        self._made = []


class Partitioned(Ranks):
    """Three hosts on a network of their own, each with a rank; who dies is not started again."""

    def __init__(self, folder, network):
        super().__init__(folder)
        self.network, self.agents = network, []

    def start(self):
        meeting = self.ran.parent / "meeting"
        meeting.mkdir()
        paths = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
        ranks = []
        with (self.ran.parent / "service.err").open("ab") as said:
            for rank in range(HOSTS):
                words = [*self.network.within(rank), sys.executable, "-m", "kit.live_rank", str(rank), str(HOSTS)]
                words += [meeting, self.folder, self.platform, self.network.address(0)]
                ranks.append(
                    subprocess.Popen(
                        words, stdout=said, stderr=said, env=os.environ | self.environment | {"PYTHONPATH": paths}
                    )
                )
        self.service, *self.agents = ranks
        self.ready()
        return self

    def see(self):
        """See that all ranks live."""
        assert [rank.poll() for rank in (self.service, *self.agents)] == [None] * HOSTS, self.said()

    def end(self):
        self.network.heal()
        super().end()
        self.network.close()
        for agent in self.agents:
            agent.wait()
