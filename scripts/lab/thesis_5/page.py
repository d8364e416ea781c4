"""Writes the thesis's tables with ours beside them, and each of its claims with what our figures say to it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from dardis.metrics.jobs_csv import read_jobs
from dardis.model.target import DesiredProfile
from offline.site.calendar import DAY_S
from scripts.lab.kit import thesis
from scripts.lab.kit.claims import DECISION, Figures, Finding, Judge
from scripts.lab.kit.compared import read_spec
from scripts.lab.kit.page import NOTHING, FigureTable, markdown, read_csv, table
from scripts.lab.thesis_5.excess import dissimilarity_of_all_work, excess_by_node, planned_makespan
from scripts.papers.catalogue import VERDICTS

YEAR_S: Final = 365 * DAY_S
WINDOWS: Final = 5
"""Of a job: its own, three longer ones, and what is behind the last reservation."""
BY_NODE: Final = "over_by_node"
"""The overutilisation as a sum over nodes, which metrics.json lacks."""
PLANNED: Final = "planned"
"""The makespan without the jobs behind the last reservation."""
ALL_WORK: Final = "diss_all"
"""The dissimilarity from time 0 with the work after the last deadline."""
_OURS: Final = {
    "makespan": ("makespan_s", DAY_S),
    "wait": ("total_wait_s", YEAR_S),
    "tardiness": ("tardiness_s", YEAR_S),
    "late": ("late_jobs", 1),
    "over": ("overutilisation_core_s", 3600),
    "diss": ("dissimilarity_from_first_submission", 1),
    "diss_0": ("dissimilarity", 1),
    DECISION: ("decision_mean_s", 1),
}
"""Of each figure of the thesis the key of metrics.json, and by what it is divided."""


@dataclass(frozen=True)
class Outcome:
    """A dispatcher's runs with their seeds: the means of the figures that all have.

    `metrics` and `folder` are those of the first of the runs.
    """

    figures: Mapping[str, float]
    metrics: Mapping[str, Any]
    folder: Path


def outcome_of(folders: list[Path], desired: DesiredProfile) -> Outcome:
    """What came of a dispatcher's runs."""
    metrics = [json.loads((folder / "metrics.json").read_text(encoding="utf-8")) for folder in folders]
    schedules = [read_jobs(folder / "jobs.csv") for folder in folders]
    figures = {BY_NODE: fmean(excess_by_node(schedule, desired) for schedule in schedules) / 3600}
    settings = json.loads((folders[0] / "run.json").read_text(encoding="utf-8"))["settings"]
    figures[ALL_WORK] = fmean(dissimilarity_of_all_work(schedule, desired) for schedule in schedules)
    windows = 1 + settings.get("further_windows", 0)
    figures[PLANNED] = fmean(planned_makespan(schedule, windows) for schedule in schedules) / DAY_S
    for name, (key, unit) in _OURS.items():
        values = [one[key] for one in metrics]
        if None not in values:
            figures[name] = fmean(values) / unit
    return Outcome(figures, metrics[0], folders[0])


def decision_spread(folder: Path) -> float | None:
    """Standard deviation of a run's decision times, s, from the bins of decisions.csv: each at its bin's middle.

    A bin's edges are a factor of 1.26 apart, so each time is known within 12 %.
    """
    bins = [tuple(map(float, row.values())) for row in read_csv(folder / "decisions.csv")]
    count = sum(number for _, _, number in bins)
    if not count:
        return None
    middles = [((low + high) / 2, number) for low, high, number in bins]
    mean = sum(middle * number for middle, number in middles) / count
    return math.sqrt(sum(number * (middle - mean) ** 2 for middle, number in middles) / count)


@dataclass(frozen=True)
class JobsOf:
    """What a run's jobs.csv tells beyond its metrics.

    `last_resort` jobs found no start in any window (thesis 5.3.6): they have `their_wait` of the total wait.
    """

    span_d: float
    last_resort: int
    their_wait: float


def jobs_of(folder: Path) -> JobsOf:
    """Read a run's jobs.csv."""
    rows = read_csv(folder / "jobs.csv")
    submitted = [float(row["submission_time"]) for row in rows]
    ran = [row for row in rows if row["waiting_time"]]
    late = [float(row["waiting_time"]) for row in ran if int(row["attempts"]) == WINDOWS]
    total = sum(float(row["waiting_time"]) for row in ran)
    return JobsOf((max(submitted) - min(submitted)) / DAY_S, len(late), sum(late) / total if total else 0.0)


SET_UPS: Final = ("dardis-throughput", "dardis-profile", "dardis-balance")
RULES: Final = ("rules-fcfs", "rules-df", "rules-wt")
WITH_BACKFILLING: Final = tuple(f"{rule} + backfilling" for rule in RULES)
JOBS, SPAN_D, PARTITIONS, CORES = 35_538, 22, 33, 9_600
"""Of the thesis's trace and machine."""
COLUMNS: Final = {
    "makespan": ("makespan, d", "{:.2f}"),
    "wait": ("total wait, years", "{:.2f}"),
    "tardiness": ("tardiness, years", "{:.2f}"),
    "late": ("late jobs", "{:.0f}"),
    "over": ("overutilisation", "{:.0f}"),
    "diss": ("dissimilarity", "{:.3f}"),
}


OF_DRAWS: Final = {
    "makespan": ("makespan (d)", "{:.2f}"),
    PLANNED: ("makespan without jobs behind the last reservation (d)", "{:.2f}"),
    "wait": ("total wait (years)", "{:.1f}"),
    "tardiness": ("tardiness (years)", "{:.1f}"),
    "late": ("late jobs", "{:.0f}"),
    "over": ("overutilisation (core-hours)", "{:.0f}"),
    BY_NODE: ("overutilisation by node (core-hours)", "{:.0f}"),
    "diss_0": ("dissimilarity from time 0", "{:.4f}"),
    ALL_WORK: ("dissimilarity from time 0 with work after the last deadline", "{:.4f}"),
    "diss": ("dissimilarity from the first submission", "{:.3f}"),
    DECISION: ("CPU per decision (s)", "{:.6f}"),
}


def printed() -> Figures:
    """The thesis's figures in the form in which claims are judged."""
    ours, theirs, cycle = (mean for mean, _ in thesis.TABLE_5_2.values())
    return {
        name: dict(zip(COLUMNS, row, strict=True))
        | {BY_NODE: row[4], ALL_WORK: row[5], "diss_0": row[5], DECISION: cycle if name in RULES else ours + theirs}
        for name, row in thesis.TABLE_5_1.items()
    }


def page(title: str, lead: str, found: Mapping[str, Outcome], labels: Sequence[str], cores: int) -> str:
    """The whole page as Markdown; `labels` are the dispatchers that were asked for, in their order."""
    parts = [
        [f"# {title}", "", lead],
        ["## Table 5.1: the schedules", "", *_schedules(found, labels), "", _UNITS],
        ["## Table 5.2: CPU of a decision", "", *_overhead(found, labels), "", _OVERHEAD],
        ["## What the thesis says, and what these figures say", "", *_claims(found), "", _JUDGED],
        ["## What differs", "", *_differences(found, cores)],
    ]
    return markdown(parts)


_UNITS = (
    "Left the thesis, right ours. A year has 365 days. Our overutilisation is in core-hours, the thesis names no unit. "
    "Our dissimilarity is taken from the first submission on."
)
_OVERHEAD = (
    "Ours is CPU time, that of all node managers and the task manager together for a DARDIS set-up; the standard "
    "deviation is that of the bins of `decisions.csv`, so within about 12 %. The thesis tells scheduling (node "
    "managers) and dispatching (task manager) apart, and does not say whether its nodes' times are added up."
)
_JUDGED = (
    "Verdicts as in docs/reproduction.md. The rules stand still at the first job that can't start; the thesis's "
    "algorithm 4 calls “the backfilling algorithm” there without saying which, so the claims are judged against both "
    "forms."
)


def _schedules(found: Mapping[str, Outcome], labels: Sequence[str]) -> list[str]:
    theirs = printed()
    rows = []
    for label in labels:
        row = [f"`{label}`"]
        ours = found[label].figures if label in found else {}
        for key, (_, form) in COLUMNS.items():
            row += [form.format(of[key]) if key in of else NOTHING for of in (theirs.get(label, {}), ours)]
        rows.append([*row, f"{ours[BY_NODE]:.0f}" if ours else NOTHING])
    head = ["dispatcher"]
    for title, _ in COLUMNS.values():
        head += [f"{title}: thesis", "ours"]
    return table([*head, "overutilisation by node: ours"], rows)


def _overhead(found: Mapping[str, Outcome], labels: Sequence[str]) -> list[str]:
    rows = [
        [f"thesis: {name}", NOTHING, f"{1e3 * mean:.3f}", f"{1e3 * spread:.3f}", NOTHING]
        for name, (mean, spread) in thesis.TABLE_5_2.items()
    ]
    for label in (label for label in labels if label in found):
        outcome = found[label]
        spread = decision_spread(outcome.folder)
        rows.append([
            f"`{label}`",
            f"{outcome.metrics['decisions']}",
            f"{1e3 * outcome.figures[DECISION]:.3f}",
            NOTHING if spread is None else f"{1e3 * spread:.3f}",
            f"{1e3 * outcome.metrics['decision_cpu_s'] / outcome.metrics['jobs']:.3f}",
        ])  # fmt: skip
    return table(["", "decisions", "mean, ms", "std. dev., ms", "CPU a job, ms"], rows)


def judged(figures: Figures, rules: Sequence[str], section: str = "claims") -> dict[str, Finding]:
    """What figures say to each of the thesis's claims, or to other `readings` of them, with these three rules."""
    judge = Judge(figures, SET_UPS, rules, {key: title.split(",")[0] for key, (title, _) in COLUMNS.items()})
    return {text: judge(claim) for text, claim in read_spec(__file__, "claims")[section].items()}


def _all_judged(figures: Figures) -> dict[str, Finding]:
    return judged(figures, RULES) | judged(figures, RULES, "readings")


def drawn_page(
    title: str, lead: str, draws: Mapping[str, Mapping[str, Outcome]], labels: Sequence[str]
) -> tuple[str, FigureTable]:
    """The page of several workloads, and its table of means with ranges; `draws` has the outcomes by workload."""
    rows = []
    for label in labels:
        if row := printed().get(label):
            of_thesis = {**row, **dict.fromkeys((BY_NODE, ALL_WORK, "diss"))}
            rows.append([label, "thesis", *_ranges([of_thesis])])
        of = [found[label].figures for found in draws.values() if label in found]
        rows.append([label, f"{len(of)} draws", *_ranges(of)])
    figures = FigureTable("thesis_5_seeds", ["dispatcher", "source", *(name for name, _ in OF_DRAWS.values())], rows, 2)
    complete = [found for found in draws.values() if all(name in found for name in (*SET_UPS, *RULES))]
    findings = [_all_judged({label: one.figures for label, one in found.items()}) for found in complete]
    verdicts = [[text, one.shown, *_counts(text, findings)] for text, one in _all_judged(printed()).items()]
    head = ["the thesis's text", "its tables", *VERDICTS[:3]]
    parts = [
        [f"# {title}", "", lead],
        ["## Figures: mean (least to most)", "", *figures.lines()],
        [f"## What the thesis says: in how many of {len(complete)} draws", "", *table(head, verdicts, left=2)],
    ]
    return markdown(parts), figures


def _counts(text: str, findings: Sequence[Mapping[str, Finding]]) -> list[str]:
    verdicts = [one[text].verdict for one in findings]
    return [f"{verdicts.count(verdict)}" for verdict in VERDICTS[:3]]


def _ranges(figures: Sequence[Mapping[str, float | None]]) -> list[str]:
    """Cells of a row: each a mean, with least and most if these differ."""
    cells = []
    for key, (_, form) in OF_DRAWS.items():
        values = [value for one in figures if (value := one.get(key)) is not None]
        shown = [form.format(one) for one in (fmean(values), min(values), max(values))] if values else [NOTHING]
        cells.append(shown[0] if len({*shown}) == 1 else f"{shown[0]} ({shown[1]} to {shown[2]})")
    return cells


def _claims(found: Mapping[str, Outcome]) -> list[str]:
    ours = {label: outcome.figures for label, outcome in found.items()}
    theirs, strict, filled = judged(printed(), RULES), judged(ours, RULES), judged(ours, WITH_BACKFILLING)
    rows = [
        [text, one.shown, strict[text].shown, strict[text].verdict, filled[text].shown, filled[text].verdict]
        for text, one in theirs.items()
    ]
    head = ["the thesis's text", "its tables", "ours, rules as they are", "holds", "ours, rules + backfilling", "holds"]
    return table(head, rows, left=len(head))


def _differences(found: Mapping[str, Outcome], cores: int) -> Iterator[str]:
    if found:
        some = next(iter(found.values()))
        span = jobs_of(some.folder).span_d
        load = f"{some.metrics['killed']} are killed at their walltime, {some.metrics['rejected']} fit no such machine"
        yield (
            f"- {some.metrics['jobs']:,} jobs submitted in {span:.1f} days on {cores:,} cores ({load}) against "
            f"{JOBS:,} in {SPAN_D} days on {CORES:,} cores, of the same system; the thesis "
            f"does not say which days, and has {PARTITIONS} partitions, each with a deadline of its own."
        )
    best = min(row[0] for row in thesis.TABLE_5_1.values())
    yield (
        f"- The thesis's least makespan is {best} days, and its jobs are submitted over {SPAN_D}: the trace "
        "was pressed together, or its makespan is something else, so its absolute times can't be met."
    )
    strange = [name for name, (_, wait, tardiness, *_) in thesis.TABLE_5_1.items() if tardiness > wait]
    yield (
        f"- Its tardiness exceeds the total wait for {', '.join(f'`{name}`' for name in strange)}, which can't be "
        "where no deadline lies before the submission; and its tables give another factor between the decision times "
        "than its text."
    )
    yield "- The thesis does not print its desired profile; ours is made by this script (above)."
    if all(name in found for name in RULES[:2]):
        same = found[RULES[0]].metrics["schedule_digest"] == found[RULES[1]].metrics["schedule_digest"]
        if same:
            yield (
                f"- `{RULES[0]}` and `{RULES[1]}` give one schedule here: in one partition all deadlines lie as far "
                "from the submissions, so both orders are the same."
            )
    last = {name: jobs_of(found[name].folder) for name in SET_UPS if name in found}
    if any(jobs.last_resort for jobs in last.values()):
        shares = ", ".join(
            f"{jobs.last_resort:,} jobs with {jobs.their_wait:.0%} of the wait under `{name}`"
            for name, jobs in last.items()
        )
        yield (
            "- A job that finds no start in its window and three longer ones goes behind the last reservation of the "
            f"whole machine (thesis 5.3.6), and the next such job behind that: {shares}. They make the makespan, as "
            "they may have made the thesis's own 178 and 200 days."
        )
