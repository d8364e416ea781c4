"""Comparison's definition, from TOML or options."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Annotated, Any, NoReturn

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from dardis.config.option import FILE, Option, Reader, reader_of
from dardis.config.option_texts import LARGEST_SEED, MOST_REPLICATES, REACH, parse_whole_number, reach_value
from dardis.config.run_spec import ARITY, SAMPLE, ReplaySpec
from dardis.config.toml_file import Table, read_toml
from dardis.model.choices import PROCESSES, Resampling, ResamplingMethod, WorkerChoice, resampling_of, worker_choice
from dardis.model.errors import InputError
from dardis.model.files import is_file

RECORDED = "recorded"
NAME = re.compile(r"[^\W_][\w .,+=:()-]{0,59}")
LABEL = "a letter or digit, then up to 59 more, blanks or _.,+=:()-"
_NEXT = re.compile(r":(?=\w+=)")
_NO_NAME = re.compile(r"[^\w .,+=:()-]")
_GRID = re.compile(r"(.+)\.(\w+)=(.*)")
_ENDINGS = frozenset({".gz", ".bz2", ".xz", ".swf", ".csv", ".txt"})


def _checked_name(value: str) -> str:
    if NAME.fullmatch(value) is None:
        raise ValueError(f"{value!r}; expected {LABEL}")
    return value


def _settings(value: object) -> object:
    if not isinstance(value, dict) or not all(type(setting) in {str, int} for setting in value.values()):
        raise ValueError(f'{value!r}; expected a table of texts and whole numbers such as {{ order = "sjbf" }}')
    return tuple(f"{key}={setting}" for key, setting in value.items())


def _grid(value: object) -> object:
    lists = isinstance(value, dict) and all(isinstance(values, list) for values in value.values())
    values = [one for values in value.values() for one in values] if isinstance(value, dict) and lists else [None]
    if not isinstance(value, dict) or not all(type(one) in {str, int} for one in values):
        raise ValueError(f'{value!r}; expected a table of lists such as {{ backfill_depth = [1, 10, "unlimited"] }}')
    return {key: [str(one) for one in values] for key, values in value.items()}


_Name = Annotated[str, AfterValidator(_checked_name)]


class TraceSpec(ReplaySpec):
    """`[[traces]]`: a trace with replay options and defaults of `arity` and `sample`."""

    name: Annotated[_Name, Option("Name in tables and folders; else the file's name without its endings.")] = ""

    @model_validator(mode="before")
    @classmethod
    def _with_name_and_cuts(cls, value: Any) -> Any:  # noqa: ANN401 (whatever a file states)
        if not isinstance(value, dict):
            return value
        value = dict(value)
        for key in ("from", "to"):
            if f"{key}_s" in value:
                if key in value:
                    raise ValueError(f"{key} and {key}_s; expected one of them")
                if type(value[f"{key}_s"]) is not int:
                    raise ValueError(f"{key}_s is {value[f'{key}_s']!r}; expected whole seconds")
                value[key] = value.pop(f"{key}_s")
        trace = value.get("trace")
        if "name" not in value and isinstance(trace, str | Path):
            value["name"] = default_name(Path(trace))
        return value


class DispatcherSpec(Table):
    """`[[dispatchers]]`: a dispatcher with settings, label and optional grid."""

    name: Annotated[str, Field(min_length=1), Option("Dispatcher.")]
    label: Annotated[_Name | None, Option("Name in tables and folders (the dispatcher's name).")] = None
    settings: Annotated[tuple[str, ...], BeforeValidator(_settings), Option("Settings of the dispatcher.")] = ()
    arity: Annotated[int | None, ARITY, Option("As that of a trace, for this dispatcher.")] = None
    sample: Annotated[int | None, SAMPLE, Option("As that of a trace, for this dispatcher.")] = None
    grid: Annotated[dict[str, list[str]], BeforeValidator(_grid), Option("Values of one or two settings.")] = Field(
        default_factory=dict
    )

    def contenders(self, place: str) -> Iterator[Contender]:
        """Yield contenders of the grid."""
        one = Contender(self.label or self.name, self.name, self.settings, self.arity, self.sample)
        yield from _expand_grid(place, one, self.grid)


def _seeds(place: str, text: str) -> tuple[int, ...]:
    expected = f"whole numbers from 0 to {LARGEST_SEED} with commas between"
    return tuple(parse_whole_number(place, part.strip(), 0, LARGEST_SEED, expected, text) for part in text.split(","))


class ComparisonOptions(Table):
    """Comparison's options."""

    seeds: Annotated[
        tuple[int, ...], Reader(_seeds, list_of=(int,)), Option("Each run once with each seed.", "1,2,3")
    ] = (1,)
    replicates: Annotated[
        int | None, Field(ge=2, le=MOST_REPLICATES), Option("Replay N draws of each trace: paired differences.", "N")
    ] = None
    resample: Annotated[
        Resampling | None,
        reader_of(resampling_of),
        Option("What --replicates draws (weeks).", "weeks|shake[:WIDTH_S]"),
    ] = None
    recorded: Annotated[
        bool,
        Option("Add a row for the recorded starts of traces.", off="Add no row for the recorded starts."),
    ] = True
    workers: Annotated[
        WorkerChoice,
        reader_of(worker_choice),
        Option("Where runs happen: here, on MPI ranks, in a job array, on Dask.", "processes|mpi|slurm|dask:ADDRESS"),
    ] = PROCESSES


class CompareSpec(ComparisonOptions):
    """Options of `dardis compare` without traces."""

    out: Annotated[Path, FILE, Option("Folder for runs, tables and the report.", "DIR")]
    dispatchers: Annotated[
        str | None,
        Option(
            "As in easy,easy:order=sjbf,dardis-throughput:arity=8 (see `dardis dispatchers`).", "A,B:KEY=VALUE",
            completes="dispatcher",
        ),
    ] = None  # fmt: skip
    settings: Annotated[
        tuple[str, ...], Option("A setting of all dispatchers; repeatable.", "KEY=VALUE", name="--set")
    ] = ()
    grid: Annotated[
        tuple[str, ...], Option("A dispatcher with each value of a setting; two make a grid.", "A.KEY=1,2,3")
    ] = ()
    paper: Annotated[
        Path | None, FILE, Option("Also write a folder for a paper: table, figures, tests, and how to repeat.", "DIR")
    ] = None
    gantt: Annotated[str | None, Option("Two dispatchers to draw over time (default: first and last).", "A,B")] = None
    clairvoyant: Annotated[bool, Option("Compare with schedules that know all jobs in advance.")] = False
    processes: Annotated[
        int | None, Field(ge=1, le=4096), Option("Runs at once (default: one per core, or worker).", "N")
    ] = None
    force: Annotated[bool, Option("Redo runs in DIR that have another request.")] = False


@dataclass(frozen=True)
class Contender:
    """Labelled dispatcher with settings (`key=value`). `arity` and `sample` None: the trace's."""

    label: str
    dispatcher: str
    settings: tuple[str, ...] = ()
    arity: int | None = None
    sample: int | None = None
    family: str = ""
    """Label without grid values, or ""."""
    grid: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class ComparisonRequest:
    """Traces under contenders with seeds. Raises InputError for repeated names."""

    source: str
    workloads: tuple[TraceSpec, ...]
    contenders: tuple[Contender, ...]
    options: ComparisonOptions = field(default_factory=ComparisonOptions)

    def __post_init__(self) -> None:
        options = self.options
        self._check_unique("trace", (workload.name for workload in self.workloads), "a `name`")
        self._check_unique("dispatcher", (contender.label for contender in self.contenders), "a `label`")
        self._check_unique("seed", map(str, options.seeds))
        if options.recorded:
            self._check_unique("dispatcher", (RECORDED, *(one.label for one in self.contenders)), "a `label`")
        if options.resample is not None and not options.replicates:
            raise InputError(self.source, f"resample {options.resample} without replicates", "both, or none")
        if options.replicates:
            self._check_resampling()

    def _check_resampling(self) -> None:
        for one in self.workloads:
            if one.events is not None:
                self._refuse_combination("replicates of a trace with events for its jobs")
            if one.deadlines is not None and is_file(Path(one.deadlines)):
                self._refuse_combination("replicates of a trace with a table of deadlines")
            if (
                one.think_times
                and self.options.resample is not None
                and self.options.resample.method is ResamplingMethod.SHAKE
            ):
                self._refuse_combination("shakes with think times, which fix submissions after other jobs")

    def _refuse_combination(self, found: str) -> NoReturn:
        raise InputError(self.source, found, "one of the two")

    def _check_unique(self, what: str, names: Iterable[str], key: str = "") -> None:
        known = set()
        for name in names:
            # Names are folders, and some file systems ignore case.
            if name.lower() in known:
                remedy = f" (state {key} for one of them in the SPEC.toml)" if key else ""
                raise InputError(self.source, f"two {what}s have the name {name!r}", f"different names{remedy}")
            known.add(name.lower())


def trace_and_platform(text: Path) -> tuple[Path, Path | None]:
    """Read `TRACE` or `TRACE@PLATFORM`; an existing path is a trace."""
    trace, at, platform = str(text).rpartition("@")
    return (Path(trace), Path(platform)) if at and trace and platform and not text.exists() else (text, None)


def with_grids(contenders: Sequence[Contender], texts: Sequence[str]) -> tuple[Contender, ...]:
    """Expand grids `DISPATCHER.SETTING=A,B,…`, by dispatcher label. Raises InputError."""
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
            raise InputError("--grid", f"unknown dispatcher {label!r}", f"one of {known}")
    return tuple(each for one in contenders for each in _expand_grid("--grid", one, grids.get(one.label, {})))


def _expand_grid(place: str, one: Contender, grid: Mapping[str, Sequence[str]]) -> Iterator[Contender]:
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
        own, reach = _split_reach(settings, place)
        # The last value of a repeated setting counts.
        yield replace(
            one,
            label=label,
            settings=(*one.settings, *own),
            family=one.label,
            grid=pairs,
            arity=reach.get("arity", one.arity),
            sample=reach.get("sample", one.sample),
        )


def _split_reach(settings: Iterable[str], place: str) -> tuple[tuple[str, ...], dict[str, int]]:
    own, reach = [], {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if equals and key in REACH:
            reach[key] = reach_value(key, value, f"{place}: {key}")
        else:
            own.append(setting)
    return tuple(own), reach


def default_name(trace: Path) -> str:
    """File name of a trace without format suffixes."""
    name = Path(trace.name)
    while name.suffix.lower() in _ENDINGS:
        name = name.with_suffix("")
    return _NO_NAME.sub("-", str(name)).lstrip("_ .,+=:()-")[:60] or "trace"


def contender_of(text: str) -> Contender:
    """Read `NAME` or `NAME:KEY=VALUE:…`; the label has blanks for colons.

    NAME may be `package.module:Class`, not looked up. KEY is a setting, `arity` or `sample`. Raises InputError.
    """
    # Names and values may contain colons (order=most:gpus), so split only before `word=`.
    name, *settings = _NEXT.split(text)
    label = text.replace(":", " ")
    if NAME.fullmatch(label) is None:
        raise InputError("--dispatchers", repr(text), f"{LABEL}; longer ones get a `label` in a SPEC.toml")
    own, reach = _split_reach(settings, f"--dispatchers {text}")
    return Contender(label, name, own, reach.get("arity"), reach.get("sample"))


class ComparisonFile(ComparisonOptions):
    """Comparison file."""

    traces: Annotated[list[TraceSpec], Field(min_length=1)]
    dispatchers: Annotated[list[DispatcherSpec], Field(min_length=1)]


def load_comparison(path: Path) -> ComparisonRequest:
    """Read a comparison file (see docs/formats.md). Raises InputError."""
    file = read_toml(path, ComparisonFile)
    contenders = tuple(one for spec in file.dispatchers for one in spec.contenders(f"{path}: grid"))
    return ComparisonRequest(str(path), tuple(file.traces), contenders, file)
