"""What is kept of each case: its digest, and what it cost in messages; and how what was found differs from it."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

KEPT = Path(__file__).with_name("kept.csv")
COLUMNS = ("case", "digest", "messages", "renegotiations")


@dataclass(frozen=True, slots=True)
class Found:
    """The digest of a schedule, or of a plan's files (which have no messages)."""

    digest: str
    messages: int = 0
    renegotiations: int = 0


def read_kept(path: Path = KEPT) -> dict[str, Found]:
    """What is kept, by the names of the cases."""
    with path.open(newline="") as file:
        return {
            row["case"]: Found(row["digest"], int(row["messages"]), int(row["renegotiations"]))
            for row in csv.DictReader(file)
        }


def write_kept(kept: Mapping[str, Found], path: Path = KEPT) -> None:
    """Write what is to be kept."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows([name, one.digest, one.messages, one.renegotiations] for name, one in kept.items())


def difference(found: Found, kept: Found | None) -> str | None:
    """In words what has changed; None if nothing has."""
    if kept is None:
        return "is not kept"
    if found.digest != kept.digest:
        return f"digest {found.digest[:16]}, kept is {kept.digest[:16]}"
    changed = [
        f"{name} {getattr(found, name):,}, kept is {getattr(kept, name):,}"
        for name in COLUMNS[2:]
        if getattr(found, name) != getattr(kept, name)
    ]
    return "; ".join(changed) or None
