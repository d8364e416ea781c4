"""`dardis hybrid` and deadlines: a dispatcher has its own rule as in `dardis simulate`; notes on what a cap then is."""

from __future__ import annotations

import pytest
from kit.small_site import DAY_S, START, called, search_less, summary_of

from dardis.runs import play
from dardis.runs.inputs import STARTS_ONLY, load_inputs
from dardis.runs.request import RunRequest
from offline.day.options import DayOptions, SwitchingRule
from offline.loop import loop as hybrid
from offline.loop.loop import LoopOptions, run_loop
from offline.planner.budget import tell_nobody
from offline.site.site import SiteRequest, load_site

END = 8 * DAY_S


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    search_less(monkeypatch)


@pytest.mark.parametrize("asked", [None, "window:900"])
@pytest.mark.parametrize("dispatcher", ["dardis-balance", "dardis-throughput", "dardis-late"])
def test_jobs_have_the_latest_starts_that_simulate_gives_them(small_site, tmp_path, monkeypatch, dispatcher, asked):
    handed = []

    def watched(platform, jobs, *rest):
        handed.append(jobs)
        return play.play(platform, jobs, *rest)

    monkeypatch.setattr(hybrid, "play", watched)
    files = (small_site / name for name in ("trace.swf", "small.toml", "weather.csv", "prices.csv"))
    site = load_site(SiteRequest(*files, calendar_start=START))
    options = LoopOptions((7, 7), DayOptions(SwitchingRule.OFF), dispatcher, deadlines=asked)
    run_loop(site, options, tell_nobody)
    simulated = load_inputs(
        RunRequest(small_site / "trace.swf", small_site / "small.toml", dispatcher, tmp_path, end=END, deadlines=asked)
    ).jobs
    assert len(handed) == 2
    for jobs in handed:
        assert {job.number: job.latest for job in jobs} == {job.number: job.latest for job in simulated}
    assert all((job.latest is None) == (asked is None and dispatcher != "dardis-balance") for job in simulated)


SOFT_IS_HARD = "no job has a deadline, so the soft cap is a hard one"


@pytest.mark.parametrize(
    ("options", "note"),
    [
        ({"cap": "soft"}, SOFT_IS_HARD),
        ({"cap": "soft", "deadlines": "window:900"}, None),
        ({"cap": "hard"}, None),
        ({"cap": "hard", "dispatcher": "rules-fcfs", "switching": "off"}, STARTS_ONLY),
        ({"cap": "hard", "dispatcher": "easy", "switching": "off"}, None),
        ({}, None),
    ],
)
def test_a_note_tells_what_the_cap_is_where_its_name_does_not(small_site, tmp_path, capsys, options, note):
    assert called("hybrid", small_site, tmp_path / "out", days="7", no_report=True, **options) == 0
    found = str(summary_of(tmp_path / "out")["notes"])
    assert [text for text in (SOFT_IS_HARD, STARTS_ONLY) if text in found] == ([note] if note else [])
    assert note is None or f"dardis: note: {note}" in capsys.readouterr().err
