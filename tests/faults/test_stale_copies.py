"""Copies of messages that come up to hours late: nothing that is over comes back, and what may be forgotten is."""

from __future__ import annotations

from dataclasses import replace

import pytest
from faults.scenarios import draw_scenario
from faults.seeds import check, run_seed

from dardis.node_manager import NodePool, RelayingHost
from dardis.sim.faults import FaultSimulation, PoolMaker
from dardis.task_manager.claims.agreed import Proposal
from dardis.wire import messages as say
from dardis.wire.effects import Effect

FEW, FEWER, SOME, MANY, BLOCK = range(14), range(5), range(40), range(1000, 2000), 100
KINDS = [{}, {"late": True}, {"tree": True}, {"tree": True, "late": True}, {"sample": True}]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_nothing_breaks_when_copies_come_late(kind):
    outcomes = check(FEWER if kind else FEW, stale=True, **kind)
    assert sum(outcome.done for outcome in outcomes) > 10 * len(outcomes)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("first", MANY[::BLOCK])
def test_nothing_breaks_when_copies_come_late_in_many_seeds(first, kind):
    check(range(first, first + BLOCK), stale=True, **kind)


def test_copies_do_come_after_the_ends_of_their_jobs():
    """Otherwise the seeds above would show nothing."""
    kinds = say.Confirm, say.Reserved, say.Commit, say.Committed, say.Release, say.Released, say.Finished, say.Noted
    late = dict.fromkeys(kinds, 0)
    for seed in FEW:
        simulation = FaultSimulation(draw_scenario(seed, stale=True))

        def receive(to, message, now, simulation=simulation, take=simulation._receive):
            if isinstance(message, kinds):
                late[type(message)] += message.job in simulation.told
            take(to, message, now)

        simulation.network._receive = receive
        simulation.run(lambda: False, most_events=20_000)
    assert min(late.values()) >= 5, late


# --------------------------------------------------------------------------------- rules that are broken are found out


class ForgetsAtOnce(NodePool):
    """Remembers nothing of what was released."""

    def _close(self, *claim) -> list[Effect]:
        effects = super()._close(*claim)
        self._closed.clear()
        return effects


class TakesWhatHasExpired(NodePool):
    """Forgets what can't be taken any more, and takes it."""

    def _confirm(self, confirm: say.Confirm, now: int) -> list[Effect]:
        return super()._confirm(replace(confirm, expires=confirm.start + 1), now)


def finds(found: str, pool: PoolMaker = NodePool) -> bool:
    """Whether one of the seeds shows it."""
    return any(found in text for seed in SOME for text in run_seed(seed, stale=True, make_pool=pool).violations)


@pytest.mark.parametrize("pool", [ForgetsAtOnce, TakesWhatHasExpired])
def test_a_host_that_forgets_too_soon_is_found_out(pool: PoolMaker):
    assert finds("after it had released it", pool)


def test_a_task_manager_that_lets_forget_too_soon_is_found_out(monkeypatch):
    right = Proposal.demand

    def too_soon(self, host):
        message = right(self, host)
        return replace(message, expires=0) if isinstance(message, say.Release) else message

    monkeypatch.setattr(Proposal, "demand", too_soon)
    assert finds("after it had released it")


def test_a_host_that_never_forgets_is_found_out(monkeypatch):
    right = NodePool._timer
    monkeypatch.setattr(NodePool, "_timer", lambda self, timer, now: right(self, timer, now) if timer.token < 2 else [])
    assert finds("has not forgotten a claim")


def test_a_host_that_asks_what_nobody_waits_for_is_found_out(monkeypatch):
    """Each copy of a question makes all hosts below ask again, and copies of that come late as well."""
    right = RelayingHost._relay

    def asks_all(self, relay, now):
        return right(self, replace(relay, expires=max(relay.expires, now + 1 + relay.patience)), now)

    monkeypatch.setattr("faults.seeds.MOST_EVENTS", 30_000)
    assert run_seed(39, stale=True, tree=True).violations == ()
    monkeypatch.setattr(RelayingHost, "_relay", asks_all)
    assert any("not over" in text for text in run_seed(39, stale=True, tree=True).violations)
