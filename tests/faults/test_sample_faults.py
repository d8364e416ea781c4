"""Jobs that ask some nodes first on a bad network: those alone are waited for, and nothing breaks."""

from __future__ import annotations

import pytest
from faults.scenarios import draw_scenario
from faults.seeds import check
from kit.actual import actual

from dardis.model.platform import NodeGroup, Platform
from dardis.registry import OURS
from dardis.sim.faults import Crash, FaultSimulation, Scenario
from dardis.task_manager.claims.agreed import Pace
from dardis.task_manager.sampling import Sampling
from dardis.transport.virtual import Faults

FEW, MANY, BLOCK = range(8), range(5000, 6000), 100


@pytest.mark.parametrize("tree", [False, True])
def test_nothing_breaks_under_faults(tree):
    outcomes = check(FEW, sample=True, tree=tree)
    # The faults did bite: otherwise this would show nothing.
    for what, least in {"crashes": 50, "lost": 750, "cut": 2, "done": 75}.items():
        assert sum(getattr(outcome, what) for outcome in outcomes) >= least, what


@pytest.mark.slow
@pytest.mark.parametrize("first", MANY[::BLOCK])
def test_nothing_breaks_under_faults_in_many_seeds(first):
    check(range(first, first + BLOCK), sample=True, tree=first % 200 == 0)


def test_messages_in_any_order_are_harmless():
    outcomes = check(FEW, reliable=True, sample=True)
    assert all(outcome.placements == outcome.done for outcome in outcomes)


def test_samples_are_asked_in_the_scenarios(monkeypatch):
    """Otherwise the seeds above would show nothing."""
    asked = [0] * len(FEW)
    right = Sampling.nodes_of

    def counted(self, states, searches, *, asks_again):
        asked[seed] += 1
        return right(self, states, searches, asks_again=asks_again)

    monkeypatch.setattr(Sampling, "nodes_of", counted)
    for seed in FEW:
        FaultSimulation(draw_scenario(seed, reliable=True, sample=True)).run(lambda: False, most_events=5_000)
    assert sum(asked) > 10 * len(FEW)
    assert sum(count > 0 for count in asked) > 0.8 * len(FEW)


def test_a_silent_sample_is_not_asked_for_ever():
    """All but two of forty hosts are dead and nobody hears of it: a job asks one node after another."""
    platform = Platform("dying", (NodeGroup("n", 40, {"cores": 8}),))
    job = actual(1, 10, 10, None, walltime=500, runtime=100, units=1, request=(1,), groups=1)
    crashes = tuple(Crash(host, 1, None, (1 << 40,)) for host in range(38))
    scenario = Scenario(
        7, platform, tuple(range(41)), (job,), OURS["dardis-throughput"], 1, Pace(patience=30, resend=25, lead=90),
        Faults(longest_delay=10), crashes, sample=1,
    )  # fmt: skip
    simulation = FaultSimulation(scenario)
    assert simulation.run(lambda: 1 in simulation.told, most_events=100_000)
    assert simulation.placed[1].nodes.tolist() in [[38], [39]]
