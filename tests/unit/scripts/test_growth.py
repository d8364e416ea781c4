"""What scripts/growth fits to points, how it keeps queues long, which jobs a busy pool places, and a small run."""

import csv
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.growth_curves import fit, plots, points, queues
from scripts.kit import busy_pool

ROOT = Path(__file__).resolve().parents[3]
SIZES = (10, 100, 1000, 10_000, 100_000)


def curve(cost):
    return [points.Point.of("nodes", "all", size, [cost(size) * part for part in (0.9, 1.0, 1.2)]) for size in SIZES]


def test_a_power_law_is_found():
    law = fit.law_of(curve(lambda size: 3e-6 * size**0.7))
    assert law.exponent == pytest.approx(0.7)
    assert law.off == pytest.approx(1.0)
    assert law.least < 0.7 < law.most


def test_the_upper_decades_say_where_it_goes():
    found = curve(lambda size: 1e-4 + 1e-6 * size)
    above = fit.upper(found)
    assert [one.size for one in above] == [1000, 10_000, 100_000]
    assert 0.9 < fit.law_of(above).exponent < 1
    assert fit.law_of(found).exponent < 0.8
    assert fit.law_of(found).off > 1.5


def test_there_is_no_law_without_two_sizes_above_none():
    of = [points.Point.of("reservations", "all", size, [1.0]) for size in (0, 5)]
    assert fit.law_of(of) is None


def test_points_are_read_as_written(tmp_path):
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    points.write(first, curve(lambda size: 1e-6 * size))
    points.write(second, points.read(first))
    assert first.read_text() == second.read_text()
    assert [one.size for one in points.read(second)] == list(SIZES)


def test_curves_that_cost_most_at_none_are_drawn(tmp_path):
    flat = [points.Point.of("reservations a node", "all", size, [1e-4 - 1e-6 * size]) for size in (0, 1, 8)]
    plots.draw(tmp_path / "flat", flat)
    assert (tmp_path / "flat.png").exists()


def test_whoever_ends_is_followed_by_another():
    jobs = queues.jobs_of(5, 12)
    assert [job.after for job in jobs[:5]] == [None] * 5
    assert [job.after for job in jobs[5:]] == [job.number for job in jobs[:-5]]
    assert len(jobs) - 5 > 12


@pytest.mark.parametrize("nodes", [100, 1000])
def test_jobs_on_a_busy_pool_start_when_they_are_meant_to(nodes):
    pool = busy_pool.BusyPool(nodes, 3)
    for ask in (busy_pool.NOW, busy_pool.LATER, busy_pool.LAST):
        assert pool.cpu_of(ask, 8) > 0
    with pytest.raises(ValueError, match="starts at 0 s"):
        pool.cpu_of(busy_pool.Ask(busy_pool.HALF, 600, 700), 1)


@pytest.mark.slow
def test_a_small_run_writes_page_points_and_plot(tmp_path):
    command = [sys.executable, "-m", "scripts.growth_curves", "--quick", f"--out={tmp_path}"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    assert done.stdout == (tmp_path / "growth.md").read_text(encoding="utf-8")
    assert "| waiting jobs | easy | " in done.stdout
    with (tmp_path / "growth.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["over"] for row in rows} == {"nodes", "reservations a node", "waiting jobs"}
    assert all(0 < float(row["least_us"]) <= float(row["median_us"]) <= float(row["most_us"]) for row in rows)
    assert (tmp_path / "growth.png").stat().st_size > 10_000
    assert (tmp_path / "growth.svg").exists()
