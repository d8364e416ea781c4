"""The runs of the curve: which traces on which machines, how many of their jobs, and what came of each run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from statistics import geometric_mean, mean

from scripts.lab.kit.cache import Metrics, Run
from scripts.lab.kit.command import EURORA, EURORA_PLATFORM, convert, equal_nodes
from scripts.lab.kit.thesis import PARTITION, TRACE

SAMPLES = (1, 2, 3, 4, 6, 8, 16, 32)
"""Nodes asked first for each unit."""
ALL_TRACES = "geometric mean"
"""The name of the curve of all cases."""


@dataclass(frozen=True)
class Case:
    """A trace on a machine of equal nodes (0 nodes: the trace's own), and the seeds that samples are drawn with."""

    name: str
    trace: str
    nodes: int
    cores: int
    jobs: int | None
    seeds: int
    partition: str | None = None


CASES = (
    Case("Curie partition 4", TRACE, 300, 32, None, 3, partition=PARTITION),
    Case("Eurora", EURORA, 0, 0, None, 3),
    Case("HPC2N-20k", "HPC2N-2002-2.2-cln.swf.gz", 120, 2, 20_000, 2),
    Case("Curie-5k", "CEA-Curie-2011-derived295k.swf.gz", 5040, 16, 5_000, 3),
)


@dataclass(frozen=True)
class Point:
    """What a sample makes of a case, relative to full rounds: means over seeds, and the least and most of waits."""

    sample: int
    messages: float
    wait: float
    least_wait: float
    most_wait: float
    slowdown: float
    longest_wait: float


def runs_of(case: Case, traces: Path, out: Path) -> dict[tuple[int, int], Run]:
    """All runs of a case by sample (0: all nodes are asked) and seed; without a sample nothing of it is drawn."""
    trace = traces / case.trace
    platform = equal_nodes(out, case.nodes, case.cores) if case.nodes else EURORA_PLATFORM
    if case.partition is not None:
        trace = convert(trace, out / f"partition{case.partition}.swf", "--partition", case.partition)
    jobs = ("--jobs", str(case.jobs)) if case.jobs else ()
    runs = {}
    for sample, seed in [(0, 1), *((sample, 1 + seed) for sample in SAMPLES for seed in range(case.seeds))]:
        options = ("--seed", str(seed), *jobs, *(("--sample", str(sample)) if sample else ()))
        runs[sample, seed] = Run(("dardis-throughput",), trace, platform, options)
    return runs


def points_of(figures: Mapping[int, Sequence[Metrics]]) -> list[Point]:
    """The points of a case from the figures of its runs, by sample; those of full rounds last."""
    (full,) = figures[0]

    def relative(key: str, sample: int) -> list[float]:
        return [one[key] / full[key] for one in figures[sample]]

    points = []
    for sample in [*sorted(set(figures) - {0}), 0]:
        waits = relative("mean_wait_s", sample)
        points.append(
            Point(
                sample, mean(relative("messages", sample)), mean(waits), min(waits), max(waits),
                mean(relative("mean_bounded_slowdown", sample)), mean(relative("max_wait_s", sample)),
            )
        )  # fmt: skip
    return points


def together(curves: Sequence[Sequence[Point]]) -> list[Point]:
    """The geometric means over cases."""
    means = []
    for points in zip(*curves, strict=True):
        columns = zip(*(astuple(point)[1:] for point in points), strict=True)
        means.append(Point(points[0].sample, *map(geometric_mean, columns)))
    return means
