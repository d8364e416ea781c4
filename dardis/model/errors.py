"""Every exception that crosses a package border, with its exit status, and suggestions for mistyped words."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Self

INTERRUPTED = 130
"""Exit status after Ctrl-C."""
REPLACEMENT = "\ufffd"
"""What stands for a byte that is no text."""
_LONGEST_PLACE, _LONGEST_FOUND, _LONGEST_EXPECTED = 1000, 300, 1000


def failure_line(error: DardisError | OSError | MemoryError) -> str:
    """The line that tells a failure which is no defect."""
    if isinstance(error, MemoryError):
        return "out of memory"
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def one_line(text: str, longest: int = _LONGEST_FOUND) -> str:
    """The text for a message: what does not print is escaped, and the middle of a long one is left out."""
    if len(text) > longest:
        text = f"{text[: longest - longest // 3]} … {text[len(text) - longest // 3 :]}"
    plain = text.isprintable() and REPLACEMENT not in text
    return text if plain else "".join(c if c.isprintable() and c != REPLACEMENT else ascii(c)[1:-1] for c in text)


class DardisError(Exception):
    """A failure that is told in one line; `exit_status` is what the command ends with."""

    exit_status = 1

    @classmethod
    def told(cls, line: str) -> Self:
        """One of this kind that has been told in a line already."""
        error = cls.__new__(cls)
        error.args = (line,)
        return error

    def __reduce__(self) -> tuple[Callable[[str], Self], tuple[str]]:
        """So that it comes whole from another process."""
        return self.told, (str(self),)


class InputError(DardisError):
    """A mistake in what the user handed us; the text names the place and what was expected."""

    exit_status = 2

    def __init__(self, place: object, found: str, expected: str = "") -> None:
        """Say `place: found; expected …` in one line, with `place` a file (and line or key) or an option."""
        said = f"{one_line(str(place), _LONGEST_PLACE)}: {one_line(found)}"
        super().__init__(said + (f"; expected {one_line(expected, _LONGEST_EXPECTED)}" if expected else ""))


class DardisWarning(UserWarning):
    """What a run from Python is warned of, with the words of the command."""


class CapError(DardisError):
    """A power cap that cannot be kept; the text states by how many watts it would be exceeded."""

    exit_status = 3


class LossError(DardisError):
    """What is asked for would cost more than it saves; the text says how much."""

    exit_status = 3


class DispatcherError(DardisError):
    """The code of another package's dispatcher has failed; the text names both, and the place."""


class ProtocolError(DardisError):
    """Two parts of the system disagree on something they have settled before: a defect of ours."""


def meant(word: str, known: Iterable[str]) -> str:
    """For a message, ` (did you mean X?)` with the known word that is most like it; nothing where none is."""
    from difflib import get_close_matches

    close = get_close_matches(word, list(known), 1)
    return f" (did you mean {close[0]}?)" if close else ""
