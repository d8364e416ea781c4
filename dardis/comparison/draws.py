"""The draws of a comparison's traces, in files of its folder: the same for every dispatcher."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from dardis.comparison.planned_runs import Draws, PlannedRun
from dardis.config.comparison import Comparison, TraceSpec
from dardis.model.choices import WEEKS, How, Resampling
from dardis.model.errors import InputError
from dardis.model.files import InputFiles
from dardis.runs.inputs import Inputs, load_inputs
from dardis.workload.swf import keeps_names, write_swf
from dardis.workload.table import write_table
from dardis.workload.trace import Trace
from dardis.workload.transform import resampled, whole_weeks
from dardis.workload.units import in_units

FOLDER: Final = "draws"
"""Where they lie, by the names of traces."""


class _Part(NamedTuple):
    """What of a workload is drawn from, and the inputs of a run of it."""

    workload: TraceSpec
    inputs: Inputs
    trace: Trace
    weeks: int
    """That are there whole, where weeks are drawn; else 0."""
    by: Resampling


def write_draws(
    comparison: Comparison, out: Path, files: InputFiles, begin: Callable[[], None], *, force: bool
) -> dict[str, Draws]:  # fmt: skip
    """Draw each trace as often as is asked, write `out/draws/TRACE/NUMBER.swf` or .csv, and say how to replay it.

    What is drawn is the part of the trace that is replayed; draws are keyed by the first seed. `begin` is called before
    anything is written. Raises InputError, for other draws that are there, too, unless `force`: runs were of them.
    """
    if not comparison.options.replicates:
        return {}
    parts = [_part(comparison, workload, files) for workload in comparison.workloads]
    begin()
    return {part.workload.name: _drawn(comparison, part, out, force=force) for part in parts}


def _part(comparison: Comparison, workload: TraceSpec, files: InputFiles) -> _Part:
    """Read a trace, and see that it is long enough. Raises InputError."""
    request = PlannedRun(workload, comparison.contenders[0], comparison.options.seeds[0], Path()).request()
    inputs = load_inputs(request, files)
    # Walltimes are made of those of the draw, when it is run.
    trace = inputs.part.as_stated().of(inputs.given.trace)
    by = comparison.options.resample or WEEKS
    return _Part(workload, inputs, trace, whole_weeks(trace) if by.how is How.WEEKS else 0, by)


def _drawn(comparison: Comparison, part: _Part, out: Path, *, force: bool) -> Draws:
    folder = out / FOLDER / part.workload.name
    folder.mkdir(parents=True, exist_ok=True)
    workload, made = part.workload, []
    for draw in range(1, (comparison.options.replicates or 0) + 1):
        drawn = resampled(part.trace, part.by, comparison.options.seeds[0], workload.name, draw)
        new = _written(drawn, part.inputs, folder / f"new-{draw}")
        trace = new.with_name(new.name.removeprefix("new-"))
        if trace.exists() and not force and trace.read_bytes() != new.read_bytes():
            new.unlink()
            found = f"holds other draws of {workload.name}"
            raise InputError(f"--out {out}", found, "the same request, another folder, or --force to redo it")
        new.replace(trace)
        start = part.inputs.unix_start  # where that of the trace is known; its clock stays
        made.append(workload.of_whole(trace, None if start is None else start + int(drawn.submit.min())))
    return Draws(made, part.weeks)


def _written(drawn: Trace, inputs: Inputs, path: Path) -> Path:
    """The file of a draw: SWF holds all of a trace that counts processors, but for names; else it is a job table."""
    if drawn.counts_processors and keeps_names(drawn):
        path = path.with_name(path.name + ".swf")
        write_swf(drawn, path)
    else:
        path = path.with_name(path.name + ".csv")
        write_table(in_units(drawn, inputs.platform), path)
    return path
