"""`picture.json`: what the report of a plan or of days under the loop shows, so that it can be drawn again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import numpy as np
from pydantic import Field, model_validator

from dardis.config.platform_record import Record
from dardis.model.arrays import Floats
from dardis.model.errors import InputError
from dardis.model.files import write_json
from dardis.model.job import NO_TIME
from dardis.model.profile import StepFunction
from dardis.report.chart import TimeAxis

PICTURE_FILE: Final = "picture.json"
Amount = Annotated[float, Field(ge=-1e15, le=1e15)]
Time = Annotated[int, Field(ge=-(1 << 60), le=1 << 60)]
Whole = Annotated[int, Field(ge=-(1 << 50), le=1 << 50)]
Some = Annotated[int, Field(ge=1, le=1 << 50)]
Value = str | Whole | Amount | None
Amounts = list[Amount | None]
"""None where there is no number."""


class Steps(Record):
    """A step function."""

    times: Annotated[list[int], Field(min_length=1)]
    values: list[Whole]

    @model_validator(mode="after")
    def _ascends(self) -> Steps:
        first, *others = self.times
        if len(self.times) != len(self.values) or first != NO_TIME or not ascending(others):
            raise ValueError("no step function: a value for each time, and times that ascend from before all")
        return self

    @property
    def function(self) -> StepFunction:
        """The same in arrays."""
        return StepFunction(np.array(self.times, np.int64), np.array(self.values, np.int64))


class Axis(Record):
    """The span that all charts over time show."""

    start: Time
    end: Time
    unix_start: Time | None

    @property
    def shown(self) -> TimeAxis:
        """The same for charts."""
        return TimeAxis(self.start, self.end, self.unix_start)


def ascending(times: list[int]) -> bool:
    """Whether times are those of an axis, each after the one before."""
    return all(abs(time) <= -NO_TIME for time in times) and bool((np.diff(np.array(times, np.int64)) > 0).all())


def numbers(values: Amounts) -> Floats:
    """Amounts as an array, NaN where there is none."""
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def write_picture(folder: Path, shown: Mapping[str, object]) -> None:
    """Write what a page shows. Raises OSError."""
    write_json(folder / PICTURE_FILE, _plain(shown))


def _plain(value: Any) -> Any:  # noqa: ANN401 — whatever a page is made of
    """A value as JSON can hold it: arrays and tuples as lists, no number as null."""
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
    """The picture in a folder. Raises InputError where it has none."""
    path = folder / PICTURE_FILE
    if not path.is_file():
        raise InputError(
            folder, f"has no {PICTURE_FILE}", "what was made with a report, by this version or a later one"
        )
    return path
