"""Costs of faulty messages in virtual time, repeatable by seed.

Load as in `dardis scale`, with two-phase claims.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Annotated, Any, Final

import numpy as np

from dardis.metrics.audit import audit
from dardis.model.addresses import Address, HostId, JobId
from dardis.model.csv_table import CsvTable
from dardis.model.errors import InputError
from dardis.model.numbers import decimal_number, whole_number
from dardis.model.randomness import stream
from dardis.node_manager import NodePool
from dardis.scale import experiment as load
from dardis.scale.experiment import Experiment
from dardis.scale.row import (
    Arity,
    JobCount,
    Nodes,
    Reservations,
    Sample,
    Seed,
    SetUpName,
    TaskManagers,
    Window,
)
from dardis.sim.executed_runs import ExecutedAttempts, Piece
from dardis.sim.fault_simulation import Crash, FaultSimulation, Scenario
from dardis.sim.simulation import Progress
from dardis.task_manager.claims.two_phase_claims import ClaimTimeouts
from dardis.transport.virtual_network import Faults
from dardis.wire.codec import encode
from dardis.wire.effects import ExecutorAction, JobFinished, Placed
from dardis.wire.messages import Confirm, Message, Refused, Relay, Release

MOST_LOSS: Final = 0.9
MOST_EVENTS: Final = 10_000
"""Event limit per job and host, for endless runs."""
LONGEST_DOWN_S: Final = 600


@dataclass(frozen=True, slots=True)
class FaultyNetwork:
    """Network of `--faults`: delays of 1 to `delay` s, shares `drop` and `duplicate`.

    `resend` in s. `crashes`: hosts that crash once.
    """

    drop: float = 0.0
    duplicate: float = 0.0
    delay: int = 1
    resend: int = 0
    """0: the longest round trip and a second."""
    crashes: int = 0

    @property
    def pace(self) -> ClaimTimeouts:
        """One round trip for offers; a start allows claim, answer, commit and two repetitions."""
        resend = self.resend or 2 * self.delay + 1
        return ClaimTimeouts(patience=2 * self.delay, resend=resend, lead=3 * self.delay + 2 * resend)


def _share(text: str) -> float:
    share = decimal_number(text)
    if not 0 <= share <= MOST_LOSS:
        raise ValueError(text)
    return share


_READERS: Final[dict[str, Callable[[str], Any]]] = {
    "drop": _share, "duplicate": _share, "delay": lambda text: whole_number(text, 1, 3600),
    "resend": lambda text: whole_number(text, 1, 36_000), "crashes": lambda text: whole_number(text, 0, 10**6),
}  # fmt: skip


def faulty_network(text: str) -> FaultyNetwork:
    """Read `drop=0.05,duplicate=0.05,delay=3`. Raises InputError."""
    found: dict[str, Any] = {}
    for part in text.split(","):
        key, _, value = (piece.strip() for piece in part.partition("="))
        try:
            found[key] = _READERS[key](value)
        except (KeyError, ValueError):
            expected = f"drop and duplicate up to {MOST_LOSS}, delay and resend in s, crashes, as drop=0.05,delay=3"
            raise InputError("--faults", repr(part), expected) from None
    return FaultyNetwork(**found)


@dataclass(frozen=True, slots=True)
class FaultRow:
    """One line of faults.csv."""

    nodes: Nodes
    hosts: Annotated[int, "hosts, of `--hosts-of` nodes each"]
    task_managers: TaskManagers
    arity: Arity
    sample: Sample
    window_s: Window
    reservations: Reservations
    dispatcher: SetUpName
    seed: Seed
    jobs: JobCount
    drop: Annotated[float, "input: share of lost messages"]
    duplicate: Annotated[float, "input: share of messages that arrive twice"]
    delay_s: Annotated[int, "input: longest delay of a message; the shortest is 1 s"]
    resend_s: Annotated[int, "input: time after which an unanswered message is sent again"]
    crashes: Annotated[int, "input: hosts that crash once"]
    completed: Annotated[int, "jobs that ran in full"]
    rejected: Annotated[int, "jobs too large for the machine, or without a start in their window"]
    lost: Annotated[int, "jobs without an end: must be 0"]
    run_twice: Annotated[
        int,
        "jobs with two attempts at once or in full: must be 0 without crashes; if a host dies between the end of a "
        "job and its report, the job runs again",
    ]
    violations: Annotated[int, "findings of the audit in all runs, with cancelled attempts and reservations: must be 0"]
    claims: Annotated[int, "claims of task managers, each on all nodes of a job"]
    refused: Annotated[int, "claims refused by a host"]
    cut: Annotated[int, "attempts that started on some hosts and were cancelled, or died with their host"]
    messages: Annotated[int, "messages sent"]
    dropped: Annotated[int, "lost messages"]
    resent: Annotated[int, "messages that repeat an earlier one to the same receiver"]
    agree_s_mean: Annotated[float | None, "time from the submission of a job until agreement on its last start"]
    agree_s_most: Annotated[int | None, "the longest such time"]
    wait_s_mean: Annotated[float | None, "time from the submission of a job until its start"]
    end_s: Annotated[int, "virtual time at the end"]
    traffic_digest: Annotated[str, "of all deliveries with times and receivers: equal for equal arguments"]


FAULTS: Final = CsvTable.of_fields("faults.csv", FaultRow, ".6g")


class CountedFaults(FaultSimulation):
    """Fault simulation with counters."""

    def __init__(self, scenario: Scenario, make_pool: Callable[..., NodePool]) -> None:
        self.claims: set[tuple[JobId, int]] = set()
        self.refused: set[tuple[JobId, int]] = set()
        self.resent = 0
        self.agreed: dict[JobId, int] = {}
        """Time of the last agreement, by job."""
        self._said: set[bytes] = set()
        super().__init__(scenario, make_pool)

    def carry(self, to: Address, message: Message) -> None:
        """Count and send a message. A repeated message may expire later."""
        match message:
            case Confirm(job=job, attempt=attempt):
                self.claims.add((job, attempt))
            case Refused(job=job, attempt=attempt):
                self.refused.add((job, attempt))
        same = replace(message, expires=0) if isinstance(message, Confirm | Relay | Release) else message
        said = blake2b(b"%d " % to + encode([(0, same)]), digest_size=16).digest()
        self.resent += said in self._said
        self._said.add(said)
        super().carry(to, message)

    def execute(self, who: Address, deed: ExecutorAction, now: int) -> None:
        """Record agreements."""
        if isinstance(deed, Placed):
            self.agreed[deed.job] = now
        super().execute(who, deed, now)


def measure_faults(what: Experiment, network: FaultyNetwork, progress: Progress | None = None) -> FaultRow:
    """Run one experiment. Raises InputError."""
    bounds = (*range(0, what.nodes, what.hosts_of), what.nodes)
    jobs = tuple(load.jobs(what.jobs, what.window, what.seed))
    scenario = Scenario(
        what.seed, load.machine(what.nodes), bounds, jobs, what.dispatcher, what.task_managers, network.pace,
        Faults(network.delay, network.drop, network.duplicate), tuple(_crashes(what, network)), arity=what.arity,
        sample=what.sample,
    )  # fmt: skip

    def filled(*arguments: Any, **options: Any) -> NodePool:  # noqa: ANN401 (those of a pool)
        pool = what.dispatcher.pool(*arguments, **options)
        load.fill(pool.state, what.window, what.reservations, what.seed)
        return pool

    def is_over() -> bool:
        if progress is not None:
            progress(len(simulation.told), len(jobs))
        return len(simulation.told) == len(jobs) and simulation.quiet

    simulation = CountedFaults(scenario, filled)
    simulation.run(is_over, MOST_EVENTS * len(jobs) * what.hosts)
    return _row(what, network, simulation)


def _crashes(what: Experiment, network: FaultyNetwork) -> Iterator[Crash]:
    if network.crashes > what.hosts:
        raise InputError("--faults", f"crashes={network.crashes} of {what.hosts} hosts", "no more than there are hosts")
    draws = stream(what.seed, "scale", "crashes")
    for host in draws.choice(what.hosts, network.crashes, replace=False).tolist():
        at = int(draws.integers(1, what.jobs + load.LONGEST_S))
        heard = at + draws.integers(1, 6 * network.delay, size=what.task_managers)
        yield Crash(HostId(host), at, at + int(draws.integers(1, LONGEST_DOWN_S)), tuple(heard.tolist()))


def _row(what: Experiment, network: FaultyNetwork, simulation: CountedFaults) -> FaultRow:
    jobs, executed = simulation.scenario.jobs, ExecutedAttempts(simulation)
    done = {job for job, told in simulation.told.items() if isinstance(told[0], JobFinished)}
    full = {job.number: executed.full(job) for job in jobs}
    ran = {job: attempts[0] for job, attempts in full.items() if attempts}
    twice = sum(len(full[job.number]) > 1 or executed.overlaps(job.number) for job in jobs)
    cut = sum(len(executed.attempts[job.number]) - len(full[job.number]) for job in jobs)
    schedule = executed.schedule(ran, _reserved(what, {run.node for run in simulation.runs}))
    completed, rejected = len(done & ran.keys()), len(simulation.told) - len(done)
    agreed = [simulation.agreed[job.number] - job.submit for job in jobs if job.number in ran]
    waits = [ran[job.number][0].start - job.submit for job in jobs if job.number in ran]
    return FaultRow(
        nodes=what.nodes, hosts=what.hosts, task_managers=what.task_managers, arity=what.arity or "flat",
        sample=what.sample or "all", window_s=what.window, reservations=what.reservations,
        dispatcher=what.dispatcher.name, seed=what.seed, jobs=what.jobs, drop=network.drop,
        duplicate=network.duplicate, delay_s=network.delay, resend_s=network.pace.resend, crashes=network.crashes,
        completed=completed, rejected=rejected, lost=len(jobs) - completed - rejected, run_twice=twice,
        violations=len(audit(schedule, simulation.scenario.platform)), claims=len(simulation.claims),
        refused=len(simulation.refused), cut=cut, messages=simulation.network.sent, dropped=simulation.network.lost,
        resent=simulation.resent, agree_s_mean=float(np.mean(agreed)) if agreed else None,
        agree_s_most=max(agreed, default=None), wait_s_mean=float(np.mean(waits)) if waits else None,
        end_s=simulation.network.now, traffic_digest=simulation.network.digest(),
    )  # fmt: skip


def _reserved(what: Experiment, nodes: set[int]) -> Iterator[Piece]:
    for node in sorted(nodes if what.reservations else ()):
        found = load.background(node, node + 1, what.window, what.reservations, what.seed)
        for start, end, cores, _ in zip(*(figures[0].tolist() for figures in found), strict=True):
            yield Piece(node, 1, (cores,), start, end)
