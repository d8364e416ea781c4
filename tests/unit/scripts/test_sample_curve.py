"""The curve of samples: points relative to full rounds, their means over traces, and the table."""

import pytest

from scripts.sample_curve.__main__ import table
from scripts.sample_curve.plot import draw
from scripts.sample_curve.runs import ALL_TRACES, points_of, together


def run(wait, slowdown, messages, longest=7200.0):
    return {
        "jobs": 10, "mean_wait_s": wait, "mean_bounded_slowdown": slowdown, "messages": messages, "max_wait_s": longest,
    }  # fmt: skip


ONE = {0: [run(100.0, 10.0, 4000)], 2: [run(110.0, 20.0, 1000), run(130.0, 20.0, 3000)]}
OTHER = {0: [run(50.0, 2.0, 400)], 2: [run(50.0, 1.0, 200, 3600.0)]}


def test_points_are_means_over_seeds_relative_to_full_rounds():
    sampled, full = points_of(ONE)
    assert (sampled.sample, sampled.messages, sampled.wait, sampled.slowdown) == (2, 0.5, pytest.approx(1.2), 2.0)
    assert (sampled.least_wait, sampled.most_wait) == pytest.approx((1.1, 1.3))
    assert (full.sample, full.messages, full.wait, full.longest_wait) == (0, 1, 1, 1)


def test_traces_are_put_together_by_geometric_means(tmp_path):
    curves = {"one": points_of(ONE), "other": points_of(OTHER)}
    curves[ALL_TRACES] = together(list(curves.values()))
    assert curves[ALL_TRACES][0].slowdown == pytest.approx(1.0)
    assert curves[ALL_TRACES][0].wait == pytest.approx(1.2**0.5)
    text = table({"one": ONE[0][0], "other": OTHER[0][0]}, curves)
    assert "| one | all | 400 | 100 s | | 10.0 | 2.0 h |" in text
    assert "| | 2 | 0.50 | 1.20 | 1.10–1.30 | 2.00 | 1.00 |" in text
    draw(tmp_path, curves)
    assert (tmp_path / "sample.png").stat().st_size > 10_000
