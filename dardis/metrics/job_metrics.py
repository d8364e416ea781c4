"""Job metrics: wait, slowdown, lateness, expected duration, placement."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from dardis.metrics.catalogue import columns_of
from dardis.model.arrays import Floats, Ints
from dardis.model.csv_table import TEXT, WHOLE, WORD, Column, CsvTable, from_cell
from dardis.model.errors import InputError
from dardis.model.job import NO_TIME, SLOWDOWN_TAU_S, Status
from dardis.model.numbers import whole_number
from dardis.model.placements import Placements
from dardis.model.platform import Platform
from dardis.model.resources import CORES
from dardis.model.schedule import Schedule

SHORTEST_WEIGHT_S: Final = 1
"""Least start window as a divisor."""

Number: TypeAlias = int | float | None
"""Figure of `metrics.json`; None if undefined, never NaN."""


def bounded_slowdown(wait: Ints, run: Ints) -> Floats:
    """`max(1, (wait + run) / max(run, 10 s))` per job, from s."""
    return np.asarray(np.maximum((wait + run) / np.maximum(run, SLOWDOWN_TAU_S), 1.0))


def slowdown(wait: Ints, run: Ints) -> Floats:
    """`(wait + run) / run` per job, from s; run at least 1 s."""
    return np.asarray((wait + run) / np.maximum(run, 1))


def makespan(schedule: Schedule, counted: Ints) -> int | None:
    """Seconds from first submission to last end; None if none ran."""
    ran = _ran(schedule, counted)
    return int(schedule.finish[ran].max() - schedule.submit[ran].min()) if len(ran) else None


def _ran(schedule: Schedule, counted: Ints) -> Ints:
    return counted[schedule.ran[counted]]


def job_metrics(schedule: Schedule, counted: Ints) -> dict[str, Number]:
    """Figures of `counted` jobs; statistics cover completed and killed jobs."""
    status = schedule.status[counted]
    ran = _ran(schedule, counted)
    submit, start, finish = schedule.submit[ran], schedule.start[ran], schedule.finish[ran]
    wait = start - submit
    bound = schedule.latest[ran] != NO_TIME
    delay = np.maximum(start - schedule.latest[ran], 0)[bound]
    window = np.maximum(schedule.latest[ran] - schedule.earliest[ran], SHORTEST_WEIGHT_S)[bound]
    return {
        "jobs": len(counted),
        "completed": int(np.count_nonzero(status == Status.COMPLETED)),
        "killed": int(np.count_nonzero(status == Status.KILLED)),
        "rejected": len(counted) - len(ran),
        "makespan_s": makespan(schedule, counted),
        **wait_metrics(wait, finish - start),
        "mean_user_bounded_slowdown": _mean_of_users(
            bounded_slowdown(wait, finish - start), [schedule.user[place] for place in ran.tolist()]
        ),
        "weighted_queue_time": _weighted(wait[bound], window),
        "tardiness_s": int(delay.sum()),
        "weighted_tardiness": _weighted(delay, window),
        "late_jobs": int(np.count_nonzero(delay)),
    }


def wait_metrics(wait: Ints, run: Ints) -> dict[str, Number]:
    """Figures of waits and runtimes, s; None without jobs."""
    some, bounded = len(wait) > 0, bounded_slowdown(wait, run)
    return {
        "total_wait_s": int(wait.sum()) if some else None,
        "mean_wait_s": int(wait.sum()) / len(wait) if some else None,
        "median_wait_s": float(np.percentile(wait, 50)) if some else None,
        "p95_wait_s": float(np.percentile(wait, 95)) if some else None,
        "p99_wait_s": float(np.percentile(wait, 99)) if some else None,
        "max_wait_s": int(wait.max()) if some else None,
        "sd_wait_s": float(wait.std()) if some else None,
        "mean_slowdown": float(slowdown(wait, run).mean()) if some else None,
        "mean_bounded_slowdown": float(bounded.mean()) if some else None,
        "median_bounded_slowdown": float(np.percentile(bounded, 50)) if some else None,
        "p99_bounded_slowdown": float(np.percentile(bounded, 99)) if some else None,
    }


def _mean_of_users(values: Floats, users: Sequence[str]) -> float | None:
    numbers: dict[str, int] = {}
    number = np.array([numbers.setdefault(user, len(numbers)) for user in users], dtype=np.int64)
    if not any(numbers):
        return None
    return float((np.bincount(number, values) / np.bincount(number)).mean())


def queue_metrics(schedule: Schedule, platform: Platform, counted: Ints) -> dict[str, Number]:
    """Figures relative to queues' longest waits (thesis 4.5), over `counted` jobs.

    Empty if no longest wait is declared.
    """
    longest = {queue.name: queue.longest_wait_s for queue in platform.queues if queue.longest_wait_s is not None}
    if not longest:
        return {}
    ran = _ran(schedule, counted)
    bound = np.array([place for place in ran.tolist() if schedule.queue[place] in longest], dtype=np.int64)
    most = np.array([longest[schedule.queue[place]] for place in bound.tolist()], dtype=np.int64)
    wait = schedule.start[bound] - schedule.submit[bound]
    delay = np.maximum(wait - most, 0)
    return {
        "queue_weighted_wait": _weighted(wait, most),
        "queue_late_jobs": int(np.count_nonzero(delay)),
        "queue_tardiness_s": int(delay.sum()),
        "queue_weighted_tardiness": _weighted(delay, most),
    }


def footprint_metrics(taken: Footprints, platform: Platform, ran: Ints) -> dict[str, Number]:
    """Core use and node locality of jobs `ran`."""
    fragmentation, spread = taken.fragmentation[ran], taken.spread[ran]
    some = len(ran) > 0
    return {
        "theoretical_runtime_s": int(taken.core_s[ran].sum()) / platform.cores if some else None,
        "mean_fragmentation": int(fragmentation.sum()) / len(ran) if some else None,
        "sd_fragmentation": float(fragmentation.std()) if some else None,
        "mean_spread": float(spread.mean()) if some else None,
        "sd_spread": float(spread.std()) if some else None,
    }


def group_metrics(schedule: Schedule, platform: Platform, taken: Footprints, counted: Ints) -> dict[str, Number]:
    """All figures of `counted` jobs; `taken` covers the whole schedule."""
    of_queues = queue_metrics(schedule, platform, counted)
    return job_metrics(schedule, counted) | of_queues | footprint_metrics(taken, platform, _ran(schedule, counted))


def _weighted(times: Ints, windows: Ints) -> float | None:
    return math.fsum((times / windows).tolist()) if len(times) else None


def metrics_by(schedule: Schedule, platform: Platform, counted: Ints) -> Iterator[dict[str, str | Number]]:
    """Figures of each queue, then each user, by name.

    `utilisation` uses the common makespan.
    """
    span = makespan(schedule, counted)
    taken = footprints(schedule)
    for by, names in (("queue", schedule.queue), ("user", schedule.user)):
        for name, group in _groups(names, counted):
            figures = group_metrics(schedule, platform, taken, group)
            figures["utilisation"] = int(taken.core_s[group].sum()) / (span * platform.cores) if span else None
            row: dict[str, str | Number] = {"by": by, "name": name, **figures}
            yield row


def _groups(names: Sequence[str], counted: Ints) -> Iterator[tuple[str, Ints]]:
    places: dict[str, list[int]] = {}
    for index in counted.tolist():
        places.setdefault(names[index], []).append(index)
    for name in sorted(places):
        yield name, np.array(places[name], dtype=np.int64)


def write_metrics_by(path: Path, schedule: Schedule, platform: Platform, counted: Ints) -> None:
    """Write `metrics_by.csv`."""
    nobody = np.empty(0, dtype=np.int64)
    figures = group_metrics(schedule, platform, Footprints(nobody, nobody, np.empty(0)), nobody)
    rows = ([*row.values()] for row in metrics_by(schedule, platform, counted))
    _metrics_by_table([*figures, "utilisation"]).write(path, rows)


def _metrics_by_table(keys: Iterable[str]) -> CsvTable:
    by = Column("by", WORD, "`queue` or `user`")
    return CsvTable("metrics_by.csv", by, Column("name", TEXT, "name of the queue or user"), *columns_of(keys))


_BLOCK: Final = 8192
"""Jobs per step, to bound memory."""


class Footprints(NamedTuple):
    """Core use and locality, (jobs,); 0 if not run."""

    core_s: Ints
    fragmentation: Ints
    """Contiguous node blocks."""
    spread: Floats
    """Nodes first to last, over nodes used."""


def footprints(schedule: Schedule) -> Footprints:
    """Footprints of all jobs."""
    return Footprints(core_seconds(schedule), _fragmentation(schedule.placed), _spread(schedule.placed))


def core_seconds(schedule: Schedule) -> Ints:
    """Core-seconds, 0 if not run; (jobs,)."""
    cores = schedule.requested_total(CORES)
    return np.where(schedule.ran, cores * (schedule.finish - schedule.start), 0)


def _fragmentation(placed: Placements) -> Ints:
    jobs = len(placed.counts)
    found = [np.diff(placed.blocks(first, min(first + _BLOCK, jobs))[0]) for first in range(0, jobs, _BLOCK)]
    return np.concatenate([np.empty(0, dtype=np.int64), *found])


def _spread(placed: Placements) -> Floats:
    counts = placed.counts
    some = counts > 0
    first, last = placed.nodes[placed.offsets[:-1][some]], placed.nodes[placed.offsets[1:][some] - 1]
    spread = np.zeros(len(counts))
    spread[some] = (last - first + 1) / counts[some]
    return spread


EXPECTATIONS_FILE: Final = "expectations.csv"
EXPECTED: Final = CsvTable(
    EXPECTATIONS_FILE,
    Column("job_id", WHOLE, "number of the job"),
    Column("expected_s", WHOLE, "runtime expected at its submission"),
    Column("rule", TEXT, "rule of the expectation"),
)


class Expectations(NamedTuple):
    """Expected duration (s) and rule per job; `NO_TIME` and "" without arrival."""

    duration: Ints
    rule: Sequence[str]

    def rules(self) -> dict[str, int]:
        """Jobs per rule, most frequent first."""
        return dict(Counter(filter(None, self.rule)).most_common())


def expectation_metrics(schedule: Schedule, expected: Ints, counted: Ints) -> dict[str, Number]:
    """Mean absolute error (s), and shares of underestimates and overestimates, over `counted` jobs that ran."""
    ran = counted[schedule.ran[counted]]
    error = (expected - (schedule.finish - schedule.start))[ran]
    some = len(error) > 0
    return {
        "expected_mae_s": float(np.abs(error).mean()) if some else None,
        "expected_under_share": float((error < 0).mean()) if some else None,
        "expected_over_share": float((error > 0).mean()) if some else None,
    }


def write_expectations(path: Path, schedule: Schedule, expected: Expectations) -> None:
    """Write one row per arrived job."""
    rows = zip(schedule.number.tolist(), expected.duration.tolist(), expected.rule, strict=True)
    EXPECTED.write(path, (row for row in rows if row[1] != NO_TIME))


def read_expectations(path: Path, schedule: Schedule) -> Expectations:
    """Read the expectations of this schedule. Raises InputError."""
    cells = EXPECTED.read(path)
    place = {number: place for place, number in enumerate(schedule.number.tolist())}
    duration, rules = np.full(len(schedule.number), NO_TIME, dtype=np.int64), [""] * len(schedule.number)
    for line, (number, seconds, rule) in cells.rows():
        try:
            row = place.pop(whole_number(number))
            duration[row], rules[row] = whole_number(seconds, 1, int(schedule.walltime[row])), from_cell(rule)
        except (ValueError, KeyError):
            expected = "each job of jobs.csv once, its expected runtime in s up to its walltime, and a rule"
            raise InputError(f"{path}:{line}", f"{number},{seconds},{rule}"[:60], expected) from None
    if (duration[schedule.ran] == NO_TIME).any():
        raise InputError(path, "jobs that ran are missing", "the files of one run")
    return Expectations(duration, rules)
