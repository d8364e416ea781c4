"""Complete comparison with tables and report."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from dardis.comparison.comparison_folder import ComparisonState, write_draws
from dardis.comparison.planned_runs import PlannedRun, check, plan
from dardis.comparison.processes import ProgressWatcher, run_all
from dardis.comparison.recorded_starts import recorded_result
from dardis.comparison.task_pool import TaskPool
from dardis.comparison.workers import is_worker
from dardis.config.comparison_spec import ComparisonRequest
from dardis.metrics.comparison_rows import ClairvoyantResult, ComparisonData, RunResult
from dardis.model.errors import InputError
from dardis.model.files import InputFiles
from dardis.model.out_folder import COMPARISON_FOLDER
from dardis.runs.inputs import load_inputs

if TYPE_CHECKING:
    from dardis.clairvoyant.clairvoyant_schedule import Progress

Draw: TypeAlias = Callable[[Path, ComparisonData, Path], object]
"""With output folder, results, and comparison folder."""


@dataclass(frozen=True)
class ComparisonCallbacks:
    """Callbacks during a comparison."""

    tell: Callable[[str], None]
    warn: Callable[[str], None]
    runs: Callable[[int], AbstractContextManager[ProgressWatcher]]
    """Number of runs."""
    search: Callable[[str], AbstractContextManager[Progress | None]]
    """Clairvoyant search."""


@dataclass(frozen=True)
class ComparisonOutcome:
    """All runs, new runs (`new_runs`), and `other_runs` in the folder."""

    compared: ComparisonData
    runs: int
    new_runs: int
    other_runs: int

    @property
    def failed(self) -> list[RunResult]:
        """Failed runs."""
        return [result for result in self.compared.results if result.metrics is None]


def compare(
    comparison: ComparisonRequest, out: Path, pair: tuple[str, str], draw: Draw, shown: ComparisonCallbacks,
    pool: TaskPool, *, clairvoyant: bool = False, force: bool = False,
) -> ComparisonOutcome:  # fmt: skip
    """Do the missing runs in workers, tables and report.

    `pair`: dispatchers drawn over time. Raises InputError.
    """
    if is_worker():
        found = "started while a process of another comparison imports a module"
        raise InputError("dardis compare", found, 'the call behind if __name__ == "__main__"')
    files = InputFiles()
    if clairvoyant:
        if comparison.options.replicates:
            raise InputError("--clairvoyant", "replicates", "traces as they are")
        from dardis.comparison.clairvoyant_gap import check as check_known

        check_known(comparison, files)
    with COMPARISON_FOLDER.lock(out, force=True):
        state = ComparisonState(out, files)
        runs = plan(comparison, out, write_draws(comparison, out, files, state.begin, force=force))
        if not state.is_new:
            _read_first(runs, files)
        todo = [run for run in runs if not state.is_done(run, force=force)]
        _run(comparison, todo, state, pool, shown)
        results = [state.result(run) for run in runs]
        for result in results:
            if result.metrics is None:
                shown.tell(result.failure)
        known = _clairvoyant_results(comparison, results, out, files, shown) if clairvoyant else ()
        recorded, notes = _recorded(comparison, out, files)
        compared = ComparisonData(
            _add_recorded(recorded, results), pair, known, (*_seed_notes(comparison, runs), *notes)
        )
        try:
            with COMPARISON_FOLDER.replace_files(out) as part:
                draw(part, compared, out)
        except InputError as error:
            raise InputError(error, "remove this file and repeat the command") from None
        return ComparisonOutcome(compared, len(runs), len(todo), state.count_other_runs(runs))


def _read_first(runs: list[PlannedRun], files: InputFiles) -> None:
    for run in {run.workload.name: run for run in runs if not run.draw}.values():
        with suppress(InputError):  # reported where the file is needed
            load_inputs(run.request(), files)


def _run(
    comparison: ComparisonRequest, todo: list[PlannedRun], state: ComparisonState, pool: TaskPool,
    shown: ComparisonCallbacks
) -> None:  # fmt: skip
    for warning in check(comparison, todo, state.files):
        shown.warn(warning)
    state.begin()
    try:
        with shown.runs(len(todo)) as watch:
            run_all(todo, state, pool, watch)
    except KeyboardInterrupt:
        shown.tell("stopped; the same command continues the comparison")
        raise


def _seed_notes(comparison: ComparisonRequest, runs: list[PlannedRun]) -> list[str]:
    once = list(dict.fromkeys(run.contender.label for run in runs if not run.seeded))
    if not once or len(comparison.options.seeds) < 2:
        return []
    of_each = "One run a draw" if comparison.options.replicates else "One run"
    return [f"{of_each}, since the seed has no effect: {', '.join(once)}."]


def _clairvoyant_results(
    comparison: ComparisonRequest, results: list[RunResult], out: Path, files: InputFiles, shown: ComparisonCallbacks
) -> tuple[ClairvoyantResult, ...]:  # fmt: skip
    from dardis.comparison.clairvoyant_gap import (
        clairvoyant_result,  # the search needs kernels; other runs here do not
    )

    known = []
    for workload in comparison.workloads:
        with shown.search(workload.name) as progress:
            runs = [result for result in results if result.trace == workload.name]
            known.append(clairvoyant_result(comparison, workload, runs, out, files, progress))
    return tuple(known)


def _recorded(
    comparison: ComparisonRequest, out: Path, files: InputFiles
) -> tuple[dict[str, RunResult], tuple[str, ...]]:  # fmt: skip
    if not comparison.options.recorded or comparison.options.replicates:
        return {}, ()
    found = [one for workload in comparison.workloads if (one := recorded_result(comparison, workload, out, files))]
    return {one.result.trace: one.result for one in found}, tuple(one.note for one in found)


def _add_recorded(recorded: dict[str, RunResult], results: list[RunResult]) -> tuple[RunResult, ...]:
    traces = dict.fromkeys(result.trace for result in results)
    return tuple(
        result
        for trace in traces
        for result in (
            *(one for one in results if one.trace == trace), *([recorded[trace]] if trace in recorded else ())
        )
    )  # fmt: skip
