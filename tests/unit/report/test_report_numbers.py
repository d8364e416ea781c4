"""Envelopes of charts against every second, numbers in words, and what words mean."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dardis.model.profile import StepFunction
from dardis.report import summary, words
from dardis.report.glossary import GLOSSARY
from dardis.report.over_time import envelope


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


def test_what_a_word_means_is_told_under_a_heading_that_there_is():
    headings = re.findall(r"^#+ (.*)$", (Path(__file__).parents[3] / "docs" / "metrics.md").read_text(), re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings}
    assert {one.section for one in GLOSSARY.values()} <= anchors


def test_texts_are_one_short_line_and_no_sentences():
    for word, meaning in GLOSSARY.items():
        assert word == word.lower()
        assert 0 < len(meaning.text) < 110
        assert not meaning.text.endswith(".")


def test_longer_words_come_before_those_that_they_hold():
    words = [*GLOSSARY]
    assert not [(a, b) for place, a in enumerate(words) for b in words[place + 1 :] if a in b and a != b]
