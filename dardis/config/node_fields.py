"""Nodes in files: numbers, names and amounts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from dardis.model.errors import InputError
from dardis.model.files import read_text
from dardis.model.numbers import whole_number
from dardis.model.platform import Platform
from dardis.model.resources import KIND_NAME, MOST_NODES, parse_amount


def node_numbers(value: object) -> list[int]:
    """Read `"0-3 7"` or `[0, 1, 2, 3, 7]`. Raises ValueError."""
    expected = 'an interval set such as "0-3 7" or a list of node numbers'
    if isinstance(value, list) and all(type(number) is int and number >= 0 for number in value) and value:
        return sorted(set(value))
    if not isinstance(value, str) or not value.split():
        raise ValueError(f"{value!r}; expected {expected}")
    numbers: set[int] = set()
    for part in value.split():
        first, dash, last = part.partition("-")
        try:
            low = whole_number(first, 0, MOST_NODES - 1)
            high = whole_number(last, low, MOST_NODES - 1) if dash else low
        except ValueError:
            raise ValueError(f"{part!r}; expected {expected}") from None
        numbers.update(range(low, high + 1))
    return sorted(numbers)


def read_amounts(value: object) -> dict[str, int]:
    """Read `{ cores = 16, memory = "16GiB" }`, memory in MiB. Raises ValueError."""
    if not isinstance(value, dict):
        raise ValueError(f"{value!r}; expected a table such as {{ cores = 16 }}")
    amounts = {}
    for kind, amount in value.items():
        if KIND_NAME.fullmatch(kind) is None:
            raise ValueError(f"{kind!r} is not a resource kind; expected lower-case letters, digits and _")
        try:
            amounts[kind] = parse_amount(kind, amount)
        except ValueError as error:
            raise ValueError(f"{kind}: {error}; expected an amount such as 16, for memory also 16GiB") from None
    return amounts


def node_names(platform: Platform, file: Path | None) -> list[str]:
    """Node names, from lines of `file` or the platform. Raises InputError."""
    if file is None:
        return [platform.node_name(node) for node in range(platform.node_count)]
    names = read_text(file).split()
    if len(names) != platform.node_count:
        raise InputError(file, f"{len(names)} names", f"{platform.node_count}, one for each node of {platform.name}")
    if doubled := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(file, f"{doubled[0]} occurs twice", "each name once")
    return names


_BEFORE_LAST, _BEFORE_FIRST = re.compile(r"(?<![0-9])[0-9]+$"), re.compile(r"[0-9].*")


def prefixes_of(names: Sequence[Sequence[str]]) -> list[str]:
    """Unique prefix per group: the site's if nodes count from 0, or else generated."""
    ours = [f"{_stem(group)}-{index}-" for index, group in enumerate(names)]
    chosen = [_own_prefix(group) or other for group, other in zip(names, ours, strict=True)]
    return chosen if clash_of(chosen) is None else ours


def clash_of(prefixes: Sequence[str]) -> tuple[int, str] | None:
    """Index of the first prefix equal to another (plus digits), and that one; None: no clash."""
    count = Counter(prefixes)
    for place, prefix in enumerate(prefixes):
        if count[prefix] > 1:
            return place, prefix
        before = prefix
        while before and before[-1].isdecimal():
            before = before[:-1]
            if before in count:
                return place, before
    return None


def _stem(names: Sequence[str]) -> str:
    for before in (_BEFORE_LAST, _BEFORE_FIRST):
        found = {before.sub("", name).rstrip("-_.") for name in names}
        if len(found) == 1 and all(found):
            return found.pop()
    return "node"


def _own_prefix(names: Sequence[str]) -> str:
    prefix = names[0].removesuffix("0")
    return prefix if all(name == f"{prefix}{number}" for number, name in enumerate(names)) else ""
