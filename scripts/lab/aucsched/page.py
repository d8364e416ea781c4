"""Writes tables 5 to 8 with our rows beside the paper's, what the auction changes, everybody's means, and plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from dardis.report import chart
from dardis.workload.generate import MACHINES
from scripts.lab.aucsched.cases import (
    ADDITIONAL,
    CONTENDERS,
    CONTIGUOUS,
    EASY,
    LATE,
    MACHINE_OF,
    MAIN_LOOP,
    PRINTED,
    Case,
    cases_of,
)
from scripts.lab.aucsched.figures import (
    AUCSCHED,
    BACKFILLING,
    SEEDS,
    TABLES,
    Figures,
    Measured,
    mean_over_versions,
    over_cases,
)
from scripts.lab.kit.drawing import draw_legend, save, sheet
from scripts.lab.kit.page import NOTHING, FigureTable, markdown, paired_head

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Found = Mapping[tuple[Case, str], Measured]
"""Our rows by case and label."""
_HEAD: Final = (
    "theoretical runtime (h)", "utilisation (%)", "runtime (h)", "wait (h)", "wait (h): standard deviation",
    "fragmentation", "fragmentation: standard deviation", "slowdown", "spread", "spread: standard deviation",
    "CPU per decision (ms)", "proven optimal (%)", "seeds",
)  # fmt: skip
_CHANGED: Final = ("utilisation (points)", "wait (%)", "slowdown (%)", "fragmentation (%)", "spread (%)")


class Change(NamedTuple):
    """What the auction has more than backfilling."""

    utilisation: float
    """Points."""
    wait: float
    """%, as all that follow."""
    slowdown: float
    fragmentation: float
    """Where some jobs may be anywhere: versions 1 and 2."""
    spread: float


def tables_of(found: Found) -> dict[str, FigureTable]:
    """All tables, named as in docs/reproduction."""
    numbers = list(dict.fromkeys(case.table for case, _ in found))
    means = [row for number in numbers if number != ADDITIONAL for row in _means(found, number)]
    changes_head = ["table", "machine", "cases", *paired_head(_CHANGED, "paper")]
    rows_head = ["table", "machine", "case", "scheduler", *_HEAD]
    tables = (
        FigureTable("aucsched_changes", changes_head, _changes(found, numbers), 2),
        FigureTable("aucsched", rows_head, [row for number in numbers for row in _rows_of_table(found, number)], 4),
        FigureTable("aucsched_means", ["machine", "version", "scheduler", *_HEAD], means, 3),
    )
    return {one.name: one for one in tables}


def page(found: Found, hours: float) -> str:
    """All tables as Markdown."""
    of = {name: one.lines() for name, one in tables_of(found).items()}
    parts = [
        ["# AUCSCHED", "", _LEAD.format(hours=hours)],
        ["## What the auction changes", "", *of["aucsched_changes"], "", _CHANGES],
        ["## Tables 5 to 8", "", *of["aucsched"]],
        ["## Means over workloads I to V", "", *of["aucsched_means"], "", _MEANS],
    ]
    return markdown(parts)


_LEAD: Final = (
    "Workloads of {hours:g} hours. *AUCSCHED* and *SLURM/BF* are the paper's rows, means of 7 workloads; the others "
    "are ours, means of as many as the last column says. `aucsched, as printed` has the paper's α and, but in table "
    "8, its bids of Slurm; `easy` with `node_choice=contiguous` stands for SLURM/BF. Standard deviations are each "
    "simulation's, averaged. Proven: of the auctions that went to the solver; where everybody gets the best bid, none "
    "does."
)
_CHANGES: Final = (
    "From SLURM/BF to AUCSCHED, and from `easy` to `aucsched, as printed`: of means over the cases that both of ours "
    "have, utilisation in points, the rest in %. Fragmentation and spread are of versions 1 and 2; in version 3 both "
    "are 1."
)
_MEANS: Final = (
    "Those who have all five; seeds: the fewest of them. `dardis-late` obeys no shapes, so it can run I.1 alone, and "
    "is in the tables above."
)


def _rows_of_table(found: Found, number: str) -> list[list[str]]:
    rows = []
    for case in cases_of(number):
        printed, at = TABLES[number][case.name], [number, case.machine, case.name]
        for theirs, ours in ((AUCSCHED, (PRINTED, MAIN_LOOP)), (BACKFILLING, (EASY, LATE))):
            rows.append([*at, theirs, *_cells(printed[theirs]), NOTHING, NOTHING, str(SEEDS)])
            known = [label for label in ours if (case, label) in found]
            rows += [[*at, label, *_measured_cells(found[case, label])] for label in known]
    return rows


def _measured_cells(of: Measured) -> list[str]:
    proven = NOTHING if of.proven is None else f"{of.proven:.1f}"
    return [*_cells(of.figures), f"{of.decision_ms:.3g}", proven, str(of.seeds)]


def _cells(of: Figures) -> list[str]:
    return [f"{value:.1f}" if name == "utilisation" else f"{value:.2f}" for name, value in of._asdict().items()]


def change(pairs: Mapping[Case, tuple[Figures, Figures]]) -> Change:
    """From the second of each pair to the first, of means over the cases."""
    auction, backfilling = (over_cases([pair[side] for pair in pairs.values()]) for side in (0, 1))
    free = [pair for case, pair in pairs.items() if CONTIGUOUS[case.version] < 100] or list(pairs.values())
    placed, before = (over_cases([pair[side] for pair in free]) for side in (0, 1))

    def more(one: float, other: float) -> float:
        return 100 * (one / other - 1)

    return Change(
        auction.utilisation - backfilling.utilisation,
        more(auction.wait_h, backfilling.wait_h),
        more(auction.slowdown, backfilling.slowdown),
        more(placed.fragmentation, before.fragmentation),
        more(placed.spread, before.spread),
    )


def _changes(found: Found, tables: Sequence[str]) -> list[list[str]]:
    rows = []
    for number in tables:
        both = [case for case in cases_of(number) if {(case, PRINTED), (case, EASY)} <= {*found}]
        if not both:
            continue
        printed = {case: TABLES[number][case.name] for case in both}
        theirs = change({case: (of[AUCSCHED], of[BACKFILLING]) for case, of in printed.items()})
        ours = change({case: (found[case, PRINTED].figures, found[case, EASY].figures) for case in both})
        cells = [f"{value:.1f}" for pair in zip(theirs, ours, strict=True) for value in pair]
        rows.append([number, both[0].machine, str(len(both)), *cells])
    return rows


def _means(found: Found, number: str) -> list[list[str]]:
    """Rows of means over the workloads of each version, of those who have all; theirs first."""
    rows = []
    for version in CONTIGUOUS:
        cases = [case for case in cases_of(number) if case.version == version]
        place = [f"{cases[0].machine}", f"{version}"]
        printed = [TABLES[number][case.name] for case in cases]
        for who in (AUCSCHED, BACKFILLING):
            means = over_cases([of[who] for of in printed])
            rows.append([*place, who, *_cells(means), NOTHING, NOTHING, str(SEEDS)])
        for label in CONTENDERS:
            of = [found[case, label] for case in cases if (case, label) in found]
            if len(of) == len(cases):
                rows.append([*place, label, *_measured_cells(mean_over_versions(of))])
    return rows


_NUMBERS: Final = [number for number in MACHINE_OF if number != ADDITIONAL]
_LOOKS: Final = {
    f"{AUCSCHED} (paper)": (chart.BLUE, "o", "none"),
    PRINTED: (chart.BLUE, "o", chart.BLUE),
    "aucsched": (chart.CYCLE[5], "^", chart.CYCLE[5]),
    f"{BACKFILLING} (paper)": (chart.VERMILLION, "s", "none"),
    EASY: (chart.VERMILLION, "s", chart.VERMILLION),
    MAIN_LOOP: (chart.CYCLE[4], "D", chart.CYCLE[4]),
}
"""Colour, marker and filling by who; the paper's are hollow."""


def _figures(found: Found, case: Case, who: str) -> Figures | None:
    """The row of one of _LOOKS, if it is there."""
    whose, _, _ = who.partition(" (paper)")
    if whose in (AUCSCHED, BACKFILLING):
        return TABLES[case.table][case.name][whose]
    ours = found.get((case, who))
    return None if ours is None else ours.figures


def draw_utilisation(path: Path, found: Found) -> None:
    """Write a panel a machine, workload versions from left to right."""
    with chart.style():
        drawing, rows = sheet(8.4, len(_NUMBERS), 1)
        for number, (axes,) in zip(_NUMBERS, rows, strict=True):
            cases = cases_of(number)
            for turn, who in enumerate(_LOOKS):
                shift = 0.12 * (turn - (len(_LOOKS) - 1) / 2)
                known = [(place + shift, of.utilisation) for place, case in enumerate(cases)
                         if (of := _figures(found, case, who)) is not None]  # fmt: skip
                _marks(axes, known, who)
            for border in range(len(CONTIGUOUS), len(cases), len(CONTIGUOUS)):
                axes.axvline(border - 0.5, color=chart.GREY, linewidth=0.8)
            axes.set_xticks(range(len(cases)), [case.name for case in cases])
            axes.set_xlim(-0.6, len(cases) - 0.4)
            axes.grid(axis="x", visible=False)
            axes.set_ylabel("utilisation, %")
            axes.sharey(rows[0][0])
            _title(axes, number)
        rows[0][0].autoscale(axis="y")  # over all panels
        rows[-1][0].set_xlabel("workload and version (1: no job is contiguous, 2: half of them, 3: all)")
        draw_legend(drawing, rows[0][0], 3)
        save(drawing, path)


def draw_footprints(path: Path, found: Found) -> None:
    """Write a panel a machine, a mark for each workload in versions 1 and 2; in version 3 both are 1."""
    with chart.style():
        drawing, (row,) = sheet(4.2, 1, len(_NUMBERS))
        for number, axes in zip(_NUMBERS, row, strict=True):
            cases = [case for case in cases_of(number) if CONTIGUOUS[case.version] < 100]
            for who in _LOOKS:
                known = [of for case in cases if (of := _figures(found, case, who)) is not None]
                _marks(axes, [(of.spread, of.fragmentation) for of in known], who)
            axes.set_xlabel("mean spread of a job\n(nodes from first to last / its nodes)")
            _title(axes, number)
        row[0].set_ylabel("mean fragmentation of a job\n(blocks of neighbouring nodes)")
        draw_legend(drawing, row[0], 3)
        save(drawing, path)


def _marks(axes: Axes, points: Sequence[tuple[float, float]], who: str) -> None:
    colour, marker, filling = _LOOKS[who]
    axes.plot([x for x, _ in points], [y for _, y in points], linestyle="", marker=marker, markersize=5.5,
              markeredgecolor=colour, markerfacecolor=filling, label=who)  # fmt: skip


def _title(axes: Axes, number: str) -> None:
    machine = MACHINE_OF[number]
    axes.set_title(f"machine {machine}, {MACHINES[machine]:,} nodes")
