"""Steers a partition of a real Slurm: reads, decides, orders, and holds the lease.

A round calls `squeue` and `scontrol show node` once each, and once `scontrol` for the lease or the reservations;
each order is one more call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dardis.config.slurm.slurm_reader import parse_slurm
from dardis.model.errors import InputError
from dardis.model.resources import UNKNOWN_END
from dardis.slurm.open_decisions import OpenDecisions, Order, View
from dardis.slurm.reservation_lease import LEASE_S, RESERVATIONS, Lease, SlurmReservation, parse_reservations
from dardis.slurm.slurm_client import SlurmError, SlurmPrograms
from dardis.slurm.steered_job import steered_jobs
from dardis.slurm.steered_nodes import Closure, SteeredNodes
from dardis.slurm.steered_queue import RoundResult, SteeredQueue
from dardis.slurm.steered_site import NODES
from dardis.slurm.steering_log import Entry, Event, SteeringLog
from dardis.slurm.textfile_metrics import write_gauges

PROGRAMS: Final = ("squeue", "scontrol")
QUEUE: Final = ("squeue", "--all", "--json", "--states=all")


@dataclass
class SteeredRound:
    """Outcome of a round; `seconds`: duration of Slurm's answers."""

    result: RoundResult
    malformed: Sequence[str]
    done: Sequence[Entry]
    """Entries after orders."""
    seconds: float
    is_taken_again: bool = False
    """Whether the lease had lapsed and was taken again."""


class Steerer:
    """State of steering. `clock`: Unix s."""

    def __init__(
        self, programs: SlurmPrograms, lease: Lease, queue: SteeredQueue, nodes: SteeredNodes, log: SteeringLog,
        clock: Callable[[], int],
    ) -> None:  # fmt: skip
        self._programs, self.lease, self._queue, self.log, self._clock = programs, lease, queue, log, clock
        self._place = {name: place for place, name in enumerate(nodes.names)}
        self._others: tuple[SlurmReservation, ...] = ()

    def begin(self) -> None:
        """Take the lease. Raises InputError, SlurmError."""
        known = self._reservations()
        try:
            self._take_lease(known)
        except SlurmError as error:
            raise InputError("--install", str(error), "the rights of a Slurm operator") from None

    def check_idle(self) -> None:
        """Raise InputError if other jobs run in the partition, unless a crash lost a lease. Raises SlurmError."""
        if self.lease.start is not None or self.lease.check(self._reservations()):
            return
        view, _, _ = self._read()
        running = sum(one.job.is_running and one.job.partition == self.lease.partition for one in view.jobs)
        if running:
            expected = "an idle partition, or --keep-running: they count until they end"
            raise InputError(f"partition {self.lease.partition}", f"{running} running jobs", expected)

    def preview(self) -> RoundResult:
        """Decide without orders. Raises InputError, SlurmError."""
        known = self._reservations()
        self.lease.check(known)
        view, _, _ = self._read()
        return self._queue.observe(view, self._clock())

    def round(self) -> SteeredRound:
        """Read, decide and order.

        Raises SlurmError if Slurm does not answer or its answer is incomplete: then nothing was ordered. Raises
        InputError if another steerer holds the partition.
        """
        view, malformed, seconds = self._read()
        now = self._clock()
        is_taken_again = False
        if now - self.lease.renewed_at >= LEASE_S:
            is_taken_again = self._take_lease(self._reservations())
            view, malformed, seconds = self._read()
        elif self.lease.is_due(now):
            is_taken_again = self._renew()
        else:
            self.lease.check(self._reservations())
        now = self._clock()
        view = view._replace(closures=self._closures())
        result = self._queue.observe(view, now)
        self.log.add(result.entries)
        done: list[Entry] = []
        try:
            self._give(result.orders, done)
        finally:
            self.log.add(done)
        self._write_figures(result, now)
        return SteeredRound(result, malformed, done, seconds, is_taken_again)

    def give_back(self) -> None:
        """Leave all waiting jobs as their users submitted them, and end the lease. Raises InputError, SlurmError."""
        return_queue(self._programs, self.log, self._clock)

    def _write_figures(self, result: RoundResult, now: int) -> None:
        decisions = self._queue.open
        write_gauges(
            self.log.path.with_name("steer.prom"),
            {
                "time_seconds": now, "running_jobs": result.running, "waiting_jobs": result.waiting,
                "held_jobs": result.held, "open_decisions": len(decisions.pins),
                "jobs_left_to_slurm": len(decisions.passed),
            },
        )  # fmt: skip

    def _take_lease(self, known: Sequence[SlurmReservation]) -> bool:
        now = self._clock()
        is_created = self.lease.take(known, now)
        if is_created:
            self._queue.on_lapse()
            self.log.add([Entry(now, "", Event.LEASE, start=self.lease.start, detail=self.lease.partition)])
        return is_created

    def _renew(self) -> bool:
        now = self._clock()
        try:
            self.lease.renew(now)
        except SlurmError:
            return self._take_lease(self._reservations())
        return False

    def _reservations(self) -> list[SlurmReservation]:
        known = parse_reservations(self._programs.call(*RESERVATIONS).text)
        self._others = tuple(one for one in known if one.name != self.lease.name)
        return known

    def _closures(self) -> list[Closure]:
        return [
            Closure(self._place[name], one.start, max(one.end, one.start + 1))
            for one in self._others
            for name in one.nodes
            if name in self._place and one.start < UNKNOWN_END
        ]

    def _read(self) -> tuple[View, list[str], float]:
        queue, shown = self._programs.call(*QUEUE), self._programs.call(*NODES)
        try:
            jobs, malformed = steered_jobs(QUEUE[0], queue.text)
            site = parse_slurm(Path("scontrol show node"), shown.text)
        except InputError as error:
            raise SlurmError(str(error)) from None
        nodes = {node.name: node for node in site.nodes}
        view = View(jobs, nodes, self._closures(), is_complete=not malformed)
        return view, malformed, queue.seconds + shown.seconds

    def _give(self, orders: Sequence[Order], done: list[Entry]) -> None:
        for order in orders:
            if self.lease.is_due(self._clock()):
                self.lease.renew(self._clock())
            failure = _give_order(self._programs, order, self.lease.name)
            entry = self._queue.on_outcome(order, failure, self._clock())
            done += [] if entry is None else [entry]


def _give_order(programs: SlurmPrograms, order: Order, reservation: str) -> str:
    """Order a change; return Slurm's refusal, or an empty text."""
    # Slurm refuses an account for jobs that run: their nodes stay as they are.
    words = [f"JobId={order.job}", f"Account={order.account}"]
    words += [f"ReservationName={'' if order.event is Event.TAKEN_BACK else reservation}"]
    words += [] if order.nodes is None else [f"NodeList={order.nodes}"]
    try:
        programs.call("scontrol", "update", *words)
    except SlurmError as error:
        return str(error)
    return ""


def return_queue(programs: SlurmPrograms, log: SteeringLog, clock: Callable[[], int]) -> None:
    """Leave all waiting jobs as their users submitted them, and end the lease of the log.

    Raises InputError, SlurmError.
    """
    entries, last = log.entries(), log.last_lease()
    if last is None:
        return
    lease = Lease(last.detail, (), programs, last.start)
    if lease.check(parse_reservations(programs.call(*RESERVATIONS).text)):
        jobs, _ = steered_jobs(QUEUE[0], programs.call(*QUEUE).text)
        for order in OpenDecisions(entries).return_orders(View(jobs, {}), lease.name):
            if not _give_order(programs, order, lease.name):
                log.add([Entry(clock(), order.job, Event.TAKEN_BACK, detail=order.detail)])
        lease.end()
    log.add([Entry(clock(), "", Event.RETURNED, detail=lease.partition)])
