"""Decides what a comparison's own `found.json` may say, of which `dardis report` draws tables and report again."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Annotated, Final

from pydantic import AfterValidator, Field

from dardis.config.platform_record import Record
from dardis.config.records import Figure, KnownFigures
from dardis.model.limits import Count

FOUND_FILE: Final = "found.json"


def _inside(value: str) -> str:
    """Check a folder that is named from where the file lies."""
    path = PurePosixPath(value)
    if path.is_absolute() or ".." in path.parts:
        raise ValueError(f"{value!r}; expected a folder within that of the comparison")
    return value


class ResultRecord(Record):
    """What came of a run."""

    trace: str
    label: str
    dispatcher: str
    settings: list[str] = Field(default_factory=list)
    seed: Count
    folder: Annotated[str, AfterValidator(_inside)]
    metrics: dict[str, Figure] | None = None
    error: str = ""
    deadlines: str = ""
    central: bool = False
    arity: Count = 0
    sample: Count = 0
    draw: Count = 0
    seeded: bool = True
    family: str = ""
    grid: Annotated[list[tuple[str, str]], Field(max_length=2)] = Field(default_factory=list)
    weeks: Count = 0


class FoundRecord(Record):
    """All that tables and report are made of."""

    results: Annotated[list[ResultRecord], Field(min_length=1)]
    pair: tuple[str, str]
    known: list[KnownFigures] = Field(default_factory=list)
    notes: list[str] = Field(default_factory=list)
