"""What the thesis's section 5.5 printed and claimed; each claim can be judged on any table of the same figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final, Protocol

from scripts.lab.kit import thesis
from scripts.lab.kit.claims import UNKNOWN, Figures, Finding

THROUGHPUT, PROFILE, BALANCE = SET_UPS = ("dardis-throughput", "dardis-profile", "dardis-balance")
RULES: Final = ("rules-fcfs", "rules-df", "rules-wt")
WITH_BACKFILLING: Final = tuple(f"{rule} + backfilling" for rule in RULES)
JOBS, SPAN_D, PARTITIONS, CORES = 35_538, 22, 33, 9_600

COLUMNS: Final = {
    "makespan": ("makespan, d", "{:.2f}"),
    "wait": ("total wait, years", "{:.2f}"),
    "tardiness": ("tardiness, years", "{:.2f}"),
    "late": ("late jobs", "{:.0f}"),
    "over": ("overutilisation", "{:.0f}"),
    "diss": ("dissimilarity", "{:.3f}"),
}
DECISION: Final = "decision"
"""Mean of a decision, s."""


def printed() -> Figures:
    """The thesis's figures in the form in which claims are judged."""
    ours, theirs, cycle = (mean for mean, _ in thesis.TABLE_5_2.values())
    return {
        name: dict(zip(COLUMNS, row, strict=True)) | {DECISION: cycle if name in RULES else ours + theirs}
        for name, row in thesis.TABLE_5_1.items()
    }


class Claim(Protocol):
    """A sentence of the thesis."""

    @property
    def text(self) -> str:
        """What is claimed."""

    def judge(self, figures: Figures, rules: Sequence[str]) -> Finding:
        """Compare the figures of the set-ups with those of these three rules. Raises KeyError where one is missing."""


@dataclass(frozen=True)
class Saves:
    """One set-up has less of something than each of the rules, by at least so much."""

    set_up: str
    key: str
    least: float
    most: float
    digits: int = 0

    @property
    def text(self) -> str:
        """What is claimed."""
        much = f"{100 * self.least:.{self.digits}f}–{100 * self.most:.{self.digits}f} %"
        return f"{self.set_up}: {much} less {COLUMNS[self.key][0].split(',')[0]} than the rules"

    def judge(self, figures: Figures, rules: Sequence[str]) -> Finding:
        """Holds when the least saving is, as printed, at least the claimed one; in part when all are savings."""
        own = figures[self.set_up][self.key]
        saved = [100 * (1 - own / figures[rule][self.key]) for rule in rules]
        ends = [f"{abs(part):.{self.digits}f} % {'less' if part >= 0 else 'more'}" for part in (min(saved), max(saved))]
        shown = " to ".join(dict.fromkeys(ends))
        if min(saved) >= 100 * self.least - 0.5 * 10**-self.digits:
            return Finding(shown, "yes")
        return Finding(shown, "in part" if min(saved) > 0 else "no")


@dataclass(frozen=True)
class Exceeds:
    """Each of some dispatchers has more of each of these figures than each of the others."""

    text: str
    keys: tuple[str, ...]
    set_ups: tuple[str, ...]

    def judge(self, figures: Figures, rules: Sequence[str]) -> Finding:
        """Holds for the figures for which the least of the set-ups is above the largest of the rules."""
        least = {key: min(figures[name][key] for name in self.set_ups) for key in self.keys}
        so = [key for key in self.keys if least[key] > max(figures[rule][key] for rule in rules)]
        return _of(self.keys, so)


@dataclass(frozen=True)
class Ranks:
    """Of the three set-ups one is the best in some figures and the worst in others; the rules don't matter."""

    set_up: str
    best: tuple[str, ...]
    worst: tuple[str, ...]

    @property
    def text(self) -> str:
        """What is claimed."""
        parts = [("best", self.best), ("worst", self.worst)]
        return f"of the set-ups {self.set_up} is " + ", ".join(
            f"{which} in {', '.join(COLUMNS[key][0].split(',')[0] for key in keys)}" for which, keys in parts if keys
        )

    def judge(self, figures: Figures, rules: Sequence[str]) -> Finding:  # noqa: ARG002 (what every claim is asked)
        """Holds for the figures in which no other set-up is better, or worse."""
        of = {key: {name: figures[name][key] for name in SET_UPS} for key in self.best + self.worst}
        so = [key for key in self.best if of[key][self.set_up] == min(of[key].values())]
        so += [key for key in self.worst if of[key][self.set_up] == max(of[key].values())]
        return _of(self.best + self.worst, so)


@dataclass(frozen=True)
class Faster:
    """A decision of DARDIS takes so many times less than one of the rules."""

    times: float

    @property
    def text(self) -> str:
        """What is claimed."""
        return f"a decision of DARDIS is {self.times:g} times faster than a cycle of the rules"

    def judge(self, figures: Figures, rules: Sequence[str]) -> Finding:
        """Compare the means of the three set-ups and of the rules."""
        ratio = fmean(figures[name][DECISION] for name in rules) / fmean(figures[name][DECISION] for name in SET_UPS)
        verdict = "yes" if ratio >= self.times else "in part" if ratio > 1 else "no"
        return Finding(f"{ratio:.3g} times", verdict)


def _of(keys: Sequence[str], so: Sequence[str]) -> Finding:
    """Name the figures for which something is so, unless it is so for all."""
    if len(so) == len(keys):
        return Finding("all of it", "yes")
    named = ", ".join(COLUMNS[key][0].split(",")[0] for key in so)
    return Finding(f"only {named}" if so else "nothing of it", "in part" if so else "no")


CLAIMS: Final[tuple[Claim, ...]] = (
    Saves(THROUGHPUT, "makespan", 0.41, 0.42),
    Saves(THROUGHPUT, "wait", 0.31, 0.50),
    Saves(THROUGHPUT, "tardiness", 0.31, 0.50),
    Exceeds(
        "profile and balance are poorer than the rules in makespan, total wait and tardiness",
        ("makespan", "wait", "tardiness"),
        (PROFILE, BALANCE),
    ),
    Saves(BALANCE, "late", 0.54, 0.57),
    Saves(PROFILE, "late", 0.53, 0.56),
    Saves(THROUGHPUT, "late", 0.47, 0.51),
    Exceeds("the rules have less overutilisation than every set-up", ("over",), SET_UPS),
    Saves(PROFILE, "diss", 0.002, 0.024, digits=1),
    Ranks(THROUGHPUT, ("makespan", "wait", "tardiness", "over"), ("late", "diss")),
    Ranks(PROFILE, ("diss",), ("makespan", "wait", "tardiness")),
    Ranks(BALANCE, ("late",), ("over",)),
    Faster(214),
)


def judged(claim: Claim, figures: Figures, rules: Sequence[str]) -> Finding:
    """Judge a claim; UNKNOWN where a run that it speaks of is missing or has no such figure."""
    try:
        return claim.judge(figures, rules)
    except (KeyError, ZeroDivisionError):
        return UNKNOWN
