"""JSON records of machines and decisions, read strictly."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import ConfigDict, Field

from dardis.config.platform_file import check_amounts, check_platform
from dardis.config.queue_fields import check_reservations, places_of, time_zone
from dardis.config.toml_file import Table
from dardis.model.errors import InputError
from dardis.model.numbers import LARGEST_INT64, LEAST_INT64
from dardis.model.platform import Platform
from dardis.model.queues import LATEST_BEGIN, Hours
from dardis.model.resources import LARGEST_AMOUNT, LATEST, MAX_GROUPS, MOST_NODES


class Record(Table):
    """JSON object; unknown keys are ignored."""

    model_config = ConfigDict(extra="ignore")


class MachineRecord(Record):
    """Record with a machine."""

    platform: Platform

    def machine(self, path: Path) -> Platform:
        """Checked machine. Raises InputError."""
        for part, mistake in _mistakes(self.platform):
            raise InputError(f"{path}: platform{part}", mistake)
        check_platform(self.platform, f"{path}: platform.groups", f"{path}: platform.maintenance")
        check_reservations(self.platform, places_of(f"{path}: platform.reservations", self.platform))
        return self.platform


def _mistakes(platform: Platform) -> Iterator[tuple[str, str]]:
    for index, group in enumerate(platform.groups):
        try:
            check_amounts(group.resources)
        except ValueError as error:
            yield f".groups[{index}].resources", str(error)
        if group.prefix.split() != [group.prefix]:
            yield f".groups[{index}].prefix", f"{group.prefix!r}; expected a prefix without blanks"
    groups = len(platform.groups)
    for name, indices in platform.partitions.items():
        if max(indices) >= groups:
            yield "", f"partition {name!r} names group {max(indices)}; expected numbers from 0 to {groups - 1}"
    if max((group for some in platform.more_sets for group in some), default=0) >= groups:
        yield "", "more_sets name an unknown group"
    if platform.kept_groups:
        yield ".kept_groups", f"{platform.kept_groups}; expected 0"
    yield from _mistakes_in_time(platform)
    yield from _mistakes_of_queues(platform)


def _mistakes_in_time(platform: Platform) -> Iterator[tuple[str, str]]:
    spans = [(f".maintenance[{index}]", window.start, window.end) for index, window in enumerate(platform.maintenance)]
    limits = enumerate(platform.facility.limits)
    for place, start, end in [*spans, *((f".facility.limits[{index}]", one.start, one.end) for index, one in limits)]:
        if end <= start:
            yield place, f"end {end} is not after start {start}"
    for index, reservation in enumerate(platform.reservations):
        for (start, end), (after, _) in pairwise([*reservation.spans, (LATEST + 1, 0)]):
            if not start < end < after:
                yield f".reservations[{index}]", f"from {start} to {end}, then from {after}; expected spans in order"
        if [*reservation.nodes] != sorted(set(reservation.nodes)):
            yield f".reservations[{index}]", "nodes are not in order"
    if (prime := platform.prime) is None:
        return
    try:
        time_zone(prime.timezone)
    except ValueError as error:
        yield ".prime.timezone", str(error)
    if not 0 <= (prime.unix_start or 0) + prime.first <= LATEST_BEGIN:
        yield ".prime", "begins in a year outside the calendar"


def _mistakes_of_queues(platform: Platform) -> Iterator[tuple[str, str]]:
    for index, queue in enumerate(platform.queues):
        if max(queue.groups or (0,)) >= len(platform.groups):
            yield "", f"queue {queue.name!r} names an unknown group"
        if queue.hours is not Hours.ANY and (platform.prime is None or platform.prime.unix_start is None):
            yield "", f"queue {queue.name!r} has {queue.hours} hours, but their time is unknown"
        for start, end in queue.stopped:
            if end <= start:
                yield f".queues[{index}]", f"stopped until {end}, which is not after {start}"


def platform_from_dict(data: dict[str, Any]) -> Platform:
    """Reverse of `platform_to_dict`. Raises ValueError."""
    return MachineRecord.model_validate({"platform": data}, strict=False).platform


FORMAT: Final = "dardis-instance"
VERSION: Final = 1
_FARTHEST: Final = 1 << 52
_Moment = Annotated[int, Field(ge=-_FARTHEST, le=_FARTHEST)]
_Duration = Annotated[int, Field(ge=1, le=2 * LATEST)]
_Units = Annotated[int, Field(ge=1, le=LATEST)]
_Amounts = list[Annotated[int, Field(ge=0, le=LARGEST_AMOUNT)]]
_Node = Annotated[int, Field(ge=0, lt=MOST_NODES)]


_Groups = list[Annotated[int, Field(ge=0, lt=MAX_GROUPS)]]
"""Empty: none, if another request has some."""


class PartRecord(Record):
    """Request's part."""

    units: _Units
    nodes: Annotated[int, Field(ge=0, lt=MOST_NODES)] = 0
    request: _Amounts
    groups: _Groups


class RequestRecord(Record):
    """One of several requests."""

    walltime: _Duration
    contiguous: bool = False
    parts: Annotated[list[PartRecord], Field(min_length=1)]


class JobRecord(Record):
    """Job's request; `groups` are group numbers."""

    number: Annotated[int, Field(ge=LEAST_INT64, le=LARGEST_INT64)]
    submit: _Moment
    earliest: _Moment
    latest: _Moment | None = None
    walltime: _Duration
    units: _Units
    request: _Amounts
    groups: _Groups
    prediction: _Duration | None = None
    queue: str = ""
    requests: list[RequestRecord] = Field(default_factory=list)


class RunningRecord(Record):
    """Running job or part."""

    job: JobRecord
    end: _Moment
    foreseen: _Moment
    nodes: Annotated[list[_Node], Field(min_length=1)]
    units: Annotated[list[_Units], Field(min_length=1)]
    positions: list[list[Annotated[int, Field(ge=-1, le=_FARTHEST)]]] | None = None
    part: Annotated[int, Field(ge=0, le=LATEST)] = 0


class WaitingRecord(Record):
    """Waiting job with a duration to reserve."""

    job: JobRecord
    duration: _Duration


class BlockedRecord(Record):
    """Unavailable capacity of a node."""

    node: _Node
    start: _Moment
    end: _Moment | None
    """None: for ever."""
    amounts: _Amounts


class InstanceRecord(MachineRecord):
    """Scheduling decision to solve."""

    format: Literal["dardis-instance"]
    version: Literal[1]
    now: _Moment
    distinct: bool = False
    keeps_hours: bool = False
    running: list[RunningRecord]
    waiting: Annotated[list[WaitingRecord], Field(min_length=1)]
    blocked: list[BlockedRecord] = Field(default_factory=list)
