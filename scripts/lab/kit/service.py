"""What a dispatcher's runs gave their jobs, and what deciding took, in the terms of papers 002 and 003."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from dardis.metrics.jobs_csv import read_jobs
from dardis.model.arrays import Bools, Ints
from dardis.runs.solved_instances import SOLVER_FILE
from dardis.workload.trace_reader import read_trace
from dardis.workload.transform import first_jobs

ALL, SHORT, MEDIUM, LONG = "all", "short", "medium", "long"
CLASSES: Final[Mapping[str, tuple[float, float]]] = {
    ALL: (0, inf), SHORT: (0, 3600), MEDIUM: (3600, 5 * 3600), LONG: (5 * 3600, inf)
}  # fmt: skip
"""Classes of jobs by how long they run, `[from, to)` in s (002, section 5)."""


@dataclass(frozen=True)
class Scatter:
    """Mean and standard deviation (of the population), as the papers' bars show them."""

    mean: float
    deviation: float

    def __str__(self) -> str:
        """Write `mean ± deviation`, three digits each, but whole numbers in full."""
        return f"{_short(self.mean)} ± {_short(self.deviation)}"


@dataclass(frozen=True)
class Service:
    """What jobs of a class had: slowdowns, (wait + run) / run without a bound, and waits in s."""

    jobs: int
    slowdown: Scatter
    wait: Scatter


def services(wait: Ints, run: Ints) -> dict[str, Service]:
    """The service of each class that has jobs, from waits and runs in s, shape (jobs,); a run of 0 s counts as 1 s."""
    least = run.clip(min=1)
    found = {}
    for name, (low, high) in CLASSES.items():
        chosen: Bools = (least >= low) & (least < high)
        if chosen.any():
            slowdown = (wait[chosen] + least[chosen]) / least[chosen]
            slowed = Scatter(float(slowdown.mean()), float(slowdown.std()))
            waited = Scatter(float(wait[chosen].mean()), float(wait[chosen].std()))
            found[name] = Service(int(chosen.sum()), slowed, waited)
    return found


def of_log(path: Path, jobs: int | None) -> dict[str, Service]:
    """What the machine's own dispatcher gave, as the log has it: of all jobs, or of the first."""
    trace = read_trace(path, strict=False)
    trace = trace if jobs is None else first_jobs(trace, jobs)
    return services(trace.wait, trace.runtime)


@dataclass(frozen=True)
class Decisions:
    """What deciding took, and how large problems were; means over the decisions that were put as a problem."""

    count: int
    mean_ms: float
    """CPU of a decision."""
    cpu_s: float
    predicting_s: float
    problems: int = 0
    asked: int = 0
    proven: int = 0
    too_large: int = 0
    waiting: float = 0.0
    """Jobs that waited."""
    planned: float = 0.0
    """Jobs of the answer."""
    variables: float = 0.0

    @property
    def total_s(self) -> float:
        """CPU of deciding and predicting."""
        return self.cpu_s + self.predicting_s


@dataclass(frozen=True)
class Outcome:
    """A run: the service of each class, its decisions, and its metrics."""

    service: Mapping[str, Service]
    decisions: Decisions
    metrics: Mapping[str, Any]


def figures_of(outcomes: Mapping[str, Outcome], log: Mapping[str, Service], name: str) -> dict[str, dict[str, float]]:
    """Figures by which claims are judged, of runs by label, and of the log's own dispatcher under its name."""
    found = {label: _served(outcome.service) | _spent(outcome.decisions) for label, outcome in outcomes.items()}
    return found | {name: _served(log)}


SLOWDOWN, WAIT, DEVIATION = "slowdown", "wait", "deviation of the slowdown"
CPU, CPU_A_DECISION, VARIABLES = "CPU", "CPU a decision", "variables"


def _served(service: Mapping[str, Service]) -> dict[str, float]:
    found = {DEVIATION: service[ALL].slowdown.deviation} if ALL in service else {}
    for name, one in service.items():
        of = "" if name == ALL else f" of {name} jobs"
        found |= {SLOWDOWN + of: one.slowdown.mean, WAIT + of: one.wait.mean}
    return found


def _spent(decisions: Decisions) -> dict[str, float]:
    return {CPU: decisions.total_s, CPU_A_DECISION: decisions.mean_ms, VARIABLES: decisions.variables}


def outcome_of(folder: Path) -> Outcome:
    """Read a run's folder."""
    schedule = read_jobs(folder / "jobs.csv")
    ran = schedule.ran
    served = services((schedule.start - schedule.submit)[ran], (schedule.finish - schedule.start)[ran])
    metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    return Outcome(served, decisions_of(metrics, _rows(folder / SOLVER_FILE)), metrics)


def decisions_of(metrics: Mapping[str, Any], solved: Iterable[Mapping[str, str]]) -> Decisions:
    """What a run's metrics and the rows of its solver.csv say."""
    rows = list(solved)

    def mean(column: str) -> float:
        return fmean(float(row[column]) for row in rows) if rows else 0.0

    return Decisions(
        metrics["decisions"],
        1e3 * metrics["decision_cpu_s"] / max(1, metrics["decisions"]),
        metrics["decision_cpu_s"],
        metrics.get("prediction_cpu_s", 0.0),
        problems=len(rows),
        asked=metrics.get("solver_asked", 0),
        proven=metrics.get("solver_proven", 0),
        too_large=metrics.get("solver_too_large", 0),
        waiting=mean("waiting"),
        planned=mean("planned"),
        variables=mean("variables"),
    )


def _rows(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
