"""Decides what node groups of a site are called, and promises that no two of them name two nodes alike."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations

_BEFORE_LAST, _BEFORE_FIRST = re.compile(r"(?<![0-9])[0-9]+$"), re.compile(r"[0-9].*")


def prefixes_of(names: Sequence[Sequence[str]]) -> list[str]:
    """A prefix for each group: the site's own where it numbers nodes from 0 as DARDIS does, else one of ours.

    No two of them name nodes alike: ours end in the number of the group and `-`.
    """
    ours = [f"{_stem(group)}-{index}-" for index, group in enumerate(names)]
    chosen = [_own_prefix(group) or other for group, other in zip(names, ours, strict=True)]
    return ours if any(_may_clash(*both) for both in combinations(chosen, 2)) else chosen


def _stem(names: Sequence[str]) -> str:
    """What all names have before their last numbers, or else before their first ones; `node` where that is nothing."""
    for before in (_BEFORE_LAST, _BEFORE_FIRST):
        found = {before.sub("", name).rstrip("-_.") for name in names}
        if len(found) == 1 and all(found):
            return found.pop()
    return "node"


def _own_prefix(names: Sequence[str]) -> str:
    """The prefix with which a group's nodes are called as at the site; "" where there is none."""
    prefix = names[0].removesuffix("0")
    return prefix if all(name == f"{prefix}{number}" for number, name in enumerate(names)) else ""


def _may_clash(prefix: str, other: str) -> bool:
    """Whether one and a number might be the other, or the other and a number."""
    short, long = sorted((prefix, other), key=len)
    rest = long.removeprefix(short)
    return long.startswith(short) and (not rest or rest.isdecimal())
