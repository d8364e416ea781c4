"""Late-binding task managers on a bad network: nobody starves, and the worse of two heads gives way."""

from __future__ import annotations

import pytest
from faults.seeds import check, judge
from kit.actual import actual
from kit.dispatchers import dispatcher_of

from dardis.model.job import Actual
from dardis.model.platform import NodeGroup, Platform
from dardis.sim.faults import FaultSimulation, Scenario
from dardis.task_manager import LateByTimers, LateSetUp
from dardis.task_manager.claims.agreed import AgreedClaims, Pace
from dardis.task_manager.late.backlog import Backlog
from dardis.transport.virtual import Faults
from dardis.wire.effects import Done, Send, SendAll

PACE = Pace(patience=6, resend=6, lead=20)


def test_what_is_told_of_waiting_jobs_is_so_when_claims_have_been_called_off(monkeypatch):
    told = []

    def tell(backlog):
        told.append({number: start for number, (_, start) in backlog._jobs.items()})
        return unchanged(backlog)

    def submit(manager, job, now):
        before = len(told)
        effects = submitted(manager, job, now)
        states = manager._negotiation.states
        for known in told[before:]:
            assert known == {number: None if states[number].nodes is None else states[number].start for number in known}
        return effects

    unchanged, submitted = Backlog.tell, LateByTimers.submit
    monkeypatch.setattr(Backlog, "tell", tell)
    monkeypatch.setattr(LateByTimers, "submit", submit)
    check(range(20, 30), late=True)
    assert any(None in known.values() and len({*known.values()}) > 1 for known in told)


# --------------------------------------------------------------------------------------------------- nobody starves

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
def test_a_wide_job_starts_soon_after_it_has_grown_old(seed, drop, failed_claims):
    """It is old once its own work, and what ran when it came, could be done, and a while later.

    Then it reserves behind what runs, at its next poll or after as many claims as fail, each of which costs a wait.
    """
    allowance = sum(2 * (PACE.resend << failure) for failure in range(1, failed_claims + 1))
    bound = NARROW_S + PACE.lead + 4 * PACE.resend + 2 * NARROW_S + allowance
    assert start_of_the_wide(wide_among_narrow(seed, drop=drop)) <= SUBMIT + WIDE_S + NARROW_S + AGED_AFTER + bound


def test_without_age_and_heads_it_starves(monkeypatch):
    monkeypatch.setattr(LateByTimers, "_is_best", lambda *_: False)
    never = wide_among_narrow(0, drop=0.0, aged_after=1 << 40)
    assert start_of_the_wide(never) >= BUSY_UNTIL


# --------------------------------------------------------------------------------------------------------- two heads


def two_heads() -> Scenario:
    """Job 1 runs to 674. Job 2 is the head of one task manager, job 3, a better one, later of the other."""
    rows = ((1, 0, 600, 2, 3), (2, 30, 900, 2, 4), (3, 80, 50, 2, 4), (4, 120, 40, 1, 1))
    jobs = tuple(
        actual(n, submit, submit, None, time, units, (cores,), 1, runtime=time)
        for n, submit, time, units, cores in rows
    )
    platform = Platform("two", (NodeGroup("n", 2, {"cores": 4}),))
    return Scenario(3, platform, (0, 1, 2), jobs, dispatcher_of(LateSetUp()), 2, PACE, Faults(3))


def test_the_worse_head_gives_way():
    """When job 4 ends all hear of both heads; the better one moves to where it fits."""
    simulation = FaultSimulation(two_heads())
    simulation.run(lambda: False, most_events=20_000)
    starts = {number: placed.start for number, placed in simulation.placed.items()}
    assert (starts[1], starts[4]) == (74, 140)
    assert 674 <= starts[3] < starts[2] < 900
    assert judge(two_heads()).violations == ()


def test_if_it_does_not_the_better_one_comes_later(monkeypatch):
    monkeypatch.setattr(AgreedClaims, "call_off", lambda *_: [])
    simulation = FaultSimulation(two_heads())
    simulation.run(lambda: False, most_events=20_000)
    assert simulation.placed[2].start == 674
    assert simulation.placed[3].start >= 1574


# ------------------------------------------------------------------------------------------------- for a long while


def on_two_nodes(*jobs: Actual, managers: int) -> FaultSimulation:
    """Run the jobs on two nodes of four cores, each a host, where nothing is lost."""
    platform = Platform("two", (NodeGroup("n", 2, {"cores": 4}),))
    simulation = FaultSimulation(
        Scenario(1, platform, (0, 1, 2), jobs, dispatcher_of(LateSetUp()), managers, PACE, Faults(3))
    )
    assert simulation.run(lambda: False, most_events=100_000), "it does not end"
    return simulation


def test_a_task_manager_serves_any_number_of_jobs_in_turn():
    """More than it has room for at once: who is done leaves its room to others."""
    jobs = [actual(n, 30 * n, 30 * n, None, 5, 1, (1,), 1, runtime=5) for n in range(1, 330)]
    simulation = on_two_nodes(*jobs, managers=1)
    assert sorted(simulation.told) == [job.number for job in jobs]
    assert all(len(ends) == 1 and isinstance(ends[0], Done) for ends in simulation.told.values())


def test_a_head_finds_its_earlier_start_though_nobody_publishes_again(monkeypatch):
    """Job 1 ends long before its walltime. What job 2 asks then is answered too late, and nothing else happens."""
    peek, peeks = LateByTimers._peek, []

    def too_late(self, state, start, now):
        peeks.append(now)
        asked = peek(self, state, start, now)
        return [effect for effect in asked if not isinstance(effect, Send | SendAll)] if len(peeks) == 1 else asked

    monkeypatch.setattr(LateByTimers, "_peek", too_late)
    long, wide = (
        actual(1, 0, 0, None, 50_000, 2, (2,), 1, runtime=600),
        actual(2, 30, 30, None, 100, 2, (4,), 1, runtime=100),
    )
    simulation = on_two_nodes(long, wide, managers=2)
    assert peeks[0] < 650
    assert 620 < simulation.placed[2].start < 620 + 20 * PACE.resend
    assert sorted(simulation.told) == [1, 2]
