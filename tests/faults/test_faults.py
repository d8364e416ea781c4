"""Several task managers at once on a bad network: nobody overbooks, nothing hangs, no job is lost."""

from __future__ import annotations

import pytest
from faults.broken import NoFitTest, NoKill
from faults.scenarios import draw_scenario
from faults.seeds import check, judge, run_seed
from kit.actual import actual

from dardis.model.platform import NodeGroup, Platform
from dardis.node_manager import NodePool
from dardis.registry import OURS
from dardis.sim.faults import FaultSimulation, PoolMaker, Scenario
from dardis.task_manager import SETUPS
from dardis.task_manager.claims.agreed import AgreedClaims, Pace
from dardis.transport.virtual import Faults
from dardis.wire import messages as say
from dardis.wire.effects import Effect

FEW, SOME, MANY, BLOCK = range(40, 76), range(100), range(1000, 3200), 100


def test_nothing_breaks_under_faults():
    outcomes = check(FEW)
    # The faults did bite: otherwise this would show nothing.
    for what, least in {
        "crashes": 70, "lost": 3500, "cut": 18, "repeated": 1, "rejected": 7, "waiting": 7, "done": 350,
    }.items():  # fmt: skip
        assert sum(getattr(outcome, what) for outcome in outcomes) >= least, what


@pytest.mark.slow
@pytest.mark.parametrize("first", MANY[::BLOCK])
def test_nothing_breaks_under_faults_in_many_seeds(first):
    check(range(first, first + BLOCK))


def test_messages_in_any_order_are_harmless():
    outcomes = check(FEW, reliable=True)
    assert all(outcome.cut == outcome.repeated == outcome.waiting == outcome.lost == 0 for outcome in outcomes)
    assert all(outcome.placements == outcome.done for outcome in outcomes)


@pytest.mark.slow
@pytest.mark.parametrize("first", MANY[: len(MANY) // 2 : BLOCK])
def test_messages_in_any_order_are_harmless_in_many_seeds(first):
    check(range(first, first + BLOCK), reliable=True)


@pytest.mark.parametrize("seed", range(5))
def test_a_seed_replays(seed):
    first, second = run_seed(seed), run_seed(seed)
    assert first == second
    assert first.digest != run_seed(seed, reliable=True).digest


def test_without_contention_every_first_claim_holds():
    platform = Platform("roomy", (NodeGroup("n", 4, {"cores": 8}),))
    jobs = tuple(
        actual(number, 3 * number, 3 * number, None, walltime=500, runtime=100, units=2, request=(1,), groups=1)
        for number in range(8)
    )
    pace = Pace(patience=30, resend=25, lead=90)
    scenario = Scenario(
        7,
        platform,
        (0, 1, 2, 3, 4),
        jobs,
        OURS["dardis-throughput"],
        3,
        pace,
        Faults(longest_delay=10, duplicate=0.5),
    )
    outcome = judge(scenario)
    assert outcome.violations == ()
    assert (outcome.done, outcome.placements, outcome.renegotiations) == (8, 8, 0)
    simulation = FaultSimulation(scenario)
    simulation.run(lambda: False, most_events=100_000)
    assert {job: placed.start for job, placed in simulation.placed.items()} == {
        job.number: job.submit + pace.lead for job in jobs
    }


# --------------------------------------------------------------------------------- rules that are broken are found out


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


@pytest.mark.parametrize(
    ("pool", "found"),
    [
        (NoFitTest, "is overbooked"),
        (NoKill, "is overbooked"),
        (NoLapse, "lies before the present"),
        (NoReport, "is lost"),
        (NoMemory, "holds a reservation"),
    ],
)
def test_a_broken_node_manager_is_found_out(pool: PoolMaker, found: str, monkeypatch):
    monkeypatch.setattr("faults.seeds.MOST_EVENTS", 10_000)
    assert finds(found, pool)


def finds(found: str, pool: PoolMaker = NodePool) -> bool:
    """Whether one of the seeds shows it."""
    return any(found in text for seed in SOME for text in run_seed(seed, make_pool=pool).violations)


def test_taking_a_new_incarnation_for_the_dead_one_is_found_out(monkeypatch):
    monkeypatch.setattr(AgreedClaims, "_died", lambda self, _, host: host in self._dead)
    assert finds("while an earlier one does")


def test_calling_off_what_is_committed_for_silence_is_found_out(monkeypatch):
    right = AgreedClaims._demand

    def impatient(self, proposal, now):
        late = now > proposal.state.start and proposal.phase.value == "committing"
        return self._abort(proposal, now) if late else right(self, proposal, now)

    monkeypatch.setattr(AgreedClaims, "_demand", impatient)
    assert finds("all its hosts lived, and the job was not done")


def test_the_scenarios_differ():
    scenarios = [draw_scenario(seed) for seed in SOME]
    assert {scenario.managers for scenario in scenarios} == {1, 2, 3, 4}
    assert {scenario.dispatcher.setup.generator for scenario in scenarios} == {
        setup.generator for setup in SETUPS.values()
    }
    assert {len(scenario.platform.kinds) for scenario in scenarios} == {1, 2, 3}
    assert {scenario.platform.node_count for scenario in scenarios} == set(range(2, 9))
