"""The kit of AUCSCHED: what was typed in of its tables, averages as it makes them, what is run when, and the page."""

from __future__ import annotations

import math
import re
import sys
from pathlib import Path

import pytest

from scripts.aucsched import __main__ as command
from scripts.aucsched import cases, figures, kept, paper, plots
from scripts.aucsched import page as pages

PRINTED = sorted((Path(__file__).parents[4] / "shared" / "seeds").glob("001_*.txt"))
SEEDS = {"5": [1, 2], "6": [1, 2], "7": [1], "8": [1]}


def metrics(scale, jobs=10):
    """Of a run: `jobs` jobs, and `scale` in every measure, times by the hour."""
    hours = dict.fromkeys(("theoretical_runtime_s", "makespan_s", "mean_wait_s", "sd_wait_s"), 3600 * scale)
    keys = ("mean_fragmentation", "sd_fragmentation", "mean_slowdown", "mean_spread", "sd_spread")
    decided = {"decisions": 100, "decision_cpu_s": 2.0, "solver_asked": 40, "solver_proven": 30}
    return {"completed": jobs, "utilisation": 0.5, **hours, **dict.fromkeys(keys, scale), **decided}


def row(scale):
    return figures.measured([metrics(scale)])


def test_every_case_has_what_the_paper_printed():
    for number, printed in paper.TABLES.items():
        assert [case.name for case in cases.cases_of(number)] == list(printed)


def test_typed_in_utilisations_are_theoretical_over_real_runtimes_but_where_the_paper_says_otherwise():
    """Within the roundings of all three; a mean of ratios is no ratio of means, so a point more is allowed."""
    odd = {
        (number, name, who)
        for number, rows in paper.TABLES.items()
        for name, row in rows.items()
        for who, of in row.items()
        if abs(100 * of.theoretical_h / of.runtime_h - of.utilisation) > 1.6
    }
    assert odd == {("6", "I.1", paper.AUCSCHED), ("6", "I.1", paper.BACKFILLING)}


def test_version_3_is_in_one_block_as_typed_in():
    for rows in paper.TABLES.values():
        for name, both in rows.items():
            for who, of in both.items():
                alone = "contigonly" in name and who == paper.AUCSCHED
                whole = (of.fragmentation, of.sd_fragmentation, of.spread, of.sd_spread) == (1, 0, 1, 0)
                assert whole == (alone or ".3" in name), (name, who)


@pytest.mark.skipif(not PRINTED, reason="the paper is not at hand")
def test_all_that_was_typed_in_stands_in_the_paper():
    """Numbers alone, in their order, whatever stands between them."""
    text = PRINTED[0].read_text(encoding="utf-8")
    for number, rows in paper.TABLES.items():
        body = text.split(f"\nTable {number}: Results" if number != "8" else "\nTable 8: Additional")[1]
        lines = [line for line in body.splitlines() if re.search(r"\t(AUCSCHED|AUCSCHEd|SLURM/BF)\t", line)]
        typed = [of for both in rows.values() for of in both.values()]
        for line, of in zip(lines, typed, strict=False):
            found = [float(one) for one in re.findall(r"\d+\.\d+|\d+(?=%)", line.split("\t", 3)[3])]
            assert found == list(of[1:]), line
        heads = [line.split("\t")[:3] for line in lines if line[0] != "\t"][: len(rows)]
        assert [(name, float(theoretical)) for name, _, theoretical in heads] == [
            (name, of[paper.AUCSCHED].theoretical_h) for name, of in rows.items()
        ]


def test_measures_are_means_over_jobs_and_deviations_means_over_simulations():
    found = figures.measured([metrics(1, jobs=30), metrics(5, jobs=10)])
    assert found.figures == figures.Figures(3, 50, 3, 2, 3, 2, 3, 2, 2, 3)
    assert (found.seeds, found.decision_ms, found.proven) == (2, 20, 75)
    plain = {key: value for key, value in metrics(1).items() if not key.startswith("solver")}
    assert figures.measured([plain]).proven is None


@pytest.fixture
def asked(tmp_path):
    return list(cases.asked_runs(SEEDS, 0.01, tmp_path))


def test_all_tables_of_a_seed_come_before_the_next_seed(asked):
    order = list(dict.fromkeys((seed, case.table) for case, _, seed, _ in asked))
    assert order == [(1, "5"), (1, "6"), (1, "7"), (1, "8"), (2, "5"), (2, "6")]


def test_late_binding_runs_only_where_no_job_is_shaped(asked):
    late = {case.name for case, label, _, _ in asked if label == cases.LATE}
    shaped = {case.name for case, _, _, run in asked if "nodes" in run.trace.read_text().splitlines()[0]}
    assert late == {"I.1"}
    assert "I.1" not in shaped


def test_the_easy_of_table_8_is_that_of_table_7(asked, tmp_path):
    of = {number: {run for case, label, _, run in asked if (case.table, label) == (number, cases.EASY)}
          for number in ("7", "8")}  # fmt: skip
    assert len(of["8"]) == 3
    assert of["8"] < of["7"]
    folders = {run.folder(tmp_path) for *_, run in asked}
    assert len(folders) == len({run for *_, run in asked})


def test_nothing_begins_when_time_is_up_and_what_is_there_is_kept(asked, tmp_path, monkeypatch):
    one = asked[0][3]
    monkeypatch.setattr(cases, "kept_metrics", lambda folder, *_: {"folder": folder})
    assert cases.run(one, tmp_path, 0.0) is None
    one.folder(tmp_path).mkdir(parents=True)
    (one.folder(tmp_path) / "metrics.json").write_text("{}")
    assert cases.run(one, tmp_path, 0.0) == {"folder": one.folder(tmp_path)}


@pytest.mark.parametrize(
    ("option", "text", "expected"),
    [
        *(("--hours", text, "above 0, at most 100") for text in ("0", "-1", "1000", "nan", "four")),
        *(("--limit", text, "seconds from 0") for text in ("-1", "nan")),
        *((option, text, "a whole number from 1") for option in ("--processes", "--seeds-large")
          for text in ("0", "-1", "1.5")),
        *(("--seeds", text, "whole numbers from 1 with commas between, each once")
          for text in ("0", "-1", "1-3", "1,1", "1,,2")),
        *(("--tables", text, "some of 5,6,7,8, each once") for text in ("5,5", "9", "")),
    ],
)  # fmt: skip
def test_mistakes_on_the_command_line(option, text, expected, tmp_path, monkeypatch, capsys):
    out = tmp_path / "out"
    monkeypatch.setattr(sys, "argv", ["aucsched", f"{option}={text}", f"--out={out}"])
    with pytest.raises(SystemExit, match="2"):
        command.main()
    assert capsys.readouterr().err.splitlines()[-1].endswith(f"argument {option}: {text!r}; expected {expected}")
    assert not out.exists()


def test_a_folder_that_cannot_be_made(tmp_path, monkeypatch, capsys):
    (tmp_path / "file").write_text("kept")
    for out in (tmp_path / "file", tmp_path / "file" / "out"):
        monkeypatch.setattr(sys, "argv", ["aucsched", f"--out={out}"])
        with pytest.raises(SystemExit, match="2"):
            command.main()
        assert f"--out {out}: cannot be made (" in capsys.readouterr().err.splitlines()[-1]
    assert (tmp_path / "file").read_text() == "kept"


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
    rows = pages.page(found, 4).splitlines()
    at = rows.index(next(line for line in rows if line.startswith("| I.1 | AUCSCHED")))
    assert rows[at].endswith("| 3.92 ± 2.69 | 27.88 | 3.28 ± 3.35 | – | – | 7 |")
    assert rows[at + 1].startswith("| I.1 | `aucsched, as printed` | 2.00 | 50.0 | 2.00 | 2.00 ± 2.00 |")
    assert rows[at + 1].endswith("| 20 | 75.0 | 1 |")
    assert [line.split(" | ")[1] for line in rows[at + 2 : at + 5]] == ["SLURM/BF", "`easy`", "`dardis-late`"]


def test_changes_are_of_means_over_cases(found):
    changes = next(line for line in pages.page(found, 4).splitlines() if line.startswith("| 5 (S) | 15 |"))
    assert changes.split(" | ")[3::2] == ["+0.0", "-50.0", "-50.0", "-50.0", "-50.0 |"]
    # Fragmentation of versions 1 and 2 of table 5, as typed in.
    theirs = [both for name, both in paper.TABLES["5"].items() if not name.endswith(".3")]
    sums = [sum(both[who].fragmentation for both in theirs) for who in (paper.AUCSCHED, paper.BACKFILLING)]
    assert changes.split(" | ")[8] == f"{100 * (sums[0] / sums[1] - 1):+.1f}"


def test_means_over_workloads_are_of_those_who_have_all(found):
    means = pages.page(found, 4).split("#### Everybody")[1]
    assert [line.split(" | ")[2] for line in means.splitlines() if line.startswith("| S | 1 ")] == [
        "AUCSCHED", "SLURM/BF", "`easy`", "`aucsched, as printed`"
    ]  # fmt: skip


def test_both_figures_are_drawn(found, tmp_path):
    plots.draw_utilisation(tmp_path / "utilisation", found)
    plots.draw_footprints(tmp_path / "footprints", found)
    for name in ("utilisation", "footprints"):
        assert (tmp_path / f"{name}.png").stat().st_size > 10_000
        assert (tmp_path / f"{name}.svg").is_file()


def test_what_is_kept_is_read_as_it_was_written(tmp_path):
    runs = {"b": {"completed": 3, "utilisation": 0.1 + 0.2, "solver_asked": 2}, "a": {"completed": 4, "other": 1}}
    kept.write_kept(runs, tmp_path / "kept.csv")
    assert kept.read_kept(tmp_path / "kept.csv") == {"a": {"completed": 4}, "b": runs["b"]}
    assert not kept.read_kept(tmp_path / "missing.csv")


def test_what_is_kept_comes_of_a_run_as_it_is_today(tmp_path):
    (one,) = (run for case, label, seed, run in cases.asked_runs({"5": [1]}, 4, tmp_path)
              if (case.name, label) == ("I.1", cases.EASY))  # fmt: skip
    figures = kept.read_kept()[one.name]
    metrics = cases.run(one, tmp_path, math.inf)
    assert {name: metrics[name] for name in figures if name != "decision_cpu_s"} == {
        name: value for name, value in figures.items() if name != "decision_cpu_s"
    }


def test_runs_whose_figures_are_kept_are_not_done_unless_anew(tmp_path, monkeypatch):
    asked = {}
    monkeypatch.setattr(command, "in_processes", lambda *given: asked.update(given[1]) or [])
    arguments = ["aucsched", "--tables", "5", "--seeds", "1", "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", arguments)
    command.main()
    runs = {run for *_, run in cases.asked_runs({"5": [1]}, 4, tmp_path)}
    known = {run for run in runs if run.name in kept.read_kept()}
    assert known
    assert set(asked) == runs - known
    monkeypatch.setattr(sys, "argv", [*arguments, "--anew"])
    command.main()
    assert set(asked) == runs
