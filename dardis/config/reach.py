"""Decides what may be said of how task managers reach nodes: the arity of the tree of hosts, the sample of nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from dardis.model.errors import InputError

MOST_CHILDREN: Final = 4096
MOST_NODES: Final = 2**31 - 1
DEFAULT_SAMPLE: Final = 16
"""Where the curve of docs/sampling.md bends: fewer nodes a unit save hardly any more messages and cost slowdown."""


def arity_of(text: str) -> int:
    """Children of a host in the tree that sums offers, 0 for `flat`. Raises ValueError that says what is expected."""
    if text == "flat":
        return 0
    if not (text.isascii() and text.isdigit() and 2 <= int(text) <= MOST_CHILDREN):
        raise ValueError(f"{text!r}; expected flat, or a whole number from 2 to {MOST_CHILDREN}")
    return int(text)


def sample_of(text: str) -> int:
    """Nodes that are asked first for each unit, 0 for `all`. Raises ValueError that says what is expected."""
    if text == "all":
        return 0
    if text == "default":
        return DEFAULT_SAMPLE
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= MOST_NODES):
        raise ValueError(f"{text!r}; expected all, default or a whole number from 1 to {MOST_NODES}")
    return int(text)


REACH: Final[dict[str, Callable[[str], int]]] = {"arity": arity_of, "sample": sample_of}
"""How each is read, by its name."""


def reach_value(name: str, text: str, place: str = "") -> int:
    """What an option (else `place`) says of `name`, "arity" or "sample". Raises InputError."""
    try:
        return REACH[name](text)
    except ValueError as error:
        raise InputError(place or f"--{name}", str(error)) from None
