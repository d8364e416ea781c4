"""A live service that switches hosts off and on: each host is a network namespace, off when its network is down."""

import subprocess
from collections import Counter

import pytest
from kit.live_partitions import Network, Partitioned, skip_without_namespaces
from kit.waiting import until

PLATFORM = 'name = "m"\n[[nodes]]\ncount = 3\nprefix = "n"\nresources = { cores = 4 }\npower = { idle_w = 100 }\n'
IDLE_S, LIMIT_S = 2, 40
WORKS = 'for node in $(echo "$1" | tr , " "); do ip -n {prefix}${{node#n}} link set eth0 {state} || exit 1; done'
LIES = "exit 0"
FAILS = "echo no such switch >&2; exit 7"
HANGS = "sleep 600"


class Switched(Partitioned):
    """Its nodes are hosts, and its programs take their networks down and up."""

    def __init__(self, folder, network):
        super().__init__(folder, network)
        self.platform.write_text(PLATFORM)
        self.off, self.on = folder / "off", folder / "on"
        self.write(self.off, self.works("down"))
        self.write(self.on, self.works("up"))
        self.environment = {
            "OFF_PROGRAM": str(self.off), "ON_PROGRAM": str(self.on), "IDLE_S": str(IDLE_S), "LIMIT_S": str(LIMIT_S),
        }  # fmt: skip

    def works(self, state):
        return WORKS.format(prefix=self.network._name(""), state=state)

    def write(self, path, body):
        new = path.with_suffix(".new")
        new.write_text(f"#!/bin/sh\n{body}\n")
        new.chmod(0o755)
        new.rename(path)

    def states(self):
        return {node["name"]: node["state"] for node in self.client.get("/nodes")["nodes"]}

    def become(self, **states):
        until(lambda: self.states() == states, lambda: f"{self.states()} {self.said()}", patience_s=120)


@pytest.fixture
def live(tmp_path):
    with skip_without_namespaces():
        network = Network(3)
    live = Switched(tmp_path, network)
    try:
        yield live.start()
    finally:
        for host in range(3):  # what the programs took down
            subprocess.run(["ip", "-n", network._name(host), "link", "set", "eth0", "up"], check=False)
        live.end()


@pytest.mark.slow
def test_idle_hosts_go_off_and_come_back_for_jobs(live):
    live.become(n0="up", n1="off", n2="off")
    numbers = live.submit(nodes=2, exclusive=True)
    assert live.ended(numbers[0], seconds=100)["state"] == "completed"
    live.become(n0="up", n1="off", n2="off")
    assert live.lines() == Counter(numbers)
    live.see()


@pytest.mark.slow
@pytest.mark.parametrize(("body", "why"), [(LIES, "it did not return"), (FAILS, "no such switch"), (HANGS, " 40 s")])
def test_host_that_does_not_return_is_down_and_its_jobs_start_elsewhere(live, body, why):
    live.become(n0="up", n1="off", n2="off")
    live.write(live.on, f'case "$1" in n1*) {body} ;; esac\n{live.works("up")}')
    first = live.submit("sleep 3", cpus=4)
    until(lambda: live.job(first[0])["state"] != "waiting")
    second = live.submit(cpus=4)  # n0 is free before n1 is down
    assert live.ended(second[0], seconds=100)["state"] == "completed"
    until(lambda: live.states()["n1"] == "down", patience_s=120)
    assert why in next(node["why"] for node in live.client.get("/nodes")["nodes"] if node["name"] == "n1")
    both = live.submit(nodes=2, cpus=4)
    assert live.ended(both[0], seconds=100)["state"] == "completed"
    assert "n1" not in live.job(both[0])["nodes"]
    live.network.heal()


@pytest.mark.slow
@pytest.mark.parametrize("body", [LIES, FAILS])
def test_host_that_does_not_go_off_runs_jobs_again(live, body):
    live.become(n0="up", n1="off", n2="off")
    live.write(live.off, body)
    numbers = live.submit(nodes=3, cpus=4)
    assert live.ended(numbers[0], seconds=100)["state"] == "completed"
    until(lambda: "shutting down" in live.states().values(), patience_s=60) if body == LIES else None
    live.become(n0="up", n1="up", n2="up")
    again = live.submit(nodes=3, cpus=4)
    assert live.ended(again[0], seconds=100)["state"] == "completed"
