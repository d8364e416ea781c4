"""Decision tree in words."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Branch:
    """Question with branches, or a leaf."""

    said: str
    yes: Branch | None = None
    no: Branch | None = None

    @property
    def leaves(self) -> int:
        """Number of leaves."""
        return self.yes.leaves + self.no.leaves if self.yes and self.no else 1

    @property
    def depth(self) -> int:
        """Maximum number of questions."""
        return 1 + max(self.yes.depth, self.no.depth) if self.yes and self.no else 0
