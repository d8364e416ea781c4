"""Lease of a partition's nodes: a reservation of Slurm that ends by itself unless renewed.

While it lasts, waiting jobs start only by orders. When it ends, Slurm schedules them itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import inf
from typing import Final, NamedTuple

from dardis.model.errors import InputError
from dardis.model.hostlist import hostlist, names_of
from dardis.model.moments import utc_text
from dardis.slurm.slurm_client import SlurmError, SlurmPrograms

LEASE_S: Final = 60
RENEW_S: Final = 10
RESERVATIONS: Final = ("scontrol", "show", "reservation", "-o")
_ROW = re.compile(r"^ReservationName=(\S+) StartTime=(\d+) EndTime=(\d+) .*? Nodes=(\S*) ", re.MULTILINE)
_END: Final = f"EndTime=now+{LEASE_S}seconds"
CLOCK_S: Final = 5
"""Largest permitted difference of the clocks."""
LATEST_S: Final = 30
"""Latest begin after the order of creation."""
_UNSURE: Final = ("no answer", "timed out")
"""Failures after which a call may have been carried out."""
NOBODY: Final = "nobody"
"""User who may not use it: Slurm needs a rule about users."""


class SlurmReservation(NamedTuple):
    """A reservation; times are Unix s."""

    name: str
    start: int
    end: int
    nodes: tuple[str, ...]


def parse_reservations(text: str) -> list[SlurmReservation]:
    """Reservations of `scontrol show reservation -o`. Raises SlurmError for another text."""
    found = []
    for name, start, end, nodes in _ROW.findall(text):
        try:
            members = () if nodes in {"", "(null)"} else tuple(names_of(nodes))
        except ValueError as error:
            raise SlurmError(f"reservation {name}: Nodes={nodes}: {error}"[:200]) from None
        found.append(SlurmReservation(name, int(start), int(end), members))
    if len(found) != text.count("ReservationName="):
        raise SlurmError("scontrol show reservation: an incomplete answer")
    return found


class Lease:
    """The lease of a partition. Times are Unix s; a steady clock (s) judges its age."""

    def __init__(
        self, partition: str, nodes: Sequence[str], programs: SlurmPrograms, start: int | None = None,
        intended_at: int | None = None,
    ) -> None:  # fmt: skip
        """`start`: of our reservation; `intended_at`: when its creation was to be ordered, if unknown."""
        self.partition, self.name = partition, f"dardis_{partition}"
        self.start, self.intended_at = start, intended_at
        self._nodes, self._programs = hostlist(nodes), programs
        self._renewed_at = -inf

    @property
    def is_known(self) -> bool:
        """Whether a lease of ours may last."""
        return self.start is not None or self.intended_at is not None

    @property
    def create_words(self) -> tuple[str, ...]:
        """Call that begins the lease."""
        return (
            "scontrol", "create", "reservation", f"ReservationName={self.name}", "StartTime=now", _END,
            f"Nodes={self._nodes}", f"Users=-{NOBODY}", "Flags=FLEX,IGNORE_JOBS,OVERLAP,NO_HOLD_JOBS",
        )  # fmt: skip

    @property
    def end_words(self) -> tuple[str, ...]:
        """Call that ends the lease."""
        return "scontrol", "update", f"ReservationName={self.name}", "EndTime=now"

    def is_due(self, steady: float) -> bool:
        """Whether the lease should be renewed."""
        return steady - self._renewed_at >= RENEW_S

    def is_over(self, steady: float) -> bool:
        """Whether the lease may have ended."""
        return steady - self._renewed_at >= LEASE_S

    def check(self, known: Sequence[SlurmReservation], now: int) -> bool:
        """Whether our reservation lasts. Raises InputError if another steerer holds the partition."""
        held = self._held(known)
        if held is None or held.end <= now:  # while jobs run in it, Slurm shows it after its end
            return False
        if not self._is_ours(held):
            since = utc_text(held.start, seconds=True)
            found = f"is steered by another dardis steer (reservation {self.name}, since {since})"
            raise InputError(f"partition {self.partition}", found, "one steerer; its lease ends 60 s after it")
        self.start = held.start
        return True

    def ours(self, known: Sequence[SlurmReservation]) -> SlurmReservation | None:
        """Our reservation, even an ended one."""
        held = self._held(known)
        return held if held is not None and self._is_ours(held) else None

    def revive(self, known: Sequence[SlurmReservation], now: int, steady: float) -> bool:
        """Renew our reservation, even an ended one; return whether it exists.

        Raises InputError as `check`, and SlurmError, also while an ended one of another remains.
        """
        held = self._held(known)
        if not self.check(known, now) and held is not None and self.ours(known) is None:
            raise SlurmError(f"reservation {self.name} has ended, but Slurm has not removed it yet")
        if held is not None:
            self.start = held.start
            self.renew(steady)
        return held is not None

    def create(self, now: int, steady: float) -> None:
        """Create the reservation. Raises InputError without the right to do so, and SlurmError."""
        self.start, self.intended_at = None, now
        try:
            self._programs.call(*self.create_words)
        except SlurmError as error:
            if not any(words in str(error) for words in _UNSURE):
                self.intended_at = None
            if "denied" in str(error):
                raise InputError("--install", str(error), "the rights of a Slurm operator") from None
            raise
        self._renewed_at = steady

    def renew(self, steady: float) -> None:
        """Renew the lease. Raises SlurmError."""
        self._programs.call("scontrol", "update", f"ReservationName={self.name}", _END)
        self._renewed_at = steady

    def end(self) -> None:
        """End the lease. Raises SlurmError."""
        self._programs.call(*self.end_words)

    def _held(self, known: Sequence[SlurmReservation]) -> SlurmReservation | None:
        return next((one for one in known if one.name == self.name), None)

    def _is_ours(self, held: SlurmReservation) -> bool:
        if self.start is not None:
            return held.start == self.start
        return self.intended_at is not None and 0 <= held.start - self.intended_at + CLOCK_S <= LATEST_S
