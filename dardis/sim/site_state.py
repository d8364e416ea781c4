"""What becomes of a site as events change it: queues, asks, nodes and reservations, whoever decides on its jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from dardis.dispatch.job_shapes import Shapes
from dardis.model.addresses import JobId
from dardis.model.arrays import Ints
from dardis.model.capacity import could_hold
from dardis.model.events import (
    Change,
    JobChanged,
    LaidOutAnew,
    NodesDown,
    NodesUp,
    QueueStarted,
    QueueStopped,
    ReservationMade,
    SiteEvent,
)
from dardis.model.job import Actual, Job
from dardis.model.node_layout import lay_out
from dardis.model.platform import Maintenance, Platform
from dardis.model.queues import Reservation
from dardis.model.resources import NOBODY_KNOWS
from dardis.sim.recorder import Recorder


class World(Protocol):
    """The jobs of a run, as far as events bear on them; they are named by their places."""

    jobs: list[Actual]
    recorder: Recorder

    def place_of(self, job: JobId) -> int:
        """Its place among all jobs."""
        ...

    def is_in(self, place: int) -> bool:
        """Whether a job has been taken and has come to no end."""
        ...

    def has_begun(self, place: int, now: int) -> bool:
        """Whether a job runs, or will no more."""
        ...

    def waiting(self, now: int) -> list[int]:
        """The jobs that those who decide have and that have not begun, in the order of submission."""
        ...

    def running(self, now: int) -> list[int]:
        """The jobs that run."""
        ...

    def submit(self, place: int, now: int) -> None:
        """Hand a job in, if the site takes it."""
        ...

    def hand_in(self, place: int, now: int) -> None:
        """Submit a job to those who decide."""
        ...

    def withdraw(self, places: Sequence[int], now: int) -> None:
        """Let jobs that have not begun wait no more."""
        ...

    def kill(self, places: Sequence[int], now: int) -> None:
        """Let the nodes of jobs fail."""
        ...

    def tell(self, change: Change, now: int) -> None:
        """Tell those who decide."""
        ...


class Site:
    """A machine and its queues as they have become; what it says of jobs holds for all dispatchers."""

    def __init__(self, platform: Platform, *, distinct: bool) -> None:
        """Nothing has happened. `distinct`: units of a job are on different nodes."""
        self.platform = platform
        self._distinct = distinct
        self.notes: list[str] = []
        """What could not be done as it was asked for, and why."""
        self._stopped: dict[str, int] = {}
        """Since when queues are stopped that are not started yet."""
        self._held: set[int] = set()
        """Places of the jobs that have been submitted to these."""

    @property
    def as_it_became(self) -> Platform:
        """The machine with all that has happened to it."""
        return _with_stops(self.platform, {queue: (since, NOBODY_KNOWS) for queue, since in self._stopped.items()})

    def holds(self, place: int, job: Job) -> bool:
        """Whether a job that is submitted goes no further for now."""
        if job.queue in self._stopped:
            self._held.add(place)
        return place in self._held

    def is_held(self, place: int) -> bool:
        """Whether a job waits for its queue to start."""
        return place in self._held

    def refusal(self, job: Job) -> str:
        """Why a job that is submitted is not taken; empty if it is."""
        return self.platform.refusal(job)

    def last_start(self, job: Job) -> int:
        """The last time at which the job may start (FOREVER: it may at any)."""
        return self.platform.last_start(job)

    def too_late(self, job: Job) -> str:
        """Why a job that has not started by then never does."""
        return self.platform.too_late(job)

    def judged_by(self, job: Job) -> str:
        """What to add to why those who decide reject a job."""
        return self.platform.judged_by(job)

    def let_go(self, place: int) -> bool:
        """Hold a job no more; whether it was held."""
        if place in self._held:
            self._held.remove(place)
            return True
        return False

    def why_never(self, place: int, job: Job) -> str:
        """Why a job that waits never starts, where nothing more happens; empty if there is no reason."""
        if place in self._held:
            return f"waits in queue {job.queue}, which is stopped"
        has_failed = any(window.end == NOBODY_KNOWS for window in self.platform.maintenance)
        return "finds no start while nodes have failed" if has_failed else ""

    def lacking(self, jobs: Mapping[int, Job]) -> list[int]:
        """Those of some jobs, by place, whom the nodes that are left could not hold."""
        machine = lay_out(self.platform).machine
        failed = {node for window in machine.maintenance if window.end == NOBODY_KNOWS for node in window.nodes}
        left = np.delete(np.arange(machine.node_count), sorted(failed))
        sets = machine.sets.with_counts(
            np.bincount(machine.group_of_node[left], minlength=len(machine.groups)).tolist()
        )
        shapes = Shapes(machine, distinct=self._distinct, failed=sorted(failed))

        def hold(job: Job) -> bool:
            if job.requests:
                return bool(shapes.held(job))
            return could_hold(job, sets, distinct=self._distinct) >= job.units

        return [place for place, job in jobs.items() if not hold(job)]

    def happen(self, event: SiteEvent, world: World, now: int) -> None:
        """Let an event happen."""
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
                self._see_what_fails(nodes, world, now)
            case NodesUp(nodes=nodes):
                self._lay_out(_come_back(self.platform, nodes, now), world, now)
            case ReservationMade(name=name):
                self._reserve(name, world, now)

    def _submit_held(self, queue: str, world: World, now: int) -> None:
        """Hand in who has waited for a queue to start."""
        mine = [place for place in self._held if world.jobs[place].queue == queue]
        self._held.difference_update(mine)
        for place in sorted(mine):
            world.hand_in(place, now)

    def _change(self, event: JobChanged, world: World, now: int) -> None:
        """Let a job ask for something else, if it has not begun."""
        place = world.place_of(event.job)
        if world.has_begun(place, now):
            self.notes.append(f"at {now} s job {event.job} is to be changed, and has begun or will not")
            return
        waits = world.is_in(place)
        if waits and place not in self._held:
            world.withdraw([place], now)
        asked = world.jobs[place].asked
        changed = replace(asked, walltime=event.walltime or asked.walltime)
        if event.queue is not None:
            changed = replace(changed, queue=event.queue, groups=event.groups)
        world.jobs[place] = replace(world.jobs[place], asked=changed)
        self._held.discard(place)
        if waits:
            world.submit(place, now)

    def _see_what_fails(self, nodes: tuple[int, ...], world: World, now: int) -> None:
        """Nodes fail, with all that runs on them."""
        failed = lay_out(self.platform).standing_on(nodes)
        world.kill(
            [place for place in world.running(now) if np.isin(world.recorder.nodes_of(place), failed).any()], now
        )
        window = Maintenance(nodes, now, NOBODY_KNOWS, foreseen=False)
        self._lay_out(replace(self.platform, maintenance=(*self.platform.maintenance, window)), world, now)

    def _reserve(self, name: str, world: World, now: int) -> None:
        """Let a reservation stand, if there is room for it beside who runs (thesis eq. 4.5)."""
        asked = next(one for one in self.platform.reservations if one.name == name)
        lacks = _lacks(self.platform, asked, self._held_by_others(world, now))
        if lacks is not None:
            self.notes.append(f"at {now} s reservation {name} is refused: node {lacks} has too little left")
            return
        standing = tuple(replace(one, stands=one.stands or one is asked) for one in self.platform.reservations)
        self._lay_out(replace(self.platform, reservations=standing), world, now)

    def _held_by_others(self, world: World, now: int) -> list[tuple[int, Ints, Ints]]:
        """Of the jobs that run outside of reservations until when at most, on which nodes, and what they have there."""
        held = []
        for place in world.running(now):
            asked, start = world.jobs[place].asked, world.recorder.start[place]
            if asked.queue not in self.platform.reservation_of:
                requests = [part.request for part in asked.requests[0].parts] if asked.requests else [asked.request]
                placed = world.recorder.parts.get(place, (world.recorder.placement(place),))
                for request, (nodes, units) in zip(requests, placed, strict=True):
                    held.append((start + asked.walltime, nodes, units[:, None] * np.array(request, dtype=np.int64)))
        return held

    def _lay_out(self, platform: Platform, world: World, now: int) -> None:
        """Tell those who decide that the machine is another; who waits asks anew."""
        self.platform = platform
        places = world.waiting(now)
        world.withdraw(places, now)
        world.tell(LaidOutAnew(lay_out(platform).machine), now)
        for place in places:
            world.hand_in(place, now)


def _with_stops(platform: Platform, spans: dict[str, tuple[int, int]]) -> Platform:
    """The platform with queues that were stopped."""
    queues = tuple(
        replace(queue, stopped=(*queue.stopped, spans[queue.name])) if queue.name in spans else queue
        for queue in platform.queues
    )
    return replace(platform, queues=queues)


def _come_back(platform: Platform, nodes: tuple[int, ...], now: int) -> Platform:
    """The platform on which these nodes, which had failed, are there from now on."""
    windows = []
    for window in platform.maintenance:
        back = set(window.nodes).intersection(nodes) if window.end == NOBODY_KNOWS else set()
        left = tuple(node for node in window.nodes if node not in back)
        if left:
            windows.append(replace(window, nodes=left))
        if back and window.start < now:
            windows.append(replace(window, nodes=tuple(sorted(back)), end=now))
    return replace(platform, maintenance=tuple(windows))


def _lacks(platform: Platform, asked: Reservation, running: list[tuple[int, Ints, Ints]]) -> int | None:
    """A node that will not have what is asked for, as others run there until their walltimes, or it has failed.

    `running`: for each job until when, on which nodes, and what it has of each, shape (nodes, kinds).
    """
    kept = asked.kept(platform.capacity, platform.kinds)
    others = [other for other in platform.reservations if other.stands]
    for start, end in asked.spans:
        for moment in {start, *(begin for other in others for begin, _ in other.spans if start < begin < end)}:
            taken = np.zeros_like(kept)
            for until, nodes, amounts in running:
                if until > moment:
                    np.add.at(taken, nodes, amounts)
            for other in others:
                if any(begin <= moment < over for begin, over in other.spans):
                    taken += other.kept(platform.capacity, platform.kinds)
            for window in platform.maintenance:
                if window.start < end and window.end > start:
                    taken[list(window.nodes)] = platform.capacity[list(window.nodes)]
            short = np.flatnonzero(((kept + taken > platform.capacity) & (kept > 0)).any(axis=1))
            if len(short):
                return int(short[0])
    return None
