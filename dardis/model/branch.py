"""A decision tree in words."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Branch:
    """A question with what follows if it is answered by yes or no; or a leaf, without either, and what it says."""

    said: str
    yes: Branch | None = None
    no: Branch | None = None

    @property
    def leaves(self) -> int:
        """How many leaves are below, itself included."""
        return self.yes.leaves + self.no.leaves if self.yes and self.no else 1

    @property
    def depth(self) -> int:
        """How many questions are asked at most."""
        return 1 + max(self.yes.depth, self.no.depth) if self.yes and self.no else 0
