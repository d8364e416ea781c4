"""What may change for those who decide beside jobs that arrive and end."""

from __future__ import annotations

from dataclasses import dataclass

from dardis.model.addresses import JobId
from dardis.model.platform import Platform


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """Jobs that have not begun wait no more, and hold nothing; they may be submitted again, as others."""

    jobs: tuple[JobId, ...]


@dataclass(frozen=True, slots=True)
class LaidOutAnew:
    """The same nodes are closed at other times than was known, or keep something; nobody waits just now.

    Who binds late without a wished curve may wait meanwhile: what such jobs hold is given back before.
    """

    machine: Platform


Change = Withdrawn | LaidOutAnew
