"""Messages. Nodes have platform numbers, times are s, arrays are int64.

A *host* is a process with adjacent nodes. A message counts once per named node.
"""

from __future__ import annotations

from dataclasses import field

import numpy as np

from dardis.model import offer_rows
from dardis.model.addresses import Address, HostId, JobId, ManagerAddress
from dardis.model.arrays import Ints, value
from dardis.model.job import FOREVER, NO_TIME
from dardis.model.offer_rows import QueryArrays

ROWS, SUMS, CANDIDATES = offer_rows.ROWS, offer_rows.SUMS, offer_rows.CANDIDATES
_NONE: Ints = np.zeros(0, dtype=np.int64)


@value(frozen=True, slots=True)
class OfferQuery:
    """Query of a task manager for starts of jobs. Arrays (asks,); `request` (asks, kinds)."""

    round: int
    job: Ints
    draw_key: Ints
    """Key of draws: number of queries, or the instant for a moving job."""
    first: Ints
    """First start of the window, and origin of the grid."""
    last: Ints
    walltime: Ints
    units: Ints
    quota: Ints
    """Most starts per node; below 0: all, as runs."""
    groups: Ints
    """Bit set of allowed groups."""
    request: Ints
    generator: int
    grain: int
    """Step of starts, in s."""
    desired_binds: bool
    held_only: bool
    as_if_up: bool = False
    """Whether sleeping nodes answer as if up."""
    sample_offset: Ints = field(default_factory=lambda: _NONE)
    """Ask i is for `sample[sample_offset[i] : sample_offset[i + 1]]`; empty: all."""
    sample: Ints = field(default_factory=lambda: _NONE)
    needed: Ints = field(default_factory=lambda: _NONE)
    """Whether a job needs all its reserved nodes; empty: unknown."""
    want: int = ROWS
    start: Ints = field(default_factory=lambda: _NONE)
    """With CANDIDATES: selected starts, in s."""
    earliest: bool = True
    """Rules of sums and ranks: only the earliest start counts; node choice code; at most one unit per node."""
    choice: int = 0
    distinct: bool = False

    @property
    def columns(self) -> QueryArrays:
        """In kernel format."""
        return QueryArrays(
            self.job, self.draw_key, self.first, self.last, self.walltime, self.units, self.quota, self.groups,
            self.request,
        )  # fmt: skip


@value(frozen=True, slots=True)
class Offers:
    """Host's answer: rows (node, from, to, fitting index, free from, free to) in grid instants."""

    round: int
    host: HostId
    incarnation: int
    horizon: int
    """Time of the last change on these nodes."""
    last_end: int
    """End of the last reservation on these nodes."""
    offset: Ints
    """Ask i has rows [offset[i], offset[i+1])."""
    rows: Ints
    down_until: int = NO_TIME
    """Latest time at which a sleeping node could be up. Earlier offers may be missing."""


@value(frozen=True, slots=True)
class JointQuery:
    """Queries of several rounds for samples of the same kind; ask i is of round `rounds[i]`."""

    rounds: Ints
    query: OfferQuery


@value(frozen=True, slots=True)
class JointOffers:
    """Offers to a `JointQuery`; row i of `about` (horizon, last_end, down_until) is of round `rounds[i]`."""

    rounds: Ints
    job: Ints
    host: HostId
    incarnation: int
    about: Ints
    offset: Ints
    rows: Ints


@value(frozen=True, slots=True)
class Sums:
    """Summed offers: rows (instant, change of units, change of index sum).

    For earliest starts, rows end where these nodes alone hold the job.
    """

    round: int
    hosts: int
    horizon: int
    last_end: int
    down_until: int
    offset: Ints
    """Ask i has rows [offset[i], offset[i+1]), by instant."""
    rows: Ints


@value(frozen=True, slots=True)
class Candidates:
    """Best nodes of hosts for the selected starts: rows (key, node, units, incarnation).

    Sorted by key and node, cut when the job fits; for contiguous choices all nodes, by node.
    """

    round: int
    offset: Ints
    rows: Ints
    hosts: int = 1


@value(frozen=True, slots=True)
class EncodedMessage:
    """Encoded nested message."""

    block: Ints


@value(frozen=True, slots=True)
class Relay:
    """To a host: handle a message, forward to hosts [first, last), and answer for all.

    The other hosts are split into `arity` nearly equal parts, each led by its first living host. A host presumed dead
    gets an empty part, and reports to the origin.
    """

    serial: int
    """Names the query, with `origin`."""
    origin: ManagerAddress
    parent: Address
    """Address for the answer: a host or the origin. A host's own share has itself as parent."""
    first: HostId
    last: int
    arity: int
    patience: int
    """Wait for answers, in s; 0: for ever."""
    step: int
    """Decrease of the wait per level, in s."""
    resend: int
    """Until silent hosts are asked again, in s."""
    dead_hosts: Ints
    """Ascending."""
    parcels: list[Parcel]
    """Messages without answers, by host."""
    message: Message | EncodedMessage
    """Message for all hosts, with answers, after the parcels."""
    expires: int = FOREVER
    """Time from which the query is obsolete."""


@value(frozen=True, slots=True)
class GatheredAnswers:
    """Answers of hosts [first, …) to a `Relay`, summed if possible."""

    serial: int
    origin: ManagerAddress
    first: HostId
    incarnation: int
    answers: list[Message | EncodedMessage]


@value(frozen=True, slots=True)
class Confirm:
    """To hosts: reserve, in place of the job's present reservation.

    A tentative claim is answered by `Reserved`, and expires at its start without a `Commit`. A final claim is answered
    only if refused.
    """

    job: JobId
    attempt: int
    incarnation: int
    start: int
    walltime: int
    request: Ints
    nodes: Ints
    units: Ints
    tentative: bool
    expires: int = FOREVER
    """Time from which the host refuses: at most the start of a tentative claim."""


@value(frozen=True, slots=True)
class Reserved:
    """A host holds a tentative reservation."""

    job: JobId
    attempt: int
    host: HostId


@value(frozen=True, slots=True)
class Refused:
    """A host does not hold the reservation."""

    job: JobId
    attempt: int
    host: HostId


@value(frozen=True, slots=True)
class Commit:
    """To hosts: all have reserved, start on time."""

    job: JobId
    attempt: int


@value(frozen=True, slots=True)
class Committed:
    """A host will start the job on time."""

    job: JobId
    attempt: int
    host: HostId


@value(frozen=True, slots=True)
class Release:
    """To a host: drop and kill this attempt and all before."""

    job: JobId
    attempt: int
    expires: int = FOREVER
    """Expiry of all claim messages. Until then a late copy could be accepted."""


@value(frozen=True, slots=True)
class Released:
    """A host has no such reservation and will accept none."""

    job: JobId
    attempt: int
    host: HostId


@value(frozen=True, slots=True)
class UnitsEnded:
    """From the executor: the job's units here have ended.

    `depth`: later jobs to notify per node (below 0: the node's cores; 0: none).
    """

    job: JobId
    depth: int


@value(frozen=True, slots=True)
class CapacityFreed:
    """To task managers of next jobs: capacity became free before their start."""

    host: HostId
    jobs: Ints
    """Unique, ascending."""
    notice_count: int
    """Messages represented: one per node and job."""


HEAD_COLUMNS, BACKLOG_COLUMNS = 6, 16


@value(frozen=True, slots=True)
class Announce:
    """To all node managers: a job holds a reservation, or not (`standing`).

    `head`: job, submission, expected runtime, cores, priority level, expiry.
    """

    head: Ints
    standing: bool


@value(frozen=True, slots=True)
class BacklogReport:
    """To all node managers: backlog of a task manager, for the time of aging."""

    manager: ManagerAddress
    number: int
    """Report number; the last counts."""
    totals: Ints
    """Waiting core seconds, walltime ends times cores, bound cores, core seconds requested and used, lasting part of
    the first, largest backlog; each in multiples of 2^62 and rest."""


@value(frozen=True, slots=True)
class PublishRequest:
    """To a host: publish changes."""


@value(frozen=True, slots=True)
class Published:
    """To all task managers: free capacity of changed nodes.

    Node `node[i]` has steps `[offset[i], offset[i+1])`: from `time` on, at most `value` has been free (and desired)
    since now.
    """

    host: HostId
    incarnation: int
    at: int
    """Time of this state."""
    next_change: int
    heads: Ints
    """Announced reservations: rows (job, submission, expected runtime, cores, level, until)."""
    backlogs: Ints
    """Last report of each task manager: rows (manager, number, totals)."""
    node: Ints
    offset: Ints
    time: Ints
    value: Ints
    ready: Ints
    """Earliest time at which each node is up; empty: all have always been up."""
    boot: Ints
    """Boot time of each node that is off without a boot request; else 0."""


@value(frozen=True, slots=True)
class Switch:
    """To a host: shut down or boot nodes (after a running shutdown).

    Node `node[i]` is unusable until `ready[i]`; without a boot request, until a boot time from now.
    """

    up: bool
    node: Ints
    ready: Ints
    """When the node is up; after a shutdown: with a boot as soon as off."""


@value(frozen=True, slots=True)
class Closures:
    """To a host: closures and capacity cuts of nodes, replacing all earlier ones."""

    node: Ints
    span: Ints
    """`[start, end)`, (spans, 2)."""
    less: Ints
    """Capacity cut, (spans, kinds); below 0: closed."""


@value(frozen=True, slots=True)
class Finished:
    """To the task manager: the job's units here ended, at the walltime at the latest."""

    job: JobId
    attempt: int
    host: HostId


@value(frozen=True, slots=True)
class FinishedAck:
    """To a host: `Finished` has arrived."""

    job: JobId
    attempt: int


@value(frozen=True, slots=True)
class HostDown:
    """From the transport: this incarnation of a host is dead, with all reservations."""

    host: HostId
    incarnation: int


@value(frozen=True, slots=True)
class Timer:
    """Machine's timer for a job; `token`: its purpose."""

    job: JobId
    attempt: int
    token: int


@value(frozen=True, slots=True)
class Reminder:
    """Timer for a tree query."""

    origin: ManagerAddress
    serial: int


Message = (
    OfferQuery | Offers | JointQuery | JointOffers | Sums | Candidates | Relay | GatheredAnswers | Confirm
    | Reserved | Refused | Commit
    | Committed | Release | Released | UnitsEnded | CapacityFreed | Announce | BacklogReport | PublishRequest
    | Published | Switch | Closures
    | Finished | FinishedAck | HostDown | Timer | Reminder
)  # fmt: skip
Parcel = tuple[HostId, int, Message]
"""(host, time, message), carried by another."""
