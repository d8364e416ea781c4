"""Energy, cost and CO2 of recorded jobs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.effort import examples
from kit.error_lines import line_of

from dardis.metrics.job_energy import EnergyTerms, Grouping, JobEnergy, Source, energy_table, job_energy
from dardis.model.platform import Facility, NodeGroup, NodePower, Platform
from dardis.workload.slurm_usage import SlurmUsage, UsedSpan

MAY = 1_682_899_200
SMALL = NodeGroup("n", 4, {"cores": 8}, NodePower(idle_w=80.0, core_w=10.0))
LARGE = NodeGroup("g", 2, {"cores": 16, "gpu": 2}, NodePower(idle_w=160.0, core_w=20.0, device_w={"gpu": 300.0}))
GRID = Platform("grid", (SMALL, LARGE), partitions={"thin": (0,), "fat": (1,)})


def run(**changes: object) -> UsedSpan:
    return UsedSpan(**{  # type: ignore[arg-type]
        "line": 2, "job": "7", "user": "ann", "account": "phys", "partition": "thin", "start": MAY, "end": MAY + 3600,
        "nodes": 1, "amounts": {"cores": 8}, "places": ("n0",), "joules": None, "cpu_s": None, "is_running": False,
    } | changes)  # fmt: skip


def energy_of(*runs: UsedSpan, **terms: object) -> JobEnergy:
    return job_energy(Path("jobs"), SlurmUsage(runs), EnergyTerms(**{"platform": GRID} | terms))  # type: ignore[arg-type]


def hourly(path: Path, name: str, hours: int) -> Path:
    lines = [f"{MAY + 3600 * hour},{0.1 * (hour % 7) - 0.1:.2f}" for hour in range(-2, hours)]
    if name == "gco2_per_kwh":
        lines = [f"{MAY + 3600 * hour},{100 + hour % 5}" for hour in range(-2, hours)]
    path.write_text("\n".join([f"start_utc,{name}", *lines, ""]))
    return path


@pytest.mark.parametrize(
    ("changes", "watts"),
    [
        ({}, 8 * (10 + 80 / 8)),
        ({"amounts": {"cores": 2}}, 2 * (10 + 80 / 8)),
        ({"places": ("g1",), "amounts": {"cores": 16, "gpu": 2}}, 16 * (20 + 160 / 16) + 600),
        ({"places": ("n0", "g0"), "amounts": {"cores": 24}, "nodes": 2}, 24 * (15 + 10)),
        ({"places": (), "partition": "fat", "amounts": {"cores": 16}}, 16 * (20 + 10)),
        ({"places": (), "partition": "other", "amounts": {"cores": 16}}, 16 * (20 + 10)),
        ({"places": (), "partition": "", "amounts": {"cores": 8}}, 8 * (4 * 10 + 2 * 20) / 6 + 8 * 10),
    ],
)
def test_model_counts_cores_share_of_idle_power_and_devices(changes: dict[str, object], watts: float) -> None:
    found = energy_of(run(**changes))
    assert found.watts.tolist() == pytest.approx([watts])
    assert found.source(0) is Source.MODEL


def test_measured_energy_counts_on_own_nodes_and_the_model_on_shared_nodes() -> None:
    own, part = run(joules=7.2e5), run(joules=7.2e5, amounts={"cores": 4})
    found = energy_of(own, part)
    assert [found.source(row) for row in (0, 1)] == [Source.MEASURED, Source.MODEL]
    assert found.kwh.tolist() == pytest.approx([0.2, 4 * 20 / 1000])
    assert found.notes == (
        "1 jobs with measured energy shared their nodes, so the model counts for them",
        "unused cores are unknown: no job has CPU time (TotalCPU of sacct without -X)",
    )


def test_without_platform_unmeasured_jobs_have_unknown_energy() -> None:
    found = energy_of(run(joules=7.2e5), run(), platform=None)
    assert [found.source(row) for row in (0, 1)] == [Source.MEASURED, Source.UNKNOWN]
    total = found.sums()
    assert (total.kwh, total.measured_kwh, total.unknown_jobs, total.eur) == (pytest.approx(0.2), total.kwh, 1, None)
    assert any("1 jobs without measured energy are left out" in note for note in found.notes)
    assert found.rows(Grouping.JOB)[1][9] is None


def test_unused_cores_count_only_jobs_with_cpu_time() -> None:
    found = energy_of(run(cpu_s=4 * 3600.0), run(), run(cpu_s=8 * 3600.0 * 2))
    assert found.sums().unused_share == pytest.approx(4 / 16)
    assert found.rows(Grouping.JOB)[0][-2] == pytest.approx(0.5)


RUNS = st.lists(
    st.builds(
        lambda start, length, cores, joules, user, cpu: run(
            start=MAY + start, end=MAY + start + length, amounts={"cores": cores}, joules=joules, user=user,
            account=user, cpu_s=cpu,
        ),
        st.integers(0, 200_000), st.integers(1, 150_000), st.sampled_from([2, 8]),
        st.sampled_from([None, 5e6]), st.sampled_from(["ann", "bob", ""]), st.sampled_from([None, 100.0]),
    ),
    min_size=1, max_size=8,
)  # fmt: skip


@given(runs=RUNS)
@examples(0.5)
def test_groups_and_hours_add_up(tmp_path_factory: pytest.TempPathFactory, runs: list[UsedSpan]) -> None:
    folder = tmp_path_factory.mktemp("series")
    prices = hourly(folder / "p.csv", "price_eur_per_kwh", 100)
    carbon = hourly(folder / "c.csv", "gco2_per_kwh", 100)
    found = energy_of(*runs, prices=prices, carbon=carbon)
    total = found.sums()
    euros = grams = 0.0
    for row, one in enumerate(found.runs):
        for hour in range(-1, 100):
            low, high = max(one.start, MAY + 3600 * hour), min(one.end, MAY + 3600 * (hour + 1))
            kwh = found.watts[row] * max(high - low, 0) / 3.6e6
            euros += kwh * (0.1 * (hour % 7) - 0.1)
            grams += kwh * (100 + hour % 5)
    assert total.eur == pytest.approx(euros, abs=1e-9)
    assert total.co2_kg == pytest.approx(grams / 1000)
    for by in Grouping:
        table = [dict(zip(energy_table(by).names, row, strict=True)) for row in found.rows(by)]
        for name in ("core_h", "kwh", "measured_kwh", "eur", "co2_kg"):
            assert sum(row[name] for row in table) == pytest.approx(getattr(total, name), abs=1e-9), (by, name)  # type: ignore[misc]


@given(runs=RUNS, cut=st.integers(1, 300_000))
@examples(0.5)
def test_energy_before_and_after_a_moment_is_all_energy(runs: list[UsedSpan], cut: int) -> None:
    parts = [
        energy_of(*runs, **span).sums()
        for span in ({"until": MAY + cut}, {"since": MAY + cut})
        if any(one.start < span.get("until", 1 << 60) and one.end > span.get("since", 0) for one in runs)
    ]
    whole = energy_of(*runs).sums()
    assert sum(part.kwh or 0.0 for part in parts) == pytest.approx(whole.kwh)
    assert sum(part.core_h for part in parts) == pytest.approx(whole.core_h)


def test_load_is_the_power_over_time() -> None:
    found = energy_of(run(joules=7.2e5), run(start=MAY + 1800, end=MAY + 5400, amounts={"cores": 2}))
    edges = MAY + 1800 * np.arange(4)
    measured, modelled = found.load(edges)
    assert measured.tolist() == pytest.approx([200, 200, 0])
    assert modelled.tolist() == pytest.approx([0, 40, 40])


def test_platform_states_prices_and_currency() -> None:
    facility = Facility(prices=0.25, carbon=400.0)
    found = energy_of(run(), platform=Platform("grid", (SMALL, LARGE), currency="CHF", facility=facility))
    total = found.sums()
    assert (found.currency, total.eur, total.co2_kg) == ("CHF", pytest.approx(0.16 * 0.25), pytest.approx(0.064))


def test_errors_are_one_line(tmp_path: Path) -> None:
    assert line_of(lambda: energy_of(run(), platform=None)).startswith(
        "jobs: no job has measured energy (ConsumedEnergyRaw); expected --platform"
    )
    assert "no job ran after 2023-05-02T00:00Z" in line_of(
        lambda: energy_of(run(), since=MAY + 86_400, until=MAY + 90_000)
    )
    prices = hourly(tmp_path / "p.csv", "price_eur_per_kwh", 0)
    assert "p.csv" in line_of(lambda: energy_of(run(), prices=prices))


def test_unknown_nodes_are_counted_in_a_note() -> None:
    found = energy_of(run(places=("x1", "x2")))
    assert (
        found.notes[0]
        == "2 nodes of jobs are not in the platform, such as x1 (--names); the mean of possible nodes counts"
    )
