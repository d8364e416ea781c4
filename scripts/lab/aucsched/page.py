"""Writes tables 5 to 8 with our rows beside the paper's, what the auction changes, and everybody's means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from dardis.workload.generate import MACHINES
from scripts.lab.aucsched import paper
from scripts.lab.aucsched.cases import ADDITIONAL, CONTENDERS, CONTIGUOUS, EASY, LATE, PRINTED, Case, cases_of
from scripts.lab.aucsched.figures import Figures, Measured, over_cases, together
from scripts.lab.kit.page import NOTHING, markdown, table

Found = Mapping[tuple[Case, str], Measured]
"""Our rows by case and label."""
_HEAD: Final = (
    "theoretical, h", "utilisation, %", "runtime, h", "wait, h", "fragmentation", "slowdown", "spread",
    "CPU a decision, ms", "proven, %", "seeds",
)  # fmt: skip


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


def page(found: Found, hours: float) -> str:
    """Tables of docs/reproduction/aucsched*.csv, as Markdown."""
    tables = list(dict.fromkeys(case.table for case, _ in found))
    parts = [["### What came out", "", _LEAD.format(hours=hours)]]
    parts.append(["#### What the auction changes", "", *_changes(found, tables), "", _CHANGES])
    for number in tables:
        machine = cases_of(number)[0].machine
        title = f"#### Table {number}: machine {machine}, {MACHINES[machine]:,} nodes"
        parts.append([title, "", *_rows_of_table(found, number)])
    means = [row for number in tables if number != ADDITIONAL for row in _means(found, number)]
    if means:
        head = ["machine", "version", "who", *_HEAD]
        parts.append(["#### Everybody: means over workloads I to V", "", *table(head, means, left=3), "", _MEANS])
    return markdown(parts)


_LEAD: Final = (
    "Workloads of {hours:g} hours. *AUCSCHED* and *SLURM/BF* are the paper's rows, means of 7 workloads; ours are in "
    "code letters, means of as many as the last column says. `aucsched, as printed` has the paper's α and, but in "
    "table 8, its bids of Slurm; `easy` stands for SLURM/BF, but not in which nodes jobs with `nodes` get. Deviations "
    "(±) are each simulation's, averaged. Proven: of the auctions that went to the solver; where everybody gets the "
    "best bid, none does."
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


def _rows_of_table(found: Found, number: str) -> list[str]:
    rows = []
    for case in cases_of(number):
        printed = paper.TABLES[number][case.name]
        for theirs, ours in ((paper.AUCSCHED, PRINTED), (paper.BACKFILLING, EASY)):
            rows.append([case.name, theirs, *_cells(printed[theirs]), NOTHING, NOTHING, str(paper.SEEDS)])
            rows += _ours(found, case, (ours,))
        rows += _ours(found, case, (LATE,))
    return table(["", "who", *_HEAD], rows, left=2)


def _ours(found: Found, case: Case, labels: Iterable[str]) -> list[list[str]]:
    known = [label for label in labels if (case, label) in found]
    return [[case.name, f"`{label}`", *_measured_cells(found[case, label])] for label in known]


def _measured_cells(of: Measured) -> list[str]:
    proven = NOTHING if of.proven is None else f"{of.proven:.1f}"
    return [*_cells(of.figures), f"{of.decision_ms:.3g}", proven, str(of.seeds)]


def _cells(of: Figures) -> list[str]:
    return [
        f"{of.theoretical_h:.2f}", f"{of.utilisation:.1f}", f"{of.runtime_h:.2f}",
        f"{of.wait_h:.2f} ± {of.sd_wait_h:.2f}", f"{of.fragmentation:.2f} ± {of.sd_fragmentation:.2f}",
        f"{of.slowdown:.2f}", f"{of.spread:.2f} ± {of.sd_spread:.2f}",
    ]  # fmt: skip


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


def _changes(found: Found, tables: Sequence[str]) -> list[str]:
    rows = []
    for number in tables:
        both = [case for case in cases_of(number) if {(case, PRINTED), (case, EASY)} <= {*found}]
        if not both:
            continue
        printed = {case: paper.TABLES[number][case.name] for case in both}
        theirs = change({case: (of[paper.AUCSCHED], of[paper.BACKFILLING]) for case, of in printed.items()})
        ours = change({case: (found[case, PRINTED].figures, found[case, EASY].figures) for case in both})
        cells = [f"{value:+.1f}" for pair in zip(theirs, ours, strict=True) for value in pair]
        rows.append([f"{number} ({both[0].machine})", str(len(both)), *cells])
    head = [f"{name}: {whose}" for name in Change._fields for whose in ("paper", "ours")]
    return table(["table", "cases", *head], rows)


def _means(found: Found, number: str) -> list[list[str]]:
    """Rows of means over the workloads of each version, of those who have all; theirs first."""
    rows = []
    for version in CONTIGUOUS:
        cases = [case for case in cases_of(number) if case.version == version]
        place = [f"{cases[0].machine}", f"{version}"]
        printed = [paper.TABLES[number][case.name] for case in cases]
        for who in (paper.AUCSCHED, paper.BACKFILLING):
            means = over_cases([of[who] for of in printed])
            rows.append([*place, who, *_cells(means), NOTHING, NOTHING, str(paper.SEEDS)])
        for label in CONTENDERS:
            of = [found[case, label] for case in cases if (case, label) in found]
            if len(of) == len(cases):
                rows.append([*place, f"`{label}`", *_measured_cells(together(of))])
    return rows
