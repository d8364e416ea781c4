"""A plan from what a site knows now is the one that looking back gives, and what is to come is forecast."""

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
    START,
    Row,
    called,
    crowded_rows,
    search_less,
    summary_of,
    swf,
    write_site,
)

from dardis.model.schedule import Schedule
from offline.day.files import nodes_on_of
from offline.day.first_lines import first_lines
from offline.day.options import DayOptions
from offline.loop.files import day_rows
from offline.loop.loop import LoopOptions, run_loop
from offline.planner.budget import tell_nobody
from offline.site.history import replayed
from offline.site.site import SiteRequest, load_site


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
def crowded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Row], Schedule]:
    """A site whose machine is so full that jobs wait, its rows and how they ran: on whole nodes."""
    folder = write_site(tmp_path_factory.mktemp("crowded"))
    rows = [replace(row, cores=-(-row.cores // CORES) * CORES, runtime=row.runtime // 2) for row in crowded_rows(2)]
    (folder / "trace.swf").write_text(swf(rows))
    files = (folder / name for name in ("trace.swf", "small.toml", "weather.csv", "prices.csv"))
    site = load_site(SiteRequest(*files, calendar_start=START))
    return folder, rows, replayed(site.jobs, site.platform)


@pytest.mark.parametrize(
    ("now", "told"), [(8 * DAY_S, "2023-07-11T00:00Z"), (7 * DAY_S + 15 * HOUR_S + 1200, "2023-07-10T15:20+00:00")]
)
def test_a_history_as_the_site_has_it_gives_the_plan_that_hindsight_gives(
    crowded: tuple[Path, list[Row], Schedule],
    now: int,
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """At midnight, and in the afternoon before."""
    folder, rows, schedule = crowded
    search_less(monkeypatch)
    runs = ((schedule.start < now) & (schedule.finish > now)).sum()
    waits = ((schedule.submit < now) & (schedule.start >= now)).sum()
    assert runs > 0
    assert waits > 0
    for name, until in (("whole", 100 * DAY_S), ("cut", now)):
        history = tmp_path / f"{name}.swf"
        history.write_text(swf(as_written(rows, schedule, until)))
        out = tmp_path / name
        assert called("plan", folder, out, history=history, date="2023-07-11", now=told, no_report=True) == 0
        said = capsys.readouterr().err
        assert "what runs already is as the trace recorded it" in said
        assert (f"{runs} run and {waits} wait" in said) is (name == "cut")
    for name in FILES:
        assert (tmp_path / "cut" / name).read_text() == (tmp_path / "whole" / name).read_text(), name
    summary = summary_of(tmp_path / "cut")
    if now == 8 * DAY_S:
        assert (summary["jobs_running"], summary["jobs_queued"]) == (runs, waits)
    assert summary["jobs"] == sum(
        summary[f"jobs_{kind}"] for kind in ("running", "queued", "forecast", "forecast_other")
    )
    with (tmp_path / "cut" / "schedule.csv").open() as file:
        submits = [int(row["submission_time"]) for row in csv.DictReader(file)]
    assert summary["jobs_forecast"] == sum(submit >= 8 * DAY_S for submit in submits) > 0
    assert (summary["jobs_forecast_other"] > 0) is (now < 8 * DAY_S)


@pytest.mark.parametrize("lead_s", [0, 9 * HOUR_S])
def test_the_loop_plans_what_the_history_cut_at_that_moment_gives(
    crowded: tuple[Path, list[Row], Schedule], lead_s: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On which of its equal nodes a job runs is no more known to the one than to the other."""
    folder, rows, _ = crowded
    search_less(monkeypatch)
    files = (folder / name for name in ("trace.swf", "small.toml", "weather.csv", "prices.csv"))
    site = load_site(SiteRequest(*files, calendar_start=START))
    loop = run_loop(site, LoopOptions((8, 8), DayOptions(time_limit=600), lead_s=lead_s), tell_nobody)
    now = 8 * DAY_S - lead_s
    history = tmp_path / "cut.swf"
    history.write_text(swf(as_written(rows, loop.always_on.schedule, now)))
    moment = site.calendar.text(now)
    assert called("plan", folder, tmp_path / "plan", history=history, day=8, now=moment, no_report=True) == 0
    mine, summary = loop.plans[0], summary_of(tmp_path / "plan")
    assert day_rows(loop)[0]["jobs_forecast"] == summary["jobs_forecast"]
    told = first_lines(site, mine, nodes_on_of(mine))[-1]
    assert f" jobs may come where {summary['jobs_forecast']:,} are forecast" in told
    assert summary["jobs"] == len(mine.kinds)
    assert summary["profit_eur"] == pytest.approx(mine.account.profit, rel=2e-3)
    assert summary["mean_nodes_on"] == pytest.approx(
        site.platform.node_count - _down(mine.downtime, 8 * DAY_S) / DAY_S, rel=0.05
    )


def _down(downtime, start: int) -> int:
    """Node-seconds down in a day."""
    inside = np.minimum(downtime.up, start + DAY_S) - np.maximum(downtime.down, start)
    return int(np.maximum(inside, 0).sum())
