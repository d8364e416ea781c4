"""`dardis plan` from files to files: nothing of the future leaks in, money adds up, others can read what is written."""

from __future__ import annotations

import json

import numpy as np
import pytest
from kit.small_site import (
    CORES,
    DAY_S,
    FILES,
    NODES,
    PLATFORM,
    called,
    crowded_rows,
    other_future,
    rows_of,
    simulated,
    summary_of,
    swf,
)

from dardis.cli.main import run
from dardis.config.platform_file import load_platform
from dardis.config.target_file import load_target
from dardis.metrics.columns import parse_units_by_node
from dardis.metrics.power import platform_cooling
from offline.folder.plan_folder import read_plan
from offline.folder.tables import JobKind

DAY = 8
START, END = DAY * DAY_S, (DAY + 1) * DAY_S


def planned(site, out, **options):
    """Day 8; its summary."""
    assert called("plan", site, out, **({"day": DAY, "no_report": True} | options)) == 0
    return summary_of(out)


def written_files(out):
    return {name: (out / name).read_bytes() for name in FILES}


@pytest.mark.parametrize("trace", ["crowded", pytest.param("algorithm8", marks=pytest.mark.slow)])
def test_events_after_midnight_do_not_change_the_plan(small_site, tmp_path, trace):
    options = {"switching": "algorithm8"} if trace == "algorithm8" else {}
    rows = crowded_rows()
    (tmp_path / "a.swf").write_text(swf(rows))
    planned(small_site, tmp_path / "a", polishes=1, history=tmp_path / "a.swf", **options)
    schedule = read_plan(tmp_path / "a").schedule
    kinds = dict(zip(schedule.number.tolist(), schedule.kind, strict=True))
    unfinished = {number for number, kind in kinds.items() if kind != JobKind.FORECAST}
    assert {JobKind.RUNNING, JobKind.QUEUED} <= {*kinds.values()}  # else nothing is tried
    (tmp_path / "b.swf").write_text(swf(other_future(rows, START, unfinished)))
    planned(small_site, tmp_path / "b", polishes=1, history=tmp_path / "b.swf", **options)
    assert written_files(tmp_path / "a") == written_files(tmp_path / "b")


def test_plan_is_repeatable_and_needs_no_weather_after_the_day(small_site, small_plan, tmp_path):
    cut = {name: tmp_path / f"{name}.csv" for name in ("weather", "prices")}
    for name, path in cut.items():
        lines = (small_site / f"{name}.csv").read_text().splitlines(keepends=True)
        path.write_text("".join(lines[: 1 + 24 * (1 + DAY + 1)]))
    one, again = summary_of(small_plan), tmp_path / "again"
    two = planned(small_site, again, polishes=1, day=None, date=one["date_utc"], **cut)
    assert written_files(again) == written_files(small_plan)
    assert one.pop("plan_cpu_s") > 0
    assert two.pop("plan_cpu_s") > 0
    assert one == two
    settings = [json.loads((out / "run.json").read_text())["settings"] for out in (small_plan, again)]
    for name in ("made_utc", "day", "date", "weather", "prices"):
        for setting in settings:
            setting.pop(name, None)
    assert settings[0] == settings[1]


def test_profit_equals_the_sum_of_the_tables(small_site, small_plan):
    # From the files alone, second by second: what jobs earn, what nodes draw in each state, what cooling takes.
    platform = load_platform(small_site / "small.toml")
    power = platform.groups[0].power
    profile, summary = rows_of(small_plan / "profile.csv"), summary_of(small_plan)
    added_w, earning = np.zeros(DAY_S), np.zeros(DAY_S)
    for row in rows_of(small_plan / "schedule.csv"):
        units = sum(count for _, count in parse_units_by_node(row["units_by_node"]))
        cores = units * int(row["req_cores"])
        span = slice(*(min(max(int(row[name]) - START, 0), DAY_S) for name in ("starting_time", "finish_time")))
        added_w[span] += cores * power.core_w
        earning[span] += cores * platform.income_per_core_h / 3600
    node_w = np.full((NODES, 2 * DAY_S), power.idle_w)
    for row in sorted(rows_of(small_plan / "onoff.csv"), key=lambda row: (int(row["time_s"]), row["action"] == "on")):
        at, node = int(row["time_s"]) - START, int(row["node"])
        if row["action"] == "off":
            node_w[node, at:] = power.off_w
            node_w[node, at : at + power.shutdown_s] = power.shutdown_w
        else:
            node_w[node, at:] = power.idle_w
            node_w[node, at : at + power.boot_s] = power.boot_w
    assert (node_w[:, :DAY_S] < power.idle_w).any()
    it_w = added_w + node_w[:, :DAY_S].sum(axis=0)
    cooling = platform_cooling(platform)
    energy = cooled = 0.0
    for row in profile:
        span = slice(int(row["time_s"]) - START, int(row["end_s"]) - START)
        mean_w, price = it_w[span].mean(), float(row["price_eur_per_kwh"])
        cooling_w = float(cooling.watts(float(row["temp_c"]), mean_w))
        hours = (span.stop - span.start) / 3600
        energy += mean_w * hours / 1000 * price
        cooled += cooling_w * hours / 1000 * price
        assert float(row["it_w"]) == pytest.approx(mean_w, abs=1e-3)
        assert float(row["cooling_w"]) == pytest.approx(cooling_w, abs=1e-3)
    assert summary["income_eur"] == pytest.approx(earning.sum(), abs=1e-6)
    assert summary["energy_eur"] == pytest.approx(energy, abs=1e-6)
    assert summary["cooling_eur"] == pytest.approx(cooled, abs=1e-6)
    assert summary["profit_eur"] == pytest.approx(earning.sum() - energy - cooled, abs=1e-6)


@pytest.fixture(scope="module")
def capped_plan(small_site, tmp_path_factory):
    """The same day with the cores to aim at in its target."""
    out = tmp_path_factory.mktemp("capped") / "plan"
    planned(small_site, out, polishes=1, cap=True)
    return out


@pytest.mark.parametrize("dispatcher", ["dardis-throughput", "easy"])
def test_simulate_keeps_within_the_cap_of_a_plan(small_site, capped_plan, tmp_path, dispatcher):
    target = tmp_path / "target.json"
    told = json.loads((capped_plan / "target.json").read_text())
    told["profile"]["steps"] = [[time, min(cores, 5 * CORES)] for time, cores in told["profile"]["steps"][:-1]]
    told["profile"]["steps"].append([END, NODES * CORES])
    if dispatcher == "easy":
        told["switching"] = None
    target.write_text(json.dumps(told))
    over = {}
    for rule in ("hard", "off"):
        out = tmp_path / rule
        asked = ("--profile", target, "--dispatcher", dispatcher, "--set", f"profile={rule}")
        assert simulated(small_site, out, *asked) == 0
        assert run(["audit", str(out)]) == 0
        metrics = json.loads((out / "metrics.json").read_text())
        over[rule] = metrics["overutilisation_core_s"]
        assert metrics["rejected"] == 0
    assert over["hard"] == 0 < over["off"]


def test_without_power_figures_thesis_values_apply_and_nothing_is_switched(small_site, tmp_path, capsys):
    (tmp_path / "p.toml").write_text(PLATFORM)
    out = tmp_path / "out"
    found = planned(small_site, out, platform=tmp_path / "p.toml", no_report=False)
    page, said = (out / "report.html").read_text(), capsys.readouterr().err
    for note in ("9.455 W per busy core", "no node is switched"):
        assert note in said
        assert note in found["notes"]
        assert note in page
    assert found["profit_eur"] == found["all_on_profit_eur"]
    assert load_target(out / "target.json", load_platform(tmp_path / "p.toml")).switching is None


def test_plan_predicts_a_gain_with_a_range_and_reports_it(small_plan):
    found = summary_of(small_plan)
    for name in ("gain", "gain_over_suspend"):
        assert found[f"{name}_p10_eur"] <= found[f"{name}_eur"] <= found[f"{name}_p90_eur"]
    assert 0 < found["peak_p10_kw"] <= found["peak_p90_kw"]
    assert found["jobs_p10"] <= found["jobs_p90"]
    assert found["gain_eur"] > 0
    assert found["gain_days"] >= 5
    assert found["boot_delay_s"] <= found["suspend_boot_delay_s"]
    page = (small_plan / "report.html").read_text()
    assert f"Expect {found['gain_eur']:,.2f} EUR more than with all nodes on" in page
    assert page.index("Expect ") < page.index("Notes")
    for words in ("<summary>All figures</summary>", "Profit</td>", "Peak (a tenth of the days: less)",
                  "Plan of 2023-07-11", "Load against the target", "Money by hour", "Searches"):  # fmt: skip
        assert words in page
    for note in found["notes"].split("; "):
        assert note.split(" (")[0] in page


def test_cost_of_a_power_limit_is_reported(small_site, small_plan, tmp_path, capsys):
    found = planned(small_site, tmp_path / "out", polishes=1, what_if="2.0kW 8-16")
    assert found["profit_eur"] == summary_of(small_plan)["profit_eur"], "what is written is the plan without the limit"
    assert found["what_if_cost_eur"] == pytest.approx(found["profit_eur"] - found["what_if_profit_eur"])
    assert found["what_if_cost_eur"] > 0
    assert found["what_if_later_jobs"] > 0
    assert "what if 2.0kW 8-16" in capsys.readouterr().out
