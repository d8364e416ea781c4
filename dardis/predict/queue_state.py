"""Queue of a site at one instant."""

from __future__ import annotations

from typing import NamedTuple

from dardis.model.arrays import Ints


class QueuedJob(NamedTuple):
    """A job's request; times in s.

    `submit` is when the job became eligible. A `walltime` of 0 is not stated. `user` and `queue` are codes from 0. A
    job with a negative `number` counts, but is not learned from.
    """

    number: int
    submit: int
    cores: int
    walltime: int
    user: int
    queue: int


class RunningRequests(NamedTuple):
    """Requests and starts (s) of running jobs, one array entry a job."""

    cores: Ints
    start: Ints
    walltime: Ints
    user: Ints


class WaitingRequests(NamedTuple):
    """Fields of `QueuedJob`, one array entry a job, in the site's queue order (else by submit)."""

    number: Ints
    submit: Ints
    cores: Ints
    walltime: Ints
    user: Ints
    queue: Ints


class QueueState(NamedTuple):
    """What a scheduler shows at `now` (s); `capacity`: cores in service. Held jobs are left out."""

    now: int
    capacity: int
    running: RunningRequests
    waiting: WaitingRequests
