"""What became of the decisions that models made: a row each, and their figures."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from dardis.model.files import atomic_text
from dardis.solver.result import Ended, SolverStatus, gap
from dardis.wire.effects import Solved

SOLVER_FILE: Final = "solver.csv"
Decisions = Sequence[tuple[int, Solved]]
"""When, in s of the trace's clock, and what came of it."""
COLUMNS = (
    "time", "waiting", "planned", "started", "status", "stopped_by", "objective", "bound", "gap", "variables",
    "deterministic_s", "first_cpu_s", "build_cpu_s", "solver_cpu_s", "too_large",
)  # fmt: skip


def write_solved(path: Path, decisions: Decisions) -> None:
    """Write a row for each decision."""
    with atomic_text(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(row_of(moment, one) for moment, one in decisions)


def row_of(moment: int, one: Solved) -> list[object]:
    """A decision as COLUMNS has it; empty: there is no such figure, or the solver was not asked."""
    return [
        moment, one.waiting, one.planned, one.started, one.status, _stopped_by(one), _short(one.objective),
        _short(one.bound), _short(gap(one.objective, one.bound)), one.variables, _short(one.deterministic_s),
        _short(one.first_cpu_s), _short(one.build_cpu_s), _short(one.solver_cpu_s), int(one.too_large),
    ]  # fmt: skip


def solver_figures(decisions: Decisions) -> dict[str, Any]:
    """Their figures for metrics.json; none where no model decides."""
    if not decisions:
        return {}
    asked = [one for _, one in decisions if one.status]
    gaps = [found for _, one in decisions if (found := gap(one.objective, one.bound)) is not None]
    return {
        "solver_decisions": len(decisions),
        "solver_asked": len(asked),
        "solver_proven": sum(one.status == SolverStatus.OPTIMAL for one in asked),
        "solver_too_large": sum(one.too_large for _, one in decisions),
        "solver_gap_mean": sum(gaps) / len(gaps) if gaps else None,
        "solver_first_cpu_s": sum(one.first_cpu_s for _, one in decisions),
        "solver_build_cpu_s": sum(one.build_cpu_s for _, one in decisions),
        "solver_cpu_s": sum(one.solver_cpu_s for _, one in decisions),
        "solver_deterministic_s": sum(one.deterministic_s for _, one in decisions),
        "stopped_by": "time" if any(one.ended == Ended.GUARD for one in asked) else None,
    }


def _stopped_by(decision: Solved) -> str:
    """What ended the last search: empty where it was over, or there was none."""
    if decision.ended == Ended.GUARD:
        return "time"
    return "" if decision.ended in ("", Ended.PROVEN) else decision.ended


def _short(value: float | None) -> str:
    return "" if value is None else f"{value:.9g}"
