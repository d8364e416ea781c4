"""Files of site events."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import BeforeValidator, Field

from dardis.config.node_fields import node_numbers
from dardis.config.queue_fields import ReservationTable, check_reservations, reservations_of
from dardis.config.toml_file import Table, read_toml
from dardis.model.addresses import JobId
from dardis.model.errors import InputError
from dardis.model.events import (
    JobChanged,
    NodesDown,
    NodesUp,
    QueueStarted,
    QueueStopped,
    ReservationMade,
    SiteEvent,
)
from dardis.model.files import Read
from dardis.model.platform import Platform
from dardis.model.resources import Limit, Time

_KEYS = ("stop_queue", "start_queue", "job", "nodes_down", "nodes_up", "reservation")
_Nodes = Annotated[list[int], BeforeValidator(node_numbers)]


class EventTable(Table):
    """`[[events]]`: an event."""

    at_s: Time = Field(description="Time of the event, s on the trace's clock.")
    stop_queue: str | None = Field(None, description="Queue that stops: none of its jobs start.")
    start_queue: str | None = Field(None, description="Stopped queue that starts again.")
    job: Annotated[int, Field(ge=0)] | None = Field(
        None, description="Number of a waiting job that gets another walltime or queue."
    )
    walltime_s: Limit | None = Field(None, description="New walltime of the `job`.")
    queue: str | None = Field(None, description="New queue of the `job`.")
    nodes_down: _Nodes | None = Field(None, description="Nodes that fail. Their jobs are killed.")
    nodes_up: _Nodes | None = Field(None, description="Failed nodes that return.")
    reservation: ReservationTable | None = Field(
        None, description="New reservation, with the keys of `[[reservations]]`."
    )


class EventsFile(Table):
    """Events file."""

    events: Annotated[list[EventTable], Field(min_length=1)]


class LoadedEvents(NamedTuple):
    """Sorted events, and the platform with future reservations."""

    platform: Platform
    events: tuple[SiteEvent, ...]


def load_events(
    path: Path, platform: Platform, jobs: Container[int], first: int, read: Read = Path.read_bytes
) -> LoadedEvents:  # fmt: skip
    """Read an events file. Raises InputError.

    `jobs`: all job numbers; `first`: first submission. Moved jobs have no groups yet.
    """
    tables = [*enumerate(read_toml(path, EventsFile, read).events)]
    made = {index: table.reservation for index, table in tables if table.reservation is not None}
    more = [replace(reservations_of(f"{path}: events", [table])[0], stands=False) for table in made.values()]
    places = [f"platform: reservations[{place}]" for place in range(len(platform.reservations))]
    platform = replace(platform, reservations=(*platform.reservations, *more))
    check_reservations(platform, [*places, *(f"{path}: events[{index}].reservation" for index in made)])
    for index, table in tables:
        here = f"{path}: events[{index}]"
        if table.at_s < first:
            raise InputError(f"{here}.at_s", f"{table.at_s} s, before the trace begins", f"{first} s or later")
        _check_single_event(table, here)
        _check_references(table, here, platform, jobs)
    tables.sort(key=lambda pair: pair[1].at_s)
    _check_order(path, tables)
    return LoadedEvents(platform, tuple(_event(table) for _, table in tables))


def _check_single_event(table: EventTable, here: str) -> None:
    stated = [key for key in _KEYS if getattr(table, key) is not None]
    if len(stated) != 1:
        raise InputError(here, " and ".join(stated) or "no event", "one of " + ", ".join(_KEYS))
    changes = [key for key in ("walltime_s", "queue") if getattr(table, key) is not None]
    if (table.job is None) != (not changes):
        expected = "job together with walltime_s or queue"
        raise InputError(here, f"only {', '.join([*stated, *changes])}", expected)


def _check_references(table: EventTable, here: str, platform: Platform, jobs: Container[int]) -> None:
    for key in ("stop_queue", "start_queue", "queue"):
        name = getattr(table, key)
        if name is not None and name not in platform.queue_of:
            expected = "one of " + ", ".join(platform.queue_of) if platform.queues else "a platform with [[queues]]"
            raise InputError(f"{here}.{key}", f"queue {name!r} is not declared", expected)
    if table.job is not None and table.job not in jobs:
        raise InputError(f"{here}.job", f"unknown job {table.job}", "the number of a job of the run")
    for key in ("nodes_down", "nodes_up"):
        nodes = getattr(table, key)
        if nodes is not None and nodes[-1] >= platform.node_count:
            raise InputError(
                f"{here}.{key}", f"unknown node {nodes[-1]}", f"numbers from 0 to {platform.node_count - 1}"
            )
    if table.reservation is not None and table.reservation.start_s < table.at_s:
        found = f"{table.reservation.start_s} s, before the event"
        raise InputError(f"{here}.reservation.start_s", found, f"{table.at_s} s or later")


def _check_order(path: Path, tables: list[tuple[int, EventTable]]) -> None:
    stopped: set[str] = set()
    down: set[int] = set()
    since: dict[int, int] = {}
    for index, table in tables:
        here = f"{path}: events[{index}]"
        if table.stop_queue is not None:
            if table.stop_queue in stopped:
                raise InputError(
                    f"{here}.stop_queue", f"queue {table.stop_queue!r} is already stopped", "another queue"
                )
            stopped.add(table.stop_queue)
        if table.start_queue is not None:
            if table.start_queue not in stopped:
                raise InputError(
                    f"{here}.start_queue", f"queue {table.start_queue!r} is not stopped at this time", "another queue"
                )
            stopped.remove(table.start_queue)
        if again := down.intersection(table.nodes_down or ()):
            raise InputError(f"{here}.nodes_down", f"node {min(again)} is already down", "other nodes")
        if never := {*(table.nodes_up or ())} - down:
            raise InputError(f"{here}.nodes_up", f"node {min(never)} is not down at this time", "other nodes")
        since |= dict.fromkeys(table.nodes_down or (), table.at_s)
        for node in table.nodes_up or ():
            if since[node] == table.at_s:
                raise InputError(f"{here}.nodes_up", f"node {node} goes down at the same time", "a later time")
        down = (down | {*(table.nodes_down or ())}) - {*(table.nodes_up or ())}


def _event(table: EventTable) -> SiteEvent:
    at = table.at_s
    if table.stop_queue is not None:
        return QueueStopped(at, table.stop_queue)
    if table.start_queue is not None:
        return QueueStarted(at, table.start_queue)
    if table.nodes_down is not None:
        return NodesDown(at, tuple(table.nodes_down))
    if table.nodes_up is not None:
        return NodesUp(at, tuple(table.nodes_up))
    if table.reservation is not None:
        return ReservationMade(at, table.reservation.name)
    assert table.job is not None
    return JobChanged(at, JobId(table.job), table.walltime_s, table.queue)
