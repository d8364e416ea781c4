"""One run, in this process or over MPI ranks."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dardis.config.run_spec import RunSpec
from dardis.model.addresses import FIRST_HOST, HostId
from dardis.model.files import InputFiles
from dardis.model.node_layout import make_layout
from dardis.model.out_folder import RUN_FOLDER
from dardis.registry import find_dispatcher
from dardis.runs.error_source import attribute_errors
from dardis.runs.hosts import even_bounds, host_from_plan, host_plan
from dardis.runs.inputs import Inputs, check_inputs
from dardis.runs.kernel_warmup import warm_kernels
from dardis.runs.outputs import RUN_FILE, Report
from dardis.runs.play import HostAssignment, followed_profile, play, play_over
from dardis.runs.results import Results, results_of
from dardis.runs.run_objects import NO_OBJECTS, Objects, reach_of, read_sources
from dardis.sim.recorder import Keep
from dardis.sim.simulation import Progress
from dardis.task_manager.setups import Reach

if TYPE_CHECKING:
    from dardis.transport.mpi_transport import Communicator

REJECTIONS_SHOWN = 10
Notify = Callable[[str], object]


@dataclass(frozen=True)
class FinishedRun:
    """Folder and metrics of a finished run."""

    out: Path
    metrics: dict[str, Any]
    rules: dict[str, int] = field(default_factory=dict)


def run(request: RunSpec, progress: Progress | None = None, report: Report | None = None) -> FinishedRun:
    """Simulate in this process, then draw the report, if any.

    Raises InputError before writing, and OSError.
    """
    with RUN_FOLDER.lock(request.out, force=request.force):
        inputs = _prepare(request, InputFiles())
        gc.freeze()  # inputs live as long as the run; not scanning them saves 5 % of the CPU time
        return _report_and_write(_play(request, inputs, progress), report)


def simulate_in_process(
    request: RunSpec, files: InputFiles, objects: Objects, tell: Notify, progress: Progress | None = None
) -> Results:  # fmt: skip
    """Simulate in this process. `objects` replace files; `tell` receives warnings first.

    Writes only requested model instances. Raises InputError.
    """
    return _play(request, _prepare(request, files, objects, tell), progress)


def _play(request: RunSpec, inputs: Inputs, progress: Progress | None) -> Results:
    played = play(
        inputs.platform, inputs.jobs, inputs.dispatcher, inputs.target, request.seed,
        task_managers=request.task_managers, reach=reach_of(request), progress=progress,
        keep=_instance_writer(request), events=inputs.events,
    )  # fmt: skip
    return results_of(request, inputs, played)


def run_over_ranks(
    comm: Communicator, request: RunSpec, progress: Progress | None = None, report: Report | None = None
) -> FinishedRun | int:
    """Simulate over all ranks: rank 0 reads, drives and writes; every rank holds nodes.

    A central dispatcher uses rank 0 only. Returns the outcome on rank 0, elsewhere the exit status. Errors before the
    run end all ranks quietly.
    """
    from dardis.transport.mpi_transport import MpiHosts, run_after_first_rank, serve

    def prepare(stack: ExitStack) -> tuple[Any, Callable[[], FinishedRun]]:
        stack.enter_context(RUN_FOLDER.lock(request.out, force=request.force))
        inputs = _prepare(request, InputFiles(), hosts=comm.size)
        gc.freeze()
        machine = make_layout(inputs.platform).machine
        bounds = even_bounds(machine.node_count, comm.size)
        dispatcher = inputs.dispatcher
        if not dispatcher.setup.asks_nodes or comm.size == 1:
            outcome = _report_and_write(_play(request, inputs, progress), report)
            return 0, lambda: outcome
        plan = host_plan(machine, followed_profile(dispatcher, inputs.target), bounds, request.seed)
        plan["dispatcher"] = [request.dispatcher, list(request.settings)]
        plan["reach"] = [request.arity, request.sample]

        def lead() -> FinishedRun:
            with attribute_errors(dispatcher):
                mine = host_from_plan(plan, FIRST_HOST, dispatcher.pool)
            played = play_over(
                HostAssignment(MpiHosts(comm, mine), bounds), inputs.platform, inputs.jobs, dispatcher, inputs.target,
                request.seed, task_managers=request.task_managers, reach=reach_of(request), progress=progress,
                events=inputs.events,
            )  # fmt: skip
            return _report_and_write(results_of(request, inputs, played), report)

        return plan, lead

    def be_host(plan: dict[str, Any]) -> int:
        from dardis.kernels.jit import COMPILE_LISTENER

        dispatcher = find_dispatcher(*plan["dispatcher"])
        COMPILE_LISTENER.quiet = True  # the first rank has compiled already and reports for all
        with attribute_errors(dispatcher):
            warm_kernels(dispatcher, Reach(*plan["reach"]), wished=plan["desired"] is not None, hosts=2)
            gc.freeze()
            serve(comm, host_from_plan(plan, HostId(comm.rank), dispatcher.pool))
        return 0

    return run_after_first_rank(comm, prepare, be_host)


def _print_line(line: str) -> None:
    print(f"dardis: {line}", file=sys.stderr, flush=True)  # noqa: T201 (warnings go to standard error)


def _warn(line: str) -> None:
    _print_line(f"warning: {line}")


def _prepare(
    request: RunSpec, files: InputFiles, objects: Objects = NO_OBJECTS, tell: Notify = _warn, *, hosts: int = 1
) -> Inputs:  # fmt: skip
    if request.save_instances is not None:
        from dardis.runs.instances import check_folder

        check_folder(request.save_instances, request.dispatcher, request.out, force=request.force)
    inputs = check_inputs(request, read_sources(request, files, objects))
    for warning in inputs.warnings:
        tell(warning)
    with attribute_errors(inputs.dispatcher):
        warm_kernels(
            inputs.dispatcher, reach_of(request), wished=inputs.target.desired is not None,
            task_managers=request.task_managers, hosts=hosts,
        )  # fmt: skip
    return inputs


def _instance_writer(request: RunSpec) -> Keep | None:
    if request.save_instances is None:
        return None
    from dardis.runs.instances import instance_writer

    return instance_writer(request.save_instances)


def _report_and_write(results: Results, report: Report | None) -> FinishedRun:
    out = results.request.out
    for note in results.played.site.notes:
        _print_line(note)
    for number, reason in results.rejected[:REJECTIONS_SHOWN]:
        _print_line(f"job {number} rejected: {reason}")
    if len(results.rejected) > REJECTIONS_SHOWN:
        more = len(results.rejected) - REJECTIONS_SHOWN
        _print_line(f"{more} more jobs rejected, with reasons in {RUN_FILE}")
    for warning in results.power.warnings if results.power else ():
        _warn(warning)
    write(results, out, report)
    return FinishedRun(out, results.metrics, results.rules)


def write(results: Results, out: Path, report: Report | None) -> None:
    """Write the run's files to a locked folder, and draw the report. Raises OSError."""
    with RUN_FOLDER.replace_files(out) as part:
        results.write(part)
    if report is not None:
        report(out)
