"""Who asks a sample: whom, how many, over which windows, what hosts are told, and what it costs in messages."""

from dataclasses import replace

import numpy as np

from dardis.model.job import Job
from dardis.model.platform import NodeGroup, Platform
from dardis.node_manager import NodePool
from dardis.task_manager import SETUPS, PlannedManager, Reach
from dardis.task_manager.layout import layout_of
from dardis.task_manager.setups import BackfillScope
from dardis.transport.base import receivers
from dardis.wire.effects import Send, SendAll, SendToManager
from dardis.wire.messages import OfferQuery, Release

THROUGHPUT = SETUPS["dardis-throughput"]
MACHINE = Platform("m", (NodeGroup("a", 100, {"cores": 4}), NodeGroup("b", 100, {"cores": 8})))


def job_of(number=1, *, units=1, cores=1, walltime=100, groups=0b11, latest=None) -> Job:
    return Job(number, 0, 0, latest, walltime, units, (cores,), groups)


class Machine:
    """Hosts that answer a task manager; what it asks, and of whom, is noted."""

    def __init__(self, setup=THROUGHPUT, sample=4, bounds=(0, 30, 30, 120, 200), arity=0) -> None:
        hosts = range(len(bounds) - 1)
        self.bounds = bounds
        self.pools = [NodePool(MACHINE, bounds[h], bounds[h + 1], host=h) for h in hosts]
        self.manager = PlannedManager(setup, layout_of(MACHINE, bounds, None), 1, reach=Reach(arity, sample))
        self.asked: list[tuple[int, OfferQuery]] = []
        self.sizes: list[int] = []
        """Nodes of each round; 0 for all."""

    def settle(self, effects, now=0) -> list:
        left = []
        while effects:
            left += [effect for effect in effects if not isinstance(effect, Send | SendAll)]
            answers, asked = [], []
            for send in [effect for effect in effects if isinstance(effect, Send | SendAll)]:
                for host in receivers(send, len(self.pools)):
                    asked += [(host, send.message)] if isinstance(send.message, OfferQuery) else []
                    answers += [
                        a.message for a in self.pools[host].handle(send.message, now) if isinstance(a, SendToManager)
                    ]
            self.asked += asked
            self.sizes += [sum(len(ask.sample) for _, ask in asked)] if asked else []
            effects = [effect for answer in answers for effect in self.manager.handle(answer, now)]
        return left

    def submit(self, job, now=0):
        (effect,) = self.settle(self.manager.submit(job, now), now)
        return effect

    @property
    def hints(self) -> np.ndarray:
        return self.manager._negotiation.sampling.hints


def test_sample_request_goes_only_to_hosts_of_the_sample():
    machine = Machine(sample=3)
    assert machine.submit(job_of(units=4)).start == 0
    assert machine.sizes == [12]
    for host, ask in machine.asked:
        first, last = machine.bounds[host], machine.bounds[host + 1]
        assert len(ask.sample) > 0
        assert ((first <= ask.sample) & (ask.sample < last)).all()
        assert ask.sample_offset.tolist() == [0, len(ask.sample)]
        assert (ask.first[0], ask.last[0]) == (0, 0)
    nodes = np.concatenate([ask.sample for _, ask in machine.asked])
    assert (np.diff(nodes) > 0).all()
    # Asked, answered, and the chosen confirmed.
    assert machine.manager.messages == 2 * 12 + len(machine.manager._negotiation.states[1].nodes)


def test_insufficient_sample_is_doubled_then_all_nodes_are_queried():
    machine = Machine(sample=4)
    assert machine.submit(job_of(1, units=300, cores=4, walltime=500)).start == 0  # everything
    machine.asked.clear()
    machine.sizes.clear()
    messages = machine.manager.messages
    assert machine.submit(job_of(2, units=1, cores=4)).start == 500
    assert machine.sizes == [4, 16, 64, 0]
    assert {ask.last[0] for _, ask in machine.asked if len(ask.sample)} == {0}
    assert machine.asked[-1][1].last[0] == 3599
    assert machine.manager.messages - messages == 2 * (4 + 16 + 64 + 200) + 1
    samples = [
        np.concatenate([a.sample for _, a in machine.asked if a.round == r and len(a.sample)]) for r in (1, 2, 3)
    ]
    assert {*samples[0].tolist()} < {*samples[1].tolist()} < {*samples[2].tolist()}


def test_sampling_hints_are_the_reservations_of_its_jobs():
    machine = Machine()
    machine.submit(job_of(1, units=3, cores=2))
    machine.submit(job_of(2, units=5, cores=4))
    states = machine.manager._negotiation.states
    expected = np.zeros(200, dtype=np.int64)
    for state in states.values():
        np.add.at(expected, state.nodes, state.units * state.job.request[0])
    assert machine.hints.tolist() == expected.tolist()
    assert expected.sum() == 3 * 2 + 5 * 4
    machine.manager.forget(1)
    assert machine.hints.sum() == 5 * 4
    machine.manager.forget(2)
    assert not machine.hints.any()


def test_moving_job_queries_a_sample_and_its_own_nodes():
    machine = Machine(replace(THROUGHPUT, backfill_scope=BackfillScope.ALL_NODES), sample=2)
    machine.submit(job_of(1, units=300, cores=4, walltime=500))
    assert machine.submit(job_of(2, units=2, cores=4, walltime=300)).start == 500
    own = machine.manager._negotiation.states[2].nodes.tolist()
    for pool in machine.pools:  # the first job has ended early
        pool.handle(Release(1, 1), 100)
    machine.manager.forget(1)
    machine.asked.clear()
    (moved,) = machine.settle(machine.manager.renegotiate([2], 100), 100)
    assert moved.start == 100
    asked = np.concatenate([ask.sample for _, ask in machine.asked]).tolist()
    assert {*own} <= {*asked}
    assert 4 <= len(asked) <= 4 + len(own)
    assert machine.hints.sum() == 2 * 4
