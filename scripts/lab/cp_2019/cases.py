"""What is run for PCP'19 and HCP'19: their versions on Eurora, each with what it may go by."""

from __future__ import annotations

from typing import Final

from scripts.lab.kit.compared import Contender
from scripts.lab.kit.constraint import EASY, newest, versioned

VERSIONS: Final = ((0, "W"), (1, "W"), (1, "D"), (1, "R"), (2, "D"), (3, "W"), (3, "D"), (3, "R"))
"""As in 002, figures 2 and 3: versions, and what they go by; of the second only what underestimates."""


def contenders() -> list[Contender]:
    """All versions of both, and beside them EASY."""
    theirs = [versioned(name, version, expected) for name in ("PCP", "HCP") for version, expected in VERSIONS]
    return [*theirs, *(newest(EASY, expected) for expected in ("W", "D", "R"))]
