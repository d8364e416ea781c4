"""Processes of a comparison that do several runs: what a run leaves behind is nothing to the next."""

import json
import sys

import pytest
from kit.few_nodes import PLATFORM, swf

from dardis.cli.main import run

OF_WORKERS = """
import random

import dardis

DRAWS = random.Random(1)


class Drawn(dardis.Rule):
    "whoever is drawn, by what stays from run to run in a process"

    def key(self, job, now):
        return DRAWS.random()
"""


@pytest.fixture
def compared(tmp_path, monkeypatch):
    """Compare dispatchers on two short traces; the digests of all runs."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.toml").write_text(PLATFORM)
    monkeypatch.delitem(sys.modules, "of_workers", raising=False)
    (tmp_path / "of_workers.py").write_text(OF_WORKERS)
    for name, runtime in (("a", 50), ("b", 70)):
        (tmp_path / f"{name}.swf").write_text(swf(11, runtime=runtime))

    def compare(dispatchers, processes):
        out = tmp_path / f"out{processes}"
        status = run([
            "compare", "a.swf", "b.swf", "--platform", "p.toml", "--dispatchers", dispatchers,
            "--processes", str(processes), "--out", str(out), "--no-recorded",
        ])  # fmt: skip
        assert status == 0
        found = {path.parent: json.loads(path.read_text()) for path in (out / "runs").glob("*/*/*/metrics.json")}
        return {str(place.relative_to(out)): figures["schedule_digest"] for place, figures in found.items()}

    return compare


@pytest.mark.slow
def test_who_keeps_something_does_so_for_one_run(compared):
    alone, beside = compared("of_workers:Drawn,easy", 1), compared("of_workers:Drawn,easy", 2)
    assert alone == beside
    assert len(alone) == 4
