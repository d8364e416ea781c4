"""What scripts/lab/run growth fits to points, which jobs a busy pool places, and a small run."""

import csv
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.lab.growth import points

ROOT = Path(__file__).resolve().parents[3]
SIZES = (10, 100, 1000, 10_000, 100_000)


def curve(cost):
    return [points.Point.of("nodes", "all", size, [cost(size) * part for part in (0.9, 1.0, 1.2)]) for size in SIZES]


def test_a_power_law_is_found():
    law = points.law_of(curve(lambda size: 3e-6 * size**0.7))
    assert law.exponent == pytest.approx(0.7)
    assert law.off == pytest.approx(1.0)
    assert law.least < 0.7 < law.most


@pytest.mark.slow
def test_a_small_run_writes_page_points_and_plot(tmp_path):
    command = [sys.executable, "-m", "scripts.lab", "growth", "--quick", f"--out={tmp_path}"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    assert done.stdout == (tmp_path / "growth.md").read_text(encoding="utf-8")
    assert "| waiting jobs | easy | " in done.stdout
    with (tmp_path / "growth.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["over"] for row in rows} == {"nodes", "reservations a node", "waiting jobs"}
    assert all(0 < float(row["least_us"]) <= float(row["median_us"]) <= float(row["most_us"]) for row in rows)
    assert (tmp_path / "growth.png").stat().st_size > 10_000
    assert (tmp_path / "growth.svg").exists()
