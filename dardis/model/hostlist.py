"""Slurm host lists such as `n[0-3,7],login1`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import product
from math import prod
from typing import NamedTuple

MOST_NAMES = 1 << 16
"""As for Slurm ranges."""

_NUMBERED = re.compile(r"(.*?)([0-9]{1,18})")
"""Slurm counts only the last digits of longer numbers."""
_ELEMENT = re.compile(r"(?:[^\[\],]|\[[^\[\]]*\])+")
_RANGES = re.compile(r"\[([^\[\]]*)\]")
_RANGE = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?")


class _Name(NamedTuple):
    prefix: str
    digits: str

    @classmethod
    def of(cls, name: str) -> _Name:
        found = _NUMBERED.fullmatch(name)
        return cls(name, "") if found is None else cls(*found.groups())

    @property
    def is_padded(self) -> bool:
        return len(self.digits) > 1 and self.digits.startswith("0")


class _Run(NamedTuple):
    first: _Name
    last: _Name

    def goes_on_with(self, name: _Name) -> bool:
        prefix, digits = self.last
        return bool(digits) and name == (prefix, f"{int(digits) + 1:0{len(digits)}}")

    def is_like(self, name: _Name) -> bool:
        plain = not self.last.is_padded and not name.is_padded
        alike = len(name.digits) == len(self.last.digits) or plain
        return bool(name.digits and self.last.digits) and name.prefix == self.last.prefix and alike

    def __str__(self) -> str:
        first, last = self.first.digits, self.last.digits
        return first if first == last else f"{first}-{last}"


def hostlist(names: Iterable[str]) -> str:
    """Write distinct names as a sorted host list, keeping leading zeros."""
    found = [_Name.of(name) for name in set(names)]
    padded = {(name.prefix, len(name.digits)) for name in found if name.is_padded}

    def place(name: _Name) -> tuple[bool, str, int, int]:
        # 10 belongs with 08 and 09 if these have two digits.
        width = len(name.digits) if (name.prefix, len(name.digits)) in padded else 0
        return not name.digits, name.prefix, width, int(name.digits or 0)

    return _format_names(sorted(found, key=place))


def hostlist_in_order(names: Iterable[str]) -> str:
    """Write names in the given order, keeping leading zeros."""
    return _format_names(map(_Name.of, names))


def names_of(text: str) -> list[str]:
    """Expand a host list in order; names may contain several brackets. Raises ValueError."""
    elements = _ELEMENT.findall(text)
    between = _ELEMENT.sub("", text)
    if between.strip(","):
        raise ValueError("an unmatched bracket")
    if len(elements) != len(between) + 1:
        raise ValueError("a name without letters")
    names: list[str] = []
    for element in elements:
        names += _expand_element(element, MOST_NAMES - len(names))
    return names


def names_in(text: str) -> set[str]:
    """Names of a host list, which may be empty. Raises ValueError."""
    return {*names_of(text)} if text else set()


class _Range(NamedTuple):
    numbers: range
    width: int


def _expand_element(element: str, most: int) -> Iterator[str]:
    literals, choices = _RANGES.split(element)[::2], [_choices(found) for found in _RANGES.findall(element)]
    if prod(sum(len(part.numbers) for part in ranges) for ranges in choices) > most:
        raise ValueError(f"more than {MOST_NAMES} names")
    texts = [[f"{number:0{part.width}}" for part in ranges for number in part.numbers] for ranges in choices]
    for chosen in product(*texts):
        yield "".join(part for pair in zip(literals, (*chosen, ""), strict=True) for part in pair)


def _choices(text: str) -> list[_Range]:
    ranges = []
    for part in text.split(","):
        found = _RANGE.fullmatch(part)
        if found is None:
            raise ValueError(f"[{part}] is not a range")
        low, high = int(found[1]), int(found[2] or found[1])
        if high < low:
            raise ValueError(f"[{part}] is a descending range")
        if high - low >= MOST_NAMES:
            raise ValueError(f"[{part}] has more than {MOST_NAMES} names")
        ranges.append(_Range(range(low, high + 1), len(found[1])))
    return ranges


def _format_names(names: Iterable[_Name]) -> str:
    brackets: list[list[_Run]] = []
    for name in names:
        last = brackets[-1][-1] if brackets else None
        if last is not None and last.goes_on_with(name):
            brackets[-1][-1] = _Run(last.first, name)
        elif last is not None and last.is_like(name):
            brackets[-1].append(_Run(name, name))
        else:
            brackets.append([_Run(name, name)])
    return ",".join(map(_bracket, brackets))


def _bracket(runs: list[_Run]) -> str:
    prefix, is_one = runs[0].first.prefix, len(runs) == 1 and runs[0].first == runs[0].last
    return prefix + (str(runs[0]) if is_one else f"[{','.join(map(str, runs))}]")
