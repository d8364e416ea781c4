"""`dardis review`: one day under two runs, counted alike, and two runs that don't belong together refused."""

from __future__ import annotations

import csv
import re
import shutil

import numpy as np
import pytest
from kit.small_site import DAY_S, PLATFORM, POWER, START, made_up_rows

from dardis.cli.main import run
from offline.day.review import review

DAY = 8
SPAN = DAY * DAY_S, (DAY + 1) * DAY_S


def simulated(site, out, *options):
    """A run of the small site's trace on its machine, which states weather and prices here."""
    around = f'weather = "{site}/weather.csv"\nprices = "{site}/prices.csv"\ncalendar_start = "{START}"\n[[nodes]]'
    machine = out.parent / "small.toml"
    machine.write_text((PLATFORM + POWER).replace("[[nodes]]", around))
    words = ["simulate", str(site / "trace.swf"), "--platform", str(machine), "--dispatcher", "dardis-late"]
    assert run([*words, "--out", str(out), "--no-report", "--force", *options]) == 0
    return out


@pytest.fixture(scope="module")
def runs(small_site, small_plan, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    plain = simulated(small_site, folder / "plain")
    return simulated(small_site, folder / "planned", "--profile", str(small_plan / "target.json")), plain


def test_money_and_energy_of_the_day_are_those_of_the_runs_own_power_csv(small_plan, runs):
    told = review(small_plan, *runs)
    for lived, folder in zip((told.followed, told.without), runs, strict=True):
        with (folder / "power.csv").open(newline="") as file:
            rows = [row for row in csv.DictReader(file) if SPAN[0] <= int(row["time_s"]) < SPAN[1]]
        for name, figure in (("energy_eur", lived.account.energy_eur), ("cooling_eur", lived.account.cooling_eur),
                             ("income_eur", lived.account.income_eur)):  # fmt: skip
            assert figure == pytest.approx(sum(float(row[name]) for row in rows), rel=1e-9)
        with (folder / "jobs.csv").open(newline="") as file:
            waits = [int(row["waiting_time"]) for row in csv.DictReader(file)
                     if SPAN[0] <= int(row["submission_time"]) < SPAN[1]]  # fmt: skip
        assert np.sort(lived.waits).tolist() == sorted(waits)
    assert told.followed.mean_nodes_on < told.without.mean_nodes_on == 10
    assert told.followed.cost.sum() < told.without.cost.sum()


def test_a_run_beside_itself_saved_nothing_and_waits_as_long(small_plan, runs):
    saved, waits = review(small_plan, runs[1], runs[1]).lines
    assert saved.startswith("Saved: 0.00 EUR (0.0 %)")
    assert "(+0.0)" in waits


def test_the_command_ends_with_three_lines_and_a_page_that_needs_no_network(small_plan, runs, tmp_path, capsys):
    out = tmp_path / "day.html"
    words = ["review", str(small_plan), "--run", str(runs[0]), "--beside", str(runs[1]), "--out", str(out)]
    assert run(words) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["Saved", "Waits", "Page"]
    assert lines[2].endswith(str(out))
    page = out.read_text()
    assert page.count("<svg ") == 5
    assert lines[0] in page
    assert "Mean nodes on" in page
    assert not re.search(r'(src|href)="http', page)
    assert run(words) == 2
    assert "exists" in capsys.readouterr().err


def test_runs_that_do_not_belong_together_are_refused(small_site, small_plan, runs, tmp_path, capsys):
    by_noon = sum(row.submit < (SPAN[0] + SPAN[1]) / 2 for row in made_up_rows())
    fewer = simulated(small_site, tmp_path / "fewer", "--jobs", str(by_noon))
    short = simulated(small_site, tmp_path / "short", "--jobs", "20")
    other = shutil.copytree(runs[1], tmp_path / "other")
    (other / "run.json").write_text((other / "run.json").read_text().replace('"count": 10', '"count": 11', 1))
    capsys.readouterr()
    for beside, said in ((fewer, "other jobs"), (short, "no job was submitted"), (other, "another machine"),
                         (tmp_path, "run.json")):  # fmt: skip
        words = ["review", str(small_plan), "--run", str(runs[0]), "--beside", str(beside)]
        assert run([*words, "--out", str(tmp_path / "x.html")]) == 2
        [line] = capsys.readouterr().err.splitlines()
        assert said in line
    assert run(["review", str(tmp_path), "--run", str(runs[0]), "--beside", str(runs[1]),
                "--out", str(tmp_path / "x.html")]) == 2  # fmt: skip
