"""A plan from what a site knows now is the one that looking back gives; what is to come is forecast and learned."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from kit.small_site import (
    CORES,
    DAY_S,
    FILES,
    HOUR_S,
    Row,
    called,
    crowded_rows,
    loaded,
    made_up_rows,
    search_less,
    summary_of,
    swf,
    write_site,
)

from dardis.model.schedule import Schedule
from offline.day import hindsight
from offline.day.figures import first_lines
from offline.day.hindsight import Hindsight
from offline.day.hours_before import history_at
from offline.day.plan_files import nodes_on_of
from offline.day.plan_spec import DaySpec
from offline.loop.loop import LoopOptions, run_loop
from offline.loop.loop_files import day_rows
from offline.planner.budget import ignore_progress
from offline.site.history import replay_easy


def as_written(rows: list[Row], schedule: Schedule, now: int) -> list[Row]:
    """The rows as a site has them at a moment: with their waits, and without whatever is later."""
    start = dict(zip(schedule.number.tolist(), schedule.start.tolist(), strict=True))
    finish = dict(zip(schedule.number.tolist(), schedule.finish.tolist(), strict=True))
    return [
        replace(
            row,
            wait=start[row.number] - row.submit if start[row.number] < now else -1,
            runtime=row.runtime if finish[row.number] <= now else -1,
        )
        for row in rows
        if row.submit < now
    ]


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Row]]:
    """A site whose machine is so full that jobs wait, and its rows: on whole nodes."""
    folder = write_site(tmp_path_factory.mktemp("crowded"))
    rows = [replace(row, cores=-(-row.cores // CORES) * CORES, runtime=row.runtime // 2) for row in crowded_rows(2)]
    (folder / "trace.swf").write_text(swf(rows))
    return folder, rows


@pytest.mark.parametrize(
    ("lead_s", "told"),
    [pytest.param(0, "2023-07-11T00:00Z", marks=pytest.mark.slow), (9 * HOUR_S, "2023-07-10T15:00+00:00")],
)
def test_current_history_gives_the_plan_of_hindsight_and_of_the_loop(
    crowded: tuple[Path, list[Row]],
    lead_s: int,
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder, rows = crowded
    search_less(monkeypatch)
    site, now = loaded(folder), 8 * DAY_S - lead_s
    loop = run_loop(site, LoopOptions((8, 8), DaySpec(time_limit=600), lead_s=lead_s), ignore_progress)
    mine, schedule = loop.plans[0], loop.always_on.schedule
    runs = ((schedule.start < now) & (schedule.finish > now)).sum()
    waits = ((schedule.submit < now) & (schedule.start >= now)).sum()
    assert runs > 0
    assert waits > 0
    for name, until in (("whole", 9 * DAY_S), ("cut", now)):
        history = tmp_path / f"{name}.swf"
        history.write_text(swf(as_written(rows, schedule, until)))
        out = tmp_path / name
        assert called("plan", folder, out, history=history, date="2023-07-11", now=told, no_report=True) == 0
        said = capsys.readouterr().err
        assert "running jobs are as recorded in the trace" in said
        assert (f"{runs} run and {waits} wait" in said) is (name == "cut")
    for name in FILES:
        assert (tmp_path / "cut" / name).read_text() == (tmp_path / "whole" / name).read_text(), name
    summary = summary_of(tmp_path / "cut")
    if lead_s == 0:
        assert (summary["jobs_running"], summary["jobs_queued"]) == (runs, waits)
    assert summary["jobs"] == sum(
        summary[f"jobs_{kind}"] for kind in ("running", "queued", "forecast", "forecast_other")
    )
    with (tmp_path / "cut" / "schedule.csv").open() as file:
        submits = [int(row["submission_time"]) for row in csv.DictReader(file)]
    assert summary["jobs_forecast"] == sum(submit >= 8 * DAY_S for submit in submits) > 0
    assert (summary["jobs_forecast_other"] > 0) is (lead_s > 0)
    # On which of its equal nodes a job runs is no more known to the loop than to the plan.
    assert day_rows(loop)[0]["jobs_forecast"] == summary["jobs_forecast"]
    told = first_lines(site, mine, nodes_on_of(mine))[-1]
    assert f" jobs may arrive ({summary['jobs_forecast']:,} forecast" in told
    assert summary["jobs"] == len(mine.kinds)
    assert summary["profit_eur"] == pytest.approx(mine.account.profit, rel=2e-3)
    in_day = np.minimum(mine.downtime.up, 9 * DAY_S) - np.maximum(mine.downtime.down, 8 * DAY_S)
    mean_on = site.platform.node_count - np.maximum(in_day, 0).sum() / DAY_S
    assert summary["mean_nodes_on"] == pytest.approx(mean_on, rel=0.05)


def test_days_without_forecast_are_excluded_from_learning(tmp_path, monkeypatch):
    monkeypatch.setattr(hindsight, "GROUPS", 20)
    folder = write_site(tmp_path)
    first, *others = made_up_rows()
    (folder / "trace.swf").write_text(swf([first, *(replace(row, submit=row.submit + 2 * DAY_S) for row in others)]))
    site = loaded(folder, calendar_start="2023-07-03T06:00Z")
    past = replay_easy(site.jobs, site.platform)
    known, _ = history_at(site, past, 9, site.calendar.day(9)[0])
    tree, _ = Hindsight(site, past).target(known, 9, 1)
    assert tree is not None
