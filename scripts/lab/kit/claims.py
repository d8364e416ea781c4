"""A paper's claims in a form that can be judged on any figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol

Figures = Mapping[str, Mapping[str, float]]
"""The figures of each dispatcher by name; one that is unknown is left out."""


@dataclass(frozen=True)
class Finding:
    """What figures say to a claim: in words, and whether it holds (`yes`, `in part`, `no`)."""

    shown: str
    verdict: str


UNKNOWN: Final = Finding("–", "not known")
_ROUNDING: Final = 1e-9
ALIKE: Final = 0.01
"""Shares by which figures differ that are called alike."""


class Claim(Protocol):
    """A sentence of a paper."""

    @property
    def text(self) -> str:
        """What is claimed."""

    def judge(self, figures: Figures) -> Finding:
        """Say what figures say to it. Raises KeyError where one is missing."""


@dataclass(frozen=True)
class Less:
    """One dispatcher has less of each of some figures than another, by these shares at least."""

    text: str
    one: str
    other: str
    by: Mapping[str, float]
    """Of each figure the share; 0: no share is claimed."""

    def judge(self, figures: Figures) -> Finding:
        """Hold if each is less by its share, as printed in %; in part if some are less at all."""
        saved = {key: 1 - figures[self.one][key] / figures[self.other][key] for key in self.by}
        shown = ", ".join(f"{key} {_change(share)}" for key, share in saved.items())
        if all(share >= ALIKE and share >= self.by[key] - 0.005 for key, share in saved.items()):
            return Finding(shown, "yes")
        return Finding(shown, "in part" if any(share >= ALIKE for share in saved.values()) else "no")


@dataclass(frozen=True)
class NoMore:
    """One dispatcher has no more of some figures than another, but for what is called alike."""

    text: str
    one: str
    other: str
    keys: tuple[str, ...]

    def judge(self, figures: Figures) -> Finding:
        """Hold if it has no more of any; in part if of some."""
        saved = {key: 1 - figures[self.one][key] / figures[self.other][key] for key in self.keys}
        shown = ", ".join(f"{key} {_change(share)}" for key, share in saved.items())
        kept = [share > -ALIKE for share in saved.values()]
        return Finding(shown, "yes" if all(kept) else "in part" if any(kept) else "no")


@dataclass(frozen=True)
class Close:
    """Dispatchers differ by at most a share of the least of them in each of some figures."""

    text: str
    which: tuple[str, ...]
    keys: tuple[str, ...]
    within: float

    def judge(self, figures: Figures) -> Finding:
        """Hold if all figures are as close; in part if some are."""
        apart = {}
        for key in self.keys:
            values = [figures[name][key] for name in self.which]
            apart[key] = max(values) / min(values) - 1
        shown = ", ".join(f"{key} {100 * share:.1f} % apart" for key, share in apart.items())
        close = [share <= self.within + _ROUNDING for share in apart.values()]
        return Finding(shown, "yes" if all(close) else "in part" if any(close) else "no")


def judged(claim: Claim, figures: Figures) -> Finding:
    """Judge a claim; UNKNOWN where a run that it speaks of is missing or has no such figure."""
    try:
        return claim.judge(figures)
    except (KeyError, ZeroDivisionError):
        return UNKNOWN


def _change(saved: float) -> str:
    return f"{'−' if saved >= 0 else '+'}{100 * abs(saved):.1f} %"
