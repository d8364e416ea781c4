"""State of a site under events: queues, jobs, nodes and reservations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from dardis.dispatch.job_shapes import ShapeChecker
from dardis.model.addresses import JobId
from dardis.model.arrays import Ints
from dardis.model.capacity import could_hold
from dardis.model.events import (
    Change,
    JobChanged,
    LayoutChanged,
    NodesDown,
    NodesUp,
    QueueStarted,
    QueueStopped,
    ReservationMade,
    SiteEvent,
)
from dardis.model.job import ActualJob, Job
from dardis.model.node_layout import make_layout
from dardis.model.platform import Maintenance, Platform
from dardis.model.queues import Reservation
from dardis.model.resources import UNKNOWN_END
from dardis.sim.recorder import Recorder


class SimulatedJobs(Protocol):
    """Run's jobs, for site events."""

    jobs: list[ActualJob]
    recorder: Recorder

    def place_of(self, job: JobId) -> int:
        """Job's place."""
        ...

    def is_in(self, place: int) -> bool:
        """Whether a job is accepted and unfinished."""
        ...

    def has_begun(self, place: int, now: int) -> bool:
        """Whether a job runs or is over."""
        ...

    def waiting(self, now: int) -> list[int]:
        """Submitted jobs that have not begun."""
        ...

    def running(self, now: int) -> list[int]:
        """Running jobs."""
        ...

    def submit(self, place: int, now: int) -> None:
        """Submit a job to the site."""
        ...

    def submit_to_dispatcher(self, place: int, now: int) -> None:
        """Submit a job to the dispatcher."""
        ...

    def withdraw(self, places: Sequence[int], now: int) -> None:
        """Withdraw jobs that have not begun."""
        ...

    def kill(self, places: Sequence[int], now: int) -> None:
        """Fail jobs with their nodes."""
        ...

    def notify_dispatcher(self, change: Change, now: int) -> None:
        """Notify the dispatcher."""
        ...


class SiteState:
    """Present machine and queues. Their rules hold for all dispatchers."""

    def __init__(self, platform: Platform, *, distinct: bool) -> None:
        self.platform = platform
        self._distinct = distinct
        self.notes: list[str] = []
        """Failed requests, with reasons."""
        self._stopped: dict[str, int] = {}
        """Stop times of stopped queues."""
        self._held: set[int] = set()
        """Places of held jobs."""

    @property
    def platform_after_events(self) -> Platform:
        """Machine with past events."""
        return _with_stops(self.platform, {queue: (since, UNKNOWN_END) for queue, since in self._stopped.items()})

    def must_hold(self, place: int, job: Job) -> bool:
        """Whether to hold a submitted job."""
        if job.queue in self._stopped:
            self._held.add(place)
        return place in self._held

    def is_held(self, place: int) -> bool:
        """Whether a job is held."""
        return place in self._held

    def refusal(self, job: Job) -> str:
        """Why a job is refused, or empty."""
        return self.platform.refusal(job)

    def last_start(self, job: Job) -> int:
        """Last allowed start (FOREVER: any)."""
        return self.platform.last_start(job)

    def too_late(self, job: Job) -> str:
        """Why a late job never starts."""
        return self.platform.too_late(job)

    def judged_by(self, job: Job) -> str:
        """Addition to a rejection's reason."""
        return self.platform.reservation_note(job)

    def release_held(self, place: int) -> bool:
        """Release a job; return whether it was held."""
        if place in self._held:
            self._held.remove(place)
            return True
        return False

    def never_reason(self, place: int, job: Job) -> str:
        """Why a waiting job never starts, or empty."""
        if place in self._held:
            return f"waits in queue {job.queue}, which is stopped"
        has_failed = any(window.end == UNKNOWN_END for window in self.platform.maintenance)
        return "finds no start while nodes have failed" if has_failed else ""

    def unplaceable_jobs(self, jobs: Mapping[int, Job]) -> list[int]:
        """Places of jobs too large for the remaining nodes."""
        machine = make_layout(self.platform).machine
        failed = {node for window in machine.maintenance if window.end == UNKNOWN_END for node in window.nodes}
        left = np.delete(np.arange(machine.node_count), sorted(failed))
        sets = machine.sets.with_counts(
            np.bincount(machine.group_of_node[left], minlength=len(machine.groups)).tolist()
        )
        shapes = ShapeChecker(machine, distinct=self._distinct, failed=sorted(failed))

        def hold(job: Job) -> bool:
            if job.requests:
                return bool(shapes.feasible_orders(job))
            return could_hold(job, sets, distinct=self._distinct) >= job.units

        return [place for place, job in jobs.items() if not hold(job)]

    def happen(self, event: SiteEvent, world: SimulatedJobs, now: int) -> None:
        """Apply an event."""
        match event:
            case QueueStopped(queue=queue):
                self._stopped[queue] = now
                places = [place for place in world.waiting(now) if world.jobs[place].queue == queue]
                world.withdraw(places, now)
                self._held.update(places)
            case QueueStarted(queue=queue):
                since = self._stopped.pop(queue)
                if since < now:
                    self.platform = _with_stops(self.platform, {queue: (since, now)})
                self._submit_held(queue, world, now)
            case JobChanged():
                self._change(event, world, now)
            case NodesDown(nodes=nodes):
                self._apply_failures(nodes, world, now)
            case NodesUp(nodes=nodes):
                self._lay_out(_restore_nodes(self.platform, nodes, now), world, now)
            case ReservationMade(name=name):
                self._reserve(name, world, now)

    def _submit_held(self, queue: str, world: SimulatedJobs, now: int) -> None:
        mine = [place for place in self._held if world.jobs[place].queue == queue]
        self._held.difference_update(mine)
        for place in sorted(mine):
            world.submit_to_dispatcher(place, now)

    def _change(self, event: JobChanged, world: SimulatedJobs, now: int) -> None:
        place = world.place_of(event.job)
        if world.has_begun(place, now):
            self.notes.append(f"at {now} s job {event.job} can't be changed: it has started or will not start")
            return
        waits = world.is_in(place)
        if waits and place not in self._held:
            world.withdraw([place], now)
        asked = world.jobs[place].job
        changed = replace(asked, walltime=event.walltime or asked.walltime)
        if event.queue is not None:
            changed = replace(changed, queue=event.queue, groups=event.groups)
        world.jobs[place] = replace(world.jobs[place], job=changed)
        self._held.discard(place)
        if waits:
            world.submit(place, now)

    def _apply_failures(self, nodes: tuple[int, ...], world: SimulatedJobs, now: int) -> None:
        failed = make_layout(self.platform).with_reserved_nodes(nodes)
        world.kill(
            [place for place in world.running(now) if np.isin(world.recorder.nodes_of(place), failed).any()], now
        )
        window = Maintenance(nodes, now, UNKNOWN_END, foreseen=False)
        self._lay_out(replace(self.platform, maintenance=(*self.platform.maintenance, window)), world, now)

    def _reserve(self, name: str, world: SimulatedJobs, now: int) -> None:
        """Grant a reservation beside running jobs (thesis eq. 4.5)."""
        asked = next(one for one in self.platform.reservations if one.name == name)
        lacks = _lacks(self.platform, asked, self._other_holdings(world, now))
        if lacks is not None:
            self.notes.append(f"at {now} s reservation {name} is refused: node {lacks} has too little free capacity")
            return
        standing = tuple(replace(one, stands=one.stands or one is asked) for one in self.platform.reservations)
        self._lay_out(replace(self.platform, reservations=standing), world, now)

    def _other_holdings(self, world: SimulatedJobs, now: int) -> list[tuple[int, Ints, Ints]]:
        held = []
        for place in world.running(now):
            asked, start = world.jobs[place].job, world.recorder.start[place]
            if asked.queue not in self.platform.reservation_of:
                requests = [part.request for part in asked.requests[0].parts] if asked.requests else [asked.request]
                placed = world.recorder.parts.get(place, (world.recorder.placement(place),))
                for request, (nodes, units) in zip(requests, placed, strict=True):
                    held.append((start + asked.walltime, nodes, units[:, None] * np.array(request, dtype=np.int64)))
        return held

    def _lay_out(self, platform: Platform, world: SimulatedJobs, now: int) -> None:
        self.platform = platform
        places = world.waiting(now)
        world.withdraw(places, now)
        world.notify_dispatcher(LayoutChanged(make_layout(platform).machine), now)
        for place in places:
            world.submit_to_dispatcher(place, now)


def _with_stops(platform: Platform, spans: dict[str, tuple[int, int]]) -> Platform:
    queues = tuple(
        replace(queue, stopped=(*queue.stopped, spans[queue.name])) if queue.name in spans else queue
        for queue in platform.queues
    )
    return replace(platform, queues=queues)


def _restore_nodes(platform: Platform, nodes: tuple[int, ...], now: int) -> Platform:
    windows = []
    for window in platform.maintenance:
        back = set(window.nodes).intersection(nodes) if window.end == UNKNOWN_END else set()
        left = tuple(node for node in window.nodes if node not in back)
        if left:
            windows.append(replace(window, nodes=left))
        if back and window.start < now:
            windows.append(replace(window, nodes=tuple(sorted(back)), end=now))
    return replace(platform, maintenance=tuple(windows))


def _lacks(platform: Platform, asked: Reservation, running: list[tuple[int, Ints, Ints]]) -> int | None:
    """Node without room for a reservation beside others, or None.

    `running`: (walltime end, nodes, amounts (nodes, kinds)) by job.
    """
    kept = asked.reserved_amounts(platform.capacity, platform.kinds)
    others = [other for other in platform.reservations if other.stands]
    for start, end in asked.spans:
        for moment in {start, *(begin for other in others for begin, _ in other.spans if start < begin < end)}:
            taken = np.zeros_like(kept)
            for until, nodes, amounts in running:
                if until > moment:
                    np.add.at(taken, nodes, amounts)
            for other in others:
                if any(begin <= moment < over for begin, over in other.spans):
                    taken += other.reserved_amounts(platform.capacity, platform.kinds)
            for window in platform.maintenance:
                if window.start < end and window.end > start:
                    taken[list(window.nodes)] = platform.capacity[list(window.nodes)]
            short = np.flatnonzero(((kept + taken > platform.capacity) & (kept > 0)).any(axis=1))
            if len(short):
                return int(short[0])
    return None
