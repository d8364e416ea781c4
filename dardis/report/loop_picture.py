"""Reads what the page of days under the loop shows back from their folder, and draws it again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from pydantic import model_validator

from dardis.config.platform_record import Record
from dardis.config.toml_file import read_json
from dardis.report.chart import Form
from dardis.report.loop_page import LoopPage, LoopPicture, draw_loop
from dardis.report.pictures import Amount, Axis, Some, Steps, Time, Value, Whole, ascending, picture_of

_SCHEDULES = frozenset({"all nodes on", "switched", "clairvoyant"})
_HEADLINES = frozenset(
    {"profit_eur", "gain_eur", "share_of_bound", "mean_boot_delay_s", "delayed_share", "cycles_per_node_day"}
)
_Rows = tuple[list[str], list[dict[str, Value]]]


class _Picture(Record):
    """`LoopPicture` as JSON."""

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
    def _goes_together(self) -> _Picture:
        if len(self.edges) < 2 or not ascending(self.edges):
            raise ValueError("edges that don't ascend")
        if {len(self.temp_c), len(self.price)} != {len(self.edges) - 1}:
            raise ValueError("not a temperature and a price for each segment between edges")
        days = {len(one) for one in self.profit.values()}
        if not self.profit.keys() >= _SCHEDULES or days != {len(self.dates)}:
            raise ValueError("not a profit of each schedule for each date")
        if 0 < len(self.beside) < 3:
            raise ValueError("no rules beside ours and the clairvoyant one")
        if self.promised and (len(self.promised) != len(self.dates) or not any(self.promised)):
            raise ValueError("promises that are not of these dates")
        return self

    @property
    def picture(self) -> LoopPicture:
        return LoopPicture(
            axis=self.axis.shown,
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


class _Page(Record):
    """`LoopPage` as JSON."""

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
    def _is_whole(self) -> _Page:
        if not self.summary.keys() >= _HEADLINES or any(isinstance(self.summary[key], str) for key in _HEADLINES):
            raise ValueError("figures that the page begins with are missing")
        if any(not row.keys() >= set(columns) for columns, rows in (self.days, self.beside) for row in rows):
            raise ValueError("a row without a value for each column")
        return self


def read_loop_picture(folder: Path) -> LoopPage:
    """What the page of days under the loop shows. Raises InputError."""
    page = read_json(picture_of(folder), _Page)
    return LoopPage(**(dict(page) | {"picture": page.picture.picture}))


def redraw_loop(folder: Path, *, form: Form | None = None) -> Path:
    """Draw the report of days again, with `form` its charts as files, too. Raises InputError and OSError."""
    path = folder / "report.html"
    draw_loop(path, read_loop_picture(folder), form=form)
    return path
