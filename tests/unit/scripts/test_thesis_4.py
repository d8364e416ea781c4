"""The readings of PBS's set-ups, gains, spans of Eurora-2014, and the tables of scripts/lab/run thesis_4."""

import pytest

from dardis.registry import find_dispatcher
from scripts.lab.thesis_4 import cases, page, paper

HEAD = "job_id,submission_time,requested_time,starting_time,finish_time,units,units_by_node,req_cores,status,queue"
JOBS = [
    "1,0,86400,0,86400,1,0:1,4,completed,debug",
    "2,129600,3600,133200,136800,1,0:1,4,completed,parallel",  # waits a fifth of five hours
]
SPAN = cases.Span(3, 0.25, 0.5, 512.4)


def metrics(wait, **more):
    return dict.fromkeys((*page.KEYS, "makespan_s", "mean_walltime_s"), wait) | more


def outcomes():
    waits = {paper.FIFO: 100.0, paper.WALLTIME: 50.0, paper.MODEL: 25.0, paper.PORTFOLIO: 25.0}
    waits |= dict(zip(paper.READINGS, (200.0, 400.0, 40.0), strict=True))
    phases = dict.fromkeys(paper.PHASES, 0.002)
    runs = {(name, 1): metrics(wait, solver_decisions=2, **phases) for name, wait in waits.items()}
    return [page.Outcome(test, runs) for test in cases.TESTS]


def test_every_reading_is_a_dispatcher():
    for name in (*paper.OPPONENTS, *paper.READINGS, paper.PORTFOLIO):
        find_dispatcher(name.split()[0], name.split()[1:])


def test_tables_have_theirs_beside_ours_and_all_readings():
    largest = page.Outcome(cases.LARGEST, {(paper.MODEL, 1): metrics(3600.0, mean_walltime_s=36_000.0)})
    eurora = {name: page.EuroraRun([SPAN], [SPAN], metrics(1.0)) for name in (paper.FIFO, paper.WALLTIME)}
    found = {one.name: one for one in page.tables_of(outcomes(), [largest], [], eurora)}
    rows = {tuple(row[:2]): row[2:6] for row in found["thesis_4"].rows}
    assert found["thesis_4"].rows[-1][12:14] + found["thesis_4"].rows[-1][-2:] == ["6", "3600", "1.0", "10"]
    assert rows["330", paper.FIFO] == ["152.94", "100", "10216.7", "100"]
    assert rows["330", "pbs-fifo"] == ["–", "400", "–", "400"]
    gains = {tuple(row[:2]): row[2:6] for row in found["thesis_4_gain"].rows}
    assert gains["AQ", paper.WALLTIME] == ["-15", "50", "75", "88"]
    assert found["thesis_4_days"].rows[0] == ["weeks, thesis", "–", *paper.WEEKS[paper.FIFO], *["–"] * 3]
    assert found["thesis_4_days"].rows[1][:4] == ["week 1", "3", "0.25", "0.5"]
    phases = {row[0]: row[1:] for row in found["thesis_4_phases"].rows}
    assert (phases["total"][0], phases["total"][2], phases["total"][4]) == ("32.35", "13.45", "6.0")
    text = page.page(list(found.values()), "Seed 1.")
    assert all(f"## {page._TITLES[name][0]}" in text for name in found)


def test_spans_end_with_the_last_submission(tmp_path):
    path = tmp_path / "jobs.csv"
    path.write_text("\n".join([HEAD, *JOBS]) + "\n", encoding="utf-8")
    days, weeks = (cases.spans_of(path, span_s) for span_s in (cases.DAY_S, cases.WEEK_S))
    assert days == [cases.Span(1, 0.0, 0.0, 4.0), cases.Span(1, 0.2, 0.0, 0.0)]
    assert weeks == [cases.Span(2, 0.1, 0.1, pytest.approx(4 * 86_400 / 129_601))]
