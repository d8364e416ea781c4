"""`dardis hybrid` from files to files: what it tells of the days, and that its own audit finds them legal."""

from __future__ import annotations

import json

import numpy as np
import pytest
from kit.small_site import (
    CORES,
    DAY_S,
    HOUR_S,
    NODES,
    POWER,
    START,
    called,
    hourly,
    made_up_rows,
    other_future,
    rows_of,
    summary_of,
    swf,
    table,
    write_site,
)

from dardis.cli.main import run
from dardis.config.platform_file import load_platform
from dardis.config.target_file import load_target
from dardis.metrics.jobs_csv import read_jobs
from dardis.metrics.system import read_downtime
from dardis.report.pictures import read_loop_picture
from dardis.runs.inputs import STARTS_ONLY

BEGIN, END = 7 * DAY_S, 9 * DAY_S
PROFITS = ("profit_eur", "always_on_profit_eur", "clairvoyant_profit_eur")
SOFT_IS_HARD = "no job has a deadline, so the soft cap is a hard cap"


def hybrid_summary(site, out, **options):
    """Day 7 unless others are asked for, audited; its summary."""
    assert called("hybrid", site, out, **({"days": "7", "no_report": True} | options)) == 0
    assert run(["audit", str(out)]) == 0
    return summary_of(out)


def beside(out):
    return {row["switching"]: row for row in rows_of(out / "beside.csv")}


def test_hybrid_writes_its_files(small_hybrid, capsys):
    files = (
        "summary.json days.csv beside.csv jobs.csv always_on_jobs.csv switching.csv target.json run.json picture.json "
        "report.html"
    )
    assert {path.name for path in small_hybrid.iterdir()} == {*files.split()}
    assert run(["audit", str(small_hybrid)]) == 0
    assert "ok" in capsys.readouterr().out
    found = summary_of(small_hybrid)
    assert read_loop_picture(small_hybrid).summary == found
    record = json.loads((small_hybrid / "run.json").read_text())
    assert record["calendar_start"] == START
    assert "dispatcher_of" not in record
    page = (small_hybrid / "report.html").read_text()
    for text in ("More profit than with all nodes on", "Where the gain comes from", "Waits for boots", "By day",
                 "Gain against waits for boots", "Comparison with other rules"):  # fmt: skip
        assert text in page


def test_hybrid_is_compared_with_idle_timeouts(small_hybrid, small_site, tmp_path):
    rows, found = beside(small_hybrid), summary_of(small_hybrid)
    assert [*rows] == ["all nodes on", "reactive:337", "reactive:900", "reactive:337,1", "spare", "clairvoyant"]
    for name, figure in zip(("spare", "all nodes on", "clairvoyant"), PROFITS, strict=True):
        assert float(rows[name]["profit_eur"]) == found[figure]
    assert float(rows["reactive:337"]["mean_nodes_on"]) <= float(rows["reactive:337,1"]["mean_nodes_on"]) <= NODES
    assert float(rows["reactive:337"]["delayed_share"]) >= float(rows["reactive:337,1"]["delayed_share"])
    alone = hybrid_summary(small_site, tmp_path / "out", days="7-8", switching="reactive:337,1")
    assert alone["switching"] == "reactive:337,1"
    assert float(rows["reactive:337,1"]["profit_eur"]) == alone["profit_eur"]
    target = load_target(tmp_path / "out" / "target.json", load_platform(small_site / "small.toml"))
    assert target.switching.idle_s == 337
    assert target.switching.spares[0].at(np.array([BEGIN - 1, BEGIN])).tolist() == [NODES, 1]


def test_daily_figures_sum_to_the_summary(small_hybrid):
    found, days = summary_of(small_hybrid), rows_of(small_hybrid / "days.csv")
    assert [day["date_utc"] for day in days] == ["2023-07-10", "2023-07-11"]
    for name in (*PROFITS, "jobs", "node_switches"):
        total = sum(float(day[name]) for day in days)
        told = found[name] if name in found else found["cycles_per_node_day"] * 2 * NODES
        assert total == pytest.approx(told, abs=1e-6)
    parts = [found[name] for name in found if name.startswith("gain_") and name not in {"gain_eur", "gain_percent"}]
    assert sum(parts) == pytest.approx(found["gain_eur"], abs=1e-6)
    assert found["always_on_profit_eur"] < found["profit_eur"] < found["clairvoyant_profit_eur"]
    gained, most = (found[name] - found["always_on_profit_eur"] for name in ("profit_eur", "clairvoyant_profit_eur"))
    assert found["share_of_bound"] == pytest.approx(gained / most)


def test_daily_figures_sum_to_the_summary_with_co2_charges(tmp_path):
    (tmp_path / "site").mkdir()
    site = write_site(tmp_path / "site", power=f"{POWER}[tariff]\nco2_eur_per_t = 300\n")
    (site / "carbon.csv").write_text(table("gco2_per_kwh", hourly([100.0 + 20 * (h % 24) for h in range(24 * 12)])))
    found = hybrid_summary(site, tmp_path / "out", carbon=site / "carbon.csv")
    (day,) = rows_of(tmp_path / "out" / "days.csv")
    for name in PROFITS:
        assert float(day[name]) == pytest.approx(found[name], abs=1e-6)


def test_plan_of_a_day_is_independent_of_later_jobs(small_site, small_hybrid, tmp_path):
    # The first of two days is switched the same whatever the trace holds from its midnight on.
    (tmp_path / "t.swf").write_text(swf(other_future(made_up_rows(), BEGIN, set())))
    hybrid_summary(small_site, tmp_path / "out", history=tmp_path / "t.swf")
    platform, hours = load_platform(small_site / "small.toml"), np.arange(BEGIN, BEGIN + DAY_S, 900)
    targets = (load_target(out / "target.json", platform) for out in (small_hybrid, tmp_path / "out"))
    one, two = (target.switching.spares[0].at(hours) for target in targets)
    assert (one == two).all()


@pytest.fixture(scope="module")
def capped(small_site, small_hybrid, tmp_path_factory):
    """The same two days with a cap of each kind, and without."""
    folder = tmp_path_factory.mktemp("capped")
    for cap in ("soft", "hard"):
        hybrid_summary(small_site, folder / cap, cap=cap, no_report=cap != "hard", days="7-8", deadlines="window:1800")
    return {"off": small_hybrid, "soft": folder / "soft", "hard": folder / "hard"}


def test_hard_soft_and_disabled_caps_are_applied(capped):
    found = {cap: summary_of(out) for cap, out in capped.items()}
    for cap, summary in found.items():
        assert summary["cap"] == cap
        assert json.loads((capped[cap] / "run.json").read_text())["cap"] == cap
        assert read_jobs(capped[cap] / "jobs.csv").ran.all()
        assert SOFT_IS_HARD not in str(summary["notes"])
        # The plans are those of the uncapped days.
        assert summary["always_on_profit_eur"] == found["off"]["always_on_profit_eur"]
    assert found["off"]["overutilisation_core_s"] is None
    assert found["hard"]["overutilisation_core_s"] == 0 < found["soft"]["overutilisation_core_s"]
    assert found["off"]["mean_wait_s"] < found["soft"]["mean_wait_s"] < found["hard"]["mean_wait_s"]
    assert found["off"]["most_wait_s"] < found["hard"]["most_wait_s"]
    assert "Cores in use" in (capped["hard"] / "report.html").read_text()


def test_the_target_has_the_cap_of_all_days_and_all_cores_after_them(small_site, capped):
    platform = load_platform(small_site / "small.toml")
    targets = [load_target(out / "target.json", platform) for out in capped.values()]
    assert targets[0].desired is None
    soft, hard = (target.desired.machine[platform.kinds.index("cores")] for target in targets[1:])
    hours = np.arange(BEGIN - HOUR_S, END + HOUR_S, 900)
    assert (soft.at(hours) == hard.at(hours)).all()
    inside = (hours >= BEGIN) & (hours < END)
    assert hard.at(hours)[inside].min() < NODES * CORES
    assert (hard.at(hours)[~inside] == NODES * CORES).all()


def test_soft_cap_without_deadlines_is_hard_and_reported(small_site, tmp_path, capsys):
    # Every job finds a start within the profile: after the last day at the latest.
    notes = {cap: str(hybrid_summary(small_site, tmp_path / cap, cap=cap)["notes"]) for cap in ("soft", "hard")}
    assert [SOFT_IS_HARD in notes[cap] for cap in ("soft", "hard")] == [True, False]
    assert f"dardis: note: {SOFT_IS_HARD}" in capsys.readouterr().err
    soft, hard = (read_jobs(tmp_path / cap / "jobs.csv").digest() for cap in ("soft", "hard"))
    assert soft == hard


@pytest.mark.parametrize(("dispatcher", "noted"), [("easy", False), ("rules-fcfs", True)])
def test_a_central_dispatcher_keeps_a_cap_where_nothing_is_switched(small_site, tmp_path, capsys, dispatcher, noted):
    found = hybrid_summary(small_site, tmp_path / "out", dispatcher=dispatcher, switching="off", cap="hard")
    assert (found["overutilisation_core_s"] == 0) != noted
    assert (STARTS_ONLY in str(found["notes"])) == noted
    assert (f"dardis: note: {STARTS_ONLY}" in capsys.readouterr().err) == noted


def test_without_switching_all_nodes_stay_on(small_site, tmp_path):
    found = hybrid_summary(small_site, tmp_path / "out", switching="off", no_report=False)
    assert found["profit_eur"] == found["always_on_profit_eur"] < found["clairvoyant_profit_eur"]
    assert found["share_of_bound"] is None
    assert found["cycles_per_node_day"] == 0
    assert found["mean_nodes_on"] == NODES
    assert len(read_downtime(tmp_path / "out" / "switching.csv").node) == 0


def test_algorithm_8_keeps_more_on_than_the_spares(small_site, small_hybrid, tmp_path):
    found = hybrid_summary(small_site, tmp_path / "out", days="7-8", switching="algorithm8", offset=70)
    assert summary_of(small_hybrid)["mean_nodes_on"] < found["mean_nodes_on"] < NODES
    assert found["profit_eur"] < summary_of(small_hybrid)["profit_eur"]


def test_held_jobs_wait_for_cheaper_hours(small_site, small_hybrid, tmp_path):
    held, before = hybrid_summary(small_site, tmp_path / "out", days="7-8", shift_hours=6), summary_of(small_hybrid)
    assert held["mean_wait_s"] > before["mean_wait_s"]
    assert held["energy_eur"] < before["energy_eur"]
    assert held["always_on_profit_eur"] == before["always_on_profit_eur"]
