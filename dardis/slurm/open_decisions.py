"""Decisions that Slurm has not carried out yet, and jobs that were left to Slurm. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from dardis.config.slurm.slurm_fields import NodeRecord
from dardis.model.job import Job
from dardis.slurm.steered_job import SteeredJob, names_in
from dardis.slurm.steered_nodes import Closure
from dardis.slurm.steering_log import Entry, Event, whole_of
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
    nodes: str | None
    """Required nodes from now on; None: unchanged."""
    detail: str = ""


@dataclass(slots=True)
class Pin:
    """A decision to start a job on `nodes`; `before`: its required nodes by the user."""

    at: int
    nodes: str
    before: str
    job: Job | None = None
    failure: str = ""
    """Slurm's refusal of the order, which may have been carried out nevertheless."""


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
        self.before: dict[str, str] = {}
        """Required nodes by the user of jobs that were decided, until they end."""
        self.passed: dict[str, str] = {}
        """Jobs and arrays left to Slurm, and why."""
        self.running: dict[str, Run] = {}
        self.over: dict[tuple[str, int | None], int] = {}
        """Names and starts of jobs that ended, with the times when this was seen, Unix s."""
        for entry in past:
            self._recall(entry)
        last = max(self.over.values(), default=0)
        self.over = {run: at for run, at in self.over.items() if at > last - _SHOWN_S}

    def _recall(self, entry: Entry) -> None:
        job = entry.job
        match entry.event:
            case Event.START:
                self.pins[job] = Pin(entry.at, entry.nodes, entry.before)
                self.before[job] = entry.before
            case Event.STARTED | Event.FOUND:
                self.pins.pop(job, None)
                self.running[job] = Run(entry.start, entry.nodes)
            case Event.PASSED:
                self.passed[job] = entry.detail
            case Event.TAKEN_BACK | Event.REFUSED | Event.LEFT | Event.ENDED:
                self.forget(job)
                self.running.pop(job, None)
                if entry.event is Event.ENDED:
                    self.over[job, entry.start] = entry.at
            case _:
                pass

    def forget(self, job: str) -> None:
        """Drop what is known of a waiting job."""
        for known in (self.pins, self.before, self.passed):
            known.pop(job, None)

    def why_passed(self, label: str) -> str:
        """Why a job, or the array or heterogeneous job of a label, was left to Slurm; empty: it was not."""
        return self.passed.get(label, self.passed.get(whole_of(label), ""))

    def return_orders(self, view: View, reservation: str) -> list[Order]:
        """Orders that leave all waiting jobs as their users submitted them, also after the end of the reservation."""
        waiting, orders = view.waiting(), []
        for name, pin in self.pins.items():
            one = waiting.get(name)
            if one is not None and (one.reservation == reservation or is_bound(one, pin)):
                orders.append(Order(Event.TAKEN_BACK, name, name, one.account, pin.before, "returned"))
        for name in self.passed:
            one = waiting.get(name)
            if one is not None and one.reservation == reservation:
                orders.append(Order(Event.TAKEN_BACK, name, one.all_tasks, one.account, None, "returned"))
        return orders

    def snapshot(self, now: int) -> Iterator[Entry]:
        """Entries from which the same follows."""
        for job, why in self.passed.items():
            yield Entry(now, job, Event.PASSED, detail=why)
        for job, run in self.running.items():
            yield Entry(now, job, Event.FOUND, run.nodes, run.start)
        for job, pin in self.pins.items():
            yield Entry(pin.at, job, Event.START, pin.nodes, before=pin.before)


def is_bound(one: SteeredJob, pin: Pin) -> bool:
    """Whether a waiting job asks for the decided nodes instead of its user's."""
    required = names_in(one.required)
    return required == names_in(pin.nodes) and required != names_in(pin.before)
