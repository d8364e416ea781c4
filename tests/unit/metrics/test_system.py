"""The machine's figures against brute force, one value a second."""

from __future__ import annotations

import csv
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from kit.schedules import INSTANCES, schedule_of, use_by_second

from dardis.metrics.jobs import metrics_by
from dardis.metrics.system import dissimilarity, overutilisation, schedule_metrics, trimmed, used_profile, write_profile
from dardis.model.errors import InputError
from dardis.model.job import NO_TIME
from dardis.model.platform import NodeGroup, Platform
from dardis.model.profile import StepFunction
from dardis.model.target import DesiredProfile

SECONDS = np.arange(160)
STEPS = st.lists(st.tuples(st.integers(0, 120), st.integers(0, 9)), max_size=6)


@given(data=st.data())
@settings(deadline=None)
def test_use_and_excess_are_those_of_every_second(data: st.DataObject) -> None:
    platform, schedule = data.draw(INSTANCES)
    steps = data.draw(STEPS)
    desired = DesiredProfile(platform, {0: StepFunction.from_steps(2, steps)})
    held = use_by_second(platform, schedule).sum(axis=0)
    for kind, name in enumerate(platform.kinds):
        assert used_profile(schedule, name).at(SECONDS).tolist() == held[kind].tolist()
    figures = schedule_metrics(schedule, platform, desired)
    excess = np.maximum(held[0] - desired.total(0).at(SECONDS), 0)
    assert figures["overutilisation_core_s"] == excess.sum()
    assert figures["overutilisation_memory_s"] == 0
    if schedule.ran.any():
        first, last = schedule.submit[schedule.ran].min(), schedule.finish[schedule.ran].max()
        assert figures["utilisation"] == held[0].sum() / ((last - first) * platform.cores)
        assert figures["theoretical_runtime_s"] == held[0].sum() / platform.cores
    else:
        assert figures["utilisation"] is None


def by_second(f: list[int], g: list[int]) -> float:
    """The thesis's dissimilarity, written down as it is defined."""
    psi = min((Fraction(b, a) for a, b in zip(f, g, strict=True) if a > 0), default=Fraction(1))
    r_gg = sum(b * b for b in g)
    r_gf = sum(b * psi * a for a, b in zip(f, g, strict=True))
    return float((r_gg - r_gf) / Fraction(r_gg))


@given(f=STEPS, g=STEPS, start=st.integers(-3, 60), length=st.integers(1, 60))
@example(f=[(0, 3), (10, 7)], g=[(0, 3), (10, 7)], start=0, length=20)
def test_dissimilarity_is_that_of_every_second(
    f: list[tuple[int, int]], g: list[tuple[int, int]], start: int, length: int
) -> None:
    used, desired = StepFunction.from_steps(0, f), StepFunction.from_steps(1, g)
    seconds = np.arange(start, start + length)
    measured = dissimilarity(used, desired, start, start + length)
    if not desired.at(seconds).any():
        assert measured is None
    else:
        assert measured == by_second(used.at(seconds).tolist(), desired.at(seconds).tolist())


def test_sums_beyond_64_bits_are_exact() -> None:
    huge = 1 << 40
    f, g = StepFunction.from_steps(0, [(0, huge + 1)]), StepFunction.from_steps(0, [(0, huge), (1 << 30, huge + 1)])
    lengths = 1 << 30
    r_gg = lengths * (huge**2 + (huge + 1) ** 2)
    r_gf = lengths * (huge * (huge + 1) + (huge + 1) ** 2)
    assert dissimilarity(f, g, 0, 2 * lengths) == float(1 - Fraction(huge, huge + 1) * Fraction(r_gf, r_gg))


def test_overutilisation_within_a_window() -> None:
    used = StepFunction.from_steps(0, [(0, 5), (10, 0)])
    desired = StepFunction.from_steps(3, [(8, 9)])
    assert overutilisation(used, desired) == 8 * 2
    assert overutilisation(used, desired, (6, 20)) == 2 * 2
    assert overutilisation(StepFunction.from_steps(0, []), desired) == 0


@given(data=st.data())
@settings(deadline=None)
def test_dissimilarity_reaches_to_the_largest_deadline(data: st.DataObject) -> None:
    platform, schedule = data.draw(INSTANCES)
    assume(schedule.ran.any())
    desired = DesiredProfile(platform, {0: StepFunction.from_steps(1, data.draw(STEPS))})
    figures = schedule_metrics(schedule, platform, desired)
    deadlines = schedule.latest[schedule.latest != NO_TIME]
    for name, first in (("dissimilarity", 0), ("dissimilarity_from_first_submission", schedule.submit.min())):
        seconds = np.arange(first, deadlines.max(initial=first))
        g = desired.total(0).at(seconds).tolist()
        f = use_by_second(platform, schedule).sum(axis=0)[0][seconds].tolist()
        assert figures[name] == (by_second(f, g) if any(g) and len(deadlines) else None)


def test_without_jobs_or_wishes_figures_are_null() -> None:
    platform = Platform("p", (NodeGroup("n", 2, {"cores": 2}),))
    nothing = schedule_metrics(schedule_of(("cores",), []), platform, DesiredProfile(platform))
    assert {name for name, value in nothing.items() if value is not None} == {
        "jobs", "completed", "killed", "rejected", "tardiness_s", "late_jobs", "overutilisation_core_s",
    }  # fmt: skip
    one = schedule_metrics(schedule_of(("cores",), [{"placed": {0: 1}}]), platform, None)
    assert {name for name, value in one.items() if value is None} == {
        "mean_user_bounded_slowdown",
        "dissimilarity",
        "dissimilarity_from_first_submission",
        "weighted_queue_time",
        "weighted_tardiness",
    }
    assert [one[name] for name in ("tardiness_s", "late_jobs", "overutilisation_core_s")] == [0, 0, 0]


def test_trimming_counts_jobs_by_submission_and_use_by_window() -> None:
    platform = Platform("p", (NodeGroup("n", 2, {"cores": 2}),))
    rows = [{"submit": submit, "start": submit, "finish": submit + 10, "placed": {0: 1}} for submit in (0, 5, 20, 40)]
    schedule = schedule_of(("cores",), rows)
    counted, window = trimmed(schedule, (5, 10))
    assert (counted.tolist(), window) == ([1, 2], (5, 30))
    figures = schedule_metrics(schedule, platform, None, (5, 10))
    assert figures["jobs"] == 2
    assert figures["utilisation"] == (5 + 10 + 10) / (25 * 4)
    assert figures["theoretical_runtime_s"] == (10 + 10) / 4  # of the jobs that count
    for wrong in ((21, 20), (-1, 0)):
        with pytest.raises(InputError, match="--trim"):
            trimmed(schedule, wrong)
    assert trimmed(schedule, None)[1] is None


@given(data=st.data())
@settings(deadline=None)
def test_groups_sum_to_the_whole(data: st.DataObject) -> None:
    platform, schedule = data.draw(INSTANCES)
    everyone = np.arange(len(schedule.number))
    whole = schedule_metrics(schedule, platform, None)
    rows = list(metrics_by(schedule, platform, everyone))
    for by, names in (("queue", schedule.queue), ("user", schedule.user)):
        groups = [row for row in rows if row["by"] == by]
        assert [row["name"] for row in groups] == sorted(set(names))
        for figure in ("jobs", "completed", "killed", "rejected", "total_wait_s", "late_jobs"):
            assert sum(row[figure] or 0 for row in groups) == (whole[figure] or 0)
        for figure in ("utilisation", "theoretical_runtime_s", "weighted_queue_time", "weighted_tardiness"):
            assert sum(row[figure] or 0 for row in groups) == pytest.approx(whole[figure] or 0)


@given(data=st.data())
@settings(deadline=None)
def test_profile_file_holds_every_change_and_no_other_row(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    platform, schedule = data.draw(INSTANCES)
    desired = DesiredProfile(platform, {0: StepFunction.from_steps(1, data.draw(STEPS))})
    path: Path = tmp_path_factory.mktemp("profile") / "profile.csv"
    write_profile(path, schedule, platform, desired)
    header, *lines = list(csv.reader(path.read_text().splitlines()))
    assert header == ["time_s", "cores_used", "cores_desired", "memory_used", "memory_desired"]
    rows = [list(map(int, line)) for line in lines]
    functions = [f for kind in (0, 1) for f in (used_profile(schedule, platform.kinds[kind]), desired.total(kind))]
    for column, function in enumerate(functions, start=1):
        read = StepFunction.from_steps(int(function.values[0]), [(row[0], row[column]) for row in rows])
        assert read.at(SECONDS).tolist() == function.at(SECONDS).tolist()
    assert all(a[1:] != b[1:] for a, b in pairwise(rows))
