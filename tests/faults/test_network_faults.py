"""Several task managers at once on a bad network: nobody overbooks, nothing hangs, no job is lost."""

from __future__ import annotations

from dataclasses import replace

import pytest
from faults.broken import NeverForgets, NoFitTest, NoKill
from faults.seeds import check, run_seed

from dardis.node_manager import NodePool, RelayingHost
from dardis.sim.fault_simulation import PoolMaker
from dardis.task_manager import TimedLateManager, negotiation
from dardis.task_manager.claims.two_phase_claims import Proposal, TwoPhaseClaims
from dardis.wire import messages as say
from dardis.wire.effects import Effect

PLAIN, LATE, TREE, SAMPLE, STALE = {}, {"late": True}, {"tree": True}, {"sample": True}, {"stale": True}
SOME, MANY, BLOCK = range(100), range(1000, 2200), 100
FEW = [
    (PLAIN, range(40, 64), {"crashes": 90, "lost": 5000, "cut": 20, "repeated": 1, "rejected": 5, "waiting": 3}),
    (LATE, range(226, 242), {"crashes": 50, "lost": 5000, "cut": 20, "repeated": 1, "rejected": 10, "waiting": 10}),
    (TREE, range(10), {"crashes": 35, "lost": 2500, "cut": 5, "rejected": 7, "waiting": 8}),
    (TREE | LATE, range(8), {"crashes": 25, "lost": 1500, "cut": 5, "rejected": 7}),
    (SAMPLE, range(6), {"crashes": 60, "lost": 1500, "cut": 8}),
    (SAMPLE | TREE, range(5), {"crashes": 60, "lost": 3500, "cut": 4}),
    (STALE, range(14), {"crashes": 45, "lost": 1500, "cut": 5}),
    *((STALE | kind, range(4), {"crashes": 15, "lost": 300}) for kind in (LATE, TREE, TREE | LATE, SAMPLE)),
]
KINDS = [kind for kind, _, _ in FEW]


@pytest.mark.parametrize(("kind", "seeds", "bites"), FEW, ids=str)
def test_invariants_hold_under_faults(kind, seeds, bites):
    outcomes = check(seeds, **kind)
    # The faults did bite: otherwise this would show nothing.
    for what, least in (bites | {"done": 8 * len(seeds)}).items():
        assert sum(getattr(outcome, what) for outcome in outcomes) >= least, what


@pytest.mark.parametrize(("kind", "seeds", "_bites"), [few for few in FEW if "stale" not in few[0]], ids=str)
def test_invariants_hold_for_any_message_order(kind, seeds, _bites):
    outcomes = check(seeds, reliable=True, **kind)
    assert all(outcome.cut == outcome.repeated == outcome.waiting == outcome.lost == 0 for outcome in outcomes)
    assert "late" in kind or all(outcome.placements == outcome.done for outcome in outcomes)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("first", MANY[::BLOCK])
def test_invariants_hold_under_faults_in_many_seeds(first, kind):
    check(range(first, first + BLOCK), **kind)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS[:4], ids=str)
@pytest.mark.parametrize("first", MANY[: len(MANY) // 2 : BLOCK])
def test_invariants_hold_for_any_message_order_in_many_seeds(first, kind):
    check(range(first, first + BLOCK), reliable=True, **kind)


@pytest.mark.parametrize("kind", [LATE, TREE], ids=str)
def test_a_seed_replays(kind):
    for seed in range(2):
        first, plain = run_seed(seed, **kind), run_seed(seed)
        assert (first, plain) == (run_seed(seed, **kind), run_seed(seed))
        assert len({first.digest, plain.digest, run_seed(seed, reliable=True).digest}) == 3


def finds(found: str, quick: int, pool: PoolMaker = NodePool, **kind: bool) -> bool:
    """Whether a seed shows it: `quick` did when this was written."""
    return any(found in text for seed in (quick, *SOME) for text in run_seed(seed, make_pool=pool, **kind).violations)


class NoLapse(NodePool):
    """Keeps what was claimed and not committed, and starts late what is committed late."""

    def _timer(self, timer: say.Timer, now: int) -> list[Effect]:
        return super()._timer(timer, now) if timer.token else []

    def _commit(self, commit: say.Commit, now: int) -> list[Effect]:
        claim = self._claims.get(commit.job)
        return super()._commit(commit, now if claim is None else min(now, claim.start))


class NoReport(NodePool):
    """Tells that units have ended once, and not again if that is lost."""

    def _timer(self, timer: say.Timer, now: int) -> list[Effect]:
        return [] if timer.token else super()._timer(timer, now)


class NoMemory(NodePool):
    """Takes claims again that were released."""

    def _confirm(self, confirm: say.Confirm, now: int) -> list[Effect]:
        self._closed.pop(confirm.job, None)
        return super()._confirm(confirm, now)


@pytest.mark.parametrize(("pool", "kind", "found", "quick"), [
    (NoFitTest, PLAIN, "exceeds its", 2), (NoFitTest, LATE, "exceeds its", 0), (NoFitTest, TREE, "exceeds its", 0),
    (NoKill, PLAIN, "exceeds its", 0), (NoKill, LATE, "exceeds its", 19),
    (NoLapse, PLAIN, "is before the current time", 4), (NoReport, PLAIN, "is lost", 1),
    (NoMemory, PLAIN, "holds a reservation", 74), (NoMemory, STALE, "after it had released it", 4),
    (NeverForgets, STALE, "has not forgotten a claim", 0),
])  # fmt: skip
def test_faulty_node_manager_is_detected(pool: PoolMaker, kind, found: str, quick: int, monkeypatch):
    monkeypatch.setattr("faults.seeds.MOST_EVENTS", 10_000)
    assert finds(found, quick, pool, **kind)


def calls_off_what_is_committed(right=TwoPhaseClaims._demand):
    def impatient(self, proposal, now):
        late = now > proposal.state.start and proposal.phase.value == "committing"
        return self._abort(proposal, now) if late else right(self, proposal, now)

    return impatient


def lets_forget_too_soon(right=Proposal.demand):
    def too_soon(self, host):
        message = right(self, host)
        return replace(message, expires=0) if isinstance(message, say.Release) else message

    return too_soon


def takes_claims_for_final(right=negotiation.confirms_of):
    """Who takes a claim for final runs it, whatever the other hosts say to theirs."""
    return lambda *args, tentative: right(*args, tentative=not tentative)


def never_asks_again(self, this, _):
    """Publications alone may be lost."""
    return self._idle.add(this.states[0].job.number) or []


NOT_DONE = "ran in full, all its hosts lived, and the job was not done"


@pytest.mark.parametrize(
    ("where", "name", "broken", "kind", "found", "quick"),
    [
        (
            TwoPhaseClaims,
            "_on_host_death",
            lambda self, _, host: host in self._dead,
            PLAIN,
            "while an earlier one does",
            31,
        ),
        (TwoPhaseClaims, "_demand", calls_off_what_is_committed(), PLAIN, NOT_DONE, 94),
        (Proposal, "demand", lets_forget_too_soon(), STALE, "after it had released it", 4),
        (negotiation, "confirms_of", takes_claims_for_final(), LATE, NOT_DONE, 63),
        (TimedLateManager, "_retry_later", never_asks_again, LATE, "is lost", 1),
    ],
    ids=["new incarnation for the dead one", "called off for silence", "forgotten", "one phase", "never asks again"],
)
def test_faulty_task_manager_is_detected(where, name, broken, kind, found, quick, monkeypatch):
    monkeypatch.setattr(where, name, broken)
    monkeypatch.setattr("faults.seeds.MOST_EVENTS", 40_000)
    assert finds(found, quick, **kind)


def test_host_that_repeats_expired_requests_is_detected(monkeypatch):
    right = RelayingHost._relay

    def asks_all(self, relay, now):
        return right(self, replace(relay, expires=max(relay.expires, now + 1 + relay.patience)), now)

    monkeypatch.setattr("faults.seeds.MOST_EVENTS", 30_000)
    assert run_seed(39, stale=True, tree=True).violations == ()
    monkeypatch.setattr(RelayingHost, "_relay", asks_all)
    assert any("not over" in text for text in run_seed(39, stale=True, tree=True).violations)
