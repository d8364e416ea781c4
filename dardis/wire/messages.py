"""The messages, as immutable values. Node numbers are the platform's; times are s; arrays are int64.

A *host* is a process that holds a pool of nodes, adjacent in number. One message to a host stands for one to each of
its nodes that it names.
"""

from __future__ import annotations

from dataclasses import field

import numpy as np

from dardis.model import offer_rows
from dardis.model.addresses import Address, HostId, JobId, ManagerAddress
from dardis.model.arrays import Ints, value
from dardis.model.job import FOREVER, NO_TIME
from dardis.model.offer_rows import Asks

ROWS, SUMS, CANDIDATES = offer_rows.ROWS, offer_rows.SUMS, offer_rows.CANDIDATES
_NONE: Ints = np.zeros(0, dtype=np.int64)


@value(frozen=True, slots=True)
class Ask:
    """Task manager to all node managers: when could these jobs start? Arrays of (asks,), `request` (asks, kinds)."""

    round: int
    job: Ints
    draw_key: Ints
    """Keys the job's draws: how often it has asked, or, of one that wants to move, the instant at which it asks."""
    first: Ints
    """First start of the window; also where the grid of start times is anchored."""
    last: Ints
    """Last start of the window."""
    walltime: Ints
    units: Ints
    quota: Ints
    """How many start times a node offers at most; less than 0: all it has, as runs."""
    groups: Ints
    """Bit set of the node groups that may run the job."""
    request: Ints
    generator: int
    """Code of the start-time generator."""
    grain: int
    """Distance of the start times of the grid, in s."""
    desired_binds: bool
    """Whether the desired profile binds."""
    held_only: bool
    """Whether only the nodes are asked on which the job has a reservation."""
    as_if_up: bool = False
    """Whether nodes that are down answer as if they were up: to learn what their sleep costs, not to reserve."""
    sample_offset: Ints = field(default_factory=lambda: _NONE)
    """Ask i is for the nodes `sample[sample_offset[i] : sample_offset[i + 1]]` alone, ascending; empty: for all."""
    sample: Ints = field(default_factory=lambda: _NONE)
    needed: Ints = field(default_factory=lambda: _NONE)
    """Of nodes that the jobs hold: whether each can't do without any of its own; empty: nobody knows."""
    want: int = ROWS
    start: Ints = field(default_factory=lambda: _NONE)
    """With CANDIDATES: the start that has been selected for each ask, in s."""
    earliest: bool = True
    """How to sum and rank: whether only the earliest start counts; code of the node choice; whether a node takes one
    unit at most."""
    choice: int = 0
    distinct: bool = False

    @property
    def columns(self) -> Asks:
        """Its asks as kernels read them."""
        return Asks(
            self.job, self.draw_key, self.first, self.last, self.walltime, self.units, self.quota, self.groups,
            self.request,
        )  # fmt: skip


@value(frozen=True, slots=True)
class Offers:
    """A host's answer: rows (node, from, to, fitting index, free from, free to) of instants of the ask's grid."""

    round: int
    host: HostId
    incarnation: int
    horizon: int
    """From then on nothing changes on these nodes."""
    last_end: int
    """When the last reservation on these nodes ends."""
    offset: Ints
    """Ask i has the rows [offset[i], offset[i+1])."""
    rows: Ints
    down_until: int = NO_TIME
    """When the last node that is down now could be up; offers before then may have been held back."""


@value(frozen=True, slots=True)
class JointAsk:
    """Asks of several rounds that share a message, for samples of the same kind: ask i is that of round `rounds[i]`."""

    rounds: Ints
    ask: Ask


@value(frozen=True, slots=True)
class JointOffers:
    """The offers to a `JointAsk`; row i of `about` (horizon, last_end, down_until) is of round `rounds[i]`."""

    rounds: Ints
    job: Ints
    host: HostId
    incarnation: int
    about: Ints
    offset: Ints
    rows: Ints


@value(frozen=True, slots=True)
class Sums:
    """What some hosts offer together, as steps: rows (instant, change of units, change of the sum of indices).

    Of an ask that takes the earliest start, nothing after the first instant at which these nodes alone hold the job.
    """

    round: int
    hosts: int
    """How many hosts are in it."""
    horizon: int
    last_end: int
    down_until: int
    offset: Ints
    """Ask i has the rows [offset[i], offset[i+1]), by instant."""
    rows: Ints


@value(frozen=True, slots=True)
class Candidates:
    """The best of some hosts' nodes for the starts that were selected: rows (key, node, units it takes, incarnation).

    By key, then node, and no more of them than hold the job; of a contiguous choice all, by node.
    """

    round: int
    offset: Ints
    rows: Ints
    hosts: int = 1
    """How many hosts are in it."""


@value(frozen=True, slots=True)
class Written:
    """A message that another carries, as it is on the wire: whoever hands it on need not read it."""

    block: Ints


@value(frozen=True, slots=True)
class Relay:
    """To a host: take this, pass it on to the hosts [first, last), your part of the tree, and answer for all of them.

    The part's other hosts are split into `arity` parts of nearly equal size; the first living host of a part is asked
    for it. To a host that was thought dead the part is empty: it takes nothing, and tells the origin that it lives.
    """

    serial: int
    """Names this sending, with its origin."""
    origin: ManagerAddress
    """The task manager that asks."""
    parent: Address
    """The address that waits for the answer: a host, or the origin. A host's share for itself alone is from itself."""
    first: HostId
    last: int
    arity: int
    patience: int
    """For how long to wait for the answers of others, in s; 0: for ever."""
    step: int
    """How much less patient the next level is, in s."""
    resend: int
    """How long until those are asked again who have not answered, in s."""
    gone: Ints
    """Hosts that are known to be dead, ascending."""
    parcels: list[Parcel]
    """What nobody answers, for single hosts of the part, each host's in order."""
    message: Message | Written
    """What all hosts of the part are to answer, after that."""
    expires: int = FOREVER
    """From then on nobody waits for the answer, and it is not asked."""


@value(frozen=True, slots=True)
class Gathered:
    """A host's answer to a `Relay`: what the hosts [first, …) of its part have said, summed where it can be."""

    serial: int
    origin: ManagerAddress
    first: HostId
    """The host that answers."""
    incarnation: int
    answers: list[Message | Written]


@value(frozen=True, slots=True)
class Confirm:
    """Task manager to the chosen: reserve. A reservation that the job has here already is replaced.

    A tentative one is answered by `Reserved`, and lapses at its start unless a `Commit` came. Where messages can't be
    lost or overtake each other it is final at once, and only a refusal is answered.
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
    """From then on it is refused: a tentative one at its start or before."""


@value(frozen=True, slots=True)
class Reserved:
    """A host holds what a tentative `Confirm` asked for."""

    job: JobId
    attempt: int
    host: HostId


@value(frozen=True, slots=True)
class Refused:
    """A host does not hold, or no longer, what was to be reserved or committed."""

    job: JobId
    attempt: int
    host: HostId


@value(frozen=True, slots=True)
class Commit:
    """Task manager to the chosen: everybody has reserved, start at the time agreed."""

    job: JobId
    attempt: int


@value(frozen=True, slots=True)
class Committed:
    """A host will start the job at the time agreed."""

    job: JobId
    attempt: int
    host: HostId


@value(frozen=True, slots=True)
class Release:
    """Task manager to a host: drop this attempt's reservation and all before it; kill what runs of them."""

    job: JobId
    attempt: int
    expires: int = FOREVER
    """When all that was said to claim it has expired: until then a copy may come that could be taken."""


@value(frozen=True, slots=True)
class Released:
    """A host has dropped a reservation, or never had it, and will not take it any more."""

    job: JobId
    attempt: int
    host: HostId


@value(frozen=True, slots=True)
class Ended:
    """The executor to its node manager: the job's units here have ended.

    `depth` is how many later jobs a node tells of it (less than 0: its node's cores; 0: none).
    """

    job: JobId
    depth: int


@value(frozen=True, slots=True)
class Later:
    """Node managers to the task managers of the next jobs: something became free before your start."""

    host: HostId
    jobs: Ints
    """Each once, ascending, however many nodes tell it."""
    told: int
    """How many messages this stands for: one from each node to each of its next jobs."""


HEAD_COLUMNS, BACKLOG_COLUMNS = 6, 12
"""Columns of what hosts publish of reservations and of task managers' backlogs."""


@value(frozen=True, slots=True)
class Announce:
    """Task manager to all node managers: a job holds a reservation, or, if not `standing`, not any more.

    `head` has the columns job, submission, walltime, cores and level of priority, from which everybody works out
    its key, and until when it holds if nothing more is heard.
    """

    head: Ints
    standing: bool


@value(frozen=True, slots=True)
class Backlog:
    """Task manager to all node managers: how much work its jobs are, for whoever works out when a job is old."""

    manager: ManagerAddress
    number: int
    """How many it has told; the last counts."""
    totals: Ints
    """Core seconds that wait, ends of what runs times its cores, these cores, core seconds asked for and used; each as
    a multiple of 2^62 and what is left."""


@value(frozen=True, slots=True)
class Look:
    """To a host: publish what has changed since you last did."""


@value(frozen=True, slots=True)
class Published:
    """A host to all task managers: what its changed nodes can hold from now on.

    Node `node[i]` has the steps `[offset[i], offset[i+1])`: from `time` on no more than `value` is free (and wished)
    without a break since now. So a run that starts now has what the last step before its end says.
    """

    host: HostId
    incarnation: int
    at: int
    """When this was so."""
    next_change: int
    """When capacity or what is wished changes by itself next."""
    heads: Ints
    """Who holds reservations, as announced: rows (job, submission, walltime, cores, level, until)."""
    backlogs: Ints
    """The last of each task manager that has told one: rows (manager, number, totals)."""
    node: Ints
    offset: Ints
    time: Ints
    value: Ints
    ready: Ints
    """When each node is up at the soonest; empty where all of the host are up, and have always been."""
    boot: Ints
    """How long it takes from now on until each node is up, where it is off and nobody has had it booted; else 0."""


@value(frozen=True, slots=True)
class Switch:
    """To a host: shut these nodes down now, or boot them now (those that are shutting down: as soon as they are off).

    Until `ready[i]` node `node[i]` holds nothing; one that is not booted holds nothing until a boot time from now.
    """

    up: bool
    node: Ints
    ready: Ints
    """When the node is up; of nodes that are shut down: when it is if its boot begins as soon as it is off."""


@value(frozen=True, slots=True)
class Closures:
    """To a host: from now on nodes are closed, or hold less, in these spans and in no others."""

    node: Ints
    span: Ints
    """`[start, end)` each, shape (spans, 2)."""
    less: Ints
    """By how much less the node holds, shape (spans, kinds); less than 0: it holds nothing."""


@value(frozen=True, slots=True)
class Finished:
    """A host to the task manager: the job's units here have ended by themselves or at their walltime."""

    job: JobId
    attempt: int
    host: HostId


@value(frozen=True, slots=True)
class Noted:
    """Task manager to a host: `Finished` has arrived."""

    job: JobId
    attempt: int


@value(frozen=True, slots=True)
class HostDown:
    """The transport to task managers: this incarnation of a host is dead, and all that it held is gone."""

    host: HostId
    incarnation: int


@value(frozen=True, slots=True)
class Timer:
    """A timer that a machine has set for a job; `token` says what for."""

    job: JobId
    attempt: int
    token: int


@value(frozen=True, slots=True)
class Reminder:
    """A timer that a host has set for a question down the tree: ask again, answer, or forget it."""

    origin: ManagerAddress
    serial: int


Message = (
    Ask | Offers | JointAsk | JointOffers | Sums | Candidates | Relay | Gathered | Confirm | Reserved | Refused | Commit
    | Committed | Release | Released | Ended | Later | Announce | Backlog | Look | Published | Switch | Closures
    | Finished | Noted | HostDown | Timer | Reminder
)  # fmt: skip
Parcel = tuple[HostId, int, Message]
"""A message that travels with another: its host, its time, itself."""
