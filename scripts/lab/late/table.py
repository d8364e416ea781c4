"""The table of loads in words: a row a case, and what is aimed at beside what is reached."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, fields
from typing import Final

import numpy as np

from scripts.lab.kit.page import table as lines_of
from scripts.lab.late.cases import Case
from scripts.lab.late.loads import Ratios

Found = Mapping[Case, Sequence[Ratios]]
"""The runs of each case: one, or one for each seed by which submissions are shaken."""
LIGHT: Final = 0.905
"""Up to this load the machine has room: .9, rounded as it is printed."""
LIMITS: Final = {"wait": 1.10, "slowdown": 1.10, "longest": 1.5}
MEANS: Final = {"light": (0.80, 0.70), "all": (1.0, 0.95)}
"""Geometric means of wait and slowdown that are aimed at."""
_HEAD: Final = ("case", "load", "wait", "slowdown", "longest wait", "wait of wide jobs", "of the others")


def medians(runs: Sequence[Ratios]) -> Ratios:
    """The median of each figure over runs of a case; None where a run has none."""
    columns = zip(*(astuple(one) for one in runs), strict=True)
    return Ratios(*(None if None in column else float(np.median(column)) for column in columns))  # type: ignore[arg-type]


def excess(found: Sequence[Ratios]) -> float:
    """The largest excess over the limits, as a ratio: at most 1 where no case is above any."""
    return max(float(getattr(one, name)) / limit for one in found for name, limit in LIMITS.items())


def geometric(found: Sequence[Ratios]) -> tuple[float, float]:
    """Geometric means of wait and slowdown."""
    logs = np.log([(one.wait, one.slowdown) for one in found])
    wait, slowdown = np.exp(logs.mean(axis=0)).tolist()
    return wait, slowdown


def part_of(found: Found, *, chosen_on: bool) -> list[Ratios]:
    """Medians of the cases that the rule was chosen on, or of those that it is judged on."""
    return [medians(runs) for case, runs in found.items() if case.chosen_on == chosen_on]


def summary(found: Found) -> list[str]:
    """What is aimed at beside what is reached, a line each, on those chosen on and those judged on."""
    lines = []
    for told, chosen in (("chosen on", True), ("judged on", False)):
        every = part_of(found, chosen_on=chosen)
        light = [one for one in every if one.load <= LIGHT]
        for name, part in (("light", light), ("all", every)):
            if part:
                aim, (wait, slowdown) = MEANS[name], geometric(part)
                what = "up to load 0.9" if name == "light" else "at all loads"
                lines.append(
                    f"{told}, {what}: {wait:.2f}/{slowdown:.2f} (aim {aim[0]:.2f}/{aim[1]:.2f}), {len(part)} cases"
                )
        if every:
            worst = {name: max(getattr(one, name) for one in every) for name in LIMITS}
            told_worst = ", ".join(f"{name} {value:.2f} ({LIMITS[name]:.2f})" for name, value in worst.items())
            lines.append(f"{told}, the worst (limits): {told_worst}; {excess(every):.2f} times a limit")
    return lines


def table(found: Found) -> str:
    """A row a case, those chosen on first: its figures, or their medians with the least and the most."""
    rows = []
    for case, runs in found.items():
        cells = [_cell(runs, field.name) for field in fields(Ratios)]
        rows.append((case.name, *cells, "chosen on" if case.chosen_on else "judged on"))
    return "\n".join([*lines_of((*_HEAD, ""), rows), "", *(f"* {line}" for line in summary(found)), ""])


def _cell(runs: Sequence[Ratios], name: str) -> str:
    middle = getattr(medians(runs), name)
    if middle is None:
        return "–"
    if len(runs) == 1:
        return f"{middle:.2f}"
    values = [getattr(one, name) for one in runs]
    return f"{middle:.2f} ({min(values):.2f}–{max(values):.2f})"
