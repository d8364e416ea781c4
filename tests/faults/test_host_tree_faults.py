"""A tree of hosts on a bad network: inner hosts die in the middle of questions, and nothing is lost or overbooked."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from faults.scenarios import draw_scenario
from faults.seeds import judge, run_seed
from kit.actual import actual
from kit.dispatchers import dispatcher_of

from dardis.model.errors import InputError
from dardis.model.job import ActualJob
from dardis.model.offer_rows import CANDIDATES_TAG, SUMS_TAG
from dardis.model.platform import NodeGroup, Platform
from dardis.node_manager import RelayingHost, relay
from dardis.registry import BUILT_IN_DISPATCHERS
from dardis.sim.fault_simulation import Crash, FaultSimulation, Scenario
from dardis.task_manager import SETUPS, LateSetUp, questions
from dardis.task_manager.claims.two_phase_claims import LONGEST_BACKOFF, ClaimTimeouts, TwoPhaseClaims
from dardis.transport.virtual_network import Faults
from dardis.wire import messages as say
from dardis.wire.effects import Effect, Kill, Send

PACE = ClaimTimeouts(patience=12, resend=6, lead=40)
SEVEN = Platform("seven", (NodeGroup("n", 7, {"cores": 4}),))
"""A tree of arity 2: host 0 asks 1 and 4, 1 asks 2 and 3, 4 asks 5 and 6."""


def one_dies(*jobs: ActualJob, host: int, at: int, heard: int, back: int | None = None, managers: int = 1) -> Scenario:
    crash = Crash(host, at, back, (heard,) * managers)
    bounds = tuple(range(8))
    setup = BUILT_IN_DISPATCHERS["dardis-throughput"]
    return Scenario(1, SEVEN, bounds, jobs, setup, managers, PACE, Faults(3), (crash,), arity=2)


def job(number: int, submit: int, nodes: int, *, groups: int = 1) -> ActualJob:
    return actual(number, submit, submit, None, 100, nodes, (4,), groups, runtime=100)


def play(scenario: Scenario) -> FaultSimulation:
    simulation = FaultSimulation(scenario)
    assert simulation.run(lambda: False, most_events=50_000), "it does not end"
    assert judge(scenario).violations == ()
    return simulation


@pytest.mark.parametrize(
    ("host", "heard", "nodes"),
    [(4, 400, [0, 1, 2, 3]), (4, 110, [0, 1, 2, 3, 5, 6]), (0, 130, [1, 2, 3, 4, 5, 6])],
    ids=["nobody hears of it", "those below the dead one are reached", "the next host takes the root's place"],
)
def test_job_runs_on_the_remaining_hosts(host, heard, nodes):
    simulation = play(one_dies(job(1, 100, len(nodes)), host=host, at=104, heard=heard))
    assert simulation.placed[1].nodes.tolist() == nodes
    assert heard < 400 or simulation.renegotiations == 0
    assert heard < 400 or simulation.placed[1].start <= 100 + PACE.lead + 6 * PACE.patience


def test_simultaneous_submissions_race_until_all_end():
    jobs = [job(number, 100, 1 + number % 7) for number in range(1, 25)]
    simulation = play(one_dies(*jobs, host=1, at=103, heard=140, back=500, managers=4))
    assert len(simulation.told) == len(jobs)


CHAIN = [
    (21, ClaimTimeouts(20, 20, 60)), (5, ClaimTimeouts(3, 3, 9)),
    pytest.param(41, ClaimTimeouts(20, 20, 60), marks=pytest.mark.slow),
    pytest.param(21, ClaimTimeouts(3, 3, 9), marks=pytest.mark.slow),
]  # fmt: skip


@pytest.mark.parametrize("setup", [SETUPS["dardis-throughput"], LateSetUp(aged_after_s=600)], ids=["drawn", "late"])
@pytest.mark.parametrize(("hosts", "pace"), CHAIN)
def test_timeout_grows_to_the_longest_round_trip(hosts, pace, setup):
    platform = Platform("chain", (NodeGroup("n", hosts, {"cores": 4}),))
    jobs = tuple(job(number, 10 * number, hosts) for number in (1, 2, 3))
    scenario = Scenario(1, platform, tuple(range(hosts + 1)), jobs, dispatcher_of(setup), 1, pace, Faults(60), arity=1)
    outcome = judge(scenario)
    assert (outcome.violations, outcome.done) == ((), 3)


def test_network_slower_than_the_longest_timeout_is_refused():
    pace = ClaimTimeouts(patience=20, resend=3, lead=60)
    one = one_dies(job(1, 100, 1), host=4, at=104, heard=400)
    replace(one, pace=pace, faults=Faults(60))
    with pytest.raises(InputError, match=r"^pace: messages take up to 61 s, resend is 3 s; expected at most 20 times"):
        replace(one, pace=pace, faults=Faults(61))


def never_again(number: int, now: int) -> list[Effect]:
    raise AssertionError(f"job {number} asks anew at {now}")


def test_failures_other_than_timeouts_do_not_extend_timeouts():
    agreement = TwoPhaseClaims(ClaimTimeouts(10, 4, 30), 1, never_again, levels=20, questions=2)
    for _ in range(50):
        agreement.note_failure(5, slow=False)
    assert agreement._allowance(5) == 4 << LONGEST_BACKOFF


QUICK = (3, 10, 11, 66)
"""Seeds that are soon over."""


def find_violations() -> str:
    """What is wrong with the quick seeds."""
    return "\n".join(text for seed in QUICK for text in run_seed(seed, tree=True).violations)


def asks_again_never(self, key, now):
    """A part or two are always missing, and a wide job never finds enough offers."""
    effects = GO_ON(self, key, now)
    return [effect for effect in effects if not (isinstance(effect, Send) and isinstance(effect.message, say.Relay))]


def waits_for_ever(self, key, now):
    question = self._open[key]
    question.until += question.answer is None
    return GO_ON(self, key, now)


def counts_an_answer_twice(asked, told):
    """Starts are selected that the nodes don't hold; claims that name a node twice are refused, again and again."""
    return JOINED(asked, [*told, told[-1]])


GO_ON, JOINED = RelayingHost._on_reminder, relay.join_answers


@pytest.mark.parametrize(
    ("where", "name", "broken", "what"),
    [
        (RelayingHost, "_on_reminder", asks_again_never, "is lost"),
        (RelayingHost, "_remind", lambda *_: Kill(-1, 0), "has not forgotten a question"),  # nobody runs that
        (questions, "first_living_host", lambda first, *_: first, "is lost"),
        (RelayingHost, "_replaced_hosts", lambda *_: [], "is lost"),
        (relay, "join_answers", counts_an_answer_twice, "is lost"),
    ],
    ids=["silent hosts", "never forgets", "the first host is always the root", "the dead", "an answer twice"],
)
def test_faulty_tree_is_detected(where, name, broken, what, monkeypatch):
    monkeypatch.setattr("faults.seeds.MOST_EVENTS", 8_000)
    assert find_violations() == ""
    monkeypatch.setattr(where, name, broken)
    violations = find_violations()
    assert what in violations
    assert "exceeds its" not in violations


def test_host_that_waits_forever_for_its_subtree_is_detected(monkeypatch):
    monkeypatch.setattr(RelayingHost, "_on_reminder", waits_for_ever)
    assert not FaultSimulation(one_dies(job(1, 100, 4), host=4, at=104, heard=400)).run(lambda: False, 10_000)


def test_late_binding_requests_sums_and_candidates_through_the_tree():
    seen: set[str] = set()

    def note(_: int, text: str) -> None:
        seen.update(kind for kind in ("Sums", "Candidates", "Offers") if f"{kind}(" in text)
        tags = {int(tag) for tag in re.findall(r"EncodedMessage\(block=array\(\[ *(-?\d+)", text)}
        seen.update(kind for kind, tag in (("Sums", SUMS_TAG), ("Candidates", CANDIDATES_TAG)) if tag in tags)

    judge(draw_scenario(3, tree=True, late=True), log=note)
    assert seen == {"Sums", "Candidates"}
