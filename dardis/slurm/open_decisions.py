"""Decisions that Slurm has not carried out yet, and jobs that were left to Slurm. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from dardis.config.slurm.slurm_fields import NodeRecord
from dardis.model.hostlist import names_in
from dardis.model.job import Job
from dardis.slurm.steered_job import SteeredJob
from dardis.slurm.steered_nodes import Closure
from dardis.slurm.steering_log import QUEUED_AGAIN, Entry, Event, whole_of
from dardis.workload.slurm_texts import JobPhase

_SHOWN_S: Final = 3600
"""Slurm shows ended jobs for less (MinJobAge)."""


class View(NamedTuple):
    """Slurm at an instant."""

    jobs: Sequence[SteeredJob]
    nodes: Mapping[str, NodeRecord]
    closures: Sequence[Closure] = ()
    """By reservations of others."""
    is_complete: bool = True
    """Whether all jobs are readable."""

    def waiting(self) -> dict[str, SteeredJob]:
        """Waiting jobs by their names and those of their tasks."""
        waiting = [one for one in self.jobs if one.job.phase is JobPhase.WAITS]
        return {name: one for one in waiting for name in (one.name, *one.labels)}


class Order(NamedTuple):
    """Change of a waiting job: to start (`START`), to wait again (`TAKEN_BACK`), or to leave it to Slurm (`PASSED`)."""

    event: Event
    job: str
    what: str
    """Job or tasks, as `scontrol` knows them."""
    account: str
    reservation: str | None
    """Reservation from now on; None: unchanged."""
    nodes: str | None
    """Required nodes from now on; None: unchanged."""
    detail: str = ""


class Decided(NamedTuple):
    """Decided nodes of a job, and its required nodes before, by the user."""

    nodes: str
    before: str

    def binds(self, one: SteeredJob) -> bool:
        """Whether a waiting job asks for the decided nodes instead of its user's."""
        required = names_in(one.required)
        return required == names_in(self.nodes) and required != names_in(self.before)


@dataclass(slots=True)
class Pin:
    """A decision not carried out yet; `failure`: Slurm's refusal, perhaps wrong."""

    at: int
    nodes: str
    job: Job | None = None
    failure: str = ""


@dataclass(slots=True)
class Run:
    """A run of a job; `restarts`: how often it was queued again before (None: unknown)."""

    start: int | None
    nodes: str
    restarts: int | None = None
    job: Job | None = None


class OpenDecisions:
    """Open decisions after the entries of a log."""

    def __init__(self, past: Iterable[Entry] = ()) -> None:
        self.pins: dict[str, Pin] = {}
        self.decided: dict[str, Decided] = {}
        """Last decisions, until the jobs end."""
        self.passed: dict[str, str] = {}
        """Jobs and arrays left to Slurm, with reasons."""
        self.running: dict[str, Run] = {}
        self.over: dict[tuple[str, int | None], int] = {}
        """Names and starts of ended jobs, and when this was seen, Unix s."""
        for entry in past:
            self._recall(entry)
        self.forget_over(max(self.over.values(), default=0))

    def _recall(self, entry: Entry) -> None:
        job = entry.job
        match entry.event:
            case Event.START:
                self.pins[job] = Pin(entry.at, entry.nodes)
                self.decided[job] = Decided(entry.nodes, entry.before)
            case Event.STARTED | Event.FOUND:
                self.pins.pop(job, None)
                self.running[job] = Run(entry.start, entry.nodes)
            case Event.PASSED:
                self.passed[job] = entry.detail
            case Event.REFUSED:
                self.pins.pop(job, None)
            case Event.ENDED:
                self.running.pop(job, None)
                self.over[job, entry.start] = entry.at
                if entry.detail != QUEUED_AGAIN:
                    self.forget(job)
            case Event.TAKEN_BACK | Event.LEFT:
                self.forget(job)
            case _:
                pass

    def forget(self, job: str) -> None:
        """Drop what is known of a job."""
        for known in (self.pins, self.decided, self.passed):
            known.pop(job, None)

    def forget_over(self, now: int) -> None:
        """Drop ends that Slurm no longer shows."""
        self.over = {run: at for run, at in self.over.items() if at > now - _SHOWN_S}

    def why_passed(self, label: str) -> str:
        """Why a job or its array was left to Slurm; empty: it was not."""
        return self.passed.get(label, self.passed.get(whole_of(label), ""))

    def is_bound(self, label: str, one: SteeredJob, reservation: str) -> bool:
        """Whether a waiting job has something of a decision: the reservation, or the nodes."""
        decided = self.decided.get(label)
        return decided is not None and (one.reservation == reservation or decided.binds(one))

    def take_back(self, label: str, one: SteeredJob, reservation: str, detail: str) -> Order:
        """Order to restore the user's request; later changes by the user stay."""
        decided = self.decided[label]
        return Order(
            Event.TAKEN_BACK, label, label, one.account, "" if one.reservation == reservation else None,
            decided.before if decided.binds(one) else None, detail,
        )  # fmt: skip

    def return_orders(self, view: View, reservation: str) -> list[Order]:
        """Orders to restore all waiting jobs."""
        waiting, orders = view.waiting(), []
        for name in self.decided:
            one = waiting.get(name)
            if one is not None and self.is_bound(name, one, reservation):
                orders.append(self.take_back(name, one, reservation, "returned"))
        for name in self.passed:
            one = waiting.get(name)
            if one is not None and one.reservation == reservation:
                orders.append(Order(Event.TAKEN_BACK, name, one.all_tasks, one.account, "", None, "returned"))
        return orders

    def snapshot(self, now: int) -> Iterator[Entry]:
        """Entries from which the same follows."""
        for job, why in self.passed.items():
            yield Entry(now, job, Event.PASSED, detail=why)
        for job, decided in self.decided.items():
            pin = self.pins.get(job)
            yield Entry(now if pin is None else pin.at, job, Event.START, decided.nodes, before=decided.before)
            if pin is None and job not in self.running:
                yield Entry(now, job, Event.REFUSED, decided.nodes, detail="an earlier decision")
        for job, run in self.running.items():
            yield Entry(now, job, Event.FOUND, run.nodes, run.start)
