"""One task manager against a pool, message by message."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise, permutations

import pytest
from kit.run import layout_of

from dardis.model.choices import UnitsPerNode
from dardis.model.job import Job
from dardis.model.platform import NodeGroup, Platform
from dardis.model.step_function import StepFunction
from dardis.model.target import DesiredProfile
from dardis.node_manager import NodePool
from dardis.task_manager import SETUPS, PlannedManager
from dardis.task_manager.setups import BackfillScope
from dardis.wire.effects import Effect, Placed, Rejected, Send, SendAll, SendToManager
from dardis.wire.messages import Confirm, OfferQuery, UnitsEnded

THROUGHPUT = SETUPS["dardis-throughput"]
MACHINE = Platform("m", (NodeGroup("a", 2, {"cores": 4, "memory": 2048}), NodeGroup("b", 2, {"cores": 2, "gpu": 1})))


def job_of(number: int = 1, *, units: int = 1, request=(1, 0, 0), groups: int = 0b11, **more) -> Job:
    return Job(number, 0, 0, more.pop("latest", None), more.pop("walltime", 100), units, request, groups, **more)


class Machine:
    """A pool that answers a task manager until nothing is left to say."""

    def __init__(self, setup=THROUGHPUT, desired=None) -> None:
        self.pool = NodePool(MACHINE, 0, 4, desired=desired)
        self.manager = PlannedManager(setup, layout_of(MACHINE, (0, 4), desired), 1)
        self.said: list[object] = []

    def settle(self, effects: list[Effect], now: int = 0) -> list[Effect]:
        """Carry the messages; return the effects that are none."""
        left: list[Effect] = []
        while effects:
            left += [effect for effect in effects if not isinstance(effect, Send | SendAll)]
            messages = [effect.message for effect in effects if isinstance(effect, Send | SendAll)]
            self.said += messages
            answers = [a.message for m in messages for a in self.pool.handle(m, now) if isinstance(a, SendToManager)]
            effects = [effect for answer in answers for effect in self.manager.handle(answer, now)]
        return left

    def submit(self, job: Job, now: int = 0) -> Effect:
        (effect,) = self.settle(self.manager.submit(job, now), now)
        return effect


def units_of(effect: Effect) -> dict[int, int]:
    assert isinstance(effect, Placed)
    return dict(zip(effect.nodes.tolist(), effect.units.tolist(), strict=True))


def test_round_consists_of_request_offers_and_claim():
    machine = Machine()
    effect = machine.submit(job_of(units=3))
    assert units_of(effect) == {2: 2, 3: 1}  # the nodes with the least room that hold it
    assert [type(message) for message in machine.said] == [OfferQuery, Confirm]
    # Never more than three messages for each of the four nodes: asked, answered, and the two chosen confirmed.
    assert machine.manager.messages == 4 + 4 + 2
    assert machine.manager.renegotiations == 0
    assert machine.manager.attempts(1) == 1


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_response_order_of_hosts_does_not_change_the_decision(order):
    bounds = (0, 1, 2, 4)
    pools = [NodePool(MACHINE, *span, host=host) for host, span in enumerate(pairwise(bounds))]
    manager = PlannedManager(THROUGHPUT, layout_of(MACHINE, bounds, None), 1)
    (asked,) = manager.submit(job_of(units=11), 0)
    answers = [answer.message for pool in pools for answer in pool.handle(asked.message, 0)]
    *none, effects = [manager.handle(answers[host], 0) for host in order]
    assert none == [[], []]
    *claims, placed = effects
    assert units_of(placed) == {0: 4, 1: 3, 2: 2, 3: 2}
    assert [(claim.to, claim.message.nodes.tolist()) for claim in claims] == [(0, [0]), (1, [1]), (2, [2, 3])]


def test_job_larger_than_the_machine_is_rejected_with_the_reason():
    effect = Machine().submit(job_of(units=3, request=(1, 0, 1)))
    assert isinstance(effect, Rejected)
    assert "3 units of (1 cores, 1 gpu)" in effect.reason
    assert effect.reason.endswith("fits 2")
    packed = Machine(replace(THROUGHPUT, units_per_node=UnitsPerNode.DISTINCT)).submit(job_of(units=5))
    assert isinstance(packed, Rejected)


@pytest.mark.parametrize("name", sorted(SETUPS))
def test_huge_job_is_rejected_without_large_allocation(name):
    assert isinstance(Machine(SETUPS[name]).submit(job_of(units=10**15, latest=86_400)), Rejected)


def ask_again(machine: Machine, numbers: Iterable[int], now: int) -> dict[int, int]:
    effects = machine.settle(machine.manager.renegotiate(numbers, now), now)
    return {effect.job: effect.start for effect in effects if isinstance(effect, Placed)}


@pytest.mark.parametrize("waiting", [1, 3, 9, 70])
def test_jobs_that_ask_again_move_in_the_order_given(waiting):
    machine = Machine()
    machine.submit(job_of(1, units=4, request=(2, 0, 0), groups=1))
    numbers = range(2, 2 + waiting)
    first = {n: machine.submit(job_of(n, units=4, request=(2, 0, 0), groups=1)).start for n in numbers}
    assert list(first.values()) == [100 * (place + 1) for place in range(waiting)]
    machine.pool.handle(UnitsEnded(1, 0), 40)
    moved = ask_again(machine, numbers, 40)
    assert moved == {n: 40 + 100 * place for place, n in enumerate(numbers)}


def test_a_late_job_that_asks_again_gives_up_a_soft_profile():
    desired = DesiredProfile(MACHINE, {0: StepFunction.from_steps(12, [(1, 0), (1000, 12)])})
    for latest, moved in ((10, {2: 50}), (None, {})):
        machine = Machine(replace(THROUGHPUT, backfill_scope=BackfillScope.ALL_NODES), desired)
        first = machine.submit(job_of(1, units=12, latest=0))
        second = machine.submit(job_of(2, units=12, latest=latest, walltime=50))
        assert (first.start, second.start) == (0, 1000 if latest is None else 100)
        machine.settle([Send(0, UnitsEnded(1, 0))], 50)
        assert ask_again(machine, [2], 50) == moved
