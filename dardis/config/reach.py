"""Decides what may be said of how task managers reach nodes: the arity of the tree of hosts, the sample of nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from dardis.model.errors import InputError
from dardis.model.numbers import whole_number

MOST_CHILDREN: Final = 4096
MOST_NODES: Final = 2**31 - 1
DEFAULT_SAMPLE: Final = 16
"""Where the curve of docs/sampling.md bends: fewer nodes a unit save hardly any more messages and cost slowdown."""


def arity_of(text: str) -> int:
    """Children of a host in the tree that sums offers, 0 for `flat`. Raises ValueError that says what is expected."""
    if text == "flat":
        return 0
    return _whole(text, 2, MOST_CHILDREN, "flat, or")


def sample_of(text: str) -> int:
    """Nodes that are asked first for each unit, 0 for `all`. Raises ValueError that says what is expected."""
    if text == "all":
        return 0
    if text == "default":
        return DEFAULT_SAMPLE
    return _whole(text, 1, MOST_NODES, "all, default or")


def _whole(text: str, least: int, most: int, otherwise: str) -> int:
    try:
        return whole_number(text, least, most)
    except ValueError:
        raise ValueError(f"{text!r}; expected {otherwise} a whole number from {least} to {most}") from None


REACH: Final[dict[str, Callable[[str], int]]] = {"arity": arity_of, "sample": sample_of}
"""How each is read, by its name."""


def reach_value(name: str, text: str, place: str = "") -> int:
    """What an option (else `place`) says of `name`, "arity" or "sample". Raises InputError."""
    try:
        return REACH[name](text)
    except ValueError as error:
        raise InputError(place or f"--{name}", str(error)) from None
