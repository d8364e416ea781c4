"""The comparison's table in Markdown and LaTeX: units, marks, escapes, and failed runs in sight."""

from pathlib import Path

from dardis.metrics.comparison_rows import RunResult, result_rows
from dardis.report.compare_table import brief_table, full_table, in_markdown, markdown, plain


def run(label, seed=1, trace="t", error="", **metrics):
    return RunResult(trace, label, "easy", (), seed, Path(), None if error else metrics, error)


def table(*runs):
    return full_table(result_rows(runs))


def test_units_stand_in_the_headings_and_are_the_same_for_all_waits():
    found = table(
        run("a", makespan_s=864_000, mean_wait_s=9000, max_wait_s=90_000, decision_mean_s=5e-5, utilisation=0.875),
        run("b", makespan_s=950_400, mean_wait_s=3600, max_wait_s=36_000, decision_mean_s=2e-3, utilisation=0.5),
    )
    assert found.columns == [
        ("makespan", "d"), ("mean wait", "h"), ("longest wait", "h"), ("utilisation", "%"), ("CPU per decision", "ms"),
    ]  # fmt: skip
    assert [cell.mean for cell in found.rows[0][3]] == ["10", "2.50", "25", "87.5", "0.0500"]
    assert [cell.mean for cell in found.rows[1][3]] == ["11", "1", "10", "50", "2"]
    assert [cell.best for cell in found.rows[0][3]] == [True, False, False, True, True]


def test_short_table_is_aligned_and_lists_rejections():
    figures = {"mean_bounded_slowdown": 1.5, "utilisation": 0.5, "mean_wait_s": 7200, "max_wait_s": 36_000}
    counts = (("a", 1, 0), ("a", 2, 3), ("longer", 1, 5))
    runs = [run(label, seed, **figures, rejected=count) for label, seed, count in counts]
    runs.append(run("c", 1, error="no"))
    head, *rows, first, second, differ = plain(brief_table(result_rows(runs))).splitlines()
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


def test_markdown_escapes_and_marks_the_best():
    assert "| **1** |" in markdown(table(run("a", mean_wait_s=1), run("b", mean_wait_s=2)))
    assert in_markdown("a_b|c\n`d` <e>") == r"a\_b\|c \`d\` \<e\>"
