"""Two-phase agreement, message by message: the cases that the fault simulation meets once in thousands of seeds."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from dardis.model.job import Job
from dardis.model.platform import NodeGroup, Platform
from dardis.node_manager import NodePool
from dardis.node_manager.pool import FORGET, LAPSE
from dardis.task_manager import SETUPS, PlannedManager
from dardis.task_manager.claims.two_phase_claims import OFFERS, REPEAT_QUERY, RETRY, ClaimTimeouts, TwoPhaseClaims
from dardis.task_manager.layout import layout_of
from dardis.wire import effects as wire
from dardis.wire import messages as say

PACE = ClaimTimeouts(patience=10, resend=4, lead=20)
AGREED = partial(TwoPhaseClaims, PACE, 1)
PLATFORM = Platform("two", (NodeGroup("n", 2, {"cores": 4}),))
JOB = Job(5, 0, 0, None, walltime=50, units=2, request=(4,), groups=1)


def sent(effects: list[wire.Effect]) -> list[say.Message]:
    return [effect.message for effect in effects if isinstance(effect, wire.ToHosts | wire.ToManagers)]


def timers(effects: list[wire.Effect], token: int) -> list[wire.SetTimer]:
    return [effect for effect in effects if isinstance(effect, wire.SetTimer) and effect.timer.token == token]


def confirm(attempt: int = 1, start: int = 100, incarnation: int = 0) -> say.Confirm:
    one = np.array([1])
    return say.Confirm(5, attempt, incarnation, start, 50, np.array([4]), np.array([0]), one, tentative=True)


@pytest.fixture
def pool() -> NodePool:
    return NodePool(PLATFORM, 0, 1, host=0, report_every=4)


class TestNodeManager:
    def test_repeated_claim_is_answered_again_and_reserved_once(self, pool):
        assert sent(pool.handle(confirm(), 10)) == [say.Reserved(5, 1, 0)]
        assert sent(pool.handle(confirm(), 11)) == [say.Reserved(5, 1, 0)]
        pool.handle(say.Release(5, 1), 12)
        assert pool.idle

    def test_claim_after_its_release_is_refused(self, pool):
        assert sent(pool.handle(say.Release(5, 1), 10)) == [say.Released(5, 1, 0)]
        assert sent(pool.handle(confirm(), 11)) == [say.Refused(5, 1, 0)]
        assert sent(pool.handle(confirm(attempt=2), 12)) == [say.Reserved(5, 2, 0)]

    def test_release_is_forgotten_once_no_copy_of_its_claim_can_arrive(self, pool):
        claim = replace(confirm(), expires=90)
        pool.handle(claim, 10)
        (forget,) = timers(pool.handle(say.Release(5, 1, 90), 20), FORGET)
        assert forget.at == 90
        assert sent(pool.handle(claim, 89)) == [say.Refused(5, 1, 0)]
        pool.handle(forget.timer, 90)
        assert not pool._closed
        assert sent(pool.handle(claim, 90)) == [say.Refused(5, 1, 0)]

    def test_late_copy_of_a_release_leaves_no_state(self, pool):
        assert sent(pool.handle(say.Release(5, 1, 90), 90)) == [say.Released(5, 1, 0)]
        assert not pool._closed

    def test_earlier_attempt_with_later_expiry_is_remembered_until_then(self, pool):
        first, second = replace(confirm(), expires=95), replace(confirm(2, start=60), expires=60)
        pool.handle(say.Release(5, 1, 95), 10)
        pool.handle(second, 20)
        effects = pool.handle(say.Release(5, 2, 60), 30)
        assert timers(effects, FORGET) == [wire.SetTimer(95, say.Timer(5, 2, FORGET))]
        pool.handle(say.Timer(5, 2, FORGET), 60)
        assert sent(pool.handle(first, 94)) == [say.Refused(5, 1, 0)]

    def test_ended_or_lapsed_claim_is_not_remembered(self, pool):
        self.ended(pool, 1, 100)
        pool.handle(say.FinishedAck(5, 1), 131)
        pool.handle(replace(confirm(2, start=200), expires=150), 140)
        pool.handle(say.Timer(5, 2, LAPSE), 200)
        assert pool.idle
        assert not pool._closed
        for claim in (replace(confirm(), expires=80), replace(confirm(2, start=200), expires=150)):
            assert sent(pool.handle(claim, 200)) == [say.Refused(5, claim.attempt, 0)]

    @pytest.mark.parametrize("lapses", [True, False])
    def test_a_tentative_claim_lapses_at_its_start(self, pool, lapses):
        (lapse,) = [effect for effect in pool.handle(confirm(), 10) if isinstance(effect, wire.SetTimer)]
        assert lapse.at == 100
        if lapses:  # else the commit is the first to come
            pool.handle(lapse.timer, 100)
            assert pool.idle
        assert sent(pool.handle(say.Commit(5, 1), 101)) == [say.Refused(5, 1, 0)]
        assert pool.idle

    def test_a_commit_is_answered_again_and_launches_once(self, pool):
        pool.handle(confirm(), 10)
        first, second = pool.handle(say.Commit(5, 1), 20), pool.handle(say.Commit(5, 1), 21)
        assert [type(effect) for effect in first] == [wire.SendToManager, wire.Launch]
        assert sent(second) == sent(first) == [say.Committed(5, 1, 0)]
        assert len(second) == 1

    def test_later_claim_kills_the_run_of_an_earlier_claim(self, pool):
        pool.handle(confirm(), 10)
        pool.handle(say.Commit(5, 1), 20)
        effects = pool.handle(confirm(attempt=2, start=130), 110)
        assert effects[0] == wire.Kill(5, 1)
        assert sent(effects) == [say.Reserved(5, 2, 0)]

    def ended(self, pool: NodePool, attempt: int, now: int) -> None:
        pool.handle(confirm(attempt=attempt, start=now), now - 10)
        pool.handle(say.Commit(5, attempt), now - 5)
        assert sent(pool.handle(say.UnitsEnded(5, 0), now + 30)) == [say.Finished(5, attempt, 0)]

    def test_copy_of_an_ended_claim_cancels_nothing(self, pool):
        self.ended(pool, 1, 100)
        assert sent(pool.handle(confirm(), 131)) == [say.Reserved(5, 1, 0)]
        assert sent(pool.handle(say.Commit(5, 1), 131)) == [say.Committed(5, 1, 0)]

    def test_end_is_reported_until_acknowledged(self, pool):
        self.ended(pool, 1, 100)
        again = say.Timer(5, 1, 1)
        assert sent(pool.handle(again, 134)) == [say.Finished(5, 1, 0)]
        pool.handle(say.FinishedAck(5, 1), 135)
        assert pool.handle(again, 138) == []

    def test_late_acknowledgement_of_an_earlier_attempt_does_not_stop_reports_of_a_later_one(self, pool):
        self.ended(pool, 1, 100)
        pool.handle(say.Release(5, 1), 140)
        self.ended(pool, 2, 200)
        pool.handle(say.FinishedAck(5, 1), 231)
        assert sent(pool.handle(say.Timer(5, 2, 1), 234)) == [say.Finished(5, 2, 0)]


class Talk:
    """A task manager with one job that needs both hosts, and the pools to ask for their offers."""

    def __init__(self) -> None:
        self.submit(JOB)

    def submit(self, job: Job) -> None:
        layout = layout_of(PLATFORM, (0, 1, 2), None)
        self.manager = PlannedManager(SETUPS["dardis-throughput"], layout, 1, make_claims=AGREED)
        self.asked = self.manager.submit(job, 0)

    def tell(self, message: say.Message, now: int) -> list[wire.Effect]:
        return self.manager.handle(message, now)

    def offers(self, incarnation: int = 0) -> list[say.Message]:
        (ask,) = sent(self.asked)
        pools = [NodePool(PLATFORM, host, host + 1, host=host, incarnation=incarnation) for host in (0, 1)]
        return [message for pool in pools for message in sent(pool.handle(ask, 1))]

    def claim(self) -> list[wire.Effect]:
        first, second = self.offers()
        assert self.tell(first, 2) == []
        return self.tell(second, 2)

    def both(self, kind: type, now: int) -> list[wire.Effect]:
        return self.tell(kind(5, 1, 0), now) + self.tell(kind(5, 1, 1), now)


@pytest.fixture
def talk() -> Talk:
    return Talk()


class TestTaskManager:
    def test_all_reserve_then_all_commit_then_all_finish(self, talk):
        assert [type(message) for message in sent(talk.claim())] == [say.Confirm, say.Confirm]
        assert sent(talk.both(say.Reserved, 4)) == [say.Commit(5, 1)] * 2
        (placed,) = talk.both(say.Committed, 6)
        assert (type(placed), placed.start) == (wire.Placed, 20)
        assert talk.both(say.Finished, 50)[-1] == wire.JobFinished(5)

    def test_unresponsive_host_is_queried_again(self, talk):
        talk.tell(talk.offers()[0], 2)
        (again,) = timers(talk.asked, REPEAT_QUERY)
        effects = talk.tell(again.timer, again.at)
        assert [effect.to for effect in effects if isinstance(effect, wire.Send)] == [1]

    def test_without_offers_the_job_requests_again_later(self, talk):
        (late,) = timers(talk.asked, OFFERS)
        effects = talk.tell(late.timer, late.at)
        (retry,) = timers(effects, RETRY)
        assert [type(message) for message in sent(talk.tell(retry.timer, retry.at))] == [say.OfferQuery]

    def test_refusal_releases_on_all_hosts_and_waits_for_the_release(self, talk):
        talk.claim()
        effects = talk.tell(say.Refused(5, 1, 1), 3)
        assert sent(effects) == [say.Release(5, 1, 20)] * 2
        (retry,) = timers(effects, RETRY)
        assert sent(talk.tell(retry.timer, retry.at)) == []
        talk.both(say.Released, retry.at)
        assert [type(message) for message in sent(talk.tell(retry.timer, retry.at + 4))] == [say.OfferQuery]

    def test_claim_expires_at_its_start_or_after_its_longest_delay(self, talk):
        talk.submit(replace(JOB, earliest=500))
        effects = talk.claim()
        assert [(claim.start, claim.expires) for claim in sent(effects)] == [(500, 2 + PACE.lead)] * 2
        (again,) = timers(effects, 2)
        assert {claim.expires for claim in sent(talk.tell(again.timer, 10))} == {10 + PACE.lead}
        assert sent(talk.tell(say.Refused(5, 1, 1), 11)) == [say.Release(5, 1, 10 + PACE.lead)] * 2

    def test_missing_response_cancels_a_claim_but_not_a_commit(self, talk):
        effects = talk.claim()
        (again,) = timers(effects, 2)
        assert sent(talk.tell(again.timer, 21)) == [say.Release(5, 1, 20)] * 2
        talk = Talk()
        talk.claim()
        talk.both(say.Reserved, 4)
        assert sent(talk.tell(again.timer, 5000)) == [say.Commit(5, 1)] * 2

    def test_end_report_implies_that_all_hosts_committed(self, talk):
        talk.claim()
        talk.both(say.Reserved, 4)
        talk.tell(say.Committed(5, 1, 0), 6)
        effects = talk.tell(say.Finished(5, 1, 1), 51)
        assert [type(effect) for effect in effects] == [wire.Send, wire.Placed]
        assert talk.tell(say.Finished(5, 1, 0), 52)[-1] == wire.JobFinished(5)

    def test_host_loss_cancels_the_claim_without_release_from_the_lost_host(self, talk):
        talk.claim()
        talk.both(say.Reserved, 4)
        effects = talk.tell(say.HostDown(1, 0), 5)
        assert [effect.to for effect in effects if isinstance(effect, wire.Send)] == [0]
        (retry,) = timers(effects, RETRY)
        talk.tell(say.Released(5, 1, 0), 6)
        assert [type(message) for message in sent(talk.tell(retry.timer, retry.at))] == [say.OfferQuery]

    def test_loss_of_an_earlier_incarnation_is_no_release(self, talk):
        first, second = talk.offers(incarnation=1)
        talk.tell(first, 2)
        talk.tell(second, 2)
        talk.tell(say.Refused(5, 1, 0), 3)
        assert talk.tell(say.HostDown(1, 0), 4) == []
        talk.tell(say.Released(5, 1, 0), 5)
        assert sent(talk.tell(say.Timer(5, 1, 2), 7)) == [say.Release(5, 1, 20)]

    def test_offers_of_lost_hosts_are_not_claimed(self, talk):
        first, second = talk.offers()
        talk.tell(second, 2)
        talk.tell(say.HostDown(1, 0), 3)
        effects = talk.tell(first, 4)
        assert sent(effects) == []
        assert len(timers(effects, RETRY)) == 1

    def test_lost_hosts_are_not_awaited_until_they_return(self, talk):
        first, _ = talk.offers()
        talk.tell(say.HostDown(1, 0), 1)
        effects = talk.tell(first, 2)
        assert isinstance(effects[0], wire.PlacementDeferred)
        (retry,) = timers(effects, RETRY)
        talk.asked = talk.tell(retry.timer, retry.at)
        first, second = talk.offers(incarnation=1)
        assert talk.tell(second, retry.at + 1) == []
        assert [type(message) for message in sent(talk.tell(first, retry.at + 2))] == [say.Confirm, say.Confirm]

    def test_host_loss_after_the_end_report_changes_nothing(self, talk):
        talk.claim()
        talk.both(say.Reserved, 4)
        talk.both(say.Committed, 6)
        talk.tell(say.Finished(5, 1, 1), 50)
        assert talk.tell(say.HostDown(1, 0), 51) == []
        assert talk.tell(say.Finished(5, 1, 0), 52)[-1] == wire.JobFinished(5)

    def test_host_loss_while_a_claim_is_cancelled_is_a_release(self, talk):
        talk.claim()
        (retry,) = timers(talk.tell(say.Refused(5, 1, 0), 4), RETRY)
        talk.tell(say.Released(5, 1, 0), 5)
        talk.tell(say.HostDown(1, 0), 6)
        assert [type(message) for message in sent(talk.tell(retry.timer, retry.at))] == [say.OfferQuery]

    def test_late_message_of_a_lost_host_does_not_restore_it(self, talk):
        first, second = talk.offers()
        talk.tell(say.HostDown(1, 0), 2)
        talk.tell(second, 3)
        (retry,) = timers(talk.tell(first, 4), RETRY)
        talk.asked = talk.tell(retry.timer, retry.at)
        first, _ = talk.offers()
        assert isinstance(talk.tell(first, retry.at + 1)[0], wire.PlacementDeferred)
