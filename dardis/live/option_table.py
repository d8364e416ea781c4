"""Options of Slurm's programs, on command lines and in scripts. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dardis.model.errors import InputError

FLAG, VALUE, OPTIONAL = "no value", "a value", "perhaps a value"
USED, IGNORED = "used", "ignored"
"""Ignored with a warning: cannot change a result."""


@dataclass(frozen=True, slots=True)
class ProgramOption:
    """Option: whether a value follows, short form, support (USED, IGNORED, or why rejected)."""

    takes: str
    support: str
    short: str = ""


class GivenOption(NamedTuple):
    """Stated option: full name, text as written, and value ("" for none)."""

    name: str
    written: str
    value: str


def options_of(takes: str, support: str, names: str) -> dict[str, ProgramOption]:
    """Equal options; `names` such as `time/t mem`, with short forms."""
    words = (word.partition("/") for word in names.split())
    return {name: ProgramOption(takes, support, short) for name, _, short in words}


class OptionTable:
    """All options of a program."""

    def __init__(self, program: str, options: Mapping[str, ProgramOption]) -> None:
        self.program, self.options = program, options
        self._short = {option.short: name for name, option in options.items() if option.short}

    def has(self, word: str) -> bool:
        """Whether a word of a command line is an option, with its full name."""
        if word.startswith("--"):
            return word[2:].partition("=")[0] in self.options
        return len(word) > 1 and word[0] == "-" and word[1] in self._short

    def read(self, words: Sequence[str], place: str) -> Iterator[GivenOption]:
        """Yield options of words. Raises InputError as `take`."""
        left = [*reversed(words)]
        while left:
            yield self.take(left, place)

    def split(self, words: Sequence[str], place: str) -> tuple[list[GivenOption], list[str]]:
        """Options ahead of the first other word or `--`, and other words. Raises InputError as `take`."""
        left, found = [*reversed(words)], list[GivenOption]()
        while left and len(left[-1]) > 1 and left[-1][0] == "-" and left[-1] != "--":
            found.append(self.take(left, place))
        if left and left[-1] == "--":
            left.pop()
        return found, left[::-1]

    def take(self, left: list[str], place: str) -> GivenOption:
        """Take an option from the end of reversed words: `--name value`, `-n4`, unique prefixes.

        Raises InputError.
        """
        word = left.pop()
        if word.startswith("--") and len(word) > 2:
            stated, equals, value = word[2:].partition("=")
            return self._given(self._full_name(stated, place), f"--{stated}", value if equals else None, left, place)
        if len(word) < 2 or word[0] != "-":
            raise InputError(place, repr(word), "options such as --time=10")
        if (found := self._short.get(word[1])) is None:
            raise InputError(place, f"unknown option {word[:2]}", f"an option of {self.program}")
        glued: str | None = word[2:] or None
        if self.options[found].takes == FLAG and glued is not None:
            left.append(f"-{glued}")  # several flags in one word
            glued = None
        return self._given(found, word[:2], glued, left, place)

    def _full_name(self, stated: str, place: str) -> str:
        if stated in self.options:
            return stated
        found = [name for name in self.options if name.startswith(stated)]
        if len(found) == 1:
            return found[0]
        expected = f"one of --{', --'.join(found)}" if found else f"an option of {self.program}"
        raise InputError(place, f"unknown option --{stated}", expected)

    def _given(self, name: str, written: str, value: str | None, left: list[str], place: str) -> GivenOption:
        takes = self.options[name].takes
        if takes == FLAG and value is not None:
            raise InputError(place, repr(f"{written}={value}"), f"{written} without a value")
        if takes == VALUE and value is None:
            if not left:
                raise InputError(place, f"{written} without a value", "a value")
            value = left.pop()
        return GivenOption(name, written, value or "")

    def supported(self, given: GivenOption, place: str) -> bool:
        """Whether an option counts; False: ignored. Raises InputError if rejected."""
        support = self.options[given.name].support
        if support not in {USED, IGNORED}:
            value = f"{given.value!r} " if given.value else ""
            raise InputError(place, f"{value}is not supported ({support})", "a call without it")
        return support == USED


def split_words(line: str, place: str) -> list[str]:
    r"""Split a line into words as sbatch does: quotes, `\` before any character, a comment after any other `#`.

    Raises InputError for an open quote.
    """
    words: list[str] = []
    word: str | None = None
    quote, escaped = "", False
    for character in line:
        if escaped:
            word, escaped = f"{word or ''}{character}", False
        elif character == "\\":
            escaped = True
        elif quote:
            if character == quote:
                quote = ""
            else:
                word = f"{word or ''}{character}"
        elif character in "'\"":
            quote, word = character, word or ""
        elif character.isspace():
            if word is not None:
                words.append(word)
            word = None
        elif character == "#":
            break
        else:
            word = f"{word or ''}{character}"
    if quote:
        raise InputError(place, f"{line.strip()!r} (an open quote)", "closed quotes")
    return words if word is None else [*words, word]
