"""`picture.json`: chart data, for redrawing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import numpy as np
from pydantic import Field, model_validator

from dardis.config.platform_record import Record
from dardis.config.toml_file import read_json
from dardis.model.arrays import Floats
from dardis.model.errors import InputError
from dardis.model.files import write_json
from dardis.model.job import NO_TIME
from dardis.model.step_function import StepFunction
from dardis.report.chart import ChartFormat, TimeAxis
from dardis.report.loop_page import LoopPage, LoopPicture, draw_loop

PICTURE_FILE: Final = "picture.json"
Amount = Annotated[float, Field(ge=-1e15, le=1e15)]
Time = Annotated[int, Field(ge=-(1 << 60), le=1 << 60)]
Whole = Annotated[int, Field(ge=-(1 << 50), le=1 << 50)]
Some = Annotated[int, Field(ge=1, le=1 << 50)]
Value = str | Whole | Amount | None
Amounts = list[Amount | None]


class Steps(Record):
    """Step function."""

    times: Annotated[list[int], Field(min_length=1)]
    values: list[Whole]

    @model_validator(mode="after")
    def _ascends(self) -> Steps:
        first, *others = self.times
        if len(self.times) != len(self.values) or first != NO_TIME or not ascending(others):
            raise ValueError("not a step function with a value for each of the ascending times")
        return self

    @property
    def function(self) -> StepFunction:
        """Step function as arrays."""
        return StepFunction(np.array(self.times, np.int64), np.array(self.values, np.int64))


class Axis(Record):
    """Time axis of charts."""

    start: Time
    end: Time
    unix_start: Time | None

    @property
    def time_axis(self) -> TimeAxis:
        """Axis for drawing."""
        return TimeAxis(self.start, self.end, self.unix_start)


def ascending(times: list[int]) -> bool:
    """Whether times ascend, within range."""
    return all(abs(time) <= -NO_TIME for time in times) and bool((np.diff(np.array(times, np.int64)) > 0).all())


def numbers(values: Amounts) -> Floats:
    """Array with NaN for None."""
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def write_picture(folder: Path, shown: Mapping[str, object]) -> None:
    """Write a page's data. Raises OSError."""
    write_json(folder / PICTURE_FILE, _plain(shown))


def _plain(value: Any) -> Any:  # noqa: ANN401 — whatever a page is made of
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and np.isnan(value) else value


def picture_of(folder: Path) -> Path:
    """Picture's path. Raises InputError."""
    path = folder / PICTURE_FILE
    if not path.is_file():
        raise InputError(folder, f"has no {PICTURE_FILE}", "a result with a report, from this version or a later one")
    return path


_SCHEDULES = frozenset({"all nodes on", "switched", "clairvoyant"})
_HEADLINES = frozenset(
    {"profit_eur", "gain_eur", "share_of_bound", "mean_boot_delay_s", "delayed_share", "cycles_per_node_day"}
)
_Rows = tuple[list[str], list[dict[str, Value]]]


class _Picture(Record):
    axis: Axis
    nodes_on: Steps
    nodes: Some
    spares: Steps | None
    cores: Some
    used: Steps
    aimed_at: Steps | None
    dates: list[str]
    profit: dict[str, list[Amount]]
    delays: list[Whole]
    gain: dict[str, Amount]
    currency: str
    edges: list[Time]
    temp_c: list[Amount]
    price: list[Amount]
    beside: list[tuple[str, Amount, Amount]]
    promised: list[tuple[Amount, Amount, Amount, Amount] | None]

    @model_validator(mode="after")
    def _check_lengths(self) -> _Picture:
        if len(self.edges) < 2 or not ascending(self.edges):
            raise ValueError("edges that don't ascend")
        if {len(self.temp_c), len(self.price)} != {len(self.edges) - 1}:
            raise ValueError("not a temperature and a price for each segment between edges")
        days = {len(one) for one in self.profit.values()}
        if not self.profit.keys() >= _SCHEDULES or days != {len(self.dates)}:
            raise ValueError("not a profit of each schedule for each date")
        if 0 < len(self.beside) < 3:
            raise ValueError("no rules besides ours and the clairvoyant rule")
        if self.promised and (len(self.promised) != len(self.dates) or not any(self.promised)):
            raise ValueError("expected gains of other dates")
        return self

    @property
    def picture(self) -> LoopPicture:
        return LoopPicture(
            axis=self.axis.time_axis,
            nodes_on=self.nodes_on.function,
            nodes=self.nodes,
            spares=None if self.spares is None else self.spares.function,
            cores=self.cores,
            used=self.used.function,
            aimed_at=None if self.aimed_at is None else self.aimed_at.function,
            dates=self.dates,
            profit={name: np.array(values) for name, values in self.profit.items()},
            delays=np.array(self.delays, np.int64),
            gain=self.gain,
            currency=self.currency,
            edges=np.array(self.edges, np.int64),
            temp_c=np.array(self.temp_c),
            price=np.array(self.price),
            beside=self.beside,
            promised=self.promised,
        )


class _LoopPageRecord(Record):
    title: str
    lead: str
    first: list[str]
    notes: list[str]
    picture: _Picture
    summary: dict[str, Value]
    days: _Rows
    beside: _Rows
    rules: list[tuple[str, list[str]]]

    @model_validator(mode="after")
    def _check_rows(self) -> _LoopPageRecord:
        if not self.summary.keys() >= _HEADLINES or any(isinstance(self.summary[key], str) for key in _HEADLINES):
            raise ValueError("the first figures of the page are missing")
        if any(not row.keys() >= set(columns) for columns, rows in (self.days, self.beside) for row in rows):
            raise ValueError("a row without a value for each column")
        return self


def read_loop_picture(folder: Path) -> LoopPage:
    """Read a page of days. Raises InputError."""
    page = read_json(picture_of(folder), _LoopPageRecord)
    return LoopPage(**(dict(page) | {"picture": page.picture.picture}))


def redraw_loop(folder: Path, *, form: ChartFormat | None = None) -> Path:
    """Redraw a report; with `form`, also charts. Raises InputError and OSError."""
    path = folder / "report.html"
    draw_loop(path, read_loop_picture(folder), form=form)
    return path
