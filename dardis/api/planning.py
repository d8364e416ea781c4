"""`dardis.plan`: a day planned ahead as `dardis plan` does it, and what is in the plan as tables."""

from __future__ import annotations

import datetime as dt
import json
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from dardis.api.command import Said, command, words_of
from dardis.api.comparison import as_file
from dardis.api.options import with_keywords_of
from dardis.api.plain import copied, within
from dardis.api.platforms import Platform
from dardis.api.traces import Trace, as_trace
from offline.day.options import PlanSpec

if TYPE_CHECKING:
    from pandas import DataFrame, Series


class Plan:
    """A plan of one UTC day; its folder lives as long as this object, or stays where `out` named one.

    Times are s on the history's clock, power is kW, energy kWh, money in the platform's currency.
    """

    def __init__(self, folder: Path, said: Said) -> None:
        self.folder = folder
        """What `dardis plan` wrote. `folder / "target.json"` is a `profile=` for `simulate`."""
        self.notes: tuple[str, ...] = tuple(line.removeprefix("note: ") for line in said.lines)
        """What the command notes beside."""
        self._said = said

    @property
    def summary(self) -> Series[Any]:
        """The figures of summary.json by name (docs/planning.md); None for one that nobody can say."""
        from pandas import Series

        return Series(json.loads((self.folder / "summary.json").read_text(encoding="utf-8")), dtype=object)

    @property
    def profile(self) -> DataFrame:
        """profile.csv: what the plan uses of the machine, hour by hour or where it changes."""
        return self._read("profile.csv")

    @property
    def switching(self) -> DataFrame:
        """onoff.csv: which nodes are down, and when."""
        return self._read("onoff.csv")

    @property
    def schedule(self) -> DataFrame:
        """schedule.csv: when the jobs that are known or forecast are to start."""
        return self._read("schedule.csv")

    @property
    def target(self) -> dict[str, Any]:
        """What the online half is told to aim at, as target.json has it."""
        found: dict[str, Any] = json.loads((self.folder / "target.json").read_text(encoding="utf-8"))
        return found

    def report(self, path: str | PathLike[str]) -> Path:
        """Copy the report there: one HTML file that needs no other."""
        return copied(self.folder / "report.html", path)

    def __repr__(self) -> str:
        return self._said.output.rstrip("\n")

    def _read(self, name: str) -> DataFrame:
        from pandas import read_csv

        return read_csv(self.folder / name)


@with_keywords_of(PlanSpec, omit=frozenset({"history", "platform"}))
def plan(
    history: Trace | DataFrame | str | PathLike[str],
    platform: Platform | str | PathLike[str],
    *,
    day: int | None = None,
    date: str | dt.date | None = None,
    out: str | PathLike[str] | None = None,
    force: bool = False,
    **options: Any,  # noqa: ANN401 (each its own kind)
) -> Plan:
    """Plan a UTC day from the jobs before it, as `dardis plan` does.

    `history` is what has run, `platform` the machine, with power figures; the day is a number from 0 on the history's
    clock, or a date. Without `out` all is in a temporary folder.

    Raises `InputError` with the command's own line.
    """
    with TemporaryDirectory(prefix="dardis-") as made:
        if not isinstance(history, str | PathLike):
            history = as_trace(history, strict=True).write(Path(made))
        asked: dict[str, object] = {"history": history, "platform": as_file(platform, Path(made)), "day": day}
        words = words_of(asked | {"date": None if date is None else str(date), "force": force} | options)
        return within(out, lambda folder: Plan(folder, command(["plan", f"--out={folder}", *words], stacklevel=5)))
