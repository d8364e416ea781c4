"""The table of loads of late binding: which cases there are, how they are made, and what is said of ratios."""

import importlib
import sys
from dataclasses import replace

import numpy as np
import pytest

from dardis.workload.generate import generate
from dardis.workload.read import read_trace
from dardis.workload.table import write_table
from scripts.late.cases import SOURCES, WALLTIMES, Case, cases, shaken, with_walltimes
from scripts.late.loads import Ratios, ratios, run
from scripts.late.plots import ALL_WORK, Ages, draw_frontier, draw_who_pays
from scripts.late.table import excess, geometric, medians, summary, table

command = importlib.import_module("scripts.late.__main__")


def test_half_of_the_cases_are_kept_to_be_judged_on():
    every = list(cases())
    assert len(set(every)) == len(every) == len({case.name for case in every})
    chosen = sum(case.chosen_on for case in every)
    assert abs(2 * chosen - len(every)) <= 1
    for source in SOURCES:
        assert len({case.chosen_on for case in every if case.source == source}) == 1


@pytest.fixture
def trace():
    return generate("rivals", 300, 3)


def test_walltimes_change_and_what_runs_does_not(trace):
    ran = np.minimum(trace.runtime, trace.walltime)
    for how in WALLTIMES[1:]:
        other = with_walltimes(trace, how)
        assert other.runtime.tolist() == ran.tolist()
        assert (other.walltime >= ran).all()
    assert with_walltimes(trace, "exact").walltime.tolist() == ran.tolist()
    assert with_walltimes(trace, "five times").walltime.tolist() == (5 * trace.walltime).tolist()
    assert len(set(with_walltimes(trace, "equal").walltime.tolist())) == 1


def test_other_walltimes_are_written_where_nobody_states_any(trace, tmp_path):
    silent = replace(trace, walltime=trace.runtime, no_walltime=np.ones(len(trace), dtype=bool))
    write_table(with_walltimes(silent, "doubled"), tmp_path / "t.csv")
    assert read_trace(tmp_path / "t.csv").walltime.tolist() == (2 * trace.runtime).tolist()


def test_shaken_submissions_are_later_by_a_minute_at_most_and_in_order(trace):
    moved = shaken(trace, 1)
    assert (np.diff(moved.submit) >= 0).all()
    before = dict(zip(trace.number.tolist(), trace.submit.tolist(), strict=True))
    later = [
        submit - before[number] for number, submit in zip(moved.number.tolist(), moved.submit.tolist(), strict=True)
    ]
    assert 0 == min(later) < max(later) == 60
    assert shaken(trace, 1).submit.tolist() == moved.submit.tolist() != shaken(trace, 2).submit.tolist()


def test_a_case_is_run_and_its_wide_jobs_wait_apart(tmp_path):
    case = Case("rivals 1", 0.9)
    (tmp_path / "traces").mkdir()
    write_table(generate("rivals", 300, 3), tmp_path / "traces" / "rivals-1-10k-cut.csv")
    easy = run(case, ("easy",), tmp_path, tmp_path)
    assert case.load_there(tmp_path, tmp_path) == pytest.approx(0.9, abs=1e-3)
    (wide, wait), (others, short) = easy["wide"], easy["others"]
    assert wide + others == easy["jobs"] == 300
    assert (wide * wait + others * short) / 300 == pytest.approx(easy["mean_wait_s"])
    same = ratios(0.9, easy, easy, easy)
    assert (same.wait, same.slowdown, same.longest) == (1, 1, 1)
    assert same.wide is None  # six of them are too few


FOUND = {
    Case("KTH", 0.9): [Ratios(0.9, 0.5, 0.5, 1.0, 1.2, 0.4)],
    Case("KTH", 1.3): [Ratios(1.3, 2.0, 0.5, 3.0, None, 2.0)],
    Case("Eurora", 0.7): [Ratios(0.7, 1.0, 1.1, 1.5, None, 1.0)],
}


def test_what_is_said_of_ratios():
    every = [one for (one,) in FOUND.values()]
    assert geometric(every[:2]) == pytest.approx((1.0, 0.5))
    assert excess(every) == pytest.approx(2.0)
    lines = summary(FOUND)
    assert lines[0] == "chosen on, up to load 0.9: 0.50/0.50 (aim 0.80/0.70), 1 cases"
    assert "wait 2.00 (1.10), slowdown 0.50 (1.10), longest 3.00 (1.50); 2.00 times a limit" in lines[2]
    assert "judged on" in lines[3]
    assert "| KTH, 10k, 1.3 | 1.30 | 2.00 | 0.50 | 3.00 | – | 2.00 | chosen on |" in table(FOUND)


def test_of_several_seeds_the_median_counts():
    runs = [Ratios(0.9, wait, 1.0, 1.0, wide, 1.0) for wait, wide in ((1.3, 1.0), (0.8, None), (0.9, 1.1))]
    assert medians(runs) == Ratios(0.9, 0.9, 1.0, 1.0, None, 1.0)
    assert "| 0.90 (0.80–1.30) |" in table({Case("KTH", 0.9): runs})


def test_who_pays_and_the_frontier_are_drawn(tmp_path):
    draw_who_pays(tmp_path / "who_pays", FOUND)
    draw_frontier(tmp_path / "frontier", {Ages(3600, 86_400): FOUND, Ages(7200, 0): FOUND})
    for name in ("who_pays", "frontier"):
        assert (tmp_path / f"{name}.png").stat().st_size > 10_000
        assert b"mean wait" in (tmp_path / f"{name}.svg").read_bytes()


def test_a_frontier_of_one_part_alone_is_drawn(tmp_path):
    chosen = {case: runs for case, runs in FOUND.items() if case.chosen_on}
    draw_frontier(tmp_path / "frontier", {Ages(3600, ALL_WORK): chosen, Ages(7200, 0): {}})
    assert (tmp_path / "frontier.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--frontier"], "--frontier is for --loads"),
        (["--shaken", "1", "2"], "--shaken is for --loads"),
        (["--loads", "--only", "KTH"], "--only chooses traces of the other table"),
        (["--loads", "--frontier", "--set", "aged_after_s=5"], "--frontier tries values of aged_after_s"),
    ],
)
def test_options_that_do_not_go_together(arguments, told, tmp_path, monkeypatch, capsys):
    out = tmp_path / "out"
    monkeypatch.setattr(sys, "argv", ["late", "--traces", str(tmp_path), "--out", str(out), *arguments])
    with pytest.raises(SystemExit, match="2"):
        command.main()
    assert told in capsys.readouterr().err
    assert not out.exists()
