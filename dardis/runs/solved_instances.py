"""Decisions of constraint models."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, NamedTuple

from dardis.model.csv_table import REAL, WHOLE, WORD, Column, CsvTable
from dardis.model.numbers import decimal_number
from dardis.solver.result import EndReason, SolverStatus, gap
from dardis.wire.effects import Solved

SOLVER_FILE: Final = "solver.csv"
Decisions = Sequence[tuple[int, Solved]]
_LATEST: Final = 1 << 60
_LARGEST_GAP: Final = 1e9
PHASES: Final = ("update_cpu_s", "check_cpu_s", "first_cpu_s", "build_cpu_s", "solver_cpu_s", "commit_cpu_s")
"""CPU time by phase (thesis table 4.16)."""
_PROVEN: Final = {SolverStatus.OPTIMAL, SolverStatus.INFEASIBLE}


def figure_of(phase: str) -> str:
    """Phase's key in metrics.json."""
    return f"solver_{phase}".replace("solver_solver", "solver")


SOLVED: Final = CsvTable(
    SOLVER_FILE,
    Column("time", WHOLE, "time of the decision on the trace's clock", "s"),
    Column("waiting", WHOLE, "waiting jobs, without those that no longer have to follow the desired profile"),
    Column("planned", WHOLE, "jobs that the model planned"),
    Column("started", WHOLE, "jobs that started"),
    Column("status", WORD, "`optimal`, `feasible`, `infeasible` or `unknown`; empty without a search",
           detail="of the solver's model, which may hold only some waiting jobs under `cp-eurora`"),
    Column("stopped_by", WORD, "limit that stopped the last search, `budget` (work) or `time`; empty if none"),
    *(Column(name, REAL, meaning, None, ".9g") for name, meaning in (
        ("objective", "objective of the answer"),
        ("bound", "bound on all objectives: the better of the solver's and our own"),
        ("gap", "\\|objective − bound\\| / \\|objective\\|"),
    )),
    Column("variables", WHOLE, "number of variables, counted as in the model's paper"),
    *(Column(name, REAL, meaning, None, ".9g") for name, meaning in (
        ("deterministic_s", "deterministic time of the solver"),
        *((phase, f"as `{figure_of(phase)}` of metrics.json") for phase in PHASES),
    )),
    Column("too_large", WHOLE, "1 if the model was too large"),
)  # fmt: skip


def write_solved(path: Path, decisions: Decisions) -> None:
    """Write one row per decision."""
    SOLVED.write(path, (row_of(moment, one) for moment, one in decisions))


def row_of(moment: int, one: Solved) -> list[object]:
    """Row of SOLVED; None: missing."""
    return [
        moment, one.waiting, one.planned, one.started, one.status, _stopped_by(one), one.objective,
        one.bound, gap(one.objective, one.bound), one.variables, one.deterministic_s,
        *(getattr(one, phase) for phase in PHASES), int(one.too_large),
    ]  # fmt: skip


class DecisionOutcome(StrEnum):
    """State of an answer, for reports."""

    NOT_ASKED = "decided by the heuristic"
    PROVEN = "proven"
    STOPPED = "stopped by a limit"
    TOO_LARGE = "too large for a model"


class DecisionGap(NamedTuple):
    """Decision's quality: time in s on the trace's clock, and gap."""

    time: int
    outcome: DecisionOutcome
    gap: float | None


def read_gaps(path: Path) -> list[DecisionGap]:
    """Read a file of `write_solved`. Raises InputError for another format."""
    cells = SOLVED.read(path)
    times = cells.integers("time", -_LATEST, _LATEST).tolist()
    gaps = cells.values("gap", _gap, "a gap from 0 on")
    states = cells.values("status", lambda text: SolverStatus(text) if text else None, "a status of the solver")
    outcomes = map(_outcome, states, cells.integers("too_large", 0, 1).tolist())
    return [DecisionGap(*row) for row in zip(times, outcomes, gaps, strict=True)]


def _gap(text: str) -> float | None:
    distance = decimal_number(text) if text else None
    if distance is not None and not 0 <= distance <= _LARGEST_GAP:
        raise ValueError(text)
    return distance


def _outcome(status: SolverStatus | None, too_large: int) -> DecisionOutcome:
    if too_large:
        return DecisionOutcome.TOO_LARGE
    if status is None:
        return DecisionOutcome.NOT_ASKED
    return DecisionOutcome.PROVEN if status in _PROVEN else DecisionOutcome.STOPPED


def solver_figures(decisions: Decisions) -> dict[str, Any]:
    """Figures for metrics.json; empty without decisions."""
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
        **{figure_of(phase): _sum(phase, decisions) for phase in PHASES},
        "solver_deterministic_s": sum(one.deterministic_s for _, one in decisions),
        "stopped_by": "time" if any(one.ended == EndReason.GUARD for one in asked) else None,
    }


def _sum(phase: str, decisions: Decisions) -> float:
    return float(sum(getattr(one, phase) for _, one in decisions))


def _stopped_by(decision: Solved) -> str:
    if decision.ended == EndReason.GUARD:
        return "time"
    return "" if decision.ended in ("", EndReason.PROVEN) else decision.ended
