"""Comparison from options or a file, and its runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from dardis.config.comparison_spec import (
    CompareSpec,
    ComparisonRequest,
    Contender,
    TraceSpec,
    contender_of,
    default_name,
    load_comparison,
    trace_and_platform,
    with_grids,
)
from dardis.config.option import option_fields, spec_of
from dardis.config.option_texts import REACH
from dardis.config.run_spec import ReplaySpec, RunSpec
from dardis.config.settings import AnySetUp, known_settings
from dardis.model.errors import InputError
from dardis.model.files import InputFiles
from dardis.registry import find_dispatcher
from dardis.runs.inputs import check_failures, check_reach, check_shapes, load_inputs


class Draws(NamedTuple):
    """Trace's draws; `weeks`: complete weeks in each, or 0."""

    workloads: Sequence[TraceSpec]
    weeks: int


NO_DRAWS: Final[Mapping[str, Draws]] = MappingProxyType({})
RUNS: Final = "runs"


@dataclass(frozen=True)
class PlannedRun:
    """Workload under a contender with a seed, and its folder."""

    workload: TraceSpec
    contender: Contender
    seed: int
    out: Path
    draw: int = 0
    """Draw number; 0: original trace."""
    weeks: int = 0

    @property
    def key(self) -> str:
        """Name in messages and state file, and path under `runs`."""
        return f"{self.workload.name}/{self.contender.label}/{run_name(self.seed, self.draw)}"

    @property
    def asks_nodes(self) -> bool:
        """Whether the dispatcher is distributed."""
        return self._setup is None or self._setup.asks_nodes

    @property
    def seeded(self) -> bool:
        """Whether the schedule depends on the seed."""
        return self._setup is None or self._setup.seeded or self.request().sample > 0

    @property
    def _setup(self) -> AnySetUp | None:
        try:
            return find_dispatcher(self.contender.dispatcher, self.contender.settings).setup
        except InputError:
            return None

    def request(self) -> RunSpec:
        """Run's request, replacing any earlier run.

        The workload's reach applies if supported and not set by the dispatcher.
        """
        own, common = self.contender, {name: getattr(self.workload, name) for name in ReplaySpec.model_fields}
        if not self.asks_nodes:
            common |= {"task_managers": 1, "arity": 0, "sample": 0}
        if self._setup is not None and not self._setup.samples:
            common["sample"] = 0
        common |= {name: value for name in REACH if (value := getattr(own, name)) is not None}
        return RunSpec.model_construct(
            dispatcher=own.dispatcher,
            settings=own.settings,
            seed=self.seed,
            out=self.out,
            force=True,
            no_report=True,
            **common,
        )


def plan(comparison: ComparisonRequest, out: Path, draws: Mapping[str, Draws] = NO_DRAWS) -> list[PlannedRun]:
    """All runs, by trace, dispatcher, draw and seed; once if independent of it.

    `draws` replace traces by name.
    """
    runs = []
    for workload in comparison.workloads:
        made = draws.get(workload.name)
        drawn, weeks = (list(enumerate(made.workloads, 1)), made.weeks) if made else ([(0, workload)], 0)
        for contender in comparison.contenders:
            folder = out / RUNS / workload.name / contender.label
            for draw, one in drawn:
                each = [
                    PlannedRun(one, contender, seed, folder / run_name(seed, draw), draw, weeks)
                    for seed in comparison.options.seeds
                ]
                runs += each if each[0].seeded else each[:1]
    return runs


def run_name(seed: int, draw: int) -> str:
    """Run's folder name."""
    return f"{seed}-draw-{draw}" if draw else str(seed)


def check(comparison: ComparisonRequest, runs: list[PlannedRun], files: InputFiles) -> list[str]:
    """Read the inputs of `runs`; return warnings. Raises InputError."""
    warnings = []
    for contender in comparison.contenders:
        asked = PlannedRun(comparison.workloads[0], contender, comparison.options.seeds[0], Path()).request()
        try:
            warnings += check_reach(asked, find_dispatcher(asked.dispatcher, asked.settings).setup)
        except InputError as error:
            place = f"{comparison.source}: dispatcher {contender.label}"
            raise InputError.of_message(f"{place}: {error}") from None
    _check_values_differ(comparison.contenders)
    first = {run.workload.name: run for run in reversed(runs)}
    for run in reversed(first.values()):
        inputs = load_inputs(run.request(), files)
        warnings += inputs.warnings
        for contender in comparison.contenders:
            setup = find_dispatcher(contender.dispatcher, contender.settings).setup
            check_shapes(run.workload.trace, inputs.jobs, contender.dispatcher, setup, inputs.target)
            check_failures(run.workload.events, inputs.events, contender.dispatcher, setup)
    return list(dict.fromkeys(warnings))


def _check_values_differ(contenders: Sequence[Contender]) -> None:
    known: dict[object, Contender] = {}
    for one in contenders:
        if one.grid:
            setup = find_dispatcher(one.dispatcher, one.settings).setup
            other = known.setdefault((one.family, repr(setup), one.arity, one.sample), one)
            if other is not one:
                raise InputError("grid", f"{other.label!r} and {one.label!r} are the same", "values that differ")


_ALLOWED_WITH_FILE: Final = frozenset({"out", "paper", "gantt", "clairvoyant", "processes", "workers", "force"})


def comparison_of(what: Sequence[Path], options: Mapping[str, Any]) -> tuple[ComparisonRequest, CompareSpec]:
    """Comparison of a file or traces (`TRACE@PLATFORM`), and its options.

    `options`: fields of `ReplaySpec` and `CompareSpec`. Raises InputError.
    """
    own = {name: value for name, value in options.items() if name in CompareSpec.model_fields}
    spec = spec_of(CompareSpec, own)
    if len(what) == 1 and what[0].suffix == ".toml" and trace_and_platform(what[0])[1] is None:
        return _of_file(what[0], options), spec
    return _of_options(what, {name: value for name, value in options.items() if name not in own}, spec), spec


def _of_file(path: Path, options: Mapping[str, Any]) -> ComparisonRequest:
    for one in (*option_fields(ReplaySpec), *option_fields(CompareSpec)):
        if one.name in options and one.name not in _ALLOWED_WITH_FILE:
            raise InputError(one.option, f"is for traces, but {path} states all options", "the option in that file")
    found = load_comparison(path)
    if "workers" not in options:
        return found
    return replace(found, options=found.options.model_copy(update={"workers": options["workers"]}))


def _of_options(traces: Sequence[Path], replay: dict[str, Any], spec: CompareSpec) -> ComparisonRequest:
    named = [trace_and_platform(trace) for trace in traces]
    common = replay.get("platform")
    for option, example, lacks in (
        ("--platform", "P.toml", common is None and any(platform is None for _, platform in named)),
        ("--dispatchers", "A,B", spec.dispatchers is None),
    ):
        if lacks:
            found = f"traces without {option} {example}"
            raise InputError("dardis compare", found, "both, or a SPEC.toml")
    workloads = tuple(
        spec_of(TraceSpec, replay | {"name": default_name(trace), "trace": trace, "platform": platform or common})
        for trace, platform in named
    )
    listed = [contender_of(text) for text in _names("--dispatchers", spec.dispatchers or "")]
    _check_shared(spec.settings, listed)
    # A dispatcher's own settings come last, so they prevail.
    contenders = [replace(one, settings=(*spec.settings, *one.settings)) for one in listed]
    return ComparisonRequest("dardis compare", workloads, with_grids(contenders, spec.grid), spec)


def _check_shared(settings: Sequence[str], contenders: list[Contender]) -> None:
    known = {one.dispatcher: known_settings(type(find_dispatcher(one.dispatcher).setup)) for one in contenders}
    for text in settings:
        key = text.partition("=")[0]
        have = [name for name, keys in known.items() if key in keys]
        lack = [name for name, keys in known.items() if key not in keys]
        if have and lack:
            told = ",".join(f"{name}:{text}" for name in have)
            found = f"{', '.join(lack)} {'has' if len(lack) == 1 else 'have'} no such setting"
            raise InputError(f"--set {text}", found, f"a setting of one dispatcher, --dispatchers {told},…")


def _names(option: str, text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise InputError(option, repr(text), "names with commas between")
    return names


def pair_of(comparison: ComparisonRequest, text: str | None) -> tuple[str, str]:
    """Labels of dispatchers drawn over time: `--gantt`, or first and last."""
    labels = [contender.label for contender in comparison.contenders]
    if text is None:
        return labels[0], labels[-1]
    # A label may contain commas, so try each comma as the separator.
    parts = text.split(",")
    for cut in range(1, len(parts)):
        first, second = ",".join(parts[:cut]).strip(), ",".join(parts[cut:]).strip()
        if first in labels and second in labels:
            return first, second
    raise InputError("--gantt", f"{text!r} does not name two of the dispatchers", "A,B of " + " | ".join(labels))
