"""The report's words and tables: what was run, on what, and its figures with units that people read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from dardis.config.records import RunRecord
from dardis.model.choices import Overrun
from dardis.model.resources import CORES
from dardis.report import words
from dardis.report.run_files import BY_COLUMNS, DEADLINE_COLUMNS, FOOTPRINT_COLUMNS, QUEUE_COLUMNS, RunFiles

LISTED: Final = 12
"""Rows of a list that may be long (users, rejected jobs) before it is cut."""

Say = Callable[[float], str]


class Row(NamedTuple):
    """A line of a table: what, how much, and what it means."""

    name: str
    value: str
    meaning: str = ""


_KNOWN: Final[dict[str, tuple[str, Say, str]]] = {
    "jobs": ("Jobs", words.number, "all that were submitted"),
    "completed": ("Completed", words.number, ""),
    "killed": ("Killed", words.number, "at the end of their walltime, or when a node failed"),
    "rejected": ("Rejected", words.number, "never started; why is said below, and in run.json"),
    "makespan_s": ("Makespan", words.duration, "first submission to last end"),
    "theoretical_runtime_s": ("Theoretical runtime", words.duration, "of all jobs, were all cores busy all the time"),
    "total_wait_s": ("Total wait", words.duration, ""),
    "mean_wait_s": ("Mean wait", words.duration, "start less submission"),
    "median_wait_s": ("Median wait", words.duration, ""),
    "p95_wait_s": ("95th percentile of waits", words.duration, ""),
    "max_wait_s": ("Longest wait", words.duration, ""),
    "sd_wait_s": ("Standard deviation of waits", words.duration, ""),
    "mean_slowdown": ("Mean slowdown", words.number, "from submission to end, in runtimes of the job"),
    "mean_bounded_slowdown": ("Mean bounded slowdown", words.number, "runs shorter than 10 s counted as 10 s"),
    "utilisation": ("Utilisation", words.share, "core-seconds used of those there were"),
    "mean_fragmentation": ("Mean fragmentation", words.number, "blocks of neighbouring nodes that a job is on"),
    "sd_fragmentation": ("Standard deviation of fragmentation", words.number, ""),
    "mean_spread": ("Mean spread", words.number, "nodes from the first of a job to its last, over those it has"),
    "sd_spread": ("Standard deviation of spread", words.number, ""),
    "weighted_queue_time": ("Weighted queue time", words.number, "waits, each in windows of its job, added up"),
    "tardiness_s": ("Tardiness", words.duration, "starts after the latest start, added up"),
    "weighted_tardiness": ("Weighted tardiness", words.number, "late starts, each in windows of its job, added up"),
    "late_jobs": ("Late jobs", words.number, "started after their latest start"),
    "queue_weighted_wait": ("Waits by queue", words.number, "each in longest waits of its queue, added up"),
    "queue_late_jobs": ("Waited for too long", words.number, "longer than the longest wait of the queue"),
    "queue_tardiness_s": ("Waits beyond the longest", words.duration, "of the queue, added up"),
    "queue_weighted_tardiness": ("Tardiness by queue", words.number, "the same, each in longest waits of its queue"),
    "dissimilarity": ("Dissimilarity", words.number, "0: use has the shape of the desired profile; 1: nothing of it"),
    "dissimilarity_from_first_submission": ("Dissimilarity since the first submission", words.number, "the same"),
    "profit_eur": ("Profit", words.money, "income less IT energy, cooling and what else the contract charges"),
    "income_eur": ("Income", words.money, "of the core-hours that ran"),
    "energy_eur": ("Cost of IT energy", words.money, ""),
    "cooling_eur": ("Cost of cooling", words.money, ""),
    "tariff_eur": ("Other charges", words.money, "peak power, CO2 and penalties"),
    "energy_kwh": ("IT energy", words.energy, ""),
    "cooling_kwh": ("Cooling energy", words.energy, ""),
    "pue": ("PUE", "{:.4f}".format, "(IT + cooling) / IT, by energy"),
    "co2_kg": ("CO2", words.mass, "of IT and cooling energy"),
    "peak_kw": ("Peak power", "{:,.1f} kW".format, "IT and cooling, highest mean of a quarter of an hour"),
    "node_switches": ("Shut-downs of nodes", words.number, "each is followed by a boot before the node is used again"),
    "cycles_per_node_day": ("Shut-downs a node and day", words.number, "of all nodes"),
    "off_share": ("Nodes off", words.share, "of all node-seconds; shutting down and booting not counted"),
    "mean_boot_delay_s": ("Mean wait for boots", words.duration, "how much earlier jobs could have started"),
    "delayed_share": ("Jobs that waited for boots", words.share, "of those that ran"),
    "expected_mae_s": ("Error of expected durations", words.duration, "mean of how far jobs ran from them"),
    "expected_under_share": ("Ran longer than expected", words.share, "of those that ran"),
    "expected_over_share": ("Ran shorter than expected", words.share, "of those that ran"),
    "prediction_cpu_s": ("CPU time of predictions", words.duration, "of how long jobs will run; in no decision's"),
    "decisions": ("Decisions", words.number, "submissions, searches anew, rounds of asking for earlier starts"),
    "decision_cpu_s": ("CPU time of decisions", words.duration, "all ranks"),
    "decision_mean_s": ("Mean decision", words.duration, "CPU inside task and node managers"),
    "decision_p99_s": ("99th percentile of decisions", words.duration, ""),
    "decision_max_s": ("Longest decision", words.duration, ""),
    "overhead_share": ("Overhead", words.share, "CPU time of decisions, of the time from first submission to last end"),
    "solver_decisions": ("Decisions put to a model", words.number, "or plans that somebody might improve"),
    "solver_asked": ("Solver asked", words.number, "for these; others were decided by our own answer"),
    "solver_proven": ("Proven", words.number, "of those: the best of their model"),
    "solver_too_large": ("Too large for a model", words.number, "none was built; our own answer stands"),
    "solver_gap_mean": ("Mean gap", words.share, "how far objectives may be above the best of their models"),
    "solver_update_cpu_s": ("CPU time of taking in what has happened", words.duration, "before models are asked"),
    "solver_check_cpu_s": ("CPU time of seeing who could ever start", words.duration, ""),
    "solver_first_cpu_s": ("CPU time of first answers", words.duration, "and of bounds; part of all decisions'"),
    "solver_build_cpu_s": ("CPU time of building models", words.duration, ""),
    "solver_cpu_s": ("CPU time of the solver", words.duration, ""),
    "solver_commit_cpu_s": ("CPU time of starting jobs", words.duration, "by the models' answers"),
    "solver_deterministic_s": ("Deterministic time of the solver", words.duration, ""),
    "ranks": ("Ranks", words.number, "processes that held nodes"),
    "nodes_on_largest_rank": ("Nodes on the largest rank", words.number, ""),
    "messages": ("Messages", words.number, "between task and node managers"),
    "message_bytes": ("Message payload", words.data_size, "between host processes"),
    "renegotiations": ("Renegotiations", words.number, "claims and asks after the first"),
}
_EXCESS: Final = "overutilisation_"
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
    shown |= {key for key, value in metrics.items() if (key == "late_jobs" or key.startswith(_EXCESS)) and value}
    rows = _rows(metrics, currency)
    return [row for key, row in sorted(rows, key=lambda found: found[0] != _HEADLINES[0]) if key in shown]


def figures(metrics: dict[str, Any], currency: str = "EUR") -> list[Row]:
    """Every number that the run has a value of, those unknown here by their own names."""
    known = {key: value for key, value in metrics.items() if value is not None and not isinstance(value, str)}
    return [row for _, row in _rows(known, currency)]


def _rows(metrics: dict[str, Any], currency: str) -> list[tuple[str, Row]]:
    """Key and row of every figure, those unknown here last."""
    places = {key: place for place, key in enumerate(_KNOWN)}

    def place(key: str) -> float:
        return places["dissimilarity"] - 0.5 if key.startswith(_EXCESS) else places.get(key, len(places))

    return [(key, _row(key, metrics[key], currency)) for key in sorted(metrics, key=place)]


def _row(key: str, value: Any, currency: str) -> Row:  # noqa: ANN401 — whatever a metrics.json holds
    """One figure in words."""
    if key.startswith(_EXCESS):
        kind = CORES if key == "overutilisation_core_s" else key.removeprefix(_EXCESS).removesuffix("_s")
        name, meaning = f"Overutilisation, {kind}", "use above the desired profile"
        return Row(name, words.NOTHING if value is None else words.amount_seconds(kind, value), meaning)
    name, say, meaning = _KNOWN.get(key, (key, str, ""))
    if value is None:
        return Row(name, words.NOTHING, meaning)
    if key.endswith("_eur") and isinstance(value, int | float):
        return Row(name, f"{say(value)} {currency}", meaning)
    return Row(name, say(value) if isinstance(value, int | float) else str(value), meaning)


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
    header = [by, *(_KNOWN[key][0] for key in columns)]
    rows = [
        [
            group.name or "(none)",
            *(words.NOTHING if (value := group.figures.get(key)) is None else _KNOWN[key][1](value) for key in columns),
        ]
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
