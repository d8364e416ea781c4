"""The table of loads of late binding: how cases are made, what is said of ratios, and its pictures."""

import importlib
import sys

import numpy as np
import pytest

from dardis.workload.generate import generate
from scripts.lab.late.cases import WALLTIMES, Case, with_walltimes
from scripts.lab.late.table import Ages, Ratios, draw_frontier, draw_who_pays, excess, geometric, summary, table

command = importlib.import_module("scripts.lab.late.__main__")


@pytest.fixture
def trace():
    return generate("rivals", 300, 3)


def test_modified_walltimes_keep_runtimes(trace):
    ran = np.minimum(trace.runtime, trace.walltime)
    for how in WALLTIMES[1:]:
        other = with_walltimes(trace, how)
        assert other.runtime.tolist() == ran.tolist()
        assert (other.walltime >= ran).all()
    assert with_walltimes(trace, "exact").walltime.tolist() == ran.tolist()
    assert with_walltimes(trace, "five times").walltime.tolist() == (5 * trace.walltime).tolist()
    assert len(set(with_walltimes(trace, "equal").walltime.tolist())) == 1


FOUND = {
    Case("KTH", 0.9): [Ratios(0.9, 0.5, 0.5, 1.0, 1.2, 0.4)],
    Case("KTH", 1.3): [Ratios(1.3, 2.0, 0.5, 3.0, None, 2.0)],
    Case("Eurora", 0.7): [Ratios(0.7, 1.0, 1.1, 1.5, None, 1.0)],
}


def test_ratio_summaries_by_hand():
    every = [one for (one,) in FOUND.values()]
    assert geometric(every[:2]) == pytest.approx((1.0, 0.5))
    assert excess(every) == pytest.approx(2.0)
    lines = summary(FOUND)
    assert lines[0] == "chosen on, up to load 0.9: 0.50/0.50 (aim 0.80/0.70), 1 cases"
    assert "wait 2.00 (1.10), slowdown 0.50 (1.10), longest 3.00 (1.50); 2.00 times a limit" in lines[2]
    assert "judged on" in lines[3]
    assert "| KTH, 10k, 1.3 | 1.30 | 2.00 | 0.50 | 3.00 | – | 2.00 | chosen on |" in table(FOUND)


def test_breakdown_by_class_and_frontier_are_drawn(tmp_path):
    draw_who_pays(tmp_path / "who_pays", FOUND)
    draw_frontier(tmp_path / "frontier", {Ages(3600, 86_400): FOUND, Ages(7200, 0): FOUND})
    for name in ("who_pays", "frontier"):
        assert (tmp_path / f"{name}.png").stat().st_size > 10_000
        assert b"mean wait" in (tmp_path / f"{name}.svg").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--frontier"], "--frontier is for --loads"),
        (["--loads", "--frontier", "--set", "aged_after_s=5"], "--frontier tries values of aged_after_s"),
    ],
)
def test_incompatible_options_are_refused(arguments, told, tmp_path, monkeypatch, capsys):
    out = tmp_path / "out"
    monkeypatch.setattr(sys, "argv", ["late", "--traces", str(tmp_path), "--out", str(out), *arguments])
    with pytest.raises(SystemExit, match="2"):
        command.main()
    assert told in capsys.readouterr().err
    assert not out.exists()
