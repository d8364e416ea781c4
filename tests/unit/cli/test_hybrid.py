"""`dardis hybrid` from files to files: what it tells of the days, and that its own audit finds them legal."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from kit.small_site import (
    CORES,
    DAY_S,
    HOUR_S,
    NODES,
    PLATFORM,
    POWER,
    START,
    called,
    hourly,
    made_up_rows,
    other_future,
    search_less,
    summary_of,
    swf,
    table,
    write_site,
)

from dardis.cli.main import run
from dardis.config.platform import load_platform
from dardis.config.target import load_target
from dardis.metrics.downtime import read_downtime
from dardis.metrics.table import read_jobs
from dardis.registry import names
from dardis.report.loop_picture import read_loop_picture

BEGIN, END = 7 * DAY_S, 9 * DAY_S


@pytest.fixture(scope="module", autouse=True)
def quick():
    with pytest.MonkeyPatch.context() as patch:
        search_less(patch)
        yield


@pytest.fixture(scope="module")
def lived(small_site, tmp_path_factory):
    """Two days with the report."""
    out = tmp_path_factory.mktemp("lived") / "out"
    assert called("hybrid", small_site, out, days="7-8") == 0
    return out


def days_of(out):
    with (out / "days.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_the_files(lived):
    names = (
        "summary.json days.csv beside.csv jobs.csv always_on_jobs.csv switching.csv target.json run.json picture.json "
        "report.html"
    )
    assert {path.name for path in lived.iterdir()} == {*names.split()}
    found = summary_of(lived)
    assert read_loop_picture(lived).summary == found
    needed = "profit_eur always_on_profit_eur clairvoyant_profit_eur share_of_bound mean_boot_delay_s delayed_share"
    assert {*needed.split(), "cycles_per_node_day", "mean_wait_s"} <= set(found)
    assert json.loads((lived / "run.json").read_text())["calendar_start"] == START
    page = (lived / "report.html").read_text()
    for text in ("More profit than with all nodes on", "Where the gain comes from", "Waits for boots", "By day"):
        assert text in page


def beside(out):
    with (out / "beside.csv").open(newline="") as file:
        return {row["switching"]: row for row in csv.DictReader(file)}


def test_ours_stands_beside_what_looks_at_idle_nodes_alone(lived, small_site, tmp_path):
    rows, found = beside(lived), summary_of(lived)
    assert [*rows] == ["all nodes on", "reactive:337", "reactive:900", "reactive:337,1", "spare", "clairvoyant"]
    assert float(rows["spare"]["profit_eur"]) == found["profit_eur"]
    assert float(rows["all nodes on"]["profit_eur"]) == found["always_on_profit_eur"]
    assert float(rows["clairvoyant"]["profit_eur"]) == found["clairvoyant_profit_eur"]
    assert float(rows["reactive:337"]["mean_nodes_on"]) <= float(rows["reactive:337,1"]["mean_nodes_on"]) <= NODES
    assert float(rows["reactive:337"]["delayed_share"]) >= float(rows["reactive:337,1"]["delayed_share"])
    page = (lived / "report.html").read_text()
    assert "Gain against waits for boots" in page
    assert "Beside other rules" in page
    # Asked for alone it is what it is beside ours.
    for rule in ("reactive:337,1", "reactive:1200,2"):
        out = tmp_path / rule.replace(":", "-")
        assert called("hybrid", small_site, out, days="7-8", switching=rule, no_report=True) == 0
        alone = summary_of(out)
        assert alone["switching"] == rule
        assert rule in beside(out)
        assert run(["audit", str(out)]) == 0
        if rule in rows:
            assert float(rows[rule]["profit_eur"]) == alone["profit_eur"]
    target = load_target(tmp_path / "reactive-1200,2" / "target.json", load_platform(small_site / "small.toml"))
    assert target.switching.idle_s == 1200
    assert target.switching.spares[0].at(np.array([BEGIN - 1, BEGIN])).tolist() == [NODES, 2]


@pytest.mark.parametrize("rule", ["reactive", "reactive:", "reactive:x", "reactive:1,2,3", "reactive:-1", "reacting:3"])
def test_a_rule_that_there_is_not(small_site, tmp_path, capsys, rule):
    assert called("hybrid", small_site, tmp_path / "out", days="7-8", switching=rule) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert f"--switching: '{rule}'; expected" in said
    assert "reactive:SECONDS,SPARES" in said


def test_the_audit_finds_it_legal(lived, capsys):
    assert run(["audit", str(lived)]) == 0
    assert "ok" in capsys.readouterr().out


def test_the_record_names_the_package_of_the_dispatcher(lived, small_site, tmp_path, monkeypatch):
    assert "dispatcher_of" not in json.loads((lived / "run.json").read_text())
    info = tmp_path / "other-2.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 2.1\n")
    (info / "entry_points.txt").write_text("[dardis.dispatchers]\nmine = mine_of_other:MINE\n")
    (tmp_path / "mine_of_other.py").write_text('from dardis.registry import OURS\n\nMINE = OURS["dardis-throughput"]\n')
    monkeypatch.syspath_prepend(tmp_path)
    names._registered.cache_clear()
    try:
        assert called("hybrid", small_site, tmp_path / "o", days="7-7", dispatcher="mine", no_report=True) == 0
    finally:
        names._registered.cache_clear()
    assert json.loads((tmp_path / "o" / "run.json").read_text())["dispatcher_of"] == "other 2.1"


def test_days_add_up_to_the_summary(lived):
    found, days = summary_of(lived), days_of(lived)
    assert [day["date_utc"] for day in days] == ["2023-07-10", "2023-07-11"]
    for name in ("profit_eur", "always_on_profit_eur", "clairvoyant_profit_eur", "jobs", "node_switches"):
        total = sum(float(day[name]) for day in days)
        told = found[name] if name in found else found["cycles_per_node_day"] * 2 * NODES
        assert total == pytest.approx(told, abs=1e-6)
    parts = [found[name] for name in found if name.startswith("gain_") and name not in {"gain_eur", "gain_percent"}]
    assert sum(parts) == pytest.approx(found["gain_eur"], abs=1e-6)
    assert found["always_on_profit_eur"] < found["profit_eur"] < found["clairvoyant_profit_eur"]
    gained = found["profit_eur"] - found["always_on_profit_eur"]
    assert found["share_of_bound"] == pytest.approx(
        gained / (found["clairvoyant_profit_eur"] - found["always_on_profit_eur"])
    )


def test_days_add_up_where_co2_is_charged(tmp_path):
    (tmp_path / "site").mkdir()
    site = write_site(tmp_path / "site", power=f"{POWER}[tariff]\nco2_eur_per_t = 300\n")
    (site / "carbon.csv").write_text(table("gco2_per_kwh", hourly([100.0 + 20 * (h % 24) for h in range(24 * 12)])))
    out = tmp_path / "out"
    assert called("hybrid", site, out, days="7", carbon=site / "carbon.csv", no_report=True) == 0
    found, (day,) = summary_of(out), days_of(out)
    for name in ("profit_eur", "always_on_profit_eur", "clairvoyant_profit_eur"):
        assert float(day[name]) == pytest.approx(found[name], abs=1e-6)


def test_jobs_and_switches_are_those_that_the_summary_counts(lived):
    found, jobs, down = summary_of(lived), read_jobs(lived / "jobs.csv"), read_downtime(lived / "switching.csv")
    inside = (jobs.submit >= BEGIN) & (jobs.submit < END) & jobs.ran
    assert found["jobs"] == inside.sum()
    assert found["mean_wait_s"] == pytest.approx((jobs.start - jobs.submit)[inside].mean())
    assert jobs.submit.max() < END
    assert down.down.min() >= BEGIN
    switches = ((down.down >= BEGIN) & (down.down < END)).sum()
    assert found["cycles_per_node_day"] == pytest.approx(switches / NODES / 2)


def test_simulate_takes_its_target_and_lives_the_same_days(small_site, lived, tmp_path):
    words = ["simulate", small_site / "trace.swf", "--platform", small_site / "small.toml", "--profile",
             lived / "target.json", "--dispatcher", "dardis-throughput", "--set", "backfill_scope=all-nodes", "--to",
             END, "--out", tmp_path / "run", "--no-report"]  # fmt: skip
    assert run([str(word) for word in words]) == 0
    assert (tmp_path / "run" / "switching.csv").read_text() == (lived / "switching.csv").read_text()


def test_a_day_is_planned_without_what_came_after_it(small_site, lived, tmp_path):
    # The first of two days is switched the same whatever the trace holds from its midnight on.
    (tmp_path / "t.swf").write_text(swf(other_future(made_up_rows(), BEGIN, set())))
    assert called("hybrid", small_site, tmp_path / "out", days="7", history=tmp_path / "t.swf", no_report=True) == 0
    platform, hours = load_platform(small_site / "small.toml"), np.arange(BEGIN, BEGIN + DAY_S, 900)
    kept = [
        load_target(out / "target.json", platform).switching.spares[0].at(hours) for out in (lived, tmp_path / "out")
    ]
    assert (kept[0] == kept[1]).all()


@pytest.fixture(scope="module")
def capped(small_site, tmp_path_factory):
    """The same two days with a cap of each kind, and without."""
    folder = tmp_path_factory.mktemp("capped")
    options = {"days": "7-8", "deadlines": "window:1800"}
    for cap in ("off", "soft", "hard"):
        assert called("hybrid", small_site, folder / cap, cap=cap, no_report=cap != "hard", **options) == 0
    return folder


def test_a_cap_is_kept_always_or_until_a_job_is_late_or_not_at_all(small_site, capped, capsys):
    found = {cap: summary_of(capped / cap) for cap in ("off", "soft", "hard")}
    for cap, summary in found.items():
        assert summary["cap"] == cap
        assert json.loads((capped / cap / "run.json").read_text())["cap"] == cap
        assert run(["audit", str(capped / cap)]) == 0
        assert read_jobs(capped / cap / "jobs.csv").ran.all()
        # The plans are those of the uncapped days.
        assert summary["always_on_profit_eur"] == found["off"]["always_on_profit_eur"]
    assert found["off"]["overutilisation_core_s"] is None
    assert found["hard"]["overutilisation_core_s"] == 0 < found["soft"]["overutilisation_core_s"]
    assert found["off"]["mean_wait_s"] < found["soft"]["mean_wait_s"] < found["hard"]["mean_wait_s"]
    assert found["off"]["most_wait_s"] < found["hard"]["most_wait_s"]
    assert "Cores in use" in (capped / "hard" / "report.html").read_text()


def test_the_target_has_the_cap_of_all_days_and_all_cores_after_them(small_site, capped):
    platform = load_platform(small_site / "small.toml")
    targets = [load_target(capped / cap / "target.json", platform) for cap in ("off", "soft", "hard")]
    assert targets[0].desired is None
    soft, hard = (target.desired.machine[platform.kinds.index("cores")] for target in targets[1:])
    hours = np.arange(BEGIN - HOUR_S, END + HOUR_S, 900)
    assert (soft.at(hours) == hard.at(hours)).all()
    inside = (hours >= BEGIN) & (hours < END)
    assert hard.at(hours)[inside].min() < NODES * CORES
    assert (hard.at(hours)[~inside] == NODES * CORES).all()


def test_simulate_obeys_the_same_cap(small_site, capped, tmp_path):
    for cap in ("soft", "hard"):
        words = ["simulate", small_site / "trace.swf", "--platform", small_site / "small.toml", "--profile",
                 capped / cap / "target.json", "--dispatcher", "dardis-throughput", "--set", "backfill_scope=all-nodes",
                 "--set", f"profile={cap}", "--deadlines", "window:1800", "--to", END, "--out", tmp_path / cap,
                 "--no-report"]  # fmt: skip
        assert run([str(word) for word in words]) == 0
        assert read_jobs(tmp_path / cap / "jobs.csv").digest() == read_jobs(capped / cap / "jobs.csv").digest()


def test_without_deadlines_a_soft_cap_is_as_hard(small_site, tmp_path):
    # Every job finds a start within the profile: after the last day at the latest.
    digests = []
    for cap in ("soft", "hard"):
        options = {"days": "7", "cap": cap, "no_report": True}
        assert called("hybrid", small_site, tmp_path / cap, **options) == 0
        digests.append(read_jobs(tmp_path / cap / "jobs.csv").digest())
    assert digests[0] == digests[1]


def test_a_central_dispatcher_keeps_a_cap_where_nothing_is_switched(small_site, tmp_path):
    out, options = tmp_path / "out", {"days": "7", "dispatcher": "easy", "switching": "off", "cap": "hard"}
    assert called("hybrid", small_site, out, no_report=True, **options) == 0
    assert summary_of(out)["overutilisation_core_s"] == 0
    assert run(["audit", str(out)]) == 0


@pytest.mark.parametrize("dispatcher", ["dardis-late", "dardis-throughput"])
def test_dispatchers_by_name(small_site, tmp_path, dispatcher):
    out = tmp_path / "out"
    assert called("hybrid", small_site, out, days="7", dispatcher=dispatcher, no_report=True) == 0
    found = summary_of(out)
    assert found["dispatcher"] == dispatcher
    assert found["always_on_profit_eur"] < found["profit_eur"]
    assert run(["audit", str(out)]) == 0


@pytest.mark.parametrize("dispatcher", [None, "easy"])
def test_with_nothing_switched_it_is_all_nodes_on(small_site, tmp_path, dispatcher):
    out = tmp_path / "out"
    options = {"dispatcher": dispatcher, "no_report": dispatcher is not None}
    assert called("hybrid", small_site, out, days="7", switching="off", **options) == 0
    found = summary_of(out)
    assert found["profit_eur"] == found["always_on_profit_eur"] < found["clairvoyant_profit_eur"]
    assert found["share_of_bound"] is None
    assert found["cycles_per_node_day"] == 0
    assert found["mean_nodes_on"] == NODES
    assert len(read_downtime(out / "switching.csv").node) == 0
    assert run(["audit", str(out)]) == 0


def test_a_platform_without_power_figures(small_site, tmp_path, capsys):
    (tmp_path / "p.toml").write_text(PLATFORM)
    out = tmp_path / "out"
    assert called("hybrid", small_site, out, days="7", platform=tmp_path / "p.toml") == 0
    found, page = summary_of(out), (out / "report.html").read_text()
    assert found["profit_eur"] == found["always_on_profit_eur"] == found["clairvoyant_profit_eur"]
    assert found["share_of_bound"] is None
    for note in ("9.455 W a busy core", "none is switched"):
        assert note in found["notes"]
        assert note in page


def test_algorithm_8_keeps_more_on_than_the_spares(small_site, lived, tmp_path):
    out = tmp_path / "out"
    assert called("hybrid", small_site, out, days="7-8", switching="algorithm8", offset=70, no_report=True) == 0
    assert summary_of(lived)["mean_nodes_on"] < summary_of(out)["mean_nodes_on"] < NODES
    assert summary_of(out)["profit_eur"] < summary_of(lived)["profit_eur"]
    assert run(["audit", str(out)]) == 0


def test_held_jobs_wait_for_cheaper_hours(small_site, lived, tmp_path):
    out = tmp_path / "out"
    assert called("hybrid", small_site, out, days="7-8", shift_hours=6, no_report=True) == 0
    assert run(["audit", str(out)]) == 0
    held, before = summary_of(out), summary_of(lived)
    assert held["mean_wait_s"] > before["mean_wait_s"]
    assert held["energy_eur"] < before["energy_eur"]
    assert held["always_on_profit_eur"] == before["always_on_profit_eur"]
    jobs, as_before = read_jobs(out / "jobs.csv"), read_jobs(lived / "jobs.csv")
    earlier = jobs.start < BEGIN
    assert (jobs.start[earlier] == as_before.start[earlier]).all()
    late = np.maximum(jobs.start - as_before.start, 0)[~earlier]
    assert HOUR_S < late.max() <= 7 * HOUR_S


def test_what_was_promised_and_what_is_left(lived):
    found = summary_of(lived)
    with (lived / "days.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["promised_gain_eur"]]
    assert found["days_promised"] == len(rows) > 0
    told = [float(row["promised_gain_eur"]) for row in rows]
    assert found["promised_gain_eur"] == pytest.approx(sum(told))
    within = [
        float(row["promised_gain_p10_eur"]) <= float(row["switching_gain_eur"]) <= float(row["promised_gain_p90_eur"])
        for row in rows
    ]
    assert found["days_within_promise"] == sum(within)
    assert found["switching_gain_eur"] > 0
    on, switched = (read_jobs(lived / name) for name in ("always_on_jobs.csv", "jobs.csv"))
    assert sorted(on.number.tolist()) == sorted(switched.number.tolist())
    for key, jobs, moment in (("end", switched, END), ("always_on_end", on, END), ("begin", switched, BEGIN)):
        left = [
            (finish - max(start, moment)) * units * int(request[0]) / 3600
            for submit, start, finish, units, request in zip(
                jobs.submit, jobs.start, jobs.finish, jobs.units, jobs.request, strict=True
            )
            if submit < moment < finish
        ]
        assert found[f"{key}_running_core_h"] + found[f"{key}_waiting_core_h"] == pytest.approx(sum(left))
