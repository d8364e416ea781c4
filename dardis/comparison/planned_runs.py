"""Which runs a comparison asks for, each with its request and its process, and what is wrong before any starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from dardis.config.comparison import Comparison, Contender, TraceSpec
from dardis.config.option_texts import REACH
from dardis.config.run import ReplaySpec, RunSpec
from dardis.config.settings import AnySetUp
from dardis.model.errors import InputError
from dardis.model.files import InputFiles
from dardis.registry import find_dispatcher
from dardis.runs.inputs import check_reach, load_inputs, see_failures, see_shapes


class Draws(NamedTuple):
    """The draws of a trace, and of how many whole weeks each is made; 0: of none."""

    workloads: Sequence[TraceSpec]
    weeks: int


NO_DRAWS: Final[Mapping[str, Draws]] = MappingProxyType({})
RUNS: Final = "runs"
"""Where the folders of the runs lie."""


@dataclass(frozen=True)
class PlannedRun:
    """One run of a comparison: a workload under a contender with a seed, and its folder."""

    workload: TraceSpec
    contender: Contender
    seed: int
    out: Path
    draw: int = 0
    """The number of the draw that the workload is; 0: the trace as it is."""
    weeks: int = 0
    """The whole weeks of the trace of which the draw is made; 0: of none."""

    @property
    def key(self) -> str:
        """Its name in messages and in the state file, and its place under `runs`."""
        return f"{self.workload.name}/{self.contender.label}/{run_name(self.seed, self.draw)}"

    @property
    def asks_nodes(self) -> bool:
        """Whether its dispatcher is distributed, and not one queue that decides."""
        return self._setup is None or self._setup.asks_nodes

    @property
    def seeded(self) -> bool:
        """Whether another seed may give another schedule: some nodes asked first are drawn ones."""
        return self._setup is None or self._setup.seeded or self.request().sample > 0

    @property
    def _setup(self) -> AnySetUp | None:
        """What says what its dispatcher can; None of one that can't be had, which its run will say."""
        try:
            return find_dispatcher(self.contender.dispatcher, self.contender.settings).setup
        except InputError:
            return None

    def request(self) -> RunSpec:
        """What the run is asked to be; whatever its folder holds of an earlier run is replaced.

        What the workload says of how nodes are asked is for dispatchers that ask nodes, or samples of them, and have no
        word of their own.
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


def plan(comparison: Comparison, out: Path, draws: Mapping[str, Draws] = NO_DRAWS) -> list[PlannedRun]:
    """All runs: trace by trace, in each dispatcher by dispatcher, in each draw by draw, and seed by seed.

    `draws` are those of traces, by name, in place of the traces themselves. Who draws nothing by the seed runs once.
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
    """What the folder of a run is called among those of its trace and dispatcher."""
    return f"{seed}-draw-{draw}" if draw else str(seed)


def check(comparison: Comparison, runs: list[PlannedRun], files: InputFiles) -> list[str]:
    """Read what the `runs` will read, and return the warnings. Raises the InputError that a run would end with."""
    warnings = []
    for contender in comparison.contenders:
        asked = PlannedRun(comparison.workloads[0], contender, comparison.options.seeds[0], Path()).request()
        try:
            warnings += check_reach(asked, find_dispatcher(asked.dispatcher, asked.settings).setup)
        except InputError as error:
            raise InputError(f"dispatcher {contender.label}", str(error)) from None
    _see_values_differ(comparison.contenders)
    first = {run.workload.name: run for run in reversed(runs)}
    for run in reversed(first.values()):
        inputs = load_inputs(run.request(), files)
        warnings += inputs.warnings
        for contender in comparison.contenders:
            setup = find_dispatcher(contender.dispatcher, contender.settings).setup
            see_shapes(run.workload.trace, inputs.jobs, contender.dispatcher, setup, inputs.target)
            see_failures(run.workload.events, inputs.events, contender.dispatcher, setup)
    return list(dict.fromkeys(warnings))


def _see_values_differ(contenders: Sequence[Contender]) -> None:
    """See that the values of a grid make different dispatchers, however they are written. Raises InputError."""
    known: dict[object, Contender] = {}
    for one in contenders:
        if one.grid:
            setup = find_dispatcher(one.dispatcher, one.settings).setup
            other = known.setdefault((one.family, repr(setup), one.arity, one.sample), one)
            if other is not one:
                raise InputError("grid", f"{other.label!r} and {one.label!r} are the same", "values that differ")
