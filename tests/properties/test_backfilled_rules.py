"""A `dardis.Rule` with backfilling starts each job when and where the built-in order of the same keys starts it."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.actual import actual
from kit.central_runs import Case, dispatch
from kit.effort import examples
from kit.recording_predictor import Foreseen
from kit.site_events import stories
from properties.test_central import cases
from properties.test_compiled_simulation import plain_queues

from dardis.dispatch import CENTRAL_SETUPS
from dardis.dispatch.rule import Rule
from dardis.dispatch.setups import ProfileCheck, QueueSetUp
from dardis.model.choices import Expecting, ProfileRule
from dardis.model.errors import ProtocolError
from dardis.model.platform import NodeGroup, Platform
from dardis.model.target import Target
from dardis.registry import find_dispatcher, resolve_dispatcher
from dardis.registry.builders import CENTRAL
from dardis.runs.play import play


def cubed(age, expected, cores):
    slowed = age / expected
    return -(slowed * slowed * slowed * cores)


KEYS = {
    "wfp3": lambda _self, jobs, _now: cubed(jobs.age, jobs.expected, jobs.cores),
    "wt": lambda _self, jobs, _now: jobs.expected.astype(np.int64),
    "narrow": lambda _self, jobs, _now: jobs.cores,
    "fcfs": lambda _self, jobs, _now: list(zip(jobs.earliest.tolist(), np.full(len(jobs), "a"), strict=True)),
}


def _cores(self, job):
    return job.amounts[self.platform.kinds.index("cores")]


KEY = {
    "wfp3": lambda self, job, now: cubed(max(now - job.submit, 0), job.expected, _cores(self, job)),
    "wt": lambda _self, job, _now: (job.expected,),
    "narrow": lambda self, job, _now: f"{_cores(self, job):09}",
    "fcfs": lambda _self, job, _now: job.earliest + (1 << 60),
}


@st.composite
def rules(draw) -> tuple[type[Rule], QueueSetUp]:
    """A rule of any form, and the built-in set-up of its order."""
    order, reserve = draw(st.sampled_from(sorted(KEYS))), draw(st.sampled_from(["rule", "fcfs"]))
    backfill = draw(st.sampled_from(["easy", "conservative"]))
    form = draw(st.sampled_from([{"keys": KEYS[order]}, {"key": KEY[order]}]))
    kind = type("Own", (Rule,), {"backfill": backfill, "reserve": reserve, "__module__": __name__, **form})
    return kind, replace(CENTRAL_SETUPS[backfill], rule=order if reserve == "rule" else "fcfs", order=order)


def alike(kind: type[Rule], setup: QueueSetUp) -> QueueSetUp:
    """Set-up of the rule with the settings of the built-in one."""
    own = resolve_dispatcher(kind).setup
    shared = {f.name for f in fields(own)} & {f.name for f in fields(setup)} - {"about"}
    return replace(own, **{name: getattr(setup, name) for name in shared})


@given(rules(), cases(following=True), st.sampled_from(Expecting), st.data())
@examples(2)
def test_rule_with_backfilling_equals_the_builtin_order(drawn, case, expecting, data):
    kind, setup = drawn
    same = {name: getattr(case.setup, name) for name in ("profile", "node_choice", "units_per_node", "event_order")}
    setup = replace(setup, **same, profile_check=data.draw(st.sampled_from(ProfileCheck)), expected=expecting)
    foreseen = {job.number: data.draw(st.integers(1, job.walltime)) for job in case.jobs}
    predictor = None if expecting is Expecting.WALLTIME else Foreseen(foreseen)
    ours, theirs = (
        Case(case.platform, case.jobs, one, case.desired).run(predictor=predictor)
        for one in (alike(kind, setup), setup)
    )
    assert ours.schedule.digest() == theirs.schedule.digest()
    assert ours.reasons == theirs.reasons


@given(rules(), plain_queues())
@examples(1)
def test_rule_with_backfilling_equals_the_builtin_order_in_the_compiled_simulation(drawn, queue):
    (kind, setup), (platform, listed, other) = drawn, queue
    setup = replace(setup, node_choice=other.node_choice, units_per_node=other.units_per_node)
    ours, theirs = (
        play(platform, listed, replace(resolve_dispatcher(kind), setup=one, builder=CENTRAL), Target(), 1)
        for one in (alike(kind, setup), setup)
    )
    assert ours.schedule.digest() == theirs.schedule.digest()
    assert ours.recorder.reasons == theirs.recorder.reasons


@given(rules(), stories())
@examples(0.5)
def test_rule_with_backfilling_equals_the_builtin_order_beside_failures_and_site_reservations(drawn, case):
    kind, setup = drawn
    settings = [f"event_order={case.order}", f"units_per_node={case.units_per_node}"]
    theirs = find_dispatcher(str(kind.backfill), [f"rule={setup.rule}", f"order={setup.order}", *settings])
    runs = [
        play(case.site, case.jobs, one, Target(), 1, events=case.events)
        for one in (resolve_dispatcher(kind).with_settings(settings), theirs)
    ]
    assert case.as_it_was(runs[0]) == []
    assert runs[0].schedule.digest() == runs[1].schedule.digest()


PAIR = Platform("pair", (NodeGroup("n", 2, {"cores": 2}),))


def job(number, submit, runtime, cores, user=""):
    return actual(number, submit, submit, None, runtime, cores, (1,), 1, runtime=runtime, user=user)


def test_keys_of_users_order_the_queue():
    class Favourite(Rule):
        backfill = "easy"

        def keys(self, jobs, now):
            assert jobs.age.tolist() == (now - jobs.submit).tolist()
            return jobs.user != "ann"

    jobs = [job(1, 0, 10, 4), job(2, 1, 10, 4, "bob"), job(3, 2, 10, 4, "ann"), job(4, 3, 10, 4, "bob")]
    assert dispatch(PAIR, jobs, resolve_dispatcher(Favourite).setup).schedule.start.tolist() == [0, 20, 10, 30]


def test_reserved_for_fcfs_or_for_the_rule():
    class Shortest(Rule):
        backfill = "easy"

        def keys(self, jobs, _now):
            return jobs.walltime

    class Beside(Shortest):
        reserve = "fcfs"

    jobs = [job(1, 0, 10, 3), job(2, 1, 9, 4), job(3, 2, 8, 3), job(4, 3, 8, 1), job(5, 4, 6, 1)]
    starts = [
        dispatch(PAIR, jobs, resolve_dispatcher(kind).setup).schedule.start.tolist() for kind in (Shortest, Beside)
    ]
    assert starts == [[0, 19, 11, 3, 10], [0, 10, 19, 19, 4]]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (lambda _jobs: [1.0, None], r"key\(job 3\) gives None, which has no order"),
        (lambda _jobs: np.array([1.0, np.nan]), r"key\(job 3\) gives .*nan.*, which has no order"),
        (lambda jobs: jobs.age[:-1], r"keys gives an array of shape \(1,\) for 2 jobs"),
        (lambda jobs: np.zeros((len(jobs), 2)), r"keys gives an array of shape \(2, 2\) for 2 jobs"),
    ],
)
@pytest.mark.parametrize("backfill", [None, "easy"])
def test_keys_without_an_order_are_refused(keys, message, backfill):
    what = {"keys": lambda _self, jobs, _now: keys(jobs) if len(jobs) == 2 else jobs.age, "backfill": backfill}
    kind = resolve_dispatcher(type("Own", (Rule,), what | {"__module__": __name__}))
    jobs = [job(1, 0, 10, 4), job(2, 1, 10, 4), job(3, 1, 10, 4)]
    with pytest.raises(ProtocolError, match=message):
        play(PAIR, jobs, kind, Target(), 1)


def test_hard_profile_is_a_setting_of_a_rule_with_backfilling():
    kind = type("Own", (Rule,), {"backfill": "easy", "__module__": __name__})
    assert resolve_dispatcher(kind).with_settings(["profile=hard"]).setup.profile is ProfileRule.HARD
