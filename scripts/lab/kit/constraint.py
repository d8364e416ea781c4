"""What the kits of papers 002 (PCP'19, HCP'19) and 003 (PCP'20) share: options, runs, services, tables and bars."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from math import floor, inf, log10
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from dardis.metrics.job_metrics import EXPECTATIONS_FILE, read_expectations
from dardis.metrics.jobs_csv import read_jobs
from dardis.model.arrays import Bools, Ints
from dardis.report import chart
from dardis.runs.solved_instances import SOLVER_FILE
from dardis.workload.trace_reader import read_trace
from dardis.workload.transform import first_jobs
from scripts.lab.kit.claims import Claims, Figures, Judge
from scripts.lab.kit.command import PLATFORMS, ROOT
from scripts.lab.kit.compared import Comparison
from scripts.lab.kit.drawing import save, sheet
from scripts.lab.kit.options import count, parser_of
from scripts.lab.kit.page import NOTHING, FigureTable, read_csv, table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
    accurate: float = 0.0
    """Share of jobs whose runtime is 0.75 to 1.25 of the expected one (002, section 5)."""


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
    solved, expectations = folder / SOLVER_FILE, folder / EXPECTATIONS_FILE
    expected = read_expectations(expectations, schedule).duration if expectations.exists() else schedule.walltime
    accuracy = (schedule.finish - schedule.start)[ran] / expected[ran]
    accurate = float(((accuracy >= 0.75) & (accuracy <= 1.25)).mean()) if len(accuracy) else 0.0
    return Outcome(served, decisions_of(metrics, read_csv(solved) if solved.exists() else []), metrics, accurate)


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


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


PBS: Final = "PBS (the log)"
DECISIONS_HEAD: Final = (
    "decisions", "CPU a decision, ms", "CPU of all, s", "of it predicting, s", "put as a problem", "solver asked",
    "proven", "too large", "jobs in the answer", "variables",
)  # fmt: skip


def constraint_parser(name: str, about: str | None, *traces: str) -> argparse.ArgumentParser:
    """The options that both kits have."""
    parser = parser_of(name, about, *traces, processes=None, limit="stop runs")
    parser.add_argument("--runs", type=Path, default=ROOT / "out" / "constraint", help="and of runs (out/constraint)")
    parser.add_argument("--jobs", type=count, help="only the first JOBS jobs of each trace")
    return parser


def outcomes_of(name: str, spec: Mapping[str, Any], options: argparse.Namespace, trace: Path) -> dict[str, Outcome]:
    """Do the runs of a system that are missing; return what came of those that ended well, by label.

    The folder of the runs names the system and how many jobs there are, so both kits keep the runs of the other.
    """
    name = name if options.jobs is None else f"{name} first {options.jobs}"
    row = {
        "trace": trace, "platform": PLATFORMS / spec["platform"], "name": name, "deadlines": spec.get("deadlines"),
        "jobs": options.jobs,
    }  # fmt: skip
    comparison = Comparison(options.runs.resolve() / name, [row], spec["dispatchers"])
    comparison.run(options.processes, options.limit)
    return {label: outcome_of(folders[0]) for label, folders in comparison.done(name).items()}


def decision_table(
    found: Mapping[str, Outcome], head: Sequence[str], printed: Mapping[str, Sequence[str]]
) -> list[str]:
    """What deciding took, and how large problems were; before it what is printed of each, under `head`."""
    rows = []
    for label, outcome in found.items():
        of = outcome.decisions
        solver = [f"{of.problems:,}", f"{of.asked:,}", f"{of.proven:,}", f"{of.too_large:,}"]
        sizes = [f"{of.planned:.1f}", f"{of.variables:.0f}"]
        known = [*solver, *sizes] if of.problems else [NOTHING] * (len(solver) + len(sizes))
        spent = [f"{of.count:,}", f"{of.mean_ms:.3g}", f"{of.total_s:.1f}", f"{of.predicting_s:.2f}"]
        rows.append([label, *printed.get(label, [NOTHING] * len(head)), *spent, *known])
    return table(["", *head, *DECISIONS_HEAD], rows)


def service_table(services: Mapping[str, Mapping[str, Service]]) -> list[str]:
    """Slowdowns and waits by label: of all jobs, and of medium and long ones."""
    rows = []
    for label, of in services.items():
        cells = [label]
        for name in (ALL, MEDIUM, LONG):
            one = of.get(name)
            cells += [NOTHING] * 2 if one is None else [str(one.slowdown), str(one.wait)]
        rows.append(cells)
    head = [""]
    for name in ("all jobs", "medium (1–5 h)", "long (> 5 h)"):
        head += [f"slowdown, {name}", f"wait, s, {name}"]
    return table(head, rows)


def claim_table(claims: Claims, figures: Figures) -> list[str]:
    """What a paper says, what our figures say to it, and whether it holds."""
    judge = Judge(figures)
    findings = {text: judge(claim) for text, claim in claims.items()}
    rows = [[text, finding.shown, finding.verdict] for text, finding in findings.items()]
    return table(["the paper's text", "ours", "holds"], rows, left=3)


COLUMNS: Final = {
    CPU_A_DECISION: "CPU per decision (ms): ours", CPU: "CPU of deciding and predicting (s): ours",
    VARIABLES: "variables: ours", SLOWDOWN: "slowdown", DEVIATION: "slowdown: standard deviation", WAIT: "wait (s)",
}  # fmt: skip
"""Columns of docs/reproduction that hold figures by which claims are judged."""


PRINTED_COLUMNS: Final = (
    "time per decision (ms): paper", "time of the whole simulation (s): paper", "intervals: paper"
)  # fmt: skip
"""Columns before our first ones."""


@dataclass(frozen=True)
class FigureGroup:
    """Runs by label, the log's service if there is one, and the cells of `PRINTED_COLUMNS` by label."""

    found: Mapping[str, Outcome]
    log: Mapping[str, Service]
    printed: Mapping[str, Sequence[str]]


def figure_table(name: str, what: str, groups: Mapping[str, FigureGroup], printed: Sequence[str]) -> FigureTable:
    """Groups of runs, with some columns of `PRINTED_COLUMNS`."""
    head = [what, "version"]
    for key, theirs in zip_longest((CPU_A_DECISION, CPU, VARIABLES), printed):
        head += [theirs, COLUMNS[key]] if theirs else [COLUMNS[key]]
    head += ["solver calls", "problems", "models too large"]
    rows = []
    for group, one in groups.items():
        for label, outcome in one.found.items():
            of, row = outcome.decisions, [group, label]
            asked = [f"{of.variables:.0f}", f"{of.asked}", f"{of.problems}", f"{of.too_large}"]
            own = [f"{of.mean_ms:.3g}", f"{of.total_s:.1f}", *(asked if of.problems else [NOTHING] * len(asked))]
            for value, theirs in zip_longest(own, one.printed.get(label, [NOTHING] * len(printed))):
                row += [theirs, value] if theirs else [value]
            rows.append([*row, *_of_service(outcome.service[ALL])])
        if one.log:
            rows.append([group, PBS, *[NOTHING] * (len(head) - 2), *_of_service(one.log[ALL])])
    services = (COLUMNS[SLOWDOWN], COLUMNS[DEVIATION], COLUMNS[WAIT], "wait (s): standard deviation")
    return FigureTable(name, [*head, *services], rows, left=2)


def _of_service(one: Service) -> list[str]:
    values = (one.slowdown.mean, one.slowdown.deviation, one.wait.mean, one.wait.deviation)
    return [_short(value).replace(",", "") for value in values]


def draw_services(out: Path, panels: Mapping[str, Mapping[str, Service]], ours: Sequence[str] = ()) -> None:
    """Write a figure of slowdowns and waits, a row of panels each with a title, bars by label, those of `ours` lighter.

    Axes are logarithmic, since a deviation is up to ten times a mean; so it is drawn upwards only.
    """
    with chart.style():
        drawing, rows = sheet(0.6 + 2.9 * len(panels), len(panels), 2)
        for (title, services), (left, right) in zip(panels.items(), rows, strict=True):
            _bars(left, {label: one.slowdown for label, one in services.items()}, ours)
            _bars(right, {label: one.wait for label, one in services.items()}, ours)
            left.set_title(title)
            left.set_ylabel("slowdown, mean\n(whisker: one deviation up)")
            right.set_ylabel("wait, s, mean\n(whisker: one deviation up)")
        save(drawing, out)


def _bars(axes: Axes, values: Mapping[str, Scatter], ours: Sequence[str]) -> None:
    from matplotlib.ticker import NullFormatter

    for place, (label, one) in enumerate(values.items()):
        colour, ink = (chart.CYCLE[5], chart.INK) if label in ours else (chart.CYCLE[0], "white")
        axes.bar(place, one.mean, width=0.72, color=colour, edgecolor=ink, linewidth=0.4)
        axes.errorbar(place, one.mean, yerr=([0.0], [one.deviation]), color=chart.GREY, elinewidth=1.2, capsize=3)
        axes.annotate(chart.amounts()(float(f"{one.mean:.3g}")), (place, one.mean), xytext=(0, -3), color=ink,
                      textcoords="offset points", ha="center", va="top", fontsize=7, rotation=90)  # fmt: skip
    axes.set_yscale("log")
    axes.set_ylim(_decade(min(one.mean for one in values.values())))
    axes.yaxis.set_major_formatter(chart.amounts())
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.grid(axis="x", visible=False)
    axes.set_xlim(-0.6, len(values) - 0.4)
    axes.set_xticks(range(len(values)), list(values), rotation=40, ha="right")


def _decade(least: float) -> float:
    """The power of ten below the least mean; 1 where nobody waits."""
    return 10.0 ** floor(log10(least / 1.5)) if least > 0 else 1.0
