"""Exceptions, and suggestions for mistyped words."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Self

INTERRUPTED = 130
"""Exit status after Ctrl-C."""
REPLACEMENT = "\ufffd"
_LONGEST_PLACE, _LONGEST_FOUND, _LONGEST_EXPECTED = 1000, 300, 1000


def failure_line(error: DardisError | OSError | MemoryError) -> str:
    """Message of an expected failure."""
    if isinstance(error, MemoryError):
        return "out of memory"
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def one_line(text: str, longest: int = _LONGEST_FOUND) -> str:
    """Escape unprintable characters and shorten the middle."""
    if len(text) > longest:
        text = f"{text[: longest - longest // 3]} … {text[len(text) - longest // 3 :]}"
    plain = text.isprintable() and REPLACEMENT not in text
    return text if plain else "".join(c if c.isprintable() and c != REPLACEMENT else ascii(c)[1:-1] for c in text)


class DardisError(Exception):
    """Failure reported in one line."""

    exit_status = 1

    @classmethod
    def of_message(cls, line: str) -> Self:
        """Create an error from a complete message."""
        error = cls.__new__(cls)
        error.args = (line,)
        return error

    def __reduce__(self) -> tuple[Callable[[str], Self], tuple[str]]:
        return self.of_message, (str(self),)


class InputError(DardisError):
    """User error with place and expected input."""

    exit_status = 2

    def __init__(self, place: object, found: str, expected: str = "") -> None:
        """Format `place: found; expected …`. `place`: file or option."""
        said = f"{one_line(str(place), _LONGEST_PLACE)}: {one_line(found)}"
        super().__init__(said + (f"; expected {one_line(expected, _LONGEST_EXPECTED)}" if expected else ""))


class DardisWarning(UserWarning):
    """Warning of a run from Python."""


class CapError(DardisError):
    """Power cap that cannot be kept."""

    exit_status = 3


class LossError(DardisError):
    """The request would cost more than saved."""

    exit_status = 3


class DispatcherError(DardisError):
    """Failure in a dispatcher of another package."""


class ProtocolError(DardisError):
    """Internal protocol violation: a bug."""


def suggestion(word: str, known: Iterable[str]) -> str:
    """Suggestion ` (did you mean X?)`, or ""."""
    from difflib import get_close_matches

    close = get_close_matches(word, list(known), 1)
    return f" (did you mean {close[0]}?)" if close else ""
