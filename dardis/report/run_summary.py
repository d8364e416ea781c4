"""Run's summary."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final, NamedTuple

from dardis.config.json_records import RunRecord
from dardis.metrics.catalogue import METRICS, excess_kind, metric_of
from dardis.model.choices import Overrun
from dardis.report import words
from dardis.report.run_files import BY_COLUMNS, DEADLINE_COLUMNS, FOOTPRINT_COLUMNS, QUEUE_COLUMNS, RunFiles

LISTED: Final = 12
"""Most rows of long lists."""


class SummaryRow(NamedTuple):
    """Name, value, meaning."""

    name: str
    value: str
    meaning: str = ""


_HEADLINES: Final = (
    "mean_wait_s",
    "p95_wait_s",
    "mean_bounded_slowdown",
    "utilisation",
    "makespan_s",
    "late_jobs",
    "profit_eur",
)


def headlines(metrics: dict[str, Any], currency: str = "EUR") -> list[SummaryRow]:
    """Main figures, mean wait first; late jobs and overutilisation if any."""
    shown = {key for key in _HEADLINES if metrics.get(key) is not None} - {"late_jobs"}
    shown |= {key for key, value in metrics.items() if (key == "late_jobs" or excess_kind(key)) and value}
    rows = _rows(metrics, currency)
    return [row for key, row in sorted(rows, key=lambda found: found[0] != _HEADLINES[0]) if key in shown]


def figures(metrics: dict[str, Any], currency: str = "EUR") -> list[SummaryRow]:
    """All numeric figures."""
    known = {key: value for key, value in metrics.items() if value is not None and not isinstance(value, str)}
    return [row for _, row in _rows(known, currency)]


def _rows(metrics: dict[str, Any], currency: str) -> list[tuple[str, SummaryRow]]:
    places = {name: place for place, name in enumerate(METRICS)}
    keys = sorted(metrics, key=lambda key: places.get(metric_of(key).name, len(places)))
    return [(key, _row(key, metrics[key], currency)) for key in keys]


def _row(key: str, value: Any, currency: str) -> SummaryRow:  # noqa: ANN401 — whatever a metrics.json holds
    metric, kind = metric_of(key), excess_kind(key)
    name = metric.caption if kind is None else f"{metric.caption}, {kind}"
    if value is None or not isinstance(value, int | float):
        return SummaryRow(name, words.NOTHING if value is None else str(value), metric.meaning)
    if kind is not None:
        return SummaryRow(name, words.amount_seconds(kind, value), metric.meaning)
    text = words.in_unit(metric.unit_text, value)
    return SummaryRow(name, f"{text} {currency}" if metric.unit_text == "currency" else text, metric.meaning)


def setup(files: RunFiles) -> list[SummaryRow]:
    """Setup, and schedule digest."""
    run, platform = files.run, files.platform
    told = [
        ("Dispatcher", run.dispatcher),
        ("Settings", ", ".join(f"{key}={value}" for key, value in run.settings.items())),
        ("Seed", run.seed),
        ("Trace", run.trace),
        ("Trace SHA-256", run.trace_sha256),
        ("Machine", f"{platform.name}: {platform.describe()}"),
        ("Partitions", ", ".join(platform.partitions)),
        ("Maintenance windows", sum(window.foreseen for window in platform.maintenance) or None),
        ("Platform file", run.platform_file),
        ("Desired profile", run.profile_file or "none: capacity"),
        ("Deadlines", run.deadlines or "none"),
        ("Walltimes", _walltimes(run)),
        ("Rounded up", _rounded(run)),
        ("Ranks", run.ranks),
        ("Started", run.started_utc),
        ("Command", " ".join(run.command)),
        ("DARDIS", run.dardis_version),
        ("Schedule digest", files.metrics.get("schedule_digest")),
    ]
    return [SummaryRow(name, str(value)) for name, value in told if value is not None and value != ""]


def _walltimes(run: RunRecord) -> str:
    times = run.walltime_factor
    told = [f"{times:g} times the runtimes, where the trace states none"] if times != 1 else []
    return ", ".join([*told, *(["lifted to longer runtimes"] if run.overrun is Overrun.EXTEND else [])])


def _rounded(run: RunRecord) -> str:
    if run.rounded_up is None or not run.rounded_up.cores:
        return ""
    return f"{run.rounded_up.cores:,} cores, in {run.rounded_up.jobs:,} jobs, so that the units of each are equal"


def group_table(files: RunFiles, by: str) -> tuple[list[str], list[list[str]], int]:
    """Header, rows, and number of cut rows, by queue or user.

    Columns depend on available figures.
    """
    groups = sorted((group for group in files.by if group.by == by), key=lambda group: -(group.figures["jobs"] or 0))
    columns = BY_COLUMNS + (FOOTPRINT_COLUMNS if files.metrics.get("mean_fragmentation") is not None else ())
    columns += DEADLINE_COLUMNS if files.metrics.get("weighted_queue_time") is not None else ()
    columns += QUEUE_COLUMNS if files.metrics.get("queue_weighted_wait") is not None else ()
    columns = tuple(key for key in columns if any(group.figures.get(key) is not None for group in groups))
    metrics = [metric_of(key) for key in columns]
    header = [by, *(metric.caption for metric in metrics)]
    rows = [
        [group.name or "(none)", *(words.in_unit(one.unit_text, group.figures.get(one.name)) for one in metrics)]
        for group in groups[:LISTED]
    ]
    return header, rows, len(groups) - len(rows)


class NothingRan(NamedTuple):
    """Message and reasons."""

    message: str
    reasons: list[str]


def nothing_ran(files: RunFiles) -> NothingRan:
    """Message for runs without started jobs."""
    jobs = len(files.schedule.number)
    said = f"No job ran: all {jobs:,} were rejected." if jobs else "No job ran: the trace is empty."
    reasons = Counter(one.reason for one in files.run.rejected)
    return NothingRan(said, first_entries([f"{_jobs(count)}: {why}" for why, count in reasons.most_common()]))


def _jobs(count: int) -> str:
    return f"{count:,} {'job' if count == 1 else 'jobs'}"


def first_entries(entries: list[str]) -> list[str]:
    """First entries, and count of others."""
    return entries[:LISTED] + ([f"and {len(entries) - LISTED:,} more"] if len(entries) > LISTED else [])
