"""Steers a partition of a real Slurm: reads, decides, orders, and holds the lease.

A round calls `squeue` and `scontrol show node` once each, and once `scontrol` for the lease or the reservations; each
order is one more call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Final

from dardis.config.slurm.slurm_reader import parse_slurm
from dardis.model.errors import InputError
from dardis.model.hostlist import hostlist
from dardis.model.moments import utc_text
from dardis.slurm.open_decisions import OpenDecisions, Order, View
from dardis.slurm.reservation_lease import LEASE_S, RESERVATIONS, Lease, SlurmReservation, parse_reservations
from dardis.slurm.slurm_client import QUEUE, SlurmError, SlurmPrograms
from dardis.slurm.steered_job import steered_jobs
from dardis.slurm.steered_nodes import Closure, SteeredNodes
from dardis.slurm.steered_queue import RoundResult, SteeredQueue
from dardis.slurm.steered_site import NODES
from dardis.slurm.steering_log import Entry, Event, SteeringLog
from dardis.slurm.textfile_metrics import write_gauges

OLD_S: Final = 15
"""Age of reservations from which a renewal asks again."""


@dataclass
class SteeredRound:
    """Outcome of a round; `seconds`: duration of Slurm's answers."""

    result: RoundResult
    malformed: Sequence[str]
    done: Sequence[Entry]
    """Entries after orders."""
    seconds: float
    changed_nodes: str = ""
    """Nodes that came into the partition or left it."""
    is_taken_again: bool = False


class Steerer:
    """State of steering. `clock`: Unix s; `steady`: a clock without steps, s."""

    def __init__(
        self, programs: SlurmPrograms, lease: Lease, queue: SteeredQueue, nodes: SteeredNodes, log: SteeringLog,
        clock: Callable[[], int], steady: Callable[[], float],
    ) -> None:  # fmt: skip
        self._programs, self.lease, self._queue, self.log = programs, lease, queue, log
        self._clock_now, self._steady = clock, steady
        self._latest = -inf, 0.0
        self._place = {name: place for place, name in enumerate(nodes.names)}
        self._others: tuple[SlurmReservation, ...] = ()
        self._done_at = self._known_at = -inf
        self._changed: frozenset[str] = frozenset()

    def _clock(self) -> int:
        """Unix s; after a step back, the steady clock counts on."""
        steady, (before, then) = self._steady(), self._latest
        now = max(self._clock_now(), before + (steady - then))
        self._latest = now, steady
        return int(now)

    def begin(self) -> None:
        """Put a large log aside, and take the lease. Raises InputError, SlurmError."""
        now, lease = self._clock(), self.lease
        if lease.is_known:
            entry = Entry(lease.intended_at or now, "", Event.LEASE, start=lease.start, detail=lease.partition)
            self.log.rotate(utc_text(now)[:10], [entry, *self._queue.open.snapshot(now)])
        self._take_lease()
        self._done_at = self._steady()

    def check_idle(self) -> None:
        """Raise InputError if other jobs run in the partition, unless a crash lost a lease. Raises SlurmError."""
        if self.lease.is_known or self.lease.check(self._reservations(), self._clock()):
            return
        view, _, _ = self._read()
        running = sum(one.job.is_running and one.job.partition == self.lease.partition for one in view.jobs)
        if running:
            expected = "an idle partition, or --keep-running: they count until they end"
            raise InputError(f"partition {self.lease.partition}", f"{running} running jobs", expected)

    def preview(self) -> RoundResult:
        """Decide without orders. Raises InputError, SlurmError."""
        self.lease.check(self._reservations(), self._clock())
        view, _, _ = self._read()
        return self._queue.observe(view, self._clock())

    def round(self) -> SteeredRound:
        """Renew the lease, read, decide and order.

        Raises SlurmError if Slurm does not answer completely: then nothing was ordered. Raises InputError if another
        steerer holds the partition.
        """
        is_taken_again = self._hold_lease()
        view, malformed, seconds = self._read()
        changed = self._changed_nodes(view)
        now = self._clock()
        result = self._queue.observe(view, now)
        self.log.add(result.entries)
        done: list[Entry] = []
        try:
            self._give(result.orders, done)
        finally:
            self.log.add(done)
        self._write_figures(result, now)
        self._done_at = self._steady()
        return SteeredRound(result, malformed, done, seconds, changed, is_taken_again)

    def give_back(self) -> None:
        """As `return_queue`."""
        return_queue(self._programs, self.lease, self._queue.open, self.log, self._clock)

    def _changed_nodes(self, view: View) -> str:
        if not view.nodes:
            raise InputError(f"partition {self.lease.partition}", "has no nodes any more", "a partition with nodes")
        changed = frozenset(view.nodes.keys() ^ self._place.keys()) - self._changed
        self._changed |= changed
        return hostlist(changed)

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

    def _hold_lease(self) -> bool:
        """Renew the lease, or take it again; return whether it may have ended."""
        steady = self._steady()
        if steady - self._done_at >= LEASE_S:  # rounds failed for so long: Slurm schedules alone until one may succeed
            self._read()
        elif not self.lease.is_over(steady):
            if not self.lease.is_due(steady):
                if self.lease.check(self._reservations(), self._clock()):
                    return False
            elif self._renew(steady):
                if steady - self._known_at >= OLD_S:  # rounds are rare
                    self.lease.check(self._reservations(), self._clock())
                return False
        self._take_lease()
        return True

    def _renew(self, steady: float) -> bool:
        try:
            self.lease.renew(steady)
        except SlurmError:
            return False  # it has ended, or Slurm does not answer
        return True

    def _take_lease(self) -> None:
        """Take the lease. Entries precede calls, for crashes and full disks."""
        steady = self._steady()
        known = self._reservations()
        now = self._clock()
        partition, lease = self.lease.partition, self.lease
        if (held := lease.ours(known)) is not None:
            self.log.add([Entry(now, "", Event.LEASE, start=held.start, detail=partition)])
        if not lease.revive(known, now, steady):
            self.log.add([Entry(now, "", Event.LEASE, detail=partition)])
            try:
                lease.create(now, steady)
            finally:
                if lease.intended_at is None:
                    self.log.add([Entry(now, "", Event.RETURNED, detail=partition)])
            if lease.check(self._reservations(), self._clock()):
                self.log.add([Entry(now, "", Event.LEASE, start=lease.start, detail=partition)])
        self._queue.on_lapse()

    def _reservations(self) -> list[SlurmReservation]:
        known = parse_reservations(self._programs.call(*RESERVATIONS).text)
        self._known_at = self._steady()
        self._others = tuple(one for one in known if one.name != self.lease.name)
        return known

    def _closures(self) -> list[Closure]:
        return [
            Closure(self._place[name], one.start, max(one.end, one.start + 1))
            for one in self._others
            for name in one.nodes
            if name in self._place
        ]

    def _read(self) -> tuple[View, list[str], float]:
        queue, shown = self._programs.call(*QUEUE), self._programs.call(*NODES)
        try:
            jobs, malformed = steered_jobs(QUEUE[0], queue.text)
            site = parse_slurm(Path("scontrol show node"), shown.text)
        except InputError as error:
            raise SlurmError(str(error)) from None
        nodes = {node.name: node for node in site.nodes if self.lease.partition in node.partitions}
        view = View(jobs, nodes, self._closures(), is_complete=not malformed)
        return view, malformed, queue.seconds + shown.seconds

    def _give(self, orders: Sequence[Order], done: list[Entry]) -> None:
        for order in orders:
            if self.lease.is_due(steady := self._steady()):
                self.lease.renew(steady)
            failure = _give_order(self._programs, order)
            entry = self._queue.on_outcome(order, failure, self._clock())
            done += [] if entry is None else [entry]


def _give_order(programs: SlurmPrograms, order: Order) -> str:
    # Slurm refuses an account for jobs that run: their nodes stay as they are.
    words = [f"JobId={order.what}", f"Account={order.account}"]
    words += [] if order.reservation is None else [f"ReservationName={order.reservation}"]
    words += [] if order.nodes is None else [f"NodeList={order.nodes}"]
    try:
        programs.call("scontrol", "update", *words)
    except SlurmError as error:
        return str(error)
    return ""


def return_queue(
    programs: SlurmPrograms, lease: Lease, decisions: OpenDecisions, log: SteeringLog, clock: Callable[[], int]
) -> None:  # fmt: skip
    """Leave all waiting jobs as submitted, and end the lease.

    Raises InputError, and SlurmError, also after the end of the lease if decisions remain.
    """
    lasts = lease.check(parse_reservations(programs.call(*RESERVATIONS).text), clock())
    jobs, malformed = steered_jobs(QUEUE[0], programs.call(*QUEUE).text)
    failed = []
    for order in decisions.return_orders(View(jobs, {}), lease.name):
        if failure := _give_order(programs, order):
            failed.append(f"job {order.job} keeps its decision ({failure})")
        else:
            decisions.forget(order.job)
            log.add([Entry(clock(), order.job, Event.TAKEN_BACK, detail=order.detail)])
    if lasts:
        lease.end()
    if malformed and decisions.decided:
        failed.append(f"{len(malformed)} malformed jobs, {malformed[0]}")
    if failed:
        raise SlurmError("; ".join(failed[:3]))
    log.add([Entry(clock(), "", Event.RETURNED, detail=lease.partition)])
