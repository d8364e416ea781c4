"""Figures of a run in words, with units for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Any, Final, NamedTuple

from dardis.config.records import RunRecord
from dardis.metrics.catalogue import METRICS, excess_kind, metric_of
from dardis.model.choices import Overrun
from dardis.model.resources import CORES, MEMORY, POWER
from dardis.report.run_files import BY_COLUMNS, DEADLINE_COLUMNS, FOOTPRINT_COLUMNS, QUEUE_COLUMNS, RunFiles

LISTED: Final = 12
"""Rows of a list that may be long (users, rejected jobs) before it is cut."""


class Row(NamedTuple):
    """A line of a table: what, how much, and what it means."""

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


def headlines(metrics: dict[str, Any], currency: str = "EUR") -> list[Row]:
    """The few figures to see first, the mean wait before all: those with a value, late jobs and over-use if any."""
    shown = {key for key in _HEADLINES if metrics.get(key) is not None} - {"late_jobs"}
    shown |= {key for key, value in metrics.items() if (key == "late_jobs" or excess_kind(key)) and value}
    rows = _rows(metrics, currency)
    return [row for key, row in sorted(rows, key=lambda found: found[0] != _HEADLINES[0]) if key in shown]


def figures(metrics: dict[str, Any], currency: str = "EUR") -> list[Row]:
    """Every number that the run has a value of, those unknown here by their own names."""
    known = {key: value for key, value in metrics.items() if value is not None and not isinstance(value, str)}
    return [row for _, row in _rows(known, currency)]


def _rows(metrics: dict[str, Any], currency: str) -> list[tuple[str, Row]]:
    """Key and row of every figure, those unknown here last."""
    places = {name: place for place, name in enumerate(METRICS)}
    keys = sorted(metrics, key=lambda key: places.get(metric_of(key).name, len(places)))
    return [(key, _row(key, metrics[key], currency)) for key in keys]


def _row(key: str, value: Any, currency: str) -> Row:  # noqa: ANN401 — whatever a metrics.json holds
    """One figure in words."""
    metric, kind = metric_of(key), excess_kind(key)
    name = metric.caption if kind is None else f"{metric.caption}, {kind}"
    if value is None or not isinstance(value, int | float):
        return Row(name, NOTHING if value is None else str(value), metric.meaning)
    if kind is not None:
        return Row(name, amount_seconds(kind, value), metric.meaning)
    text = in_unit(metric.unit_text, value)
    return Row(name, f"{text} {currency}" if metric.unit_text == "currency" else text, metric.meaning)


def setup(files: RunFiles) -> list[Row]:
    """What was run, and on what, and the digest of what came of it."""
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
    return [Row(name, str(value)) for name, value in told if value is not None and value != ""]


def _walltimes(run: RunRecord) -> str:
    """What was made of walltimes that nobody states, or that are too short; empty: nothing."""
    times = run.walltime_factor
    told = [f"{times:g} times the runtimes, where the trace states none"] if times != 1 else []
    return ", ".join([*told, *(["lifted to longer runtimes"] if run.overrun is Overrun.EXTEND else [])])


def _rounded(run: RunRecord) -> str:
    """How many cores jobs ask for above the processors of their trace; empty: none."""
    if run.rounded_up is None or not run.rounded_up.cores:
        return ""
    return f"{run.rounded_up.cores:,} cores, in {run.rounded_up.jobs:,} jobs, so that the units of each are equal"


def group_table(files: RunFiles, by: str) -> tuple[list[str], list[list[str]], int]:
    """Header and rows of the figures by queue or by user, the groups with most jobs first, and how many were cut.

    What deadlines and the longest waits of queues mean for a group is told where any job has one, where its nodes were
    in runs that say so.
    """
    groups = sorted((group for group in files.by if group.by == by), key=lambda group: -(group.figures["jobs"] or 0))
    columns = BY_COLUMNS + (FOOTPRINT_COLUMNS if files.metrics.get("mean_fragmentation") is not None else ())
    columns += DEADLINE_COLUMNS if files.metrics.get("weighted_queue_time") is not None else ()
    columns += QUEUE_COLUMNS if files.metrics.get("queue_weighted_wait") is not None else ()
    columns = tuple(key for key in columns if any(group.figures.get(key) is not None for group in groups))
    metrics = [metric_of(key) for key in columns]
    header = [by, *(metric.caption for metric in metrics)]
    rows = [
        [group.name or "(none)", *(in_unit(one.unit_text, group.figures.get(one.name)) for one in metrics)]
        for group in groups[:LISTED]
    ]
    return header, rows, len(groups) - len(rows)


class NothingRan(NamedTuple):
    """Why no job of a run ran: in a sentence, and by reason."""

    said: str
    reasons: list[str]


def nothing_ran(files: RunFiles) -> NothingRan:
    """What a report begins with where no job ran."""
    jobs = len(files.schedule.number)
    said = f"No job ran: all {jobs:,} were rejected." if jobs else "No job ran: the trace has none."
    reasons = Counter(one.reason for one in files.run.rejected)
    return NothingRan(said, listed([f"{_jobs(count)}: {why}" for why, count in reasons.most_common()]))


def _jobs(count: int) -> str:
    return f"{count:,} {'job' if count == 1 else 'jobs'}"


def listed(entries: list[str]) -> list[str]:
    """The first entries of a list of skipped or rejected jobs, and how many more there are."""
    return entries[:LISTED] + ([f"and {len(entries) - LISTED:,} more"] if len(entries) > LISTED else [])


_DURATIONS: Final = ((2 * 365 * 86400, 365 * 86400, "years"), (2 * 86400, 86400, "d"), (2 * 3600, 3600, "h"))
_SHORT: Final = ((1, 1, "s"), (1e-3, 1e-3, "ms"), (0, 1e-6, "µs"))
_BYTES: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_UNITS: Final = (
    ("_percent", "%"), ("_core_h", "core-hours"), ("_kwh", "kWh"), ("_kw", "kW"), ("_kg", "kg"), ("_eur", ""),
    ("_s", "s"),
)  # fmt: skip
_LOW, _HIGH = "(a tenth of the days: less)", "(a tenth of the days: more)"
_SPELLED: Final = {"p10": _LOW, "p90": _HIGH, "co2": "CO2", "pue": "PUE"}
NOTHING: Final = "–"
"""Stands where a figure has no meaning."""


def number(value: float) -> str:
    """Whole numbers with separators, others with three significant digits where they are small."""
    if float(value).is_integer() or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.2f}" if abs(value) >= 0.1 else f"{value:.3g}"


def duration(seconds: float) -> str:
    """The largest unit of which there are at least two, down to µs."""
    if seconds == 0:
        return "0 s"
    for least, unit, name in (*_DURATIONS, (120, 60, "min"), *_SHORT):
        if abs(seconds) >= least:
            value = seconds / unit
            digits = 0 if float(value).is_integer() or abs(value) >= 100 else 1
            return f"{value:,.{digits}f} {name}"
    raise AssertionError  # the last unit takes everything


def draws(count: str, weeks: Collection[int]) -> str:
    """What intervals over so many draws of traces speak of, that have so many whole weeks; 0: these are shaken."""
    if any(weeks):
        least, most = min(weeks), max(weeks)
        return f"{count} draws of the trace's {least if least == most else f'{least} to {most}'} weeks"
    return f"{count} draws of the trace, shaken (they say nothing of other months)"


def share(value: float) -> str:
    """A fraction in percent; two significant digits where it is small."""
    percent = 100 * value
    return f"{percent:.1f} %" if percent == 0 or abs(percent) >= 0.1 else f"{percent:.2g} %"


def money(amount: float) -> str:
    """An amount in the platform's currency; cents where it is small."""
    return f"{amount:,.0f}" if abs(amount) >= 10_000 else f"{amount:,.2f}"


def energy(kwh: float) -> str:
    """MWh from ten of them on, else kWh."""
    return f"{number(round(kwh / 1000, 1))} MWh" if abs(kwh) >= 10_000 else f"{number(round(kwh, 1))} kWh"


def mass(kg: float) -> str:
    """Tonnes from ten of them on, else kg."""
    return f"{number(round(kg / 1000, 1))} t" if abs(kg) >= 10_000 else f"{number(round(kg, 1))} kg"


def data_size(size: float) -> str:
    """Bytes in the largest binary unit that leaves at least one."""
    steps = 0
    while abs(size) >= 1024 and steps < len(_BYTES) - 1:
        size, steps = size / 1024, steps + 1
    return f"{number(round(size, 2))} {_BYTES[steps]}"


_SAID: Final = {
    "s": duration, "share": share, "currency": money, "kWh": energy, "kg": mass, "bytes": data_size,
    "kW": "{:,.1f} kW".format, "ratio": "{:.4f}".format,
}  # fmt: skip
"""By the unit of a metric."""


def in_unit(unit: str, value: float | None) -> str:
    """A figure of a metric with this unit; money without its currency."""
    return NOTHING if value is None else _SAID.get(unit, number)(value)


def axis_unit(kind: str, most: float) -> tuple[str, float]:
    """What an axis of this kind counts in, and by what its amounts are divided; `most` is the largest shown."""
    if kind != MEMORY:
        return "power (W)" if kind == POWER else kind, 1.0
    steps = 0
    while most >= 4096 and steps < 3:
        most, steps = most / 1024, steps + 1
    return f"{kind} ({_BYTES[steps + 2]})", 1024.0**steps


def amount_seconds(kind: str, value: float) -> str:
    """A volume of use: core-hours, GiB-hours, gpu-hours."""
    if kind == MEMORY:
        return f"{number(round(value / 1024 / 3600, 1))} GiB·h"
    return f"{number(round(value / 3600, 1))} {'core' if kind == CORES else kind}·h"


def of_key(key: str, value: str | float | None, currency: str) -> tuple[str, str]:
    """The name and the value of a figure whose key ends in its unit, as in summary.json; `_eur` is the currency."""
    ending, unit = next((pair for pair in _UNITS if key.endswith(pair[0])), ("", ""))
    parts = [_SPELLED.get(part, part) for part in key.removesuffix(ending).split("_")]
    name = " ".join(sorted(parts, key=lambda part: part.startswith("(")))
    if value is None or isinstance(value, str):
        return name[:1].upper() + name[1:], NOTHING if value is None else value
    if key.endswith("_share") or key.startswith("share_"):
        return name[:1].upper() + name[1:], share(value)
    told = f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"
    unit = currency if ending == "_eur" else unit
    return name[:1].upper() + name[1:], f"{told} {unit}".strip()
