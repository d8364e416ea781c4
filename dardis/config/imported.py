"""What comes of reading what a site's or another simulator's own files say of a machine."""

from __future__ import annotations

from typing import Final, NamedTuple

from dardis.model.platform import Platform

POWER_TO_FILL_IN: Final = "idle_w = ?, core_w = ?, off_w = ?, boot_s = ?, boot_w = ?, shutdown_s = ?, shutdown_w = ?"
"""The figures that nobody states, for a comment."""


class Imported(NamedTuple):
    """A site as DARDIS has it."""

    platform: Platform
    text: str
    """The platform file."""
    notes: tuple[str, ...]
    """What the file does not say, or says otherwise than the site."""
