"""`dardis review`: one day under two runs, counted alike, and two runs that don't belong together refused."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace

import pytest
from kit.small_site import DAY_S, PLATFORM, POWER, START, called, made_up_rows, simulated

from dardis.cli.main import run
from offline.day.review import review

DAY = 2
SPAN = DAY * DAY_S, (DAY + 1) * DAY_S


@pytest.fixture(scope="module")
def plan(small_site, tmp_path_factory):
    """Of an early day, hardly searched for: what it is worth does not matter here."""
    out = tmp_path_factory.mktemp("early") / "plan"
    assert called("plan", small_site, out, day=DAY, no_report=True) == 0
    return out


def ran(site, out, *options):
    """A run of the small site's trace on its machine, which states weather and prices here."""
    around = f'weather = "{site}/weather.csv"\nprices = "{site}/prices.csv"\ncalendar_start = "{START}"\n[[nodes]]'
    machine = out.parent / "small.toml"
    machine.write_text((PLATFORM + POWER).replace("[[nodes]]", around))
    asked = ("--dispatcher", "dardis-late", "--jobs", "180", *options)
    assert simulated(site, out, *asked, platform=machine) == 0
    return out


@pytest.fixture(scope="module")
def runs(small_site, plan, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    plain = ran(small_site, folder / "plain")
    return ran(small_site, folder / "planned", "--profile", str(plan / "target.json")), plain


def changed(folder, out, **entries):
    """A copy of a run whose run.json says something else."""
    shutil.copytree(folder, out)
    told = json.loads((out / "run.json").read_text())
    (out / "run.json").write_text(json.dumps(told | entries))
    return out


def test_review_shows_costs_per_core_hour_and_unequal_job_counts(plan, runs):
    told = review(plan, *runs)
    ours, without = (1000 * lived.cost.sum() / lived.core_h for lived in (told.with_plan, told.without_plan))
    assert f"{ours:,.2f} EUR for 1,000 core-hours instead of {without:,.2f}" in told.lines[0]
    count = len(told.without_plan.waits)
    assert f"for the day's {count} jobs;" in told.lines[1]
    fewer = replace(told, with_plan=replace(told.with_plan, waits=told.with_plan.waits[1:], core_h=0.0))
    assert f"over the {count - 1} of the day's jobs that ran, instead of {count};" in fewer.lines[1]
    assert "1,000 core-hours instead" not in fewer.lines[0]


@pytest.fixture
def refused(tmp_path, capsys):
    """It ends with one line that says so, and writes no page."""

    def call(plan, ran, beside, said):
        capsys.readouterr()
        page = tmp_path / "x.html"
        assert run(["review", str(plan), "--run", str(ran), "--beside", str(beside), "--out", str(page)]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert said in line
        assert not page.exists()

    return call


def test_only_a_run_of_the_reviewed_plan_is_accepted(plan, runs, tmp_path, refused):
    remade = shutil.copytree(plan, tmp_path / "plan")
    (remade / "target.json").write_text((remade / "target.json").read_text() + "\n")
    without = shutil.copytree(plan, tmp_path / "without")
    (without / "target.json").unlink()
    undated = changed(runs[1], tmp_path / "undated", unix_start=None)
    refused(plan, runs[1], runs[0], f"{runs[1]}: did not follow this plan; expected a run with --profile")
    refused(remade, *runs, f"{runs[0]}: did not follow this plan")
    refused(plan, runs[0], runs[0], f"{runs[0]}: followed this plan")
    refused(without, *runs, "target.json: is missing")
    refused(plan, runs[0], undated, f"{undated}: states no start date")


def test_the_command_ends_with_three_lines_and_a_page_that_needs_no_network(plan, runs, tmp_path, capsys):
    out = tmp_path / "day.html"
    words = ["review", str(plan), "--run", str(runs[0]), "--beside", str(runs[1]), "--out", str(out)]
    assert run(words) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["Saved", "Waits", "Page"]
    assert lines[2].endswith(str(out))
    page = out.read_text()
    assert page.count("<svg ") == 5
    assert lines[0] in page
    assert "Mean nodes on" in page
    assert page.count("or 1,000 core-hours") == 3
    assert not re.search(r'(src|href)="http', page)
    assert run(words) == 2
    assert "exists" in capsys.readouterr().err


def test_unrelated_runs_are_refused(small_site, plan, runs, tmp_path, refused):
    by_noon = sum(row.submit < (SPAN[0] + SPAN[1]) / 2 for row in made_up_rows())
    refused(plan, runs[0], ran(small_site, tmp_path / "fewer", "--jobs", str(by_noon)), "other jobs")
    refused(plan, runs[0], ran(small_site, tmp_path / "short", "--jobs", "20"), "no job was submitted")
    other = shutil.copytree(runs[1], tmp_path / "other")
    (other / "run.json").write_text((other / "run.json").read_text().replace('"count": 10', '"count": 11', 1))
    refused(plan, runs[0], other, "another machine")
    refused(plan, runs[0], tmp_path, "run.json")
    refused(tmp_path, *runs, str(tmp_path))
