"""Every exception that crosses a package border, each with the exit status that the command gives it."""

from __future__ import annotations

INTERRUPTED = 130
"""Exit status after Ctrl-C."""


class DardisError(Exception):
    """A failure that is told in one line; `exit_status` is what the command ends with."""

    exit_status = 1


class InputError(DardisError):
    """A mistake in what the user handed us; the text names the place and what was expected."""

    exit_status = 2

    def __init__(self, place: object, found: str, expected: str = "") -> None:
        """Say `place: found; expected …`, with `place` a file (and line or key) or an option."""
        super().__init__(f"{place}: {found}" + (f"; expected {expected}" if expected else ""))


class ProtocolError(DardisError):
    """Two parts of the system disagree on something they have settled before: a defect of ours."""
