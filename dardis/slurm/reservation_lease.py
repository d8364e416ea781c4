"""Lease of a partition's nodes: a reservation of Slurm that ends by itself unless it is renewed.

While it lasts, waiting jobs start only by orders. When it ends, Slurm schedules them itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from dardis.model.errors import InputError
from dardis.model.hostlist import hostlist, names_of
from dardis.slurm.slurm_client import SlurmError, SlurmPrograms

LEASE_S: Final = 60
RENEW_S: Final = 10
RESERVATIONS: Final = ("scontrol", "show", "reservation", "-o")
_ROW = re.compile(r"^ReservationName=(\S+) StartTime=(\d+) EndTime=(\d+) .*? Nodes=(\S*) .*? Flags=(\S*)", re.MULTILINE)
_END: Final = f"EndTime=now+{LEASE_S}seconds"
NOBODY: Final = "nobody"
"""The only user who may not use the reservation: Slurm needs a rule about users."""


class SlurmReservation(NamedTuple):
    """A reservation; times are Unix s."""

    name: str
    start: int
    end: int
    nodes: tuple[str, ...]
    flags: tuple[str, ...]


def parse_reservations(text: str) -> list[SlurmReservation]:
    """Reservations of `scontrol show reservation -o`. Raises SlurmError for another text."""
    found = []
    for name, start, end, nodes, flags in _ROW.findall(text):
        try:
            members = () if nodes in {"", "(null)"} else tuple(names_of(nodes))
        except ValueError as error:
            raise SlurmError(f"reservation {name}: Nodes={nodes}: {error}"[:200]) from None
        found.append(SlurmReservation(name, int(start), int(end), members, tuple(flags.split(","))))
    if len(found) != text.count("ReservationName="):
        raise SlurmError("scontrol show reservation: an incomplete answer")
    return found


class Lease:
    """The lease of a partition. `start`: of the reservation that is ours, Unix s; None: none."""

    def __init__(self, partition: str, nodes: Sequence[str], programs: SlurmPrograms, start: int | None = None) -> None:
        self.partition, self.name = partition, f"dardis_{partition}"
        self.start = start
        self.renewed_at = 0
        self._nodes, self._programs = hostlist(nodes), programs

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

    def is_due(self, now: int) -> bool:
        """Whether the lease should be renewed."""
        return now - self.renewed_at >= RENEW_S

    def check(self, known: Sequence[SlurmReservation]) -> bool:
        """Whether our reservation exists. Raises InputError if another steerer holds the partition."""
        held = next((one for one in known if one.name == self.name), None)
        if held is not None and held.start != self.start:
            found = f"is steered by another dardis steer (reservation {self.name}, since {held.start} s)"
            raise InputError(
                f"partition {self.partition}",
                found,
                "one steerer; it gives up the partition at most 60 s after its end",
            )
        return held is not None

    def take(self, known: Sequence[SlurmReservation], now: int) -> bool:
        """Create the reservation, or renew ours; return whether it was created.

        Raises InputError if another steerer holds the partition, and SlurmError.
        """
        if self.check(known):
            self.renew(now)
            return False
        self._programs.call(*self.create_words)
        made = parse_reservations(self._programs.call(*RESERVATIONS).text)
        self.start = next((one.start for one in made if one.name == self.name), None)
        self.renewed_at = now
        return True

    def renew(self, now: int) -> None:
        """Renew the lease. Raises SlurmError."""
        self._programs.call("scontrol", "update", f"ReservationName={self.name}", _END)
        self.renewed_at = now

    def end(self) -> None:
        """End the lease. Raises SlurmError."""
        self._programs.call(*self.end_words)
        self.start = None
