"""Jobs that ask some nodes first on a bad network: those alone are waited for, and nothing breaks."""

from __future__ import annotations

import pytest
from faults.scenarios import draw_scenario
from faults.seeds import check

from dardis.model.job import Job
from dardis.model.platform import NodeGroup, Platform
from dardis.sim.faults import Crash, FaultSimulation, Scenario
from dardis.task_manager import SETUPS
from dardis.task_manager.agreement import Pace
from dardis.transport.virtual import Faults

FEW, MANY, BLOCK = range(100), range(5000, 6000), 100


@pytest.mark.parametrize("tree", [False, True])
def test_nothing_breaks_under_faults(tree):
    outcomes = check(FEW, sample=True, tree=tree)
    for what, least in {"crashes": 200, "lost": 5000, "cut": 30, "rejected": 20, "done": 1000}.items():
        assert sum(getattr(outcome, what) for outcome in outcomes) >= least, what


@pytest.mark.slow
@pytest.mark.parametrize("first", MANY[::BLOCK])
def test_nothing_breaks_under_faults_in_many_seeds(first):
    check(range(first, first + BLOCK), sample=True, tree=first % 200 == 0)


def test_messages_in_any_order_are_harmless():
    outcomes = check(FEW, reliable=True, sample=True)
    assert all(outcome.placements == outcome.done for outcome in outcomes)


def test_samples_are_asked_in_the_scenarios():
    """Fewer messages than when all are asked."""
    scenarios = [draw_scenario(seed, reliable=True, sample=True) for seed in FEW]
    assert {scenario.sample for scenario in scenarios} == {1, 2}
    sampled = sum(outcome.messages for outcome in check(FEW, reliable=True, sample=True))
    assert sampled < sum(outcome.messages for outcome in check(FEW, reliable=True))


def test_a_silent_sample_is_not_asked_for_ever():
    """All but two of forty hosts are dead and nobody hears of it: a job asks one node after another."""
    platform = Platform("dying", (NodeGroup("n", 40, {"cores": 8}),))
    job = Job(1, 10, 10, None, walltime=500, runtime=100, units=1, request=(1,), groups=1)
    crashes = tuple(Crash(host, 1, None, (1 << 40,)) for host in range(38))
    scenario = Scenario(
        7, platform, tuple(range(41)), (job,), SETUPS["dardis-throughput"], 1, Pace(patience=30, resend=25, lead=90),
        Faults(longest_delay=10), crashes, sample=1,
    )  # fmt: skip
    simulation = FaultSimulation(scenario)
    assert simulation.run(lambda: 1 in simulation.told, most_events=100_000)
    assert simulation.placed[1].nodes.tolist() in [[38], [39]]
