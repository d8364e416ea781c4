"""What a mutation is: a piece of text in a file, what stands there instead, and the tests that ought to notice."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


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
