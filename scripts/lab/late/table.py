"""The figures of the table of loads: the table in words, and plots of who pays and of what a later age costs whom."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from dardis.config.platform_file import load_platform
from dardis.report import chart
from scripts.lab.kit.cache import Metrics, Run
from scripts.lab.kit.drawing import draw_legend, save, sheet
from scripts.lab.kit.page import read_csv
from scripts.lab.kit.page import table as lines_of
from scripts.lab.late.cases import SOURCES, Case

DispatcherSettings = tuple[str, ...]
"""A dispatcher, and what is set."""
TO_BEAT: Final[DispatcherSettings] = ("easy", "order=sjbf")
PATIENT: Final[DispatcherSettings] = ("easy",)
LEAST_WIDE: Final = 30
"""Of fewer wide jobs no mean is looked at."""


@dataclass(frozen=True, slots=True)
class Ratios:
    """Of a dispatcher in a case: waits and slowdowns over those of the one to beat, the longest wait over EASY's."""

    load: float
    wait: float
    slowdown: float
    longest: float
    wide: float | None
    """Mean wait of jobs wider than a quarter of the machine; None: there are too few, or they do not wait."""
    others: float | None
    """Mean wait of all others."""


def run_of(case: Case, asked: DispatcherSettings, traces: Path, out: Path) -> Run:
    """A dispatcher in a case."""
    return Run(asked, case.trace(traces, out), SOURCES[case.source].platform(out))


def waits_by_width(one: Run, out: Path) -> dict[str, Any]:
    """Count and mean wait (s) of a run's jobs that ask for more than a quarter of the machine, and of the others."""
    cores = load_platform(one.platform).cores
    rows = [
        (4 * int(row["requested_number_of_resources"]) > cores, float(row["waiting_time"]))
        for row in read_csv(one.folder(out) / "jobs.csv")
        if row["starting_time"] not in {"", "-1"}
    ]
    found: dict[str, Any] = {}
    for name, wide in (("wide", True), ("others", False)):
        waits = [wait for is_wide, wait in rows if is_wide == wide]
        found[name] = (len(waits), float(np.mean(waits)) if waits else 0.0)
    return found


def ratios(case_load: float, mine: Metrics, best: Metrics, patient: Metrics) -> Ratios:
    """A dispatcher's figures, with waits by width, over those of the ones to beat."""
    by_width = {}
    for name, least in (("wide", LEAST_WIDE), ("others", 1)):
        (count, wait), (_, base) = mine[name], best[name]
        by_width[name] = wait / base if count >= least and base > 0 else None
    return Ratios(
        case_load,
        mine["mean_wait_s"] / best["mean_wait_s"],
        mine["mean_bounded_slowdown"] / best["mean_bounded_slowdown"],
        mine["max_wait_s"] / patient["max_wait_s"],
        by_width["wide"],
        by_width["others"],
    )


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


def medians_by_choice(found: Found, *, chosen_on: bool) -> list[Ratios]:
    """Medians of the cases that the rule was chosen on, or of those that it is judged on."""
    return [medians(runs) for case, runs in found.items() if case.chosen_on == chosen_on]


def summary(found: Found) -> list[str]:
    """What is aimed at beside what is reached, a line each, on those chosen on and those judged on."""
    lines = []
    for told, chosen in (("chosen on", True), ("judged on", False)):
        every = medians_by_choice(found, chosen_on=chosen)
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


_PANELS: Final = {"wide": "jobs wider than a quarter of the machine", "others": "all others"}


def _family(source: str) -> str:
    """A made trace's name without its seed."""
    return source.rstrip("0123456789 ") if not SOURCES[source].file else source


def draw_who_pays(path: Path, found: Found) -> None:
    """Write mean waits of wide jobs and of the others, relative to the one to beat, by load, a line a trace."""
    lines: dict[str, dict[str, list[tuple[float, float]]]] = {name: defaultdict(list) for name in _PANELS}
    for case, runs in found.items():
        middle = medians(runs)
        for name, of in lines.items():
            if (ratio := getattr(middle, name)) is not None:
                of[case.source].append((middle.load, ratio))
    families = list(dict.fromkeys(_family(source) for source in SOURCES))
    with chart.style():
        drawing, (row,) = sheet(4.4, 1, len(_PANELS))
        for (name, title), axes in zip(_PANELS.items(), row, strict=True):
            axes.axhline(LIMITS["wait"], color=chart.INK, linewidth=0.8, linestyle=":")
            drawn = set()
            for source, points in lines[name].items():
                family = _family(source)
                x, y = zip(*sorted(points), strict=True)
                label = None if family in drawn else family
                axes.plot(x, y, label=label, **chart.line_look(families.index(family), marked=True))
                drawn.add(family)
            axes.set_title(title)
            axes.set_xlabel("load")
        row[0].set_ylabel("mean wait / that of EASY,\nshortest first")
        row[1].sharey(row[0])
        draw_legend(drawing, row[1], 4)
        save(drawing, path)


ALL_WORK: Final = 1 << 40
"""More than any work takes."""


class Ages(NamedTuple):
    """When late jobs are old: so long after the work that was there could be done, of which at most so much counts."""

    after_s: int
    work_s: int

    def __str__(self) -> str:
        """For a mark."""
        after = f"{self.after_s / 3600:g} h"
        if self.work_s == 0:
            return after
        return after + (" + work" if self.work_s >= ALL_WORK else f" + {self.work_s / 3600:g} h")


def draw_frontier(path: Path, found: Mapping[Ages, Found]) -> None:
    """Write what jobs wait on average against the largest excess over a limit, a mark for each rule."""
    with chart.style():
        drawing, (row,) = sheet(4.4, 1, 2)
        for axes, (title, chosen_on) in zip(row, (("chosen on", True), ("judged on", False)), strict=True):
            for turn, what in enumerate(("wait", "slowdown")):
                parts = {ages: medians_by_choice(of, chosen_on=chosen_on) for ages, of in found.items()}
                points = {ages: (geometric(part)[turn], excess(part)) for ages, part in parts.items() if part}
                x, y = [x for x, _ in points.values()], [y for _, y in points.values()]
                axes.plot(x, y, label=f"mean {what}", **chart.line_look(turn, marked=True) | {"linewidth": 0.0})
                offset, side = ((5, 4), "left") if turn == 0 else ((-5, -10), "right")
                for ages, point in points.items():
                    axes.annotate(str(ages), point, offset, textcoords="offset points", ha=side,
                                  fontsize=7.5, color=chart.CYCLE[turn])  # fmt: skip
            axes.margins(0.1)
            axes.axhline(1, color=chart.INK, linewidth=0.8, linestyle=":")
            axes.set_title(f"cases {title}")
            axes.set_xlabel("geometric mean / that of EASY, shortest first")
        row[0].set_ylabel("largest excess over a limit\n(wait 1.1, slowdown 1.1, longest wait 1.5)")
        draw_legend(drawing, row[0], 2)
        save(drawing, path)
