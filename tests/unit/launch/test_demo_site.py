"""The demo's synthetic weather and prices: the same for a seed, whole days, and readable as what they stand for."""

from __future__ import annotations

from pathlib import Path

import pytest

from dardis.config.platform_file import load_platform
from dardis.workload.generate import generate
from dardis.workload.transform import with_load

LAUNCH = Path(__file__).resolve().parents[3] / "launch"
BEGIN = 1_399_248_000


def test_the_demo_uses_half_of_its_machine_and_every_job_fits_it():
    platform = load_platform(LAUNCH / "platforms" / "demo.toml")
    trace = generate("eurora", 4800, 1, 8, kinds=1, begin=BEGIN)
    assert set(trace.request) == {"cores"}
    work = float((trace.procs * trace.runtime).sum()) / (8 * 86_400 * platform.cores)
    assert work == pytest.approx(0.5, abs=0.02)
    assert trace.units.max() <= platform.node_count / 2
    assert all(group.power is not None for group in platform.groups)
    assert len(with_load(trace, platform, work)) == len(trace)
