"""How traces are drawn anew, as it is asked for: `weeks`, `shake`, `shake:3600`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from dardis.model.numbers import whole_number

WIDTH_S: Final = 86_400
LARGEST_WIDTH_S: Final = 366 * 86_400


class How(StrEnum):
    """What is drawn: which weeks, or when sessions begin."""

    WEEKS = "weeks"
    SHAKE = "shake"


@dataclass(frozen=True, slots=True)
class Resampling:
    """How traces are drawn; sessions are moved by up to `width_s`, in s."""

    how: How = How.WEEKS
    width_s: int = WIDTH_S

    def __str__(self) -> str:
        return self.how if self.how is How.WEEKS else f"{self.how}:{self.width_s}"


WEEKS: Final = Resampling()


def resampling_of(text: str) -> Resampling:
    """Read `weeks`, `shake` or `shake:WIDTH_S`; ValueError says what was expected."""
    name, colon, width = text.partition(":")
    if text == How.WEEKS:
        return WEEKS
    wrong = ValueError(f"{text!r}; expected weeks, shake, or shake:WIDTH_S of 1 to {LARGEST_WIDTH_S} s")
    if name != How.SHAKE:
        raise wrong
    try:
        return Resampling(How.SHAKE, whole_number(width, 1, LARGEST_WIDTH_S) if colon else WIDTH_S)
    except ValueError:
        raise wrong from None
