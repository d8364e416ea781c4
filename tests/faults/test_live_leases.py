"""Jobs that may run again, on a host of which nothing is heard: they end there before they run elsewhere."""

import os
import signal
from pathlib import Path

import pytest
from kit.keeper import until
from kit.live_ranks import ROOT, Ranks

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (ROOT / ".venv" / "bin" / "mpirun").exists(), reason="needs mpirun in .venv"),
]
BEATS = "echo $DARDIS_JOB_ID >> $RAN; while :; do echo $DARDIS_NODES $(date +%s%N) >> $BEATS; sleep 0.1; done"


@pytest.fixture
def live(tmp_path):
    live = Ranks(tmp_path)
    try:
        yield live.start()
    finally:
        live.end()


def test_one_that_may_run_again_does_when_its_lease_is_over_and_nothing_else(live, tmp_path):
    def on_second():
        return [node["name"] for node in live.client.get("/nodes")["nodes"]][2:4]

    others = [name for name in (f"n{i}" for i in range(6)) if name not in on_second()]
    for name in others:
        live.client.post(f"/nodes/{name}/drain")
    beats = tmp_path / "beats"
    command = f"export BEATS={beats}; {BEATS}"
    (again,) = live.submit(command, requeue=True)
    (once,) = live.submit("echo $DARDIS_JOB_ID >> $RAN; sleep 500")
    until(lambda: live.lines() == {again: 1, once: 1})
    first = live.job(again)["nodes"]
    for name in others:
        live.client.post(f"/nodes/{name}/resume")
    agent = live.ranks()[1]
    os.kill(agent, signal.SIGSTOP)
    until(lambda: live.job(again)["lost"], 30)
    until(lambda: live.lines()[again] == 2, 120)
    until(lambda: len({line.split()[0] for line in Path(beats).read_text().splitlines()}) == 2)
    times = {}
    for line in Path(beats).read_text().splitlines():
        node, ns = line.split()
        times.setdefault(node, []).append(int(ns))
    (second,) = times.keys() - first
    assert max(times[first[0]]) < min(times[second]) - 5e9, "ended well before it ran again"
    assert live.job(once)["lost"]
    os.kill(agent, signal.SIGCONT)
    until(lambda: not live.silent(), 60)
    job = live.job(once)
    assert (job["state"], job["lost"]) == ("running", False)
    assert live.lines() == {again: 2, once: 1}
