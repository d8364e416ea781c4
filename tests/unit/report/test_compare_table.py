"""The comparison's table in Markdown and LaTeX: units, marks, escapes, and failed runs in sight."""

import re
from pathlib import Path

import pytest

from dardis.metrics.comparison import RunResult, lines_of
from dardis.report.compare_table import brief, in_latex, in_markdown, latex, markdown, plain, shown


def run(label, seed=1, trace="t", error="", **metrics):
    return RunResult(trace, label, "easy", (), seed, Path(), None if error else metrics, error)


def table(*runs):
    return shown(lines_of(runs))


def test_units_stand_in_the_headings_and_are_the_same_for_all_waits():
    found = table(
        run("a", makespan_s=864_000, mean_wait_s=9000, max_wait_s=90_000, decision_mean_s=5e-5, utilisation=0.875),
        run("b", makespan_s=950_400, mean_wait_s=3600, max_wait_s=36_000, decision_mean_s=2e-3, utilisation=0.5),
    )
    assert found.columns == [
        ("makespan", "d"), ("mean wait", "h"), ("longest wait", "h"), ("utilisation", "%"), ("CPU a decision", "ms"),
    ]  # fmt: skip
    assert [cell.mean for cell in found.rows[0][3]] == ["10", "2.50", "25", "87.5", "0.0500"]
    assert [cell.mean for cell in found.rows[1][3]] == ["11", "1", "10", "50", "2"]
    assert [cell.best for cell in found.rows[0][3]] == [True, False, False, True, True]


def test_mean_and_deviation():
    found = table(run("a", 1, mean_wait_s=10), run("a", 2, mean_wait_s=11), run("a", 3, mean_wait_s=15))
    # Mean 12; deviations -2, -1, 3: the root of 14 / 2.
    assert found.rows[0][3][0].text == "12 ± 2.65"
    assert "sample" in found.notes[0]
    assert "1, 2, 3" in found.notes[0]


def test_what_nobody_has_is_left_out_and_said():
    found = table(run("a", mean_wait_s=10, late_jobs=0, dissimilarity=None), run("b", mean_wait_s=None, late_jobs=0))
    assert found.columns == [("mean wait", "s")]
    assert "late jobs" in found.notes[1]
    assert "dissimilarity" in found.notes[1]
    assert [row[3][0].text for row in found.rows] == ["10", "–"]


FAILED = [run("a", 1, mean_wait_s=8), run("a", 2, error="x_1 | 50 %\nof <b>"), run("b", 1, error="killed by SIGKILL")]


def test_a_failed_run_is_in_sight():
    found = table(*FAILED)
    assert [row[2] for row in found.rows] == ["1, 1 failed", "failed"]
    text = markdown(found)
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {5}
    assert r"Failed: t, a, seed 2: x\_1 \| 50 % of \<b\>" in text
    assert "Failed: t, b, seed 1: killed by SIGKILL" in latex(found)


def test_nothing_at_all_has_run():
    found = table(run("a", error="no"), run("b", error="no"))
    assert found.columns == []
    assert markdown(found).count("failed") == 2
    assert latex(found).count(r"\\") == 3


def test_different_deadlines_are_said():
    runs = [
        RunResult("t", label, "easy", (), 1, Path(), {"late_jobs": 1 + late}, deadlines=rule)
        for late, (label, rule) in enumerate((("a", "none"), ("b", "factor:1")))
    ]
    assert any("a none, b factor:1" in note for note in table(*runs).notes)
    assert not any("--deadlines" in note for note in table(runs[0]).notes)


def test_rejections_that_differ_are_said_and_nobody_is_marked():
    found = table(run("a", mean_wait_s=1, rejected=4), run("b", mean_wait_s=2, rejected=0))
    assert sum("rejected different numbers of jobs of t" in note for note in found.notes) == 1
    assert not any(cell.best for row in found.rows for cell in row[3])
    alike = table(run("a", mean_wait_s=1, rejected=4), run("b", mean_wait_s=2, rejected=4))
    assert not any("different numbers" in note for note in alike.notes)
    assert alike.rows[0][3][0].best


def test_central_and_distributed_side_by_side_is_said():
    runs = [
        RunResult("t", label, label, (), 1, Path(), {"jobs": 2, "renegotiations": 4 * (not central)}, central=central)
        for label, central in (("a", True), ("b", False))
    ]
    found = table(*runs)
    assert [row[3][0].text for row in found.rows] == ["–", "2"]
    assert any("side by side on t" in note for note in found.notes)
    assert not any("side by side" in note for note in table(runs[1]).notes)


def test_the_short_table_is_aligned_and_says_who_rejected():
    figures = {"mean_bounded_slowdown": 1.5, "utilisation": 0.5, "mean_wait_s": 7200, "max_wait_s": 36_000}
    counts = (("a", 1, 0), ("a", 2, 3), ("longer", 1, 5))
    runs = [run(label, seed, **figures, rejected=count) for label, seed, count in counts]
    runs.append(run("c", 1, error="no"))
    head, *rows, first, second, differ = plain(brief(lines_of(runs))).splitlines()
    assert {len(line) for line in (head, *rows)} == {len(head)}
    words = "trace dispatcher mean wait (h) mean bounded slowdown longest wait (h) utilisation (%) rejected"
    assert head.split() == words.split()
    assert [row.split() for row in rows] == [
        ["t", "a", "2", "1.50", "10", "50", "1.50"],
        ["t", "longer", "2", "1.50", "10", "50", "5"],
        ["t", "c", "–", "–", "–", "–", "–"],
    ]
    assert first.strip().startswith("t, a: 0 to 3 (by seed) jobs rejected")
    assert second.strip().startswith("t, longer: 5 jobs rejected")
    assert "different numbers" in differ


def test_the_short_table_without_waits_and_rejections():
    text = plain(brief(lines_of([run("a", mean_wait_s=0, max_wait_s=0, rejected=0)])))
    assert text.splitlines()[1].split() == ["t", "a", "0", "–", "0", "–", "0"]
    assert "mean wait (s)" in text
    assert len(text.splitlines()) == 2


@pytest.mark.parametrize("letter", "&%$#_{}~^\\<>±·–")
def test_no_letter_is_a_command_in_latex(letter):
    escaped = in_latex(letter)
    assert escaped != letter
    assert re.fullmatch(r"\\[&%$#_{}]|\\text\w+\{\}|\$\\\w+\$|--", escaped)


def test_the_latex_is_a_tabular_of_equal_rows():
    text = latex(table(run("a_1", trace="50% & x", makespan_s=1e6, utilisation=0.5), run("b", 1, "u", makespan_s=9)))
    lines = text.splitlines()
    columns = len(re.search(r"\\begin\{tabular\}\{(\w+)\}", text).group(1))
    rows = [line for line in lines if line.endswith(r"\\")]
    assert {len(re.findall(r"(?<!\\)&", line)) + 1 for line in rows} == {columns}
    assert r"50\% \& x & a\_1 & 1 &" in text
    assert r"\textbf" not in text, "each trace has one dispatcher only"
    body = [line for line in lines if not line.startswith("%")]
    assert sum(line.count("{") - line.count(r"\{") for line in body) == sum(
        line.count("}") - line.count(r"\}") for line in body
    )
    for rule in ("toprule", "bottomrule", "resizebox"):
        assert text.count("\\" + rule) == 1
    assert text.count(r"\midrule") == 2


def test_markdown_escapes_and_marks_the_best():
    assert "| **1** |" in markdown(table(run("a", mean_wait_s=1), run("b", mean_wait_s=2)))
    assert in_markdown("a_b|c\n`d` <e>") == r"a\_b\|c \`d\` \<e\>"


def test_profit_is_shown_where_a_platform_says_what_power_costs_and_not_missed_elsewhere():
    found = table(
        run("a", mean_wait_s=10, profit_eur=-5.5, energy_kwh=20, peak_kw=1), run("b", mean_wait_s=9, profit_eur=3)
    )
    assert found.columns == [("mean wait", "s"), ("profit", ""), ("IT energy", "kWh"), ("peak power", "kW")]
    assert [cell.best for cell in found.rows[1][3]] == [True, True, False, False]
    assert brief(lines_of([run("a", mean_wait_s=10, profit_eur=2)])).columns[-2:] == [("profit", ""), ("rejected", "")]
    without = table(run("a", mean_wait_s=10))
    assert not any("profit" in note for note in without.notes)
    assert ("profit", "") not in brief(lines_of([run("a", mean_wait_s=10)])).columns


def test_waits_by_queue_are_shown_where_queues_have_longest_waits_and_not_missed_elsewhere():
    found = table(run("a", queue_weighted_wait=10, queue_late_jobs=0), run("b", queue_weighted_wait=9))
    assert found.columns == [("waits by queue", "")]
    assert [cell.best for row in found.rows for cell in row[3]] == [False, True]
    assert any("waited for too long" in note for note in found.notes)
    assert not any("queue" in note for note in table(run("a", mean_wait_s=10)).notes)
