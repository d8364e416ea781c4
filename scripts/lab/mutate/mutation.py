"""What a mutation is: a piece of text in a file, what stands there instead, and the tests that ought to notice.

They are written down in `faults/*.toml`: `[tests]` names lists of tests, and below a file's name each fault has the old
text, the new one, the names of its tests, those that notice soonest first, and perhaps pytest's -k.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PARTS: Final = (
    "protocol", "switching", "planner", "account", "expected", "asking", "auction", "clairvoyant", "queues", "site",
    "calibration",
)  # fmt: skip


class MutationError(Exception):
    """Nothing can be said of the tests: a mutation does not apply any more, or tests fail without any."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """`name` says what goes wrong. `tests` are paths, those that notice soonest first; `only` is pytest's -k."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    only: str = ""

    def source(self, tree: Path) -> str:
        """The file's text with the fault in it. Raises MutationError unless `old` stands there exactly once."""
        path = tree / self.file
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        if (times := text.count(self.old)) != 1:
            raise MutationError(f"{self.file}: {self.name}: the text to be changed is there {times} times, not once")
        return text.replace(self.old, self.new)


def mutations_of(path: Path) -> Iterator[Mutation]:
    """The mutations of a part, file by file."""
    part = tomllib.loads(path.read_text(encoding="utf-8"))
    for file, faults in part["faults"].items():
        for name, (old, new, *others) in faults.items():
            only = [one.removeprefix("-k ") for one in others if one.startswith("-k ")]
            tests = [test for one in others if not one.startswith("-k ") for test in part["tests"][one]]
            yield Mutation(name, file, old, new, tuple(tests), *only)


MUTATIONS: Final = tuple(
    mutation for part in PARTS for mutation in mutations_of(Path(__file__).parent / "faults" / f"{part}.toml")
)
"""All of them, part by part."""
