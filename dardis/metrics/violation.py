"""What an audit finds, and in which order it is told."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import itemgetter
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Violation:
    """What is wrong: the job's number, the node and the time where it shows (None where it has none), and why."""

    job: int | None
    node: int | None
    time: int | None
    text: str

    def __str__(self) -> str:
        """One line: `job 7, node 3, at 120 s: …`."""
        parts = [
            f"job {self.job}" if self.job is not None else "",
            f"node {self.node}" if self.node is not None else "",
            f"at {self.time} s" if self.time is not None else "",
        ]
        where = ", ".join(part for part in parts if part)
        return f"{where}: {self.text}" if where else self.text


Found: TypeAlias = tuple[int, Violation]
"""A violation and what it is told by: the place of its job in the schedule, or its node."""


def in_order(rules: Iterable[Iterable[Found]]) -> Iterator[Violation]:
    """What the rules found, each ascending by place: by place, then in the order of the rules; one at a time."""
    return (violation for _, violation in heapq.merge(*rules, key=itemgetter(0)))
