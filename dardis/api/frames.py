"""Our tables as DataFrames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from dardis.metrics.columns import PARTS, UNITS_BY_PART, header
from dardis.metrics.table import rows
from dardis.model.cells import from_cell
from dardis.model.schedule import Schedule

if TYPE_CHECKING:
    from pandas import DataFrame

_TEXTS: Final = frozenset({
    "workload_name", "allocated_resources", "units_by_node", "status", "queue", "user", PARTS, UNITS_BY_PART,
})  # fmt: skip


def frame_of(columns: Mapping[str, Sequence[Any]]) -> DataFrame:
    """Columns as a DataFrame; None is NaN."""
    from pandas import DataFrame

    frame = DataFrame(dict(columns))
    return frame.astype({name: float for name in frame if frame[name].isna().all()})


def job_frame(schedule: Schedule, workload: str) -> DataFrame:
    """The columns of jobs.csv; `workload` is the name of the trace."""
    from pandas import DataFrame

    frame = DataFrame.from_records(
        list(rows(schedule, 0, len(schedule.number), workload)), columns=list(header(schedule))
    )
    for name in _TEXTS.intersection(frame):
        frame[name] = [from_cell(cell) for cell in frame[name]]
    # A column in which no job has a value, or only some, has numbers beside NaN.
    return frame.astype({name: float for name, kind in frame.dtypes.items() if kind == "object" and name not in _TEXTS})
