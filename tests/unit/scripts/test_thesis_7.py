"""A whole small run of scripts/lab/run thesis_7's command."""

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import mean

import pytest

from scripts.lab.kit.page import read_csv
from scripts.lab.thesis_7 import figures, page, runs

ROOT = Path(__file__).resolve().parents[3]
DAY_S = 86_400


def swf_line(number: int, submit: int) -> str:
    run, cores = 1800 + 60 * (number % 40), 32 * (1 + number % 5)
    return f"{number} {submit} 60 {run} {cores} -1 -1 {cores} 7200 -1 1 1 1 -1 -1 {4 if number % 4 else 10} -1 -1"


def test_cells_of_table_7_1_have_the_means_of_the_thesis_text():
    assert [round(mean(cells), 1) for cells in page.TABLE_7_1.values()] == [17.4, 8.6, 0.2]


def test_boot_delay_at_a_share_follows_the_rules_that_no_other_beats():
    points = [(90.0, 10.0), (95.0, 20.0), (93.0, 40.0), (80.0, 12.0)]
    assert [page.delay_at(share, points) for share in (92.5, 85.0, 99.0)] == [15.0, 10.0, 20.0]


@pytest.fixture
def data(tmp_path) -> Path:
    """A trace of seven days, and a year of weather and prices that never change."""
    folder = tmp_path / "data"
    for name in ("traces", "weather", "prices"):
        (folder / name).mkdir(parents=True)
    jobs = [swf_line(n, 1_000_000 + 7 * DAY_S * (n - 1) // 120) for n in range(1, 121)]
    (folder / "traces/CEA-Curie-2012-slice36k.swf.gz").write_text("\n".join(jobs) + "\n", encoding="utf-8")
    first = datetime(2023, 1, 1, tzinfo=UTC)
    hours = [f"{first + timedelta(hours=hour):%Y-%m-%dT%H:%MZ}" for hour in range(8760)]
    for path, head, value in (
        ("weather/frankfurt-2023-utc.csv", "start_utc,temp_c", 10),
        ("prices/DE-LU-2023-utc.csv", "start_utc,price_eur_per_kwh", 0.1),
    ):
        lines = [head, *(f"{hour},{value}" for hour in hours)]
        (folder / path).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


@pytest.mark.slow
def test_a_small_run_writes_page_table_and_plots_and_keeps_its_runs(data, tmp_path):
    out = tmp_path / "out"
    options = (f"--data={data}", f"--out={out}", "--workload=medium", "--processes=2")
    command = [sys.executable, "-m", "scripts.lab", "thesis_7", *options]
    first = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    assert first.stdout == (out / "thesis_7.md").read_text(encoding="utf-8")
    assert "| medium | 90 | " in first.stdout  # partition 4 alone
    assert " clean |" in first.stdout
    assert {path.name for path in out.glob("*.png")} == {path.with_suffix(".png").name for path in out.glob("*.svg")}
    rows, cells = read_csv(out / "thesis_7.csv"), read_csv(out / "thesis_7_profit.csv")
    scenarios = runs.SCENARIOS
    assert len(rows) == len(scenarios) * (7 + sum(len(runs.switchings(name)) for name in runs.DISPATCHERS))
    for row in rows:
        parts = [float(row[f"gain_{part}_eur"]) for part in ("idle_power", "cooling", "price", "throughput")]
        gained = float(row["profit_days_eur"]) - float(row["always_on_days_eur"])
        assert sum(parts) == pytest.approx(gained, abs=1e-6)
        if row["dispatcher"] == runs.OPPONENTS and row["switching"] == row["best_rule"]:
            assert float(row["over_best_rule_eur"]) == 0
    assert [row["DARDIS70: thesis"] for row in cells] == ["10.46", "13.19", "18.23", "-7.50", "8.60"]
    at_end = [row["over_best_rule_at_end_percent"] for row in rows if row["switching"] == runs.OFFSET_70]
    assert [row["DARDIS70: ours"] for row in cells[:4]] == [f"{float(value):.2f}" for value in at_end[:4]]
    switched = [float(row["share_of_bound"]) for row in rows if row["switching"] == runs.TEN]
    assert 0.5 < min(switched) <= max(switched) < 1
    kept = {path: path.stat().st_mtime_ns for path in (out / "runs").rglob("*.npz")}
    again = runs.simulate(runs.Files(data, out), runs.WORKLOADS[1], runs.OPPONENTS)
    assert [key[1] for key, path in again if path in kept] == [*figures.RULES, runs.EASY]
    assert {path: path.stat().st_mtime_ns for path in (out / "runs").rglob("*.npz")} == kept
