"""All experiments of `dardis scale`."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, astuple, dataclass
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dardis import __version__
from dardis.engine.clock import utc_now
from dardis.kernels.jit import COMPILE_LISTENER
from dardis.model.errors import InputError
from dardis.model.files import write_json
from dardis.model.loggp import LogGP
from dardis.model.out_folder import SCALE_FOLDER
from dardis.node_manager.pool_state import PoolState
from dardis.registry import Dispatcher, find_dispatcher, names_of_capable
from dardis.runs.error_source import attribute_errors
from dardis.runs.kernel_warmup import warm_reach
from dardis.runs.outputs import Report
from dardis.scale import experiment as load
from dardis.scale.experiment import Experiment, RankGroup
from dardis.scale.fault_experiment import FAULTS, FaultRow, FaultyNetwork, measure_faults
from dardis.scale.measure import measure
from dardis.scale.prediction import PREDICTIONS, predictions
from dardis.scale.row import SCALE, ExperimentRow
from dardis.scale.tally import short_message_ns
from dardis.sim.simulation import Progress

if TYPE_CHECKING:
    from dardis.transport.mpi_transport import Communicator

RECORD_FILE = "scale.json"
OVERLAP = 64
"""Default for samples of several task managers (and of one, as baseline)."""


@dataclass(frozen=True)
class ScaleRequest:
    """Arguments of `dardis scale`: each combination of the lists is an experiment.

    Empty `overlaps`: OVERLAP for samples without a tree if some experiments have several task managers, else 1. Empty
    `ranks`: all. `weak`: `nodes` are per rank. Arity 0 is flat, sample 0 all nodes; windows in s. `faults`: run over
    these networks in virtual time.
    """

    nodes: tuple[int, ...]
    jobs: int
    out: Path
    dispatcher: str = "dardis-throughput"
    task_managers: tuple[int, ...] = (1,)
    arities: tuple[int, ...] = (0,)
    hosts_of: int = 64
    samples: tuple[int, ...] = (0,)
    windows: tuple[int, ...] = (86_400,)
    reservations: tuple[int, ...] = (4,)
    overlaps: tuple[int, ...] = ()
    ranks: tuple[int, ...] = ()
    repeat: int = 1
    weak: bool = False
    seed: int = 1
    force: bool = False
    faults: tuple[FaultyNetwork, ...] = ()

    def experiments(self, ranks: int) -> list[Experiment]:
        """Experiments for `ranks` ranks. Raises InputError."""
        dispatcher = find_dispatcher(self.dispatcher)
        if self.faults:
            self._check_faults(dispatcher, ranks)
        elif not dispatcher.setup.rounds:
            expected = f"one of {names_of_capable(lambda setup: setup.rounds)}"
            raise InputError("--dispatcher", f"{self.dispatcher} has no rounds, in which a job asks nodes", expected)
        for count in self.ranks:
            if count > ranks:
                raise InputError("--ranks", f"{count}, but there are {ranks}", "at most the ranks of mpirun")
        for window, reservations in product(self.windows, self.reservations):
            if window < load.LEAST_SPAN_S * reservations:
                found = f"{window} with {reservations} reservations per node"
                raise InputError("--window", found, f"at least {load.LEAST_SPAN_S} s for each reservation")
        experiments = [
            Experiment(
                nodes * (count if self.weak else 1), count, managers, arity, sample, window, reservations, self.jobs,
                dispatcher, self.hosts_of, self.seed, overlap,
            )
            for count, window, reservations, sample, arity, managers, nodes in product(
                self.ranks or (ranks,), self.windows, self.reservations, self.samples, self.arities,
                self.task_managers, self.nodes,
            )
            for overlap in self.overlaps or (self._default_overlap(sample, arity),)
        ]  # fmt: skip
        for what in experiments:
            if what.overlap > 1 and what.arity:
                together = f"{what.arity} with {what.overlap} jobs in flight"
                raise InputError("--arity", together, "flat, or --overlap 1: waves query every host directly")
        return experiments

    def _default_overlap(self, sample: int, arity: int) -> int:
        several = max(self.task_managers) > 1 and not self.faults
        return OVERLAP if sample and not arity and several else 1

    def _check_faults(self, dispatcher: Dispatcher, ranks: int) -> None:
        if not dispatcher.setup.asks_nodes:
            expected = f"one of {names_of_capable(lambda setup: setup.asks_nodes)}"
            raise InputError("--dispatcher", f"{self.dispatcher} asks no nodes and sends no messages", expected)
        if any(self.samples) and not dispatcher.setup.samples:
            expected = f"one of {names_of_capable(lambda setup: setup.samples)}"
            raise InputError("--sample", f"{self.dispatcher} asks all nodes", expected)
        if ranks > 1 or self.ranks or self.weak or self.overlaps or self.repeat > 1:
            found = "with mpirun, --ranks, --weak, --overlap or --repeat"
            raise InputError("--faults", found, "none of these, as a single process gives equal runs")


def run_scale(
    request: ScaleRequest, progress: Progress | None = None, report: Report | None = None,
    begun: Callable[[int], object] = lambda _: None,
) -> list[ExperimentRow] | list[FaultRow]:  # fmt: skip
    """Run all experiments in this process, then the report; `begun` gets their number.

    Raises InputError before any output.
    """
    experiments = request.experiments(1)
    begun(len(experiments))
    with SCALE_FOLDER.lock(request.out, force=request.force):
        return _run_all(request, experiments, None, progress, report)


def run_scale_over_ranks(
    comm: Communicator, request: ScaleRequest, progress: Progress | None = None, report: Report | None = None,
    begun: Callable[[int], object] = lambda _: None,
) -> list[ExperimentRow] | list[FaultRow] | int:  # fmt: skip
    """Run over ranks; rank 0 returns the rows. Collective.

    Other ranks return the exit status.
    """
    from dardis.transport.mpi_transport import run_after_first_rank

    def prepare(stack: ExitStack) -> tuple[Any, Callable[[], list[ExperimentRow] | list[FaultRow]]]:
        experiments = request.experiments(comm.size)
        begun(len(experiments))
        stack.enter_context(SCALE_FOLDER.lock(request.out, force=request.force))
        return {}, lambda: _run_all(request, experiments, comm, progress, report)

    def follow(_: Any) -> int:  # noqa: ANN401 (all is in the request)
        _run_all(request, request.experiments(comm.size), comm, None, None)
        return 0

    return run_after_first_rank(comm, prepare, follow)


def _run_all(
    request: ScaleRequest, experiments: Sequence[Experiment], comm: Communicator | None, progress: Progress | None,
    report: Report | None,
) -> list[ExperimentRow] | list[FaultRow]:  # fmt: skip
    COMPILE_LISTENER.quiet |= comm is not None and comm.rank > 0
    with attribute_errors(dispatcher := find_dispatcher(request.dispatcher)):
        _warm(dispatcher)
    if request.faults:
        return _run_faults(request, experiments, progress, report)
    record = _record(request, experiments, comm) | {"runs": len(experiments) * request.repeat}
    rows: list[ExperimentRow] = []
    grounds: dict[int, RankGroup | None] = {}
    runs = [(what, repeat) for repeat in range(1, request.repeat + 1) for what in experiments]
    for what, repeat in runs:
        if what.ranks not in grounds:
            grounds[what.ranks] = _rank_group(comm, what.ranks)
        ground = grounds[what.ranks]
        row = None
        if ground is not None:
            before = len(rows) * request.jobs
            with attribute_errors(dispatcher):
                row = measure(what, ground, _part_of_progress(progress, before, len(runs) * request.jobs), repeat)
        if row is not None and ground is not None:
            rows.append(row)
            if ground.network is not None:
                record["networks"][str(ground.network.ranks)] = asdict(ground.network)
            _write(request.out, rows, record, [one for one in grounds.values() if one is not None])
        if comm is not None:
            from dardis.transport.rank_groups import wait_for_all

            wait_for_all(comm)
    if report is not None:
        report(request.out)
    return rows


def _run_faults(
    request: ScaleRequest, experiments: Sequence[Experiment], progress: Progress | None, report: Report | None
) -> list[FaultRow]:
    runs = [(what, network) for what in experiments for network in request.faults]
    record = _record(request, experiments, None) | {"runs": len(runs)}
    rows: list[FaultRow] = []
    for what, network in runs:
        part = _part_of_progress(progress, len(rows) * request.jobs, len(runs) * request.jobs)
        with attribute_errors(what.dispatcher):
            rows.append(measure_faults(what, network, part))
        with SCALE_FOLDER.replace_files(request.out) as folder:
            FAULTS.write(folder / FAULTS.name, map(astuple, rows))
            write_json(folder / RECORD_FILE, record)
    if report is not None:
        report(request.out)
    return rows


def _part_of_progress(progress: Progress | None, before: int, total: int) -> Progress | None:
    return None if progress is None else lambda done, _: progress(before + done, total)


def _warm(dispatcher: Dispatcher) -> None:
    warm_reach(dispatcher)
    load.fill(PoolState(load.machine(8), 0, 8, None), 100, 2, 1)
    gc.freeze()  # loaded objects stay, and need no collection


def _rank_group(comm: Communicator | None, ranks: int) -> RankGroup | None:
    if comm is None:
        return RankGroup(None, None, 1)
    from dardis.transport.loggp_probe import measure as measure_network
    from dardis.transport.rank_groups import first_ranks, usable_cores, wait_for_all

    part = first_ranks(comm, ranks)
    ground = None
    if part is not None:
        network: LogGP | None = measure_network(part)
        ground = RankGroup(part, network, usable_cores(part), short_message_ns())
    wait_for_all(comm)
    return ground


def process_age_s() -> float:
    """Process's age, in s."""
    ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    return float(Path("/proc/uptime").read_text().split()[0]) - ticks / os.sysconf("SC_CLK_TCK")


def _record(request: ScaleRequest, experiments: Sequence[Experiment], comm: Communicator | None) -> dict[str, Any]:
    launch_s = process_age_s()
    mpi = None
    if comm is not None:
        from dardis.transport.rank_groups import largest, mpi_version

        launch_s, mpi = largest(comm, launch_s), mpi_version()
    arguments = asdict(request) | {"out": str(request.out.resolve())}
    if not request.faults:
        del arguments["faults"]
    return {
        "dardis_version": __version__,
        "command": sys.argv,
        "arguments": arguments,
        "experiments": len(experiments),
        "ranks": 1 if comm is None else comm.size,
        "launch_s": round(launch_s, 3),
        "networks": {},
        "cores": len(os.sched_getaffinity(0)),
        "load": round(os.getloadavg()[0], 2),
        "versions": {
            "python": sys.version.split()[0],
            "numpy": version("numpy"),
            "numba": version("numba"),
            "mpi": mpi,
        },
        "started_utc": utc_now(),
    }


def _write(out: Path, rows: Sequence[ExperimentRow], record: dict[str, Any], grounds: Sequence[RankGroup]) -> None:
    with SCALE_FOLDER.replace_files(out) as part:
        SCALE.write(part / SCALE.name, map(astuple, rows))
        if predicted := predictions(rows, grounds):
            PREDICTIONS.write(part / PREDICTIONS.name, map(astuple, predicted))
        write_json(part / RECORD_FILE, record)
