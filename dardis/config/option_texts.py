"""Parsing of options. Invalid texts raise InputError."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Final, TypeVar

from dardis.model.errors import InputError
from dardis.model.numbers import LARGEST_INT64, LEAST_INT64, decimal_number, whole_number

LARGEST_SEED: Final = 1 << 62
MOST_TASK_MANAGERS: Final = 4096
MOST_REPLICATES: Final = 1000
LATEST_DAY: Final = 10**6
Word = TypeVar("Word", bound=StrEnum)

# Help texts shared by models and other commands.
TRACE: Final = "SWF, job table, sacct, Batsim's JSON, tables of public traces; or packed."
STRICT: Final = "Refuse a trace with a malformed line."
PLATFORM: Final = "The machine."
NODE_NAMES: Final = "File with node names, one per line, instead of the platform's names."
TASK_MANAGERS: Final = "Number of task managers that share the jobs."
SAMPLE: Final = "Ask S nodes for each unit first, and more only if needed."
SEED: Final = "Seed of every random choice."
SETTINGS: Final = "A setting of the dispatcher; repeatable."
RESULTS: Final = "Folder for the results."
NO_REPORT: Final = "Draw no report.html."


def parse_whole_number(option: str, text: str, least: int, most: int, expected: str, whole: str | None = None) -> int:
    """Parse a whole number of `[least, most]`. Errors quote `whole`, if given. Raises InputError."""
    try:
        return whole_number(text, least, most)
    except ValueError:
        raise InputError(option, repr(text if whole is None else whole), expected) from None


def whole_number_parser(option: str, least: int = LEAST_INT64, most: int = LARGEST_INT64) -> Callable[[str | int], int]:
    """Parser of whole numbers of `[least, most]`."""
    expected = f"a whole number{_range(least, most)}"
    return lambda text: parse_whole_number(option, str(text), least, most, expected)


def parse_percent(option: str, text: str) -> float:
    """Parse `1%` as a fraction. Raises InputError."""
    try:
        number = decimal_number(text.removesuffix("%"))
    except ValueError:
        number = -1.0
    if not (text.endswith("%") and 0 <= number < 100):
        raise InputError(option, repr(text), "a percentage below 100 such as 1%")
    return number / 100


def decimal_parser(
    option: str, least: float | None = None, most: float | None = None
) -> Callable[[str | float], float]:
    """Parser of numbers of `[least, most]`."""

    def read(text: str | float) -> float:
        try:
            number = decimal_number(str(text))
        except ValueError:
            number = None
        if number is None or not (least is None or least <= number) or not (most is None or number <= most):
            raise InputError(option, repr(text), f"a number{_range(least, most)}")
        return number

    return read


def choice_parser(option: str, kind: type[Word]) -> Callable[[str], Word]:
    """Parser of an enumeration's words."""

    def read(text: str) -> Word:
        try:
            return kind(text)
        except ValueError:
            raise InputError(option, repr(text), "|".join(kind)) from None

    return read


def _range(least: float | None, most: float | None) -> str:
    if most in {None, LARGEST_INT64}:
        return "" if least in {None, LEAST_INT64} else f" from {least} on"
    return f" from {least} to {most}"


def days_of(place: str, text: str) -> tuple[int, int]:
    """Parse days `A-B`, or one day. Raises InputError."""
    expected = "A-B, UTC days from 0, both included"
    first, dash, last = text.partition("-")
    low = parse_whole_number(place, first, 0, LATEST_DAY, expected, text)
    return low, parse_whole_number(place, last, low, LATEST_DAY, expected, text) if dash else low


MOST_CHILDREN: Final = 4096
MOST_NODES: Final = 2**31 - 1
DEFAULT_SAMPLE: Final = 16
"""Smaller ones save little and increase slowdown (docs/sampling.md)."""


def arity_of(text: str) -> int:
    """Parse children per host, 0 for `flat`. Raises ValueError."""
    if text == "flat":
        return 0
    return _parse_reach_number(text, 2, MOST_CHILDREN, "flat, or")


def sample_of(text: str) -> int:
    """Parse nodes asked per unit, 0 for `all`. Raises ValueError."""
    if text == "all":
        return 0
    if text == "default":
        return DEFAULT_SAMPLE
    return _parse_reach_number(text, 1, MOST_NODES, "all, default or")


def _parse_reach_number(text: str, least: int, most: int, otherwise: str) -> int:
    try:
        return whole_number(text, least, most)
    except ValueError:
        raise ValueError(f"{text!r}; expected {otherwise} a whole number from {least} to {most}") from None


REACH: Final[dict[str, Callable[[str], int]]] = {"arity": arity_of, "sample": sample_of}


def reach_value(name: str, text: str, place: str = "") -> int:
    """Parse "arity" or "sample". Raises InputError."""
    try:
        return REACH[name](text)
    except ValueError as error:
        raise InputError(place or f"--{name}", str(error)) from None
