"""System metrics: use, desired profile, node downtime."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Final

import numpy as np

from dardis.metrics.job_metrics import Number, core_seconds, footprints, group_metrics, makespan
from dardis.model.arrays import Ints
from dardis.model.csv_table import BLOCK_ROWS, WHOLE, Column, CsvTable
from dardis.model.errors import InputError
from dardis.model.job import FOREVER, NO_TIME
from dardis.model.platform import Platform
from dardis.model.resources import CORES
from dardis.model.schedule import Downtime, Schedule, boot_and_shutdown
from dardis.model.step_function import ZERO, StepFunction, breakpoints
from dardis.model.target import DesiredProfile


def used_profile(schedule: Schedule, kind: str) -> StepFunction:
    """Amount in use over time."""
    if kind not in schedule.kinds:
        return ZERO
    ran = schedule.ran
    amounts = schedule.requested_total(kind)[ran]
    return StepFunction.from_spans(schedule.start[ran], schedule.finish[ran], amounts)


def desired_total(platform: Platform, desired: DesiredProfile | None, kind: str) -> StepFunction:
    """Desired use on the machine; by default the capacity."""
    return (desired or DesiredProfile(platform)).total(platform.kinds.index(kind))


def trimmed(schedule: Schedule, trim: tuple[int, int] | None) -> tuple[Ints, tuple[int, int] | None]:
    """Indices of counted jobs, and the trim window (or None).

    `trim`: warm-up and cool-down in s. Jobs count if submitted between first submission plus warm-up and last
    submission minus cool-down, inclusive. Raises InputError for an empty window.
    """
    return counted_jobs(schedule.submit, trim)


def counted_jobs(submit: Ints, trim: tuple[int, int] | None) -> tuple[Ints, tuple[int, int] | None]:
    """Like `trimmed`, from submission times."""
    everyone = np.arange(len(submit))
    if trim is None or len(everyone) == 0:
        return everyone, None
    start, end = trim_window(int(submit.min()), int(submit.max()), trim)
    return np.flatnonzero((submit >= start) & (submit <= end)), (start, end)


def trim_window(first: int, last: int, trim: tuple[int, int]) -> tuple[int, int]:
    """Window left by `trim`. Raises InputError if empty."""
    start, end = first + trim[0], last - trim[1]
    if min(trim) < 0 or start > end:
        found = f"{trim[0]},{trim[1]} leaves no time between the first and the last submission ({last - first} s)"
        raise InputError("--trim", found, "WARMUP_S,COOLDOWN_S from 0, shorter together")
    return start, end


def schedule_metrics(
    schedule: Schedule, platform: Platform, desired: DesiredProfile | None, trim: tuple[int, int] | None = None
) -> dict[str, Number]:
    """Figures of `metrics.json` from the schedule; None if undefined.

    With `trim`, job figures cover jobs submitted in the window, system figures all use there.
    """
    counted, window = trimmed(schedule, trim)
    figures = group_metrics(schedule, platform, footprints(schedule), counted)
    figures["utilisation"] = core_utilisation(schedule, platform, window)
    for kind in platform.kinds:
        name = "overutilisation_core_s" if kind == CORES else f"overutilisation_{kind}_s"
        wished = desired_total(platform, desired, kind)
        figures[name] = overutilisation(used_profile(schedule, kind), wished, window)
    deadlines = schedule.latest[schedule.latest != NO_TIME]
    start, end = window or (0, FOREVER)
    for name, since in (
        ("dissimilarity", start),
        ("dissimilarity_from_first_submission", max(start, int(schedule.submit.min(initial=FOREVER)))),
    ):
        figures[name] = None
        if desired is not None and len(deadlines) and schedule.ran.any():
            until = min(end, int(deadlines.max()))
            wished = desired_total(platform, desired, CORES)
            figures[name] = dissimilarity(used_profile(schedule, CORES), wished, since, until)
    return figures


def core_utilisation(schedule: Schedule, platform: Platform, window: tuple[int, int] | None) -> float | None:
    """Share of cores in use in the window, by default first submission to last end."""
    if window is None:
        span = makespan(schedule, np.arange(len(schedule.number))) or 0
        used = int(core_seconds(schedule).sum())
    else:
        span = window[1] - window[0]
        used = used_profile(schedule, CORES).integral(*window)
    available = span * platform.cores
    return used / available if available and schedule.ran.any() else None


def _pieces(f: StepFunction, g: StepFunction, start: int, end: int) -> tuple[Ints, Ints, Ints]:
    inner = breakpoints([f, g])
    edges = np.concatenate([[start], inner[(inner > start) & (inner < end)], [max(start, end)]]).astype(np.int64)
    return np.diff(edges), f.at(edges[:-1]), g.at(edges[:-1])


def overutilisation(used: StepFunction, desired: StepFunction, window: tuple[int, int] | None = None) -> int:
    """Amount times seconds of use above `desired`."""
    if len(used.times) < 2:
        return 0
    lengths, f, g = _pieces(used, desired, *(window or (int(used.times[1]), int(used.times[-1]))))
    return int(np.dot(lengths, np.maximum(f - g, 0)))


def dissimilarity(used: StepFunction, desired: StepFunction, start: int, end: int) -> float | None:
    """Difference in shape between `used` (f) and `desired` (g) over `[start, end)`.

    (R_gg − ψ R_gf) / R_gg, with R_gg = Σ g², R_gf = Σ g f, and ψ the least g / f over seconds with f > 0. 0: same
    shape; 1: nothing in common; None: nothing desired. Exact, rounded once.
    """
    lengths, f, g = _pieces(used, desired, start, end)
    pieces = list(zip(lengths.tolist(), f.tolist(), g.tolist(), strict=True))  # Python integers do not overflow
    r_gg = sum(length * wished * wished for length, _, wished in pieces)
    r_gf = sum(length * wished * held for length, held, wished in pieces)
    if r_gg == 0:
        return None
    return float(1 - _least_ratio(g, f) * Fraction(r_gf, r_gg))


def _least_ratio(g: Ints, f: Ints) -> Fraction:
    some = f > 0
    if not some.any():
        return Fraction(1)
    ratios = g[some] / f[some]
    # Rounding preserves order, so the least ratio is among the ratios with the least rounded value.
    nearest = ratios == ratios.min()
    pairs = set(zip(g[some][nearest].tolist(), f[some][nearest].tolist(), strict=True))
    return min(Fraction(*pair) for pair in pairs)


def write_profile(path: Path, schedule: Schedule, platform: Platform, desired: DesiredProfile | None) -> None:
    """Write `profile.csv`, a row per change."""
    values = profile_values(schedule, platform, desired)
    blocks = (values[:, first : first + BLOCK_ROWS].tolist() for first in range(0, values.shape[1], BLOCK_ROWS))
    profile_table(platform).write_blocks(path, blocks)


def profile_table(platform: Platform) -> CsvTable:
    """Columns of `profile.csv`."""
    columns = [
        Column(f"{kind}_{what}", WHOLE, f"{what} amount from this time")
        for kind in platform.kinds
        for what in ("used", "desired")
    ]
    return CsvTable("profile.csv", Column("time_s", WHOLE, "time at which a value changes"), *columns)


def profile_values(schedule: Schedule, platform: Platform, desired: DesiredProfile | None) -> Ints:
    """Values of `profile.csv`, (columns, rows)."""
    functions = []
    for kind in platform.kinds:
        functions += [used_profile(schedule, kind), desired_total(platform, desired, kind)]
    times = breakpoints(functions)[1:]  # the first breakpoint precedes all time
    values = np.stack([function.at(times) for function in functions])
    changed = np.ones(len(times), dtype=np.bool_)
    changed[1:] = np.any(values[:, 1:] != values[:, :-1], axis=0)
    return np.concatenate([times[None, changed], values[:, changed]])


DOWNTIME_FILE: Final = "switching.csv"
TIMES_DOWN: Final = CsvTable(
    DOWNTIME_FILE,
    Column("node", WHOLE, "number of the node"),
    Column("down_s", WHOLE, "begin of its shut-down"),
    Column("up_s", WHOLE, "end of its boot; empty if it stays down"),
)
_DAY_S: Final = 86_400
KEYS: Final = ("node_switches", "cycles_per_node_day", "off_share", "mean_boot_delay_s", "delayed_share")


def switching_metrics(
    schedule: Schedule, platform: Platform, downtime: Downtime, boot_delay: Ints | None
) -> dict[str, Number]:
    """Figures about switched nodes (docs/metrics.md).

    `boot_delay` (jobs,): s, or None.
    """
    figures: dict[str, Number] = dict.fromkeys(KEYS)
    ran = schedule.ran
    if not ran.any():
        return figures
    start, end = int(schedule.submit.min()), int(schedule.finish[ran].max())
    boot_s, shutdown_s = (times[downtime.node] for times in boot_and_shutdown(platform))
    node_seconds = platform.node_count * (end - start)
    off_from = np.clip(downtime.down + shutdown_s, start, end)
    off_until = np.clip(downtime.up - boot_s, start, end)
    switches = len(downtime.node)
    figures["node_switches"] = switches
    figures["cycles_per_node_day"] = switches * _DAY_S / node_seconds
    figures["off_share"] = int(np.maximum(off_until - off_from, 0).sum()) / node_seconds
    if boot_delay is not None:
        figures["mean_boot_delay_s"] = int(boot_delay[ran].sum()) / int(np.count_nonzero(ran))
        figures["delayed_share"] = int(np.count_nonzero(boot_delay[ran])) / int(np.count_nonzero(ran))
    return figures


def write_downtime(path: Path, downtime: Downtime) -> None:
    """Write one row per downtime of a node."""
    TIMES_DOWN.write(path, ((node, down, None if up == FOREVER else up) for node, down, up in downtime.rows))


def read_downtime(path: Path) -> Downtime:
    """Read node downtimes. Raises InputError."""
    cells = TIMES_DOWN.read(path)
    spans = np.stack([cells.integers("node"), cells.integers("down_s"), cells.integers("up_s", empty=FOREVER)])
    return Downtime(*spans[:, np.lexsort(spans[::-1])].copy())
