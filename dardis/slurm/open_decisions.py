"""Decisions that Slurm has not carried out yet, and jobs that were left to Slurm. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dardis.config.slurm.slurm_fields import NodeRecord
from dardis.model.job import Job
from dardis.slurm.steered_job import SteeredJob
from dardis.slurm.steered_nodes import Closure
from dardis.slurm.steering_log import Entry, Event
from dardis.workload.slurm_texts import JobPhase


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


class OpenDecisions:
    """Open decisions after the entries of a log."""

    def __init__(self, past: Iterable[Entry] = ()) -> None:
        self.pins: dict[str, Pin] = {}
        self.before: dict[str, str] = {}
        """Required nodes by the user of jobs that were decided, until they end."""
        self.passed: dict[str, str] = {}
        """Jobs left to Slurm, and why."""
        self.running: dict[str, int | None] = {}
        """Starts of running jobs, Unix s."""
        self.over: set[tuple[str, int | None]] = set()
        """Names and starts of jobs that ended."""
        for entry in past:
            self._recall(entry)

    def _recall(self, entry: Entry) -> None:
        job = entry.job
        match entry.event:
            case Event.START:
                self.pins[job] = Pin(entry.at, entry.nodes, entry.before)
                self.before[job] = entry.before
            case Event.STARTED | Event.FOUND:
                self.pins.pop(job, None)
                self.running[job] = entry.start
            case Event.PASSED:
                self.passed[job] = entry.detail
            case Event.TAKEN_BACK | Event.REFUSED | Event.LEFT | Event.ENDED:
                self.forget(job)
                self.running.pop(job, None)
                self.over |= {(job, entry.start)} if entry.event is Event.ENDED else set()
            case _:
                pass

    def forget(self, job: str) -> None:
        """Drop what is known of a waiting job."""
        for known in (self.pins, self.before, self.passed):
            known.pop(job, None)

    def why_passed(self, label: str) -> str:
        """Why a job, or the array of a task, was left to Slurm; empty: it was not."""
        return self.passed.get(label, self.passed.get(label.partition("_")[0], ""))

    def return_orders(self, view: View, reservation: str) -> list[Order]:
        """Orders that leave all waiting jobs as their users submitted them."""
        waiting = view.waiting()
        before: dict[str, str | None] = {job: pin.before for job, pin in self.pins.items()}
        return [
            Order(Event.TAKEN_BACK, name, waiting[name].account, was, "returned")
            for name, was in (before | dict.fromkeys(self.passed)).items()
            if name in waiting and waiting[name].reservation == reservation
        ]
