"""What the charts draw is what the schedule says, second by second; and numbers in words."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dardis.model.job import Status
from dardis.model.placements import Placements
from dardis.model.platform import NodeGroup, Platform
from dardis.model.profile import StepFunction
from dardis.model.schedule import Schedule
from dardis.report import summary, words
from dardis.report.gantt import node_use
from dardis.report.over_time import envelope

PLATFORM = Platform("p", (NodeGroup("a", 2, {"cores": 3}), NodeGroup("b", 3, {"cores": 5})))
SPANS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 90), st.integers(1, 30), st.integers(1, 3)), max_size=8)


@given(
    steps=st.lists(st.tuples(st.integers(-5, 60), st.integers(0, 9)), max_size=12),
    edges=st.sets(st.integers(0, 50), min_size=2),
)
def test_the_envelope_is_that_of_every_second(steps: list[tuple[int, int]], edges: set[int]) -> None:
    function, bounds = StepFunction.from_steps(4, steps), np.array(sorted(edges))
    low, high, mean = envelope(function, bounds)
    for place, (start, end) in enumerate(pairwise(bounds)):
        values = function.at(np.arange(start, end))
        assert (low[place], high[place]) == (values.min(), values.max())
        assert mean[place] == pytest.approx(values.mean())


@given(spans=SPANS, rows=st.integers(1, 5), step=st.sampled_from([1, 4, 12, 120]))
def test_node_use_by_class_is_that_of_every_second(
    spans: list[tuple[int, int, int, int]], rows: int, step: int
) -> None:
    nodes, start, length, units = (np.array(column, dtype=np.int64) for column in zip(*spans, strict=True)) if spans \
        else (np.zeros(0, np.int64),) * 4  # fmt: skip
    count = len(spans)
    one = np.ones(count, dtype=np.int64)
    schedule = Schedule(
        kinds=("cores",), number=np.arange(count), submit=start, earliest=start, latest=start, walltime=length,
        units=units, request=one[:, None], status=np.full(count, Status.COMPLETED, np.int8), start=start,
        finish=start + length, attempts=one, placed=Placements(np.arange(count + 1), nodes, units),
        queue=[""] * count, user=[""] * count,
    )  # fmt: skip
    classes = np.arange(count) % 2
    held = np.zeros((2, 5, 120))
    for one, (node, first, seconds, amount) in zip(classes, spans, strict=True):
        held[one, node, first : first + seconds] += amount
    row = np.arange(5) * rows // 5
    capacity = PLATFORM.capacity[:, 0]
    gathered = np.stack([held[:, row == r].sum(axis=1) / capacity[row == r].sum() for r in range(rows)], axis=1)
    expected = gathered.reshape(2, rows, 120 // step, step).mean(axis=3)
    edges = np.linspace(0, 120, 120 // step + 1)
    np.testing.assert_allclose(node_use(schedule, PLATFORM, edges, rows, classes, 2), expected, atol=1e-9)
    later = replace(schedule, start=start + 1000, finish=start + 1000 + length)
    np.testing.assert_allclose(node_use(later, PLATFORM, edges + 1000, rows, classes, 2), expected, atol=1e-9)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "0 s"), (4.1e-5, "41 µs"), (3.25e-4, "325 µs"), (0.0124, "12.4 ms"), (45, "45 s"), (119, "119 s"),
        (120, "2 min"), (90 * 60, "90 min"), (11520, "3.2 h"), (86400, "24 h"), (5.5 * 86400, "5.5 d"),
        (93.94 * 365 * 86400, "93.9 years"),
    ],
)  # fmt: skip
def test_durations(seconds: float, said: str) -> None:
    assert words.duration(seconds) == said


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (words.number(35538), "35,538"), (words.number(1.256), "1.26"), (words.number(0.0123), "0.0123"),
        (words.number(12345.6), "12,346"), (words.share(0.8437), "84.4 %"), (words.share(0), "0.0 %"),
        (words.share(1.234e-5), "0.0012 %"), (words.data_size(1536), "1.50 KiB"),
        (words.amount_seconds("cores", 5400), "1.50 core·h"), (words.amount_seconds("memory", 3600 * 2048), "2 GiB·h"),
        (words.axis_unit("memory", 5 * 2**20), ("memory (TiB)", 2**20)), (words.axis_unit("gpu", 5), ("gpu", 1)),
    ],
)  # fmt: skip
def test_amounts(said: object, expected: object) -> None:
    assert said == expected


def test_the_report_says_of_killed_and_rejected_jobs_no_more_than_holds_of_all_of_them() -> None:
    meanings = {row.name: row.meaning for row in summary.figures({"killed": 1, "rejected": 3})}
    assert "walltime" in meanings["Killed"]
    assert "failed" in meanings["Killed"]
    assert "run.json" in meanings["Rejected"]
    assert "machine" not in meanings["Rejected"]
