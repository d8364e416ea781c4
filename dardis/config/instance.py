"""What the JSON of a decision may say (docs/formats.md): the machine, who runs on it, who waits, what is blocked.

Times are s of the trace's clock. Whether it all goes together is for whoever puts it as a problem to see.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field

from dardis.config.platform_record import MachineRecord, Record
from dardis.model.limits import LARGEST_AMOUNT, LATEST, MAX_GROUPS, MOST_NODES
from dardis.model.numbers import LARGEST_INT64, LEAST_INT64

FORMAT: Final = "dardis-instance"
VERSION: Final = 1
_FARTHEST: Final = 1 << 52
"""Times and durations of a trace, and sums of them, lie within so many seconds of 0."""
_Moment = Annotated[int, Field(ge=-_FARTHEST, le=_FARTHEST)]
_Duration = Annotated[int, Field(ge=1, le=2 * LATEST)]
_Units = Annotated[int, Field(ge=1, le=LATEST)]
_Amounts = list[Annotated[int, Field(ge=0, le=LARGEST_AMOUNT)]]
_Node = Annotated[int, Field(ge=0, lt=MOST_NODES)]


_Groups = list[Annotated[int, Field(ge=0, lt=MAX_GROUPS)]]
"""None: no nodes may run it, which may be so of all but one of the things that a job may be run as."""


class PartRecord(Record):
    """A part of a request."""

    units: _Units
    nodes: Annotated[int, Field(ge=0, lt=MOST_NODES)] = 0
    request: _Amounts
    groups: _Groups


class RequestRecord(Record):
    """One of the things that a job may be run as."""

    walltime: _Duration
    contiguous: bool = False
    parts: Annotated[list[PartRecord], Field(min_length=1)]


class JobRecord(Record):
    """What a job asks for; `groups` are numbers of node groups."""

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
    """A job that runs, or a part of one."""

    job: JobRecord
    end: _Moment
    foreseen: _Moment
    nodes: Annotated[list[_Node], Field(min_length=1)]
    units: Annotated[list[_Units], Field(min_length=1)]
    positions: list[list[Annotated[int, Field(ge=-1, le=_FARTHEST)]]] | None = None
    part: Annotated[int, Field(ge=0, le=LATEST)] = 0


class WaitingRecord(Record):
    """A job that waits, and for how long its nodes are to be held."""

    job: JobRecord
    duration: _Duration


class BlockedRecord(Record):
    """What nobody may use of a node."""

    node: _Node
    start: _Moment
    end: _Moment | None
    """None: for ever."""
    amounts: _Amounts


class InstanceRecord(MachineRecord):
    """A decision that is to be made."""

    format: Literal["dardis-instance"]
    version: Literal[1]
    now: _Moment
    distinct: bool = False
    keeps_hours: bool = False
    running: list[RunningRecord]
    waiting: Annotated[list[WaitingRecord], Field(min_length=1)]
    blocked: list[BlockedRecord] = Field(default_factory=list)
