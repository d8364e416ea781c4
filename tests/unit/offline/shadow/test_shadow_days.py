"""Figures of days, and the pages of a shadow."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.effort import examples
from kit.error_lines import line_of
from kit.slurm_queue import LivedJob

from dardis.comparison.recorded_starts import recorded_schedule
from dardis.metrics.power import power_terms
from dardis.model.job import ActualJob, Job
from dardis.model.platform import Facility, NodeGroup, NodePower, Platform
from dardis.model.schedule import Downtime
from dardis.slurm.shadow_folder import ExpectedStart, LoggedExpectation, ShadowFolder
from dardis.workload.recorded_nodes import places_of
from dardis.workload.sacct import parse_sacct
from offline.shadow.day_figures import SHORTEST_OFF_S, SpanFigures, mean_figures, span_figures
from offline.shadow.shadow_day import DAY_S, REAL, ClusterRecord, shadow_day
from offline.shadow.shadow_pages import PageInputs, day_of, write_day, write_week
from offline.shadow.start_accuracy import start_accuracy

MAY = 1_682_899_200
PLAIN = Platform("grid", (NodeGroup("n", 3, {"cores": 4}),))
POWER = NodePower(idle_w=100.0, core_w=10.0, off_w=5.0, boot_s=100, boot_w=150.0, shutdown_s=50, shutdown_w=80.0)
POWERED = Platform("grid", (NodeGroup("n", 3, {"cores": 4}, POWER),), facility=Facility(prices=0.5, carbon=400.0))


@st.composite
def placed_jobs(draw: st.DrawFn) -> list[tuple[int, int, int]]:
    """Node, start and end of whole-node jobs, without overlaps."""
    found, free = [], [MAY - DAY_S] * 3
    for _ in range(draw(st.integers(1, 12))):
        node = draw(st.integers(0, 2))
        start = free[node] + draw(st.integers(0, 40_000))
        free[node] = start + draw(st.integers(1, 60_000))
        found.append((node, start, free[node]))
    return found


def schedule_of(placed: list[tuple[int, int, int]], platform: Platform):
    jobs = [
        ActualJob(Job(number, start, start, None, end - start, 1, (4,), platform.all_groups), end - start)
        for number, (_, start, end) in enumerate(placed, 1)
    ]
    start, run = (np.array(column) for column in zip(*((a, b - a) for _, a, b in placed), strict=True))
    places = {number: [node] for number, (node, _, _) in enumerate(placed, 1)}
    schedule, without = recorded_schedule(jobs, start, run, platform, places)
    assert not without
    return schedule


@given(placed=placed_jobs())
@examples(1)
def test_idle_nodes_are_those_of_long_idle_times(placed: list[tuple[int, int, int]]) -> None:
    span = MAY, MAY + DAY_S
    found = span_figures(schedule_of(placed, PLAIN), PLAIN, span, None, None)
    seconds = 0
    for node in range(3):
        busy = sorted((start, end) for own, start, end in placed if own == node)
        edges = [MAY - DAY_S, *(moment for pair in busy for moment in pair), MAY + 2 * DAY_S]
        for begin, end in zip(edges[::2], edges[1::2], strict=True):
            if min(end, MAY + 2 * DAY_S) - begin >= SHORTEST_OFF_S:
                seconds += max(min(end, span[1]) - max(begin, span[0]), 0)
    assert found.idle_nodes == pytest.approx(seconds / DAY_S)


def test_avoidable_energy_is_that_of_worthwhile_shutdowns() -> None:
    """One node runs a job in the first hour; others idle all day and beside it."""
    schedule = schedule_of([(0, MAY, MAY + 3600)], POWERED)
    found = span_figures(schedule, POWERED, (MAY, MAY + DAY_S), power_terms(POWERED, 0, MAY, MAY + DAY_S), None)
    assert found.energy_kwh == pytest.approx((3 * 100 * 24 + 40) / 1000)
    assert found.energy_eur == pytest.approx(0.5 * (3 * 100 * 24 + 40) / 1000)
    assert found.co2_kg == pytest.approx(0.4 * (3 * 100 * 24 + 40) / 1000)
    assert found.idle_nodes == pytest.approx(2 + 23 / 24)
    assert found.avoidable_kwh == pytest.approx(0.095 * (24 * 2 + 23), rel=0.01)
    off = Downtime.of([(1, MAY, MAY + DAY_S)])
    switched = span_figures(schedule, POWERED, (MAY, MAY + DAY_S), power_terms(POWERED, 0, MAY, MAY + DAY_S), off)
    assert switched.avoidable_kwh is None
    assert switched.energy_kwh is not None
    assert switched.energy_kwh < found.energy_kwh - 2


def test_mean_figures_weigh_waits_by_jobs_and_sum_amounts() -> None:
    first = SpanFigures(1, 100.0, 100.0, 100.0, 1.0, 5.0, 2.0, 10.0, 1.0, 3.0, None)
    second = SpanFigures(3, 20.0, 20.0, 40.0, 2.0, 7.0, 4.0, 20.0, 2.0, 4.0, None)
    assert mean_figures([first, second]) == SpanFigures(4, 40.0, 40.0, 100.0, 1.75, 12.0, 3.0, 30.0, 3.0, 7.0, None)


def record(folder: Path, jobs: list[LivedJob]) -> ShadowFolder:
    kept = ShadowFolder(folder)
    kept.prepare()
    kept.add_ended([{"JobID": cells["JobIDRaw"]} | cells for job in jobs if (cells := job.cells(job.end)) is not None])
    nodes = "".join(
        f"NodeName=n{node} CPUAlloc=0 CPUTot=4 RealMemory=4000 State=IDLE ThreadsPerCore=1 Partitions=batch\n"
        for node in (1, 2, 3)
    )
    kept.write_nodes(nodes)
    return kept


def easy_day() -> list[LivedJob]:
    """Jobs whose recorded starts are those of EASY on one node at a time."""
    jobs, free = [], [MAY + 1000] * 3
    for number in range(1, 40):
        submit = MAY + 1000 + 300 * number
        node = int(np.argmin(free))
        start = max(submit, free[node])
        free[node] = start + 2000
        jobs.append(LivedJob(number, submit, start, start + 2000))
    return jobs


def test_real_day_of_a_dispatcher_has_its_figures(tmp_path: Path) -> None:
    folder = record(tmp_path, easy_day())
    text = folder.record_text(MAY)
    trace = parse_sacct(folder.path, text, strict=True)
    found = shadow_day(
        ClusterRecord(folder.path, trace, {}, MAY + 2 * DAY_S), PLAIN_OF_SLURM, MAY, ("easy", "conservative")
    )
    assert found.figures[REAL] == found.figures["easy"]
    assert set(found.figures) == {REAL, "easy", "conservative"}
    assert found.figures[REAL].jobs == 39
    assert places_of(folder.path, text)[1] == ["n1"]


PLAIN_OF_SLURM = Platform(
    "grid", (NodeGroup("n", 3, {"cores": 4, "memory": 4000}),), partitions={"batch": (0,)}
)  # fmt: skip


def test_daily_and_weekly_pages_name_schedulers_and_accuracy(tmp_path: Path) -> None:
    folder = record(tmp_path, easy_day())
    logged = [LoggedExpectation(5, MAY + 2500, ExpectedStart(MAY + 3000, MAY + 2600, MAY + 9000), MAY + 9000.0)]
    folder.log_expected(logged, MAY)
    assert folder.logged(MAY) == logged
    inputs = PageInputs(dispatchers=("easy", "dardis-late"))
    page = write_day(folder, MAY, inputs, MAY + DAY_S + 900)
    assert page.name == "day-2023-05-01.html"
    text = page.read_text()
    assert all(word in text for word in ("dardis-late", "nodes that could have been off", "100 % of the starts lie"))
    content = json.loads((tmp_path / "day-2023-05-01.json").read_text())
    assert content["starts"]["expectations"] == 1
    week = write_week(folder, MAY + DAY_S, inputs).read_text()
    assert "no figures of 2023-04-26, 2023-04-27" in week
    assert "Days: real" in week


def test_promise_of_a_plan_stands_beside_its_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = record(tmp_path, easy_day())
    trace = parse_sacct(folder.path, folder.record_text(MAY), strict=True)
    platform = replace(
        PLAIN_OF_SLURM, groups=(NodeGroup("n", 3, {"cores": 4, "memory": 4000}, POWER),), facility=Facility(prices=0.5)
    )
    target = {
        "format": "dardis-target", "version": 1, "platform": "grid", "nodes": 3, "unix_start": 0,
        "profile": {"kind": "cores", "split": "proportional", "steps": [[0, 12]]},
        "switching": {"idle_s": 300, "groups": {"n": {"spares": [[0, 0]], "floors": [[0, 0]]}}},
    }  # fmt: skip
    (tmp_path / "target.json").write_text(json.dumps(target))
    summary = {"date_utc": "2023-05-01", "gain_eur": 3.0, "gain_p10_eur": 2.0, "gain_p90_eur": 4.0}
    monkeypatch.setattr("offline.shadow.shadow_day.read_plan", lambda _: SimpleNamespace(summary=summary))
    jobs = ClusterRecord(folder.path, trace, {}, MAY + 2 * DAY_S)
    found = shadow_day(jobs, platform, MAY, ("easy",), tmp_path)
    plain, planned = found.figures["easy"], found.figures["easy with the plan"]
    assert found.promise is not None
    assert found.promise.result == pytest.approx((plain.energy_eur or 0) - (planned.energy_eur or 0))
    assert found.promise.result > 1
    assert (found.promise.gain, found.promise.low, found.promise.high) == (3.0, 2.0, 4.0)
    summary["date_utc"] = "2023-05-02"
    assert "is a plan of 2023-05-02" in line_of(lambda: shadow_day(jobs, platform, MAY, ("easy",), tmp_path))


def test_accuracy_counts_errors_ranges_and_slurm() -> None:
    start = ExpectedStart(100.0, 50.0, 150.0)
    logged = [LoggedExpectation(job, 10, start, 400.0 if job == 1 else None) for job in (1, 2, 3)]
    found = start_accuracy(logged, {1: [5, 120], 2: [300]})
    assert (found.expectations, found.waiting, found.held_share) == (2, 1, 0.5)
    assert (found.median_error_s, found.slurm_median_error_s, found.ours_beside_slurm_s) == (110.0, 280.0, 20.0)
    assert start_accuracy([], {}).line == "Expected starts: none can be judged yet."


def test_days_without_jobs_or_figures_are_one_line(tmp_path: Path) -> None:
    folder = record(tmp_path, easy_day())
    inputs = PageInputs(dispatchers=("easy",))
    later = MAY + 31 * DAY_S
    assert "no job was submitted around 2023-06-01" in line_of(lambda: write_day(folder, later, inputs, later + DAY_S))
    assert "no figures of 2023-04-25 to 2023-05-01" in line_of(lambda: write_week(folder, MAY, inputs))
    assert line_of(lambda: day_of("2023-05-01T01:00", "--day")).startswith("--day: '2023-05-01T01:00'")
