"""Late-binding task managers on a bad network: nobody starves, and the worse of two heads gives way."""

from __future__ import annotations

import pytest
from faults.seeds import check
from kit.actual import actual
from kit.dispatchers import dispatcher_of

from dardis.model.platform import NodeGroup, Platform
from dardis.sim.fault_simulation import FaultSimulation, Scenario
from dardis.task_manager import LateSetUp, TimedLateManager
from dardis.task_manager.claims.two_phase_claims import ClaimTimeouts
from dardis.task_manager.late.backlog import Backlog
from dardis.transport.virtual_network import Faults
from dardis.wire.effects import Send, SendAll

PACE = ClaimTimeouts(patience=6, resend=6, lead=20)


def test_reported_backlog_is_correct_after_cancelled_claims(monkeypatch):
    told = []

    def tell(backlog, now):
        told.append({number: start for number, (_, start) in backlog._jobs.items()})
        return unchanged(backlog, now)

    def submit(manager, job, now):
        before = len(told)
        effects = submitted(manager, job, now)
        states = manager._negotiation.states
        for known in told[before:]:
            assert known == {number: None if states[number].nodes is None else states[number].start for number in known}
        return effects

    unchanged, submitted = Backlog.make_report, TimedLateManager.submit
    monkeypatch.setattr(Backlog, "make_report", tell)
    monkeypatch.setattr(TimedLateManager, "submit", submit)
    check(range(20, 30), late=True)
    assert any(None in known.values() and len({*known.values()}) > 1 for known in told)


SUBMIT, AGED_AFTER, BUSY_UNTIL = 5, 600, 1800
NARROW_S, WIDE_S = 60, 300


def wide_among_narrow(seed: int, *, drop: float, aged_after: int = AGED_AFTER) -> Scenario:
    """A job that needs all nodes; jobs of one node, all of better keys, keep them busy."""
    wide = actual(1, SUBMIT, SUBMIT, None, walltime=WIDE_S, runtime=WIDE_S, units=4, request=(2,), groups=1)
    narrow = [
        actual(2 + place, submit, submit, None, walltime=NARROW_S, runtime=NARROW_S, units=1, request=(2,), groups=1)
        for place, submit in enumerate(range(0, BUSY_UNTIL, 12))
    ]
    jobs = tuple(sorted([wide, *narrow], key=lambda job: job.submit))
    platform = Platform("busy", (NodeGroup("n", 4, {"cores": 2}),))
    setup = LateSetUp(aged_after_s=aged_after)
    return Scenario(seed, platform, (0, 1, 2, 3, 4), jobs, dispatcher_of(setup), 2, PACE, Faults(3, drop))


def start_of_the_wide(scenario: Scenario) -> int:
    simulation = FaultSimulation(scenario)
    simulation.run(lambda: 1 in simulation.told, most_events=200_000)
    return simulation.placed[1].start


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("drop", "failed_claims"), [(0.0, 1), (0.1, 3)])
def test_old_wide_job_starts_soon(seed, drop, failed_claims):
    """It is old a while after 1.25 times its own work, and what ran when it came, could be done.

    Then it reserves behind what runs, at its next poll or after as many claims as fail, each of which costs a wait.
    """
    allowance = sum(2 * (PACE.resend << failure) for failure in range(1, failed_claims + 1))
    bound = NARROW_S + PACE.lead + 4 * PACE.resend + 2 * NARROW_S + allowance
    assert (
        start_of_the_wide(wide_among_narrow(seed, drop=drop))
        <= SUBMIT + 1.25 * (WIDE_S + NARROW_S) + AGED_AFTER + bound
    )


def test_head_finds_an_earlier_start_without_new_publications(monkeypatch):
    peek, peeks = TimedLateManager._query_earlier, []

    def too_late(self, state, start, now):
        peeks.append(now)
        asked = peek(self, state, start, now)
        return [effect for effect in asked if not isinstance(effect, Send | SendAll)] if len(peeks) == 1 else asked

    monkeypatch.setattr(TimedLateManager, "_query_earlier", too_late)
    long, wide = (
        actual(1, 0, 0, None, 50_000, 2, (2,), 1, runtime=600),
        actual(2, 30, 30, None, 100, 2, (4,), 1, runtime=100),
    )
    platform, late = Platform("two", (NodeGroup("n", 2, {"cores": 4}),)), dispatcher_of(LateSetUp())
    simulation = FaultSimulation(Scenario(1, platform, (0, 1, 2), (long, wide), late, 2, PACE, Faults(3)))
    assert simulation.run(lambda: False, most_events=100_000), "it does not end"
    assert peeks[0] < 650
    assert 620 < simulation.placed[2].start < 620 + 20 * PACE.resend
    assert sorted(simulation.told) == [1, 2]
