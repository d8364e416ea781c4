"""Decides what is compared: traces, dispatchers and their grids; promises names that tell them apart."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import NoReturn

from dardis.config.cuts import Cut, Trim
from dardis.config.reach import REACH, reach_value
from dardis.model.choices import Overrun, Resources
from dardis.model.errors import InputError
from dardis.model.files import is_file
from dardis.model.resampling import How, Resampling

RECORDED = "recorded"
"""What the row of a trace's own starts is called, and no dispatcher may be where there is one."""
NAME = re.compile(r"[^\W_][\w .,+=:()-]{0,59}")
LABEL = "a letter or digit, then up to 59 more, blanks or _.,+=:()-"
_NEXT = re.compile(r":(?=\w+=)")
_NO_NAME = re.compile(r"[^\w .,+=:()-]")
_GRID = re.compile(r"(.+)\.(\w+)=(.*)")
_ENDINGS = frozenset({".gz", ".bz2", ".xz", ".swf", ".csv", ".txt"})


@dataclass(frozen=True)
class Workload:
    """A trace as it is replayed, on its machine, called as in `RunRequest`; None: as `dardis simulate` does.

    `arity` and `sample` are for the dispatchers that ask nodes and have none of their own.
    """

    name: str
    trace: Path
    platform: Path
    jobs: int | None = None
    start: Cut | None = None
    end: Cut | None = None
    profile: Path | None = None
    deadlines: str | None = None
    trim: Trim | None = None
    task_managers: int = 1
    think_times: bool = False
    strict: bool = False
    calendar_start: str | None = None
    events: Path | None = None
    resources: Resources = Resources.NODES
    arity: int = 0
    sample: int = 0
    overrun: Overrun = Overrun.KILL
    walltime_factor: float = 1.0


@dataclass(frozen=True)
class Contender:
    """A dispatcher with its settings (`key=value`), and what it is called in tables and charts.

    `arity` and `sample` are its own; None: those of the trace.
    """

    label: str
    dispatcher: str
    settings: tuple[str, ...] = ()
    arity: int | None = None
    sample: int | None = None
    family: str = ""
    """What it is called without the values of its grid; empty: it has none."""
    grid: tuple[tuple[str, str], ...] = ()
    """The settings of its grid and their values, which are among its settings, too."""


@dataclass(frozen=True)
class Comparison:
    """Every workload under every contender with every seed. Raises InputError for names that occur twice.

    With `replicates` each workload is replayed as it is drawn so many times, by `resample`, in place of as it is.
    `recorded`: whether what the trace says of its own time is a row, where it does.
    """

    source: str
    """Where it is stated, for messages."""
    workloads: tuple[Workload, ...]
    contenders: tuple[Contender, ...]
    seeds: tuple[int, ...] = (1,)
    replicates: int = 0
    resample: Resampling | None = None
    """How they are drawn; None: weeks."""
    recorded: bool = True

    def __post_init__(self) -> None:
        self._each_once("trace", (workload.name for workload in self.workloads), "a `name`")
        self._each_once("dispatcher", (contender.label for contender in self.contenders), "a `label`")
        self._each_once("seed", map(str, self.seeds))
        if self.recorded:
            self._each_once("dispatcher", (RECORDED, *(one.label for one in self.contenders)), "a `label`")
        if self.resample is not None and not self.replicates:
            raise InputError(self.source, f"resample {self.resample} without replicates", "both, or none")
        if self.replicates:
            self._each_can_be_drawn()

    def _each_can_be_drawn(self) -> None:
        """See that nothing is said of jobs or times that are others in a draw. Raises InputError."""
        for one in self.workloads:
            if one.events is not None:
                self._not_both("replicates of a trace with events, which name its jobs")
            if one.deadlines is not None and is_file(Path(one.deadlines)):
                self._not_both("replicates of a trace with a table of deadlines, which names its jobs and times")
            if one.think_times and self.resample is not None and self.resample.how is How.SHAKE:
                self._not_both("shakes with think times, which fix when jobs that follow others come")

    def _not_both(self, found: str) -> NoReturn:
        raise InputError(self.source, found, "one of the two")

    def _each_once(self, what: str, names: Iterable[str], told_by: str = "") -> None:
        known = set()
        for name in names:
            # Names are folders as well, and some file systems don't know large from small letters.
            if name.lower() in known:
                remedy = f" (give one of them {told_by} of its own in the SPEC.toml)" if told_by else ""
                raise InputError(self.source, f"two {what}s are called {name!r}", f"each once{remedy}")
            known.add(name.lower())


def trace_and_platform(text: Path) -> tuple[Path, Path | None]:
    """Read `TRACE` or `TRACE@PLATFORM`; a path that exists is a trace, whatever it holds."""
    trace, at, platform = str(text).rpartition("@")
    return (Path(trace), Path(platform)) if at and trace and platform and not text.exists() else (text, None)


def with_grids(contenders: Sequence[Contender], texts: Sequence[str]) -> tuple[Contender, ...]:
    """The contenders, each that a `DISPATCHER.SETTING=A,B,…` names once with every value, or pair of values of two.

    A dispatcher is named by its label. Raises InputError for what is no grid, or of nobody here.
    """
    grids: dict[str, dict[str, list[str]]] = {}
    for text in texts:
        match = _GRID.fullmatch(text)
        if match is None:
            raise InputError("--grid", repr(text), "DISPATCHER.SETTING=A,B,… as in easy.backfill_depth=1,10,unlimited")
        values = grids.setdefault(match[1], {}).setdefault(match[2], [])
        values += [value.strip() for value in match[3].split(",")]
    for label in grids:
        if all(label != one.label for one in contenders):
            known = " | ".join(one.label for one in contenders)
            raise InputError("--grid", f"{label!r} is no dispatcher of these", f"one of {known}")
    return tuple(each for one in contenders for each in over_grid("--grid", one, grids.get(one.label, {})))


def over_grid(place: str, one: Contender, grid: Mapping[str, Sequence[str]]) -> Iterator[Contender]:
    """A contender with every value of a setting, or pair of values of two; as it is without any."""
    if not grid:
        yield one
        return
    if len(grid) > 2:
        raise InputError(place, f"{len(grid)} settings of {one.label}", "one or two of a dispatcher")
    for key, values in grid.items():
        if not all(values) or len(set(values)) < len(values):
            raise InputError(f"{place} {key}", repr(",".join(values)), "values that differ, with commas between")
    for values in product(*grid.values()):
        pairs = tuple(zip(grid, values, strict=True))
        settings = tuple(f"{key}={value}" for key, value in pairs)
        label = " ".join([one.label, *settings])
        if NAME.fullmatch(label) is None:
            raise InputError(place, repr(label), LABEL)
        own, reach = _apart(settings, place)
        # Of one setting that is said twice the last holds.
        yield replace(
            one,
            label=label,
            settings=(*one.settings, *own),
            family=one.label,
            grid=pairs,
            arity=reach.get("arity", one.arity),
            sample=reach.get("sample", one.sample),
        )


def _apart(settings: Iterable[str], place: str) -> tuple[tuple[str, ...], dict[str, int]]:
    """Settings of a dispatcher, and apart from them what they say of its reach. Raises InputError."""
    own, reach = [], {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if equals and key in REACH:
            reach[key] = reach_value(key, value, f"{place}: {key}")
        else:
            own.append(setting)
    return tuple(own), reach


def default_name(trace: Path) -> str:
    """What a trace is called when nobody named it: its file's name without what says the format."""
    name = Path(trace.name)
    while name.suffix.lower() in _ENDINGS:
        name = name.with_suffix("")
    return _NO_NAME.sub("-", str(name)).lstrip("_ .,+=:()-")[:60] or "trace"


def contender_of(text: str) -> Contender:
    """Read `NAME` or `NAME:KEY=VALUE:KEY=VALUE…`; it is called as it is written, with blanks for the colons.

    NAME may be `package.module:Class`. A KEY is that of a setting, or `arity` or `sample`. Raises InputError for what
    can't be a label, an arity or a sample; the dispatcher and its settings are not looked up here.
    """
    # A value may hold a colon itself (order=most:gpus), and so may a name: only what begins like a setting is one.
    name, *settings = _NEXT.split(text)
    label = text.replace(":", " ")
    if NAME.fullmatch(label) is None:
        raise InputError("--dispatchers", repr(text), f"{LABEL}; longer ones get a `label` in a SPEC.toml")
    own, reach = _apart(settings, f"--dispatchers {text}")
    return Contender(label, name, own, reach.get("arity"), reach.get("sample"))
