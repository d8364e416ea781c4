"""The figures of the table of loads: the table in words, and plots of who pays."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Final, NamedTuple

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
LEAST: Final = 30
"""Of fewer jobs of a class no mean is looked at."""
WIDTHS: Final = {"wide": (1 / 4, np.inf), "medium": (1 / 16, 1 / 4), "narrow": (0.0, 1 / 16)}
"""Classes by the share of the machine's cores, which is above the first and at most the second."""
HOURS: Final = {"up to 1 h": (0, 1), "1 to 4 h": (1, 4), "4 to 12 h": (4, 12), "above 12 h": (12, np.inf)}
"""Classes by walltime, likewise."""


class Means(NamedTuple):
    """Of a dispatcher in a case: mean wait and slowdown over those of the one to beat, the longest wait over EASY's."""

    wait: float
    slowdown: float
    longest: float


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


def waits_by_class(one: Run, out: Path) -> dict[str, tuple[int, float]]:
    """Count and mean wait (s) of a run's jobs by width and by walltime, and of all that are not wide."""
    cores = load_platform(one.platform).cores
    columns = ("requested_number_of_resources", "requested_time", "waiting_time")
    rows = [
        [float(row[name]) for name in columns]
        for row in read_csv(one.folder(out) / "jobs.csv")
        if row["starting_time"] not in {"", "-1"}
    ]
    width, walltime, wait = np.array(rows).reshape(-1, 3).T
    masks = {"others": width / cores <= WIDTHS["wide"][0]}
    for values, classes in ((width / cores, WIDTHS), (walltime / 3600, HOURS)):
        masks |= {name: (low < values) & (values <= high) for name, (low, high) in classes.items()}
    return {name: (int(mask.sum()), float(wait[mask].mean()) if mask.any() else 0.0) for name, mask in masks.items()}


def means(mine: Metrics, best: Metrics, patient: Metrics) -> Means:
    """A dispatcher's figures over those of the one to beat, and of EASY."""
    return Means(
        mine["mean_wait_s"] / best["mean_wait_s"],
        mine["mean_bounded_slowdown"] / best["mean_bounded_slowdown"],
        mine["max_wait_s"] / patient["max_wait_s"],
    )


def ratio_of_class(mine: Metrics, base: Metrics, name: str, least: int = LEAST) -> float | None:
    """A class's mean wait over another's; None: it has fewer jobs, or they do not wait."""
    (count, wait), (_, waited) = mine[name], base[name]
    return wait / waited if count >= least and waited > 0 else None


def ratios(case_load: float, mine: Metrics, best: Metrics, patient: Metrics) -> Ratios:
    """A dispatcher's figures, with waits by width, over those of the ones to beat."""
    widths = ratio_of_class(mine, best, "wide"), ratio_of_class(mine, best, "others", 1)
    return Ratios(case_load, *means(mine, best, patient), *widths)


Found = Mapping[Case, Sequence[Ratios]]
"""The runs of each case: one, or one for each seed by which submissions are shaken."""
LIMITS: Final = {"wait": 1.05, "slowdown": 1.05, "longest": 1.8}
AIMS: Final = Means(0.80, 0.72, 1.35)
"""Geometric means that are aimed at."""
HEAD: Final = ("case", "load", "wait", "slowdown", "longest wait", "wait of wide jobs", "of the others", "use")


def medians(runs: Sequence[Ratios]) -> Ratios:
    """The median of each figure over runs of a case; None where a run has none."""
    columns = zip(*(astuple(one) for one in runs), strict=True)
    return Ratios(*(None if None in column else float(np.median(column)) for column in columns))  # type: ignore[arg-type]


def excess(found: Sequence[Ratios]) -> float:
    """The largest excess over the limits, as a ratio: at most 1 where no case is above any."""
    return max(float(getattr(one, name)) / limit for one in found for name, limit in LIMITS.items())


def geometric(found: Sequence[Means | Ratios]) -> Means:
    """Geometric means."""
    logs = np.log([(one.wait, one.slowdown, one.longest) for one in found])
    return Means(*np.exp(logs.mean(axis=0)).tolist())


def medians_by_choice(found: Found, *, chosen_on: bool) -> list[Ratios]:
    """Medians of the cases that the rule was chosen on, or of those that it is judged on."""
    return [medians(runs) for case, runs in found.items() if case.chosen_on == chosen_on]


def summary(found: Found) -> list[str]:
    """What is aimed at beside what is reached, two lines each, on those chosen on and those judged on."""
    lines = []
    for told, chosen in (("chosen on", True), ("judged on", False)):
        if every := medians_by_choice(found, chosen_on=chosen):
            reached, aims = ("/".join(f"{value:.2f}" for value in values) for values in (geometric(every), AIMS))
            lines.append(f"{told}: {reached} (aim {aims}), {len(every)} cases")
            worst = {name: max(getattr(one, name) for one in every) for name in LIMITS}
            told_worst = ", ".join(f"{name} {value:.2f} ({LIMITS[name]:.2f})" for name, value in worst.items())
            lines.append(f"{told}, the worst (limits): {told_worst}; {excess(every):.2f} times a limit")
    return lines


def rows_of(found: Found) -> list[tuple[str, ...]]:
    """A row a case, those chosen on first: its figures, or their medians with the least and the most."""
    return [
        (
            case.name,
            *(_cell(runs, field.name) for field in fields(Ratios)),
            "chosen on" if case.chosen_on else "judged on",
        )
        for case, runs in found.items()
    ]


def table(found: Found) -> str:
    """The rows in Markdown, and what is aimed at beside what is reached."""
    return "\n".join([*lines_of(HEAD, rows_of(found)), "", *(f"* {line}" for line in summary(found)), ""])


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
    """Write mean waits of wide jobs and of the others, relative to the one to beat, over loads, a line a trace."""
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
                if len(points) == 1:
                    continue
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
