"""Many task managers at once: legal, the same on any ranks, and with one job at a time what turns decide."""

from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.actual import actual
from kit.effort import examples
from kit.machine import jobs, platforms
from kit.threads import on_ranks

from dardis.metrics.audit import audit
from dardis.model.choices import OnOff, ProfileRule
from dardis.model.job import ActualJob
from dardis.model.platform import NodeGroup, Platform
from dardis.model.schedule import Schedule
from dardis.node_manager import NodePool
from dardis.sim.overlapped_rounds import OverlappedRounds
from dardis.sim.simulation import Simulation
from dardis.task_manager import SETUPS, PlannedManager, Reach, SetUp
from dardis.task_manager.layout import layout_of
from dardis.transport.local_transport import LocalHosts
from dardis.turns import OverlappedTurns, PlannedTurns


@dataclass
class Case:
    """Jobs that run as long as they say, since early ends are not told in waves."""

    platform: Platform
    jobs: list[ActualJob]
    setup: SetUp
    sample: int
    managers: int

    def waves(self, overlap: int, bounds: tuple[int, ...]) -> tuple[Schedule, int]:
        """The schedule and the refusals, with rank r holding the nodes [bounds[r], bounds[r + 1])."""

        def work(peers):
            pool = NodePool(self.platform, *bounds[peers.rank : peers.rank + 2], host=peers.rank)
            layout = layout_of(self.platform, bounds, None)
            agents = [PlannedManager(self.setup, layout, 1, reach=Reach(0, self.sample)) for _ in range(self.managers)]
            waves = OverlappedRounds(self.jobs, OverlappedTurns(agents, overlap), pool, peers)
            waves.run()
            recorder = waves.record()
            schedule = None if recorder is None else recorder.schedule(self.jobs, self.platform.kinds)
            return schedule, waves.refusals

        found = on_ranks(len(bounds) - 1, work)
        schedule = found[0][0]
        assert audit(schedule, self.platform, expected=[job.number for job in self.jobs]) == []
        return schedule, sum(refusals for _, refusals in found)

    def turns(self) -> Schedule:
        bounds = (0, self.platform.node_count)
        layout = layout_of(self.platform, bounds, None)
        agents = [PlannedManager(self.setup, layout, 1, reach=Reach(0, self.sample)) for _ in range(self.managers)]
        hosts = LocalHosts([NodePool(self.platform, *bounds)])
        simulation = Simulation(self.jobs, PlannedTurns(self.setup, agents, bounds), hosts)
        simulation.run()
        return simulation.recorder.schedule(simulation.jobs, self.platform.kinds)


@st.composite
def cases(draw) -> Case:
    platform = draw(platforms(most_nodes=draw(st.sampled_from((6, 30)))))
    many = [replace(job, runtime=job.walltime) for job in draw(jobs(platform, most=14))]
    setup = replace(draw(st.sampled_from(list(SETUPS.values()))), backfill=OnOff.OFF, profile=ProfileRule.OFF)
    return Case(platform, many, setup, draw(st.sampled_from((0, 1, 2, 4))), draw(st.integers(1, 3)))


@st.composite
def splits(draw, nodes: int) -> tuple[int, ...]:
    inside = draw(st.sets(st.integers(1, nodes - 1), max_size=2)) if nodes > 1 else set()
    return (0, *sorted(inside), nodes)


@given(cases(), st.integers(2, 6), st.data())
@examples(1)
def test_waves_are_legal_and_independent_of_ranks(case, overlap, data):
    alone, _ = case.waves(overlap, (0, case.platform.node_count))
    spread, _ = case.waves(overlap, data.draw(splits(case.platform.node_count)))
    assert spread.digest() == alone.digest()


@given(cases(), st.data())
@examples(1)
def test_waves_of_one_job_give_the_schedule_of_turns(case, data):
    one, refusals = case.waves(1, data.draw(splits(case.platform.node_count)))
    assert refusals == 0
    assert one.digest() == case.turns().digest()


@pytest.mark.parametrize("bounds", [(0, 8), (0, 4, 8)])
def test_task_manager_receives_responses_in_job_order_on_any_ranks(monkeypatch, bounds):
    heard = []
    handle = PlannedManager.handle

    def noted(manager, message, now):
        heard.append(manager._negotiation._rounds[message.round].states[0].job.number)
        return handle(manager, message, now)

    monkeypatch.setattr(PlannedManager, "handle", noted)
    platform = Platform("two", (NodeGroup("a", 4, {"cores": 1}), NodeGroup("b", 4, {"cores": 1})))
    pair = [actual(1, 0, 0, None, 5, 1, (1,), 0b10, runtime=5), actual(2, 0, 0, None, 5, 1, (1,), 0b01, runtime=5)]
    setup = replace(SETUPS["dardis-throughput"], backfill=OnOff.OFF)
    Case(platform, pair, setup, 1, 1).waves(2, bounds)
    assert heard == [1, 2]
