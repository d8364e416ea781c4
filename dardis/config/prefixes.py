"""Decides what node groups of a site are called, and promises that no two of them name two nodes alike."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

_BEFORE_LAST, _BEFORE_FIRST = re.compile(r"(?<![0-9])[0-9]+$"), re.compile(r"[0-9].*")


def prefixes_of(names: Sequence[Sequence[str]]) -> list[str]:
    """A prefix for each group: the site's own where it numbers nodes from 0 as DARDIS does, else one of ours.

    No two of them name nodes alike: ours end in the number of the group and `-`.
    """
    ours = [f"{_stem(group)}-{index}-" for index, group in enumerate(names)]
    chosen = [_own_prefix(group) or other for group, other in zip(names, ours, strict=True)]
    return chosen if clash_of(chosen) is None else ours


def clash_of(prefixes: Sequence[str]) -> tuple[int, str] | None:
    """The place of the first prefix that is another one, or another one and a number, and that other; None: no such.

    Takes time of the number of prefixes, not of their pairs.
    """
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
