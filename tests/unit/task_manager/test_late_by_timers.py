"""The late set-up where messages may be lost, message by message."""

from __future__ import annotations

import numpy as np
import pytest

from dardis.model.job import Job
from dardis.model.platform import NodeGroup, Platform
from dardis.node_manager import NodePool
from dardis.task_manager import LATE_SETUPS, TimedLateManager
from dardis.task_manager.claims.two_phase_claims import ClaimTimeouts
from dardis.task_manager.late.timers import TURN
from dardis.task_manager.layout import layout_of
from dardis.wire.effects import Effect, Send, SendAll, SetTimer
from dardis.wire.messages import Confirm, OfferQuery, Published, PublishRequest

FOUR = Platform("four", (NodeGroup("n", 1, {"cores": 4}),))


def job_of(number: int, walltime: int) -> Job:
    return Job(number, 2, 2, None, walltime, 1, (4,), 1)


def published(pool: NodePool, now: int) -> Published:
    (said,) = pool.handle(PublishRequest(), now)
    return said.message


def asked(effects: list[Effect]) -> list[OfferQuery]:
    return [
        effect.message
        for effect in effects
        if isinstance(effect, Send | SendAll) and isinstance(effect.message, OfferQuery)
    ]


def settle(manager: TimedLateManager, pool: NodePool, effects: list[Effect]) -> None:
    """Let the pool answer what is asked, until nothing is."""
    while asks := asked(effects):
        answers = [answer.message for ask in asks for answer in pool.handle(ask, 2)]
        effects = [effect for answer in answers for effect in manager.handle(answer, 2)]


@pytest.mark.parametrize(("heard", "asks"), [((1,), 0), ((1, 0), 0), ((0,), 1), ((0, 1), 0)])
def test_turn_uses_the_latest_publication(heard, asks):
    pool = NodePool(FOUR, 0, 1, report_every=6)
    manager = TimedLateManager(LATE_SETUPS["dardis-late"], layout_of(FOUR, (0, 1), None), 1, ClaimTimeouts(10, 6, 20))
    said = [published(pool, 0)]
    pool.handle(Confirm(9, 1, 0, 0, 10_000, *(np.array([n]) for n in (4, 0, 1)), tentative=False), 0)
    said.append(published(pool, 1))
    for job in (job_of(1, 100), job_of(2, 5000)):
        settle(manager, pool, manager.submit(job, 2))
    effects = [effect for place in heard for effect in manager.handle(said[place], 4)]
    turn = next(e.timer for e in effects if isinstance(e, SetTimer) and e.timer.token == TURN)
    assert len(asked(manager.handle(turn, 6))) == asks
