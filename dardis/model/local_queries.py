"""What a task manager asks the only pool of a machine in its own process by a call, and what that answers.

They stand for what messages between them would bring: rounds of offers, claims, and what nodes publish. Times are s;
arrays are int64.
"""

from __future__ import annotations

from typing import Protocol

from dardis.model.addresses import JobId
from dardis.model.arrays import Ints, value

BIND_COLUMNS = 7
"""Columns of a job in a `Bind` before what a unit asks for."""
BIND_WALLTIME, BIND_UNITS = 2, 3
"""Two of these."""


@value(frozen=True, slots=True)
class Seek:
    """Find a job's earliest start, and reserve it.

    It stands for the questions in windows that double, of which the first has `span` starts from `first` on, and for
    the claim that follows.
    """

    job: JobId
    attempt: int
    """How often it has asked with its first question; keys draws."""
    first: int
    span: int
    walltime: int
    units: int
    groups: int
    request: Ints
    choice: int
    distinct: bool


@value(frozen=True, slots=True)
class Sought:
    """What is reserved from `start` on; on no node where there is no start."""

    start: int
    nodes: Ints
    units: Ints
    rounds: int
    """For how many questions it stands."""


@value(frozen=True, slots=True)
class Improve:
    """Let these jobs start earlier on the nodes that they hold, one after the other, each where it can.

    Arrays of (jobs,), `request` (jobs, kinds).
    """

    job: Ints
    attempt: Ints
    """Names a claim, later than all before; whoever is asked more than once counts on from here."""
    first: Ints
    """First and last start that a job asks for; the first also keys its draws."""
    last: Ints
    units: Ints
    groups: Ints
    request: Ints
    choice: int
    distinct: bool


@value(frozen=True, slots=True)
class Improved:
    """Which jobs have moved, by their place in the question, and what they hold now."""

    place: Ints
    start: Ints
    offset: Ints
    """Those of `place[i]` are `nodes[offset[i] : offset[i + 1]]`."""
    nodes: Ints
    units: Ints


@value(frozen=True, slots=True)
class Bind:
    """Let these jobs start now, in this order, where they fit. Only task manager: it has all jobs.

    The first that does not fit reserves its earliest start, if anybody may. It stands for what nodes publish meanwhile,
    for questions in windows that double, and for claims.
    """

    jobs: Ints
    """Rows (number, submission, walltime, units, groups, deadline, start that it reserved last), then what a unit asks
    for."""
    dropped: JobId
    """Who gives back what it has reserved before anybody has a turn; less than 0: nobody."""
    reserves: int
    """Code of who sees to the reservation."""
    behind: bool
    """Whether others wait behind the last of these, who have no turn."""
    choice: int
    distinct: bool
    binds: bool
    """Whether the desired profile binds, and whether it gives way to deadlines."""
    soft: bool


@value(frozen=True, slots=True)
class Bound:
    """What jobs have got."""

    jobs: Ints
    """Rows (place in the question, number, start, end by its walltime, nodes): who starts now, and who has reserved."""
    nodes: Ints
    """Those of one job after those of the one before."""
    units: Ints
    rounds: int
    """For how many questions of the one that has reserved it stands."""
    blocked: int
    """Place of the first that can't start, if whoever asked is to reserve for it; less than 0: there is none."""
    told: int
    """How many nodes would have published something."""
    next_change: int
    """When capacity or what is wished changes by itself next."""


class LocalNodes(Protocol):
    """All nodes of a machine, in this process. Each call does at time `now` what it asks for."""

    def seek(self, seek: Seek, now: int) -> Sought:
        """Reserve the earliest start of a job."""

    def improve(self, improve: Improve, now: int) -> Improved:
        """Let jobs start earlier on the nodes that they hold."""

    def bind(self, bind: Bind, now: int) -> Bound:
        """Let jobs that bind late have their turns."""
