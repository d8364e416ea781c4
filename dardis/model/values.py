"""How to write a class of values that nobody sets again where many are made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass as value
else:

    def value(*, frozen: bool, slots: bool) -> Callable[[type], type]:
        """Make a dataclass; that it is `frozen` is seen by type checkers alone.

        To make one of seven fields takes a seventh of the time so (0.24 against 1.7 µs).
        """
        return dataclass(slots=slots, unsafe_hash=frozen)


__all__ = ["value"]
