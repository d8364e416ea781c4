"""Judges a paper's claims on any figures.

A file of claims has for each claim of docs/reproduction/claims.csv that figures decide, by its text, a kind of claim,
which is a method of `Judge`, and what that is given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, Final

from scripts.papers.catalogue import VERDICTS

Figures = Mapping[str, Mapping[str, float]]
"""The figures of each dispatcher by name; one that is unknown is left out."""
Claims = Mapping[str, Sequence[Any]]
HOLDS, IN_DIRECTION, FAILS = VERDICTS[:3]
DECISION: Final = "decision"
"""The figure that is a decision's mean time."""


@dataclass(frozen=True)
class Finding:
    """What figures say to a claim: in words, and a verdict."""

    shown: str
    verdict: str


UNKNOWN: Final = Finding("–", "not known")
_ROUNDING: Final = 1e-9
ALIKE: Final = 0.01
"""Shares by which figures differ that are called alike."""


@dataclass(frozen=True)
class Judge:
    """Judges claims on figures; where they speak of all `set_ups` and all `rules`, these are meant."""

    figures: Figures
    set_ups: Sequence[str] = ()
    rules: Sequence[str] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    """What figures are called in words."""

    def __call__(self, claim: Sequence[Any]) -> Finding:
        """Judge a claim; UNKNOWN where a run that it speaks of is missing or has no such figure."""
        kind, *terms = claim
        judge = getattr(self, kind)
        try:
            found: Finding = judge(*terms)
        except (KeyError, ZeroDivisionError):
            return UNKNOWN
        return found

    def every(self, *claims: Sequence[Any]) -> Finding:
        """All of these hold."""
        findings = [self(claim) for claim in claims]
        if UNKNOWN in findings:
            return UNKNOWN
        verdicts = {finding.verdict for finding in findings}
        shown = "; ".join(finding.shown for finding in findings)
        return Finding(shown, verdicts.pop() if len(verdicts) == 1 else IN_DIRECTION)

    def less(self, one: str, other: str, by: Mapping[str, float]) -> Finding:
        """One has less of some figures, by these shares as printed in % (0: no share is claimed)."""
        saved = self._saved(one, other, list(by))
        if all(share >= ALIKE and share >= by[key] - 0.005 for key, share in saved.items()):
            return Finding(_changes(saved), HOLDS)
        return Finding(_changes(saved), IN_DIRECTION if any(share >= ALIKE for share in saved.values()) else FAILS)

    def better(self, one: str, other: str) -> Finding:
        """One has smaller slowdowns and waits."""
        return self.less(one, other, {"slowdown": 0, "wait": 0})

    def no_more(self, one: str, other: str, keys: Sequence[str]) -> Finding:
        """One has no more of some figures than another, but for what is called alike."""
        saved = self._saved(one, other, keys)
        return Finding(_changes(saved), _verdict([share > -ALIKE for share in saved.values()]))

    def close(self, which: Sequence[str], keys: Sequence[str], within: float) -> Finding:
        """Some differ by at most a share of the least of them in each of some figures."""
        values = {key: [self.figures[name][key] for name in which] for key in keys}
        apart = {key: max(of) / min(of) - 1 for key, of in values.items()}
        shown = ", ".join(f"{key} {100 * share:.1f} % apart" for key, share in apart.items())
        return Finding(shown, _verdict([share <= within + _ROUNDING for share in apart.values()]))

    def saves(self, set_up: str, key: str, least: float, digits: int = 0) -> Finding:
        """A set-up has less than each of the rules, by a share as printed; in direction when some are savings."""
        own = self.figures[set_up][key]
        saved = [100 * (1 - own / self.figures[rule][key]) for rule in self.rules]
        ends = [f"{abs(part):.{digits}f} % {'less' if part >= 0 else 'more'}" for part in (min(saved), max(saved))]
        shown = " to ".join(dict.fromkeys(ends))
        if min(saved) >= 100 * least - 0.5 * 10**-digits:
            return Finding(shown, HOLDS)
        return Finding(shown, IN_DIRECTION if max(saved) > 0 else FAILS)

    def exceed(self, set_ups: Sequence[str], keys: Sequence[str]) -> Finding:
        """Each of some has more of each of some figures than each of the rules; in direction when some have."""
        most = {key: max(self.figures[one][key] for one in self.rules) for key in keys}
        above = {key: [name for name in set_ups if self.figures[name][key] > most[key]] for key in keys}
        found = self._of(keys, [key for key in keys if len(above[key]) == len(set_ups)])
        named = ", ".join(dict.fromkeys(name for of in above.values() for name in of))
        return Finding(f"only {named}", IN_DIRECTION) if found.verdict == FAILS and named else found

    def ranks(self, set_up: str, best: Sequence[str], worst: Sequence[str]) -> Finding:
        """Of the set-ups one is the best in some figures and the worst in others; the rules don't matter."""
        of = {key: [self.figures[name][key] for name in self.set_ups] for key in [*best, *worst]}
        so = [key for key in best if self.figures[set_up][key] == min(of[key])]
        return self._of([*best, *worst], so + [key for key in worst if self.figures[set_up][key] == max(of[key])])

    def faster(self, times: float) -> Finding:
        """A decision of the set-ups takes so many times less than one of the rules, on average."""
        theirs, ours = (fmean(self.figures[name][DECISION] for name in of) for of in (self.rules, self.set_ups))
        verdict = HOLDS if theirs / ours >= times else IN_DIRECTION if theirs > ours else FAILS
        return Finding(f"{theirs / ours:.3g} times", verdict)

    def _saved(self, one: str, other: str, keys: Sequence[str]) -> dict[str, float]:
        return {key: 1 - self.figures[one][key] / self.figures[other][key] for key in keys}

    def _of(self, keys: Sequence[str], so: Sequence[str]) -> Finding:
        """Name the figures for which something is so, unless it is so for all."""
        if len(so) == len(keys):
            return Finding("all of it", HOLDS)
        named = ", ".join(self.names.get(key, key) for key in so)
        return Finding(f"only {named}" if so else "nothing of it", IN_DIRECTION if so else FAILS)


def _verdict(each: Sequence[bool]) -> str:
    return HOLDS if all(each) else IN_DIRECTION if any(each) else FAILS


def _changes(saved: Mapping[str, float]) -> str:
    return ", ".join(f"{key} {'−' if share >= 0 else '+'}{100 * abs(share):.1f} %" for key, share in saved.items())
