"""The kit of AUCSCHED: what was typed in of its tables, averages as it makes them, and the page."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from scripts.lab.aucsched import __main__ as command
from scripts.lab.aucsched import cases, figures
from scripts.lab.aucsched import page as pages

PRINTED = sorted((Path(__file__).parents[4] / "shared" / "seeds").glob("001_*.txt"))


def metrics(scale, jobs=10):
    """Of a run: `jobs` jobs, and `scale` in every measure, times by the hour."""
    hours = dict.fromkeys(("theoretical_runtime_s", "makespan_s", "mean_wait_s", "sd_wait_s"), 3600 * scale)
    keys = ("mean_fragmentation", "sd_fragmentation", "mean_slowdown", "mean_spread", "sd_spread")
    decided = {"decisions": 100, "decision_cpu_s": 2.0, "solver_asked": 40, "solver_proven": 30}
    return {"completed": jobs, "utilisation": 0.5, **hours, **dict.fromkeys(keys, scale), **decided}


def row(scale):
    return figures.measured([metrics(scale)])


def test_transcribed_utilisations_are_theoretical_over_real_runtimes():
    every = [(number, name, both) for number, rows in figures.TABLES.items() for name, both in rows.items()]
    odd = {(number, name, who) for number, name, both in every for who, of in both.items()
           if abs(100 * of.theoretical_h / of.runtime_h - of.utilisation) > 1.6}  # fmt: skip
    assert odd == {("6", "I.1", figures.AUCSCHED), ("6", "I.1", figures.BACKFILLING)}


@pytest.mark.skipif(not PRINTED, reason="the paper is not at hand")
def test_transcribed_tables_equal_the_paper():
    text = PRINTED[0].read_text(encoding="utf-8")
    for number, rows in figures.TABLES.items():
        body = text.split(f"\nTable {number}: Results" if number != "8" else "\nTable 8: Additional")[1]
        lines = [line for line in body.splitlines() if re.search(r"\t(AUCSCHED|AUCSCHEd|SLURM/BF)\t", line)]
        typed = [of for both in rows.values() for of in both.values()]
        for line, of in zip(lines, typed, strict=False):
            found = [float(one) for one in re.findall(r"\d+\.\d+|\d+(?=%)", line.split("\t", 3)[3])]
            assert found == list(of[1:]), line
        heads = [line.split("\t")[:3] for line in lines if line[0] != "\t"][: len(rows)]
        assert [(name, float(theoretical)) for name, _, theoretical in heads] == [
            (name, of[figures.AUCSCHED].theoretical_h) for name, of in rows.items()
        ]


def test_measures_are_means_over_jobs_and_deviations_means_over_simulations():
    found = figures.measured([metrics(1, jobs=30), metrics(5, jobs=10)])
    assert found.figures == figures.Figures(3, 50, 3, 2, 3, 2, 3, 2, 2, 3)
    assert (found.seeds, found.decision_ms, found.proven) == (2, 20, 75)
    plain = {key: value for key, value in metrics(1).items() if not key.startswith("solver")}
    assert figures.measured([plain]).proven is None


@pytest.mark.parametrize(
    ("option", "text", "expected"),
    [
        ("--hours", "nan", "above 0, at most 100"),
        ("--limit", "-1", "seconds from 0"),
        ("--processes", "1.5", "a whole number from 1"),
        ("--seeds", "1,1", "whole numbers from 1 with commas between, each once"),
        ("--tables", "9", "some of 5,6,7,8, each once"),
    ],
)
def test_mistakes_on_the_command_line(option, text, expected, tmp_path, monkeypatch, capsys):
    out = tmp_path / "out"
    monkeypatch.setattr(sys, "argv", ["aucsched", f"{option}={text}", f"--out={out}"])
    with pytest.raises(SystemExit, match="2"):
        command.main()
    assert capsys.readouterr().err.splitlines()[-1].endswith(f"argument {option}: {text!r}; expected {expected}")
    assert not out.exists()


@pytest.fixture
def found():
    """Ours in all cases of machine S: the auction has half of what EASY has of everything, late binding is there."""
    of = {}
    for case in cases.cases_of("5"):
        of |= {(case, cases.PRINTED): row(2), (case, cases.EASY): row(4)}
        if cases.LATE in case.contenders:
            of[case, cases.LATE] = row(1)
    return of


def test_the_page_has_theirs_above_ours_with_their_seeds(found):
    theirs, ours, *others = (" ".join(row) for row in pages.tables_of(found)["aucsched"].rows[:5])
    assert theirs == "5 S I.1 AUCSCHED 4.02 95.0 4.21 1.74 1.16 3.92 2.69 27.88 3.28 3.35 – – 7"
    assert ours == "5 S I.1 aucsched, as printed 2.00 50.0" + 8 * " 2.00" + " 20 75.0 1"
    assert [row.split()[3] for row in others] == ["SLURM/BF", "easy", "dardis-late"]
    assert "| 5 | S | I.1 | AUCSCHED |" in pages.page(found, 4)


def test_changes_are_of_means_over_cases(found):
    (changes,) = pages.tables_of(found)["aucsched_changes"].rows
    assert changes[:3] == ["5", "S", "15"]
    assert changes[4::2] == ["0.0", "-50.0", "-50.0", "-50.0", "-50.0"]
    # Fragmentation of versions 1 and 2 of table 5, as typed in.
    theirs = [both for name, both in figures.TABLES["5"].items() if not name.endswith(".3")]
    sums = [sum(both[who].fragmentation for both in theirs) for who in (figures.AUCSCHED, figures.BACKFILLING)]
    assert changes[9] == f"{100 * (sums[0] / sums[1] - 1):.1f}"


def test_stored_results_equal_a_current_run(tmp_path):
    (one,) = (run for case, label, seed, run in cases.requested_runs({"5": [1]}, 4, tmp_path)
              if (case.name, label) == ("I.1", cases.EASY))  # fmt: skip
    kept, metrics = figures.read_kept()[one.name], one.metrics(tmp_path)
    assert kept == {name: metrics[name] for name in kept} | {"decision_cpu_s": kept["decision_cpu_s"]}
