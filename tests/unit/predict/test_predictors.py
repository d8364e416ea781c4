"""Predictors of arriving jobs against a plain second reckoning; none knows what has not ended."""

from __future__ import annotations

from dataclasses import replace
from operator import mul
from string import digits

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.effort import examples

from dardis.model.choices import Expecting
from dardis.model.job import Job
from dardis.predict import learned, new_predictor, used_share
from dardis.predict.base import STEPS, raise_prediction
from dardis.predict.recent import LastTwoRuntimes

TIMES = st.integers(1, 1000)


@st.composite
def histories(draw, most: int = 14):
    """Jobs, for how long each runs, and events: at which time each arrives (first) and ends."""
    rows = draw(
        st.lists(
            st.tuples(
                st.sampled_from(["", "ann", "bob"]), st.sampled_from(["", "fit", "fit1", "fit2", "7"]),
                st.sampled_from(["", "long"]), st.sampled_from([60, 600]), st.sampled_from([1, 2]), TIMES, TIMES,
            ),
            min_size=1, max_size=most,
        )
    )  # fmt: skip
    jobs, events = [], []
    for number, (user, name, queue, walltime, units, submit, runtime) in enumerate(rows):
        job = Job(number, submit, submit, None, walltime, units, (1,), 1, queue=queue, user=user, name=name)
        ran = min(runtime, walltime)
        jobs.append((job, ran))
        events += [(submit, 1, number), (submit + ran + draw(st.integers(0, 99)), 0, number)]
    return jobs, sorted(events)


def answers(predictor, jobs, events):
    """What is predicted of each job, in the order in which they arrive, and what had ended by then."""
    ended, said = [], []
    for time, arrives, number in events:
        job, ran = jobs[number]
        if arrives:
            said.append((job, tuple(ended), time, *predictor.predict(job, time)))
        else:
            ended.append(number)
            predictor.observe(job, ran, time)
    return said


@given(histories(), st.sampled_from([e for e in Expecting if e is not Expecting.LEARNED]))
@examples()
def test_predictions_are_valid_and_use_no_future_data(history, expecting):
    jobs, events = history
    truth = {job.number: ran for job, ran in jobs}
    for place, (job, ended, _, duration, rule) in enumerate(answers(new_predictor(expecting, truth, 1), jobs, events)):
        assert 1 <= duration <= job.walltime
        assert rule
        if expecting is not Expecting.REAL:
            others = [(j, ran if j.number in ended else min(7 * ran, j.walltime)) for j, ran in jobs]
            assert answers(new_predictor(expecting, truth, 1), others, events)[place][3:] == (duration, rule)


@given(histories())
@examples()
def test_last_two_predictor_equals_the_planners_count(history):
    jobs, events = history
    jobs = [(replace(job, user=job.user or "eve"), ran) for job, ran in jobs]
    at = {number: time for time, arrives, number in events if not arrives}
    for job, ended, time, duration, rule in answers(new_predictor(Expecting.LAST_TWO, {}, 1), jobs, events):
        past = [jobs[number] for number in ended]
        finish = np.array([at[number] for number in ended], dtype=np.int64)
        ran = np.array([r for _, r in past], dtype=np.int64)
        walltime = np.array([j.walltime for j, _ in past], dtype=np.int64)
        planner = LastTwoRuntimes(finish, ran, [j.user for j, _ in past], walltime)
        assert duration == planner.runtime(job.user, job.walltime, time)
        assert ("last" in rule) == any(j.user == job.user for j, _ in past)


def alike(job, other, fields):
    stem = {one.number: one.name.rstrip(digits) or one.name for one in (job, other)}
    shared = {
        "user": job.user == other.user,
        "name": job.name == other.name,
        "stem": stem[job.number] == stem[other.number],
        "queue": job.queue == other.queue,
        "walltime": job.walltime == other.walltime,
        "request": (job.units, job.request) == (other.units, other.request),
    }
    return all(shared[field] for field in fields)


@given(histories())
@examples()
def test_data_driven_takes_the_last_job_that_shares_most(history):
    rules = [
        ("user", "name", "queue", "walltime", "request"), ("user", "stem", "queue", "walltime", "request"),
        ("user", "name", "queue", "walltime"), ("user", "stem", "queue", "walltime"),
        ("user", "name"), ("user", "stem"),
    ]  # fmt: skip
    jobs, events = history
    stated = any(job.user for job, _ in jobs[:2])
    jobs = [(replace(job, user=(job.user or "eve") if stated else ""), ran) for job, ran in jobs]
    for job, ended, _, duration, rule in answers(new_predictor(Expecting.DATA_DRIVEN, {}, 1), jobs, events):
        expected = job.walltime
        for fields in rules:
            if fields[-1] in ("name", "stem") and not job.user and not job.name:
                continue  # nothing is left that two jobs could share
            found = [ran for other, ran in (jobs[number] for number in ended) if alike(job, other, fields)]
            if found:
                expected = min(found[-1], job.walltime)
                break
        else:
            assert rule == "walltime"
        assert duration == expected


@pytest.mark.parametrize("expecting", [Expecting.LAST_TWO, Expecting.DATA_DRIVEN, Expecting.LEARNED])
def test_a_job_of_an_unknown_user_shares_no_history(expecting):
    predictor = new_predictor(expecting, {}, 1)
    unknown = Job(1, 0, 0, None, 100, 1, (4,), 1)
    known = replace(unknown, number=2, user="ann")
    assert predictor.predict(known, 0).duration == 100
    assert predictor.predict(unknown, 0) == (100, "walltime")
    predictor.observe(unknown, 10, 50)
    assert predictor.predict(replace(known, number=3), 60).duration == 100
    predictor.observe(known, 20, 70)
    assert predictor.predict(replace(unknown, number=4), 80) == (100, "walltime")
    assert predictor.predict(replace(known, number=5), 80).duration == 20


def test_forest_learns_walltime_use_by_user():
    predictor, shares = new_predictor(Expecting.LEARNED, {}, 5), {"quick": 0.1, "slow": 0.9}
    chance = np.random.default_rng(5)
    for number in range(300):
        user, walltime = [*shares][number % 2], int(chance.integers(600, 6000))
        job = Job(number, 60 * number, 60 * number, None, walltime, 1, (1,), 1, user=user)
        ran = int(shares[user] * walltime)
        predictor.predict(job, job.submit)
        predictor.observe(job, ran, job.submit + ran)
    for user, share in shares.items():
        duration, rule = predictor.predict(Job(999, 90_000, 90_000, None, 3000, 1, (1,), 1, user=user), 90_000)
        assert rule == "forest"
        assert abs(duration / (share * 3000) - 1) < 0.25


@given(histories(most=40), st.integers(0, 1 << 40))
@examples(0.1)
def test_forest_is_repeatable_and_uses_no_future_data(history, seed):
    jobs, events = history
    few, learned.FEWEST = learned.FEWEST, 5
    try:
        first = answers(new_predictor(Expecting.LEARNED, {}, seed), jobs, events)
        assert answers(new_predictor(Expecting.LEARNED, {}, seed), jobs, events) == first
        place = len(first) // 2
        others = [(j, ran if j.number in first[place][1] else min(7 * ran, j.walltime)) for j, ran in jobs]
        assert answers(new_predictor(Expecting.LEARNED, {}, seed), others, events)[place] == first[place]
    finally:
        learned.FEWEST = few


def predictor(rows):
    finish, duration, user, walltime = zip(*rows, strict=True)
    return LastTwoRuntimes(np.array(finish), np.array(duration), list(user), np.array(walltime))


def test_new_user_gets_the_overall_prediction():
    known = predictor([(100, 10, "a", 100), (200, 30, "a", 100)])
    assert known.runtime("new", 1000, now=200) == 200
    assert known.runtime("new", 1000, now=100) == 100
    assert known.runtime("new", 1000, now=99) == 1000
    unknown = predictor([(100, 10, "", 100), (200, 30, "", 100)])
    assert unknown.runtime("", 1000, now=200) == unknown.runtime("a", 1000, now=200) == 200


WALLTIMES = st.integers(1, 2_000_000)


def expiries(predicted: int, walltime: int) -> list[int]:
    """After how many seconds of running each of its predictions expires, the walltime last."""
    found = [min(predicted, walltime)]
    while found[-1] < walltime:
        found.append(raise_prediction(predicted, walltime, found[-1]))
    return found


def test_the_steps_are_those_of_the_paper():
    assert [step // 60 for step in STEPS] == [1, 5, 15, 30, 60, 120, 300, 600, 1200, 3000, 6000]
    assert expiries(600, 10_000) == [600, 660, 960, 1860, 3660, 7260, 10_000]


@given(WALLTIMES, st.data())
@examples()
def test_a_prediction_grows_in_few_steps_up_to_the_walltime_and_is_never_past(walltime, data):
    predicted = data.draw(st.integers(1, walltime))
    elapsed = data.draw(st.integers(0, walltime - 1))
    found, duration = expiries(predicted, walltime), raise_prediction(predicted, walltime, elapsed)
    assert max(predicted, elapsed + 1) <= duration <= walltime
    assert duration == min(one for one in found if one > elapsed)
    assert len(found) <= 1 + len(STEPS) + 1
    assert found == sorted(set(found))


@given(histories())
@examples()
def test_used_share_blends_kinds_from_coarse_to_fine(history):
    jobs, events = history
    kinds = [(), ("user",), ("user", "walltime"), ("user", "walltime", "request")]
    for job, ended, _, duration, rule in answers(new_predictor(Expecting.USED_SHARE, {}, 1), jobs, events):
        past = [(other, ran) for other, ran in (jobs[number] for number in ended) if other.user]
        share, prior = 1.0, 1.0
        for fields in [*kinds, ("user", "walltime", "request", "stem")] if job.name else kinds:
            if fields and not job.user:
                break
            same = [
                ran / other.walltime
                for other, ran in past
                if alike(job, other, fields) and ("stem" not in fields or other.name)
            ]
            weights = [0.6**place for place in reversed(range(len(same)))]
            share = (sum(map(mul, weights, same)) + prior * share) / (sum(weights) + prior)
            prior = 0.7
        assert duration == pytest.approx(max(share * job.walltime, 1), abs=1 + 1e-6)
        assert (rule == "walltime") == (not past)


def test_used_share_forgets_the_kinds_that_ended_first(monkeypatch):
    monkeypatch.setattr(used_share, "MOST_KINDS", 7)
    predictor = new_predictor(Expecting.USED_SHARE, {}, 1)
    for number, user in enumerate(["ann", "bob", "eve"]):  # each has three kinds, and all have one
        predictor.observe(Job(number, 0, 0, None, 100, 1, (1,), 1, user=user), 10, 0)
    rules = [
        predictor.predict(Job(9, 0, 0, None, 100, 1, (1,), 1, user=user), 0).rule for user in ("ann", "bob", "eve")
    ]
    assert rules == ["all jobs", "user, walltime, request", "user, walltime, request"]
