"""Decides what a comparison's file may say; promises one InputError for any mistake in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from dardis.config.comparison import LABEL, NAME, Comparison, Contender, Workload, default_name, over_grid
from dardis.config.cuts import MOST_WALLTIME_FACTOR, Cut, Trim, cut_of, trim_of
from dardis.config.option_texts import LARGEST_SEED, MOST_REPLICATES, MOST_TASK_MANAGERS, one_of
from dardis.config.reach import arity_of, sample_of
from dardis.config.toml_file import Table, read_toml
from dardis.model.choices import Overrun, Resources
from dardis.model.errors import InputError
from dardis.model.files import is_file
from dardis.model.resampling import Resampling, resampling_of


def _checked_name(value: str) -> str:
    if NAME.fullmatch(value) is None:
        raise ValueError(f"{value!r}; expected {LABEL}")
    return value


def _settings(value: object) -> dict[str, str]:
    """Check `settings = { order = "sjbf", backfill_depth = 5 }`."""
    if not isinstance(value, dict) or not all(type(setting) in {str, int} for setting in value.values()):
        raise ValueError(f'{value!r}; expected a table of texts and whole numbers such as {{ order = "sjbf" }}')
    return {key: str(setting) for key, setting in value.items()}


def _grid(value: object) -> dict[str, list[str]]:
    """Check `grid = { backfill_depth = [1, 10, "unlimited"] }`."""
    lists = isinstance(value, dict) and all(isinstance(values, list) for values in value.values())
    if not isinstance(value, dict) or not lists:
        raise ValueError(f'{value!r}; expected a table of lists such as {{ backfill_depth = [1, 10, "unlimited"] }}')
    return {key: [*_settings(dict(enumerate(values))).values()] for key, values in value.items()}


def _resample(value: object) -> Resampling:
    """Check `resample = "weeks"`."""
    return resampling_of(str(value))


def _replicates(value: object) -> object:
    """Check `replicates = 10`."""
    if type(value) is not int or not 2 <= value <= MOST_REPLICATES:
        raise ValueError(f"{value!r}; expected a whole number from 2 to {MOST_REPLICATES}")
    return value


def _yes(value: object) -> object:
    """Check `recorded = false`."""
    if type(value) is not bool:
        raise ValueError(f"{value!r}; expected true or false")
    return value


def _arity(value: object) -> int:
    """Check `arity = 8` or `"flat"`."""
    return arity_of(str(value))


def _sample(value: object) -> int:
    """Check `sample = 4`, `"default"` or `"all"`."""
    return sample_of(str(value))


def _text(value: object) -> str:
    """How an option would say a value: dates as ISO 8601 has them."""
    return value.isoformat() if isinstance(value, date) else str(value)


def _cut(value: object) -> object:
    """Check `from = 86400`, `from = 2012-02-03` or `from = "+2d"`."""
    return _told(lambda: cut_of("", _text(value)))


def _trim(value: object) -> object:
    """Check `trim = [3600, "2d"]`."""
    if not isinstance(value, list) or len(value) != 2:
        raise ValueError(f"{value!r}; expected two, for warm-up and cool-down")
    return _told(lambda: trim_of("", ",".join(map(_text, value))))


def _overrun(value: object) -> object:
    """Check `overrun = "extend"`."""
    return _told(lambda: one_of("", Overrun)(str(value)))


def _resources(value: object) -> object:
    """Check `resources = "cores"`."""
    return _told(lambda: one_of("", Resources)(str(value)))


def _told(read: Callable[[], object]) -> object:
    """What is read, a mistake in which is one of this key."""
    try:
        return read()
    except InputError as error:
        raise ValueError(str(error).removeprefix(": ")) from None


_Arity = Annotated[int, BeforeValidator(_arity)]
_Sample = Annotated[int, BeforeValidator(_sample)]
_Name = Annotated[str, AfterValidator(_checked_name)]
_File = Annotated[str, Field(min_length=1)]
_Seed = Annotated[int, Field(ge=0, le=LARGEST_SEED)]


class TraceTable(Table):
    """`[[traces]]`: a trace and what of it is replayed on which machine."""

    trace: _File
    platform: _File
    name: _Name | None = None
    jobs: Annotated[int, Field(ge=1)] | None = None
    from_s: int | None = None
    to_s: int | None = None
    begin: Annotated[Cut | None, BeforeValidator(_cut), Field(alias="from")] = None
    end: Annotated[Cut | None, BeforeValidator(_cut), Field(alias="to")] = None
    profile: _File | None = None
    deadlines: _File | None = None
    trim: Annotated[Trim | None, BeforeValidator(_trim)] = None
    task_managers: Annotated[int, Field(ge=1, le=MOST_TASK_MANAGERS)] = 1
    think_times: bool = False
    strict: bool = False
    calendar_start: str | None = None
    events: _File | None = None
    resources: Annotated[Resources, BeforeValidator(_resources)] = Resources.NODES
    arity: _Arity = 0
    sample: _Sample = 0
    overrun: Annotated[Overrun, BeforeValidator(_overrun)] = Overrun.KILL
    walltime_factor: Annotated[float, Field(ge=1, le=MOST_WALLTIME_FACTOR)] = 1.0

    @model_validator(mode="after")
    def _each_told_once(self) -> TraceTable:
        for name, seconds, cut in (("from", self.from_s, self.begin), ("to", self.to_s, self.end)):
            if seconds is not None and cut is not None:
                raise ValueError(f"{name} and {name}_s; expected one of them")
        return self

    def workload(self, folder: Path) -> Workload:
        """The trace with files named from `folder`, where the comparison's file lies."""
        trace = folder / self.trace
        # A rule is told from a table of deadlines by there being such a file.
        table = folder / self.deadlines if self.deadlines else None
        return Workload(
            name=self.name or default_name(trace),
            trace=trace,
            platform=folder / self.platform,
            jobs=self.jobs,
            start=self.begin if self.from_s is None else self.from_s,
            end=self.end if self.to_s is None else self.to_s,
            profile=folder / self.profile if self.profile else None,
            deadlines=str(table) if table is not None and is_file(table) else self.deadlines,
            trim=self.trim,
            task_managers=self.task_managers,
            think_times=self.think_times,
            strict=self.strict,
            calendar_start=self.calendar_start,
            events=folder / self.events if self.events else None,
            resources=self.resources,
            arity=self.arity,
            sample=self.sample,
            overrun=self.overrun,
            walltime_factor=self.walltime_factor,
        )


class DispatcherTable(Table):
    """`[[dispatchers]]`: a dispatcher, its settings and its label."""

    name: _File
    label: _Name | None = None
    settings: Annotated[dict[str, str], BeforeValidator(_settings)] = Field(default_factory=dict)
    arity: _Arity | None = None
    sample: _Sample | None = None
    grid: Annotated[dict[str, list[str]], BeforeValidator(_grid)] = Field(default_factory=dict)

    def contenders(self, path: Path) -> Iterator[Contender]:
        """The dispatcher, called by its name unless there is a label; with a grid, once with all of its values."""
        settings = tuple(f"{key}={value}" for key, value in self.settings.items())
        one = Contender(self.label or self.name, self.name, settings, self.arity, self.sample)
        yield from over_grid(f"{path}: grid", one, self.grid)


class ComparisonFile(Table):
    """The whole file."""

    traces: Annotated[list[TraceTable], Field(min_length=1)]
    dispatchers: Annotated[list[DispatcherTable], Field(min_length=1)]
    seeds: Annotated[list[_Seed], Field(min_length=1)] = Field(default_factory=lambda: [1])
    replicates: Annotated[int, BeforeValidator(_replicates)] = 0
    resample: Annotated[Resampling | None, BeforeValidator(_resample)] = None
    recorded: Annotated[bool, BeforeValidator(_yes)] = True


def load_comparison(path: Path) -> Comparison:
    """Read a comparison's file; InputError for any mistake in it. docs/formats.md lists the keys."""
    table = read_toml(path, ComparisonFile)
    contenders = tuple(one for dispatcher in table.dispatchers for one in dispatcher.contenders(path))
    workloads = tuple(trace.workload(path.parent) for trace in table.traces)
    return Comparison(
        str(path), workloads, contenders, tuple(table.seeds), table.replicates, table.resample, table.recorded
    )
