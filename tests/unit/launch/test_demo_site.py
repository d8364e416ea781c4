"""The demo's synthetic weather and prices: the same for a seed, whole days, and readable as what they stand for."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

from dardis.config.platform import load_platform
from dardis.config.prices import load_prices
from dardis.config.weather import load_weather
from dardis.workload.generate import generate
from dardis.workload.transform import with_load

LAUNCH = Path(__file__).resolve().parents[3] / "launch"
BEGIN = 1_399_248_000
DAYS = 3


def made(folder: Path, seed: int) -> Path:
    folder.mkdir()
    main = runpy.run_path(str(LAUNCH / "demo_site.py"))["main"]
    main([str(folder), "--begin", "2014-05-05", "--days", str(DAYS), "--seed", str(seed)])
    return folder


def test_they_cover_their_days_and_have_the_shape_of_days(tmp_path):
    folder, span = made(tmp_path / "a", 1), (BEGIN, BEGIN + DAYS * 86_400)
    weather, prices = load_weather(folder / "weather.csv", span), load_prices(folder / "prices.csv", span)
    for day in range(DAYS):
        hours = BEGIN + 86_400 * day + 3600 * np.arange(24)
        warm, price = weather.at(hours), prices.at(hours)
        assert warm[4] < warm[10] < warm[15]
        assert warm.max() < 40
        assert (price > 0).all()
        assert price[3] < price[8] > price[13] < price[18]


def test_the_demo_uses_half_of_its_machine_and_every_job_fits_it():
    platform = load_platform(LAUNCH / "platforms" / "demo.toml")
    trace = generate("eurora", 4800, 1, 8, kinds=1, begin=BEGIN)
    assert set(trace.request) == {"cores"}
    work = float((trace.procs * trace.runtime).sum()) / (8 * 86_400 * platform.cores)
    assert work == pytest.approx(0.5, abs=0.02)
    assert trace.units.max() <= platform.node_count / 2
    assert all(group.power is not None for group in platform.groups)
    assert len(with_load(trace, platform, work)) == len(trace)
