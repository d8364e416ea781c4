"""What faulty networks cost is measured honestly: the figures add up, and what is wrong is counted."""

from dataclasses import replace

import pytest
from faults.broken import NoFitTest, NoKill

from dardis.registry import BUILT_IN_DISPATCHERS
from dardis.registry.builders import Planned
from dardis.scale.experiment import Experiment
from dardis.scale.fault_experiment import MOST_EVENTS, FaultyNetwork, measure_faults
from dardis.sim.fault_simulation import FaultSimulation

SMALL = Experiment(
    nodes=60, ranks=1, task_managers=3, arity=0, sample=0, window=20_000, reservations=3, jobs=25,
    dispatcher=BUILT_IN_DISPATCHERS["dardis-throughput"], hosts_of=8, seed=1,
)  # fmt: skip
BAD = FaultyNetwork(drop=0.1, duplicate=0.1, delay=3)


@pytest.mark.parametrize("crashes", [0, 4])
@pytest.mark.parametrize(("dispatcher", "arity", "sample"), [
    ("dardis-throughput", 0, 0), ("dardis-balance", 2, 0), ("dardis-profile", 0, 2), ("dardis-late", 2, 0),
])  # fmt: skip
def test_all_jobs_end_on_faulty_networks(dispatcher, arity, sample, crashes):
    what = replace(SMALL, dispatcher=BUILT_IN_DISPATCHERS[dispatcher], arity=arity, sample=sample)
    row, good = (measure_faults(what, network) for network in (replace(BAD, crashes=crashes), FaultyNetwork(delay=3)))
    for one in (row, good):
        assert (one.completed + one.rejected, one.lost, one.violations, one.rejected) == (25, 0, 0, 0)
        assert one.claims >= one.completed
        assert one.agree_s_most >= one.agree_s_mean > 6, "an offer, a claim and a commit, there and back"
    assert good.run_twice == good.cut == good.dropped == 0 < row.dropped < row.messages
    assert row.run_twice == 0 or crashes
    assert row.resent / row.messages > good.resent / good.messages


class Broken(Planned):
    def __init__(self, pool):
        self.pool = lambda _: pool


@pytest.mark.parametrize(("pool", "figure"), [(NoFitTest, "violations"), (NoKill, "run_twice")])
def test_faulty_node_manager_is_detected(pool, figure):
    what = replace(SMALL, jobs=60, seed=2, dispatcher=replace(SMALL.dispatcher, builder=Broken(pool)))
    assert getattr(measure_faults(what, replace(BAD, drop=0.3)), figure) > 0


def test_jobs_without_end_count_as_lost(monkeypatch):
    run = FaultSimulation.run
    monkeypatch.setattr(FaultSimulation, "run", lambda self, is_over, most: run(self, is_over, most // MOST_EVENTS))
    row = measure_faults(SMALL, BAD)
    assert row.lost == 25 - row.completed > 0
