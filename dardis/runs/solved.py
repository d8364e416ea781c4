"""What became of the decisions that models made: a row each, and their figures."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, NamedTuple

from dardis.model.errors import InputError
from dardis.model.files import atomic_text, csv_rows, read_text
from dardis.model.numbers import decimal_number, whole_number
from dardis.solver.result import Ended, SolverStatus, gap
from dardis.wire.effects import Solved

SOLVER_FILE: Final = "solver.csv"
Decisions = Sequence[tuple[int, Solved]]
"""When, in s of the trace's clock, and what came of it."""
_LATEST: Final = 1 << 60
_LARGEST_GAP: Final = 1e9
PHASES: Final = ("update_cpu_s", "check_cpu_s", "first_cpu_s", "build_cpu_s", "solver_cpu_s", "commit_cpu_s")
"""CPU time by phase (thesis table 4.16): taking in what has happened, who could ever start, our own answer, ..."""
_PROVEN: Final = {SolverStatus.OPTIMAL, SolverStatus.INFEASIBLE}
COLUMNS = (
    "time", "waiting", "planned", "started", "status", "stopped_by", "objective", "bound", "gap", "variables",
    "deterministic_s", *PHASES, "too_large",
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
        *(_short(getattr(one, phase)) for phase in PHASES), int(one.too_large),
    ]  # fmt: skip


class Outcome(StrEnum):
    """What is known of a decision's answer, for people."""

    NOT_ASKED = "decided by our own answer"
    PROVEN = "proven"
    STOPPED = "stopped by a limit"
    TOO_LARGE = "too large for a model"


class Gap(NamedTuple):
    """How good a decision is: when it was made, in s of the trace's clock, and its gap (None: it has none)."""

    time: int
    outcome: Outcome
    gap: float | None


def read_gaps(path: Path) -> list[Gap]:
    """Read how good the decisions are that `write_solved` wrote. InputError: a file that is not of this form."""
    rows = csv_rows(path, read_text(path))
    if tuple(next(rows, (1, []))[1]) != COLUMNS:
        raise InputError(f"{path}:1", "no table of a solver's decisions", ",".join(COLUMNS))
    found = []
    for line, cells in rows:
        try:
            found.append(_gap(dict(zip(COLUMNS, cells, strict=True))))
        except ValueError:
            raise InputError(f"{path}:{line}", ",".join(cells)[:60], "a row of a solver.csv") from None
    return found


def _gap(row: dict[str, str]) -> Gap:
    """A row's; ValueError for what can't be drawn."""
    distance = decimal_number(row["gap"]) if row["gap"] else None
    if distance is not None and not 0 <= distance <= _LARGEST_GAP:
        raise ValueError(row["gap"])
    return Gap(whole_number(row["time"], -_LATEST, _LATEST), _outcome(row["status"], row["too_large"]), distance)


def _outcome(status: str, too_large: str) -> Outcome:
    if whole_number(too_large, 0, 1):
        return Outcome.TOO_LARGE
    if not status:
        return Outcome.NOT_ASKED
    return Outcome.PROVEN if SolverStatus(status) in _PROVEN else Outcome.STOPPED


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
        **{f"solver_{phase}".replace("solver_solver", "solver"): _sum(phase, decisions) for phase in PHASES},
        "solver_deterministic_s": sum(one.deterministic_s for _, one in decisions),
        "stopped_by": "time" if any(one.ended == Ended.GUARD for one in asked) else None,
    }


def _sum(phase: str, decisions: Decisions) -> float:
    return float(sum(getattr(one, phase) for _, one in decisions))


def _stopped_by(decision: Solved) -> str:
    """What ended the last search: empty where it was over, or there was none."""
    if decision.ended == Ended.GUARD:
        return "time"
    return "" if decision.ended in ("", Ended.PROVEN) else decision.ended


def _short(value: float | None) -> str:
    return "" if value is None else f"{value:.9g}"
