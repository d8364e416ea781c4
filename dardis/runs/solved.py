"""Decisions that a run keeps as JSON, and `dardis solve`, which puts them to a model again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, NamedTuple

from dardis.config.settings import with_settings
from dardis.dispatch import ASKING_SETUPS, AskingSetUp
from dardis.dispatch.cp.asking import told
from dardis.dispatch.cp.instance import read_instance
from dardis.dispatch.cp.problem import Answer, Problem
from dardis.model.csv_table import REAL, TEXT, WHOLE, WORD, Column, CsvTable
from dardis.model.errors import InputError
from dardis.model.files import atomic_text, partly_written
from dardis.model.numbers import decimal_number
from dardis.sim.recorder import Keep
from dardis.solver.result import Ended, SolverStatus, gap
from dardis.wire.effects import Plain, Solved
from dardis.workload.trace import told_of

SOLVER_FILE: Final = "solver.csv"
Decisions = Sequence[tuple[int, Solved]]
"""When, in s of the trace's clock, and what came of it."""
_LATEST: Final = 1 << 60
_LARGEST_GAP: Final = 1e9
PHASES: Final = ("update_cpu_s", "check_cpu_s", "first_cpu_s", "build_cpu_s", "solver_cpu_s", "commit_cpu_s")
"""CPU time by phase (thesis table 4.16): taking in what has happened, who could ever start, our own answer, ..."""
_PROVEN: Final = {SolverStatus.OPTIMAL, SolverStatus.INFEASIBLE}


def figure_of(phase: str) -> str:
    """Key in metrics.json of the CPU time of a phase."""
    return f"solver_{phase}".replace("solver_solver", "solver")


SOLVED: Final = CsvTable(
    SOLVER_FILE,
    Column("time", WHOLE, "when it was made, on the trace's clock", "s"),
    Column("waiting", WHOLE, "jobs that waited, but for those whom the desired profile binds no more"),
    Column("planned", WHOLE, "jobs that the model planned"),
    Column("started", WHOLE, "jobs that started"),
    Column("status", WORD, "`optimal`, `feasible`, `infeasible` or `unknown`; empty: the solver was not asked",
           detail="of the model that it was given, which for `cp-eurora` may be of a few of those who wait"),
    Column("stopped_by", WORD, "`budget` (of work) or `time` (the guard) ended the last search; empty: it was done"),
    *(Column(name, REAL, meaning, None, ".9g") for name, meaning in (
        ("objective", "objective of the answer"),
        ("bound", "no answer has a better objective; the better of the solver's and ours"),
        ("gap", "\\|objective − bound\\| / \\|objective\\|"),
    )),
    Column("variables", WHOLE, "variables, as the model's paper counts them"),
    *(Column(name, REAL, meaning, None, ".9g") for name, meaning in (
        ("deterministic_s", "deterministic time of the solver"),
        *((phase, f"as `{figure_of(phase)}` of metrics.json") for phase in PHASES),
    )),
    Column("too_large", WHOLE, "1: the model was too large to be built"),
)  # fmt: skip


def write_solved(path: Path, decisions: Decisions) -> None:
    """Write a row for each decision."""
    SOLVED.write(path, (row_of(moment, one) for moment, one in decisions))


def row_of(moment: int, one: Solved) -> list[object]:
    """A decision as SOLVED has it; None: there is no such figure, or the solver was not asked."""
    return [
        moment, one.waiting, one.planned, one.started, one.status, _stopped_by(one), one.objective,
        one.bound, gap(one.objective, one.bound), one.variables, one.deterministic_s,
        *(getattr(one, phase) for phase in PHASES), int(one.too_large),
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
    cells = SOLVED.read(path)
    times = cells.whole("time", -_LATEST, _LATEST).tolist()
    gaps = cells.values("gap", _gap, "a gap from 0 on")
    states = cells.values("status", lambda text: SolverStatus(text) if text else None, "what a solver says")
    outcomes = map(_outcome, states, cells.whole("too_large", 0, 1).tolist())
    return [Gap(*row) for row in zip(times, outcomes, gaps, strict=True)]


def _gap(text: str) -> float | None:
    """A gap that can be drawn, else ValueError."""
    distance = decimal_number(text) if text else None
    if distance is not None and not 0 <= distance <= _LARGEST_GAP:
        raise ValueError(text)
    return distance


def _outcome(status: SolverStatus | None, too_large: int) -> Outcome:
    if too_large:
        return Outcome.TOO_LARGE
    if status is None:
        return Outcome.NOT_ASKED
    return Outcome.PROVEN if status in _PROVEN else Outcome.STOPPED


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
        **{figure_of(phase): _sum(phase, decisions) for phase in PHASES},
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


_PREFIX, _SUFFIX = "decision-", ".json"


def check_folder(folder: Path, dispatcher: str, out: Path, *, force: bool) -> None:
    """See that decisions of the dispatcher can be kept in the folder. Raises InputError."""
    place = f"--save-instances {folder}"
    if dispatcher not in ASKING_SETUPS:
        raise InputError(
            place, f"decisions of {dispatcher} are no problems to keep", f"one of {', '.join(ASKING_SETUPS)}"
        )
    if folder.resolve().is_relative_to(out.resolve()):
        raise InputError(place, f"lies in --out {out}, which a run fills", "another folder")
    if not folder.exists():
        return
    try:
        found = [path.name for path in folder.iterdir()]
    except OSError as error:
        raise InputError(place, error.strerror or "can't be read", "a folder that can be written") from None
    if not all(map(_is_ours, found)):
        raise InputError(place, "holds something else than decisions", "an empty folder")
    if found and not force:
        raise InputError(place, "is not empty", "an empty folder, or --force to replace decisions")


def keeper(folder: Path) -> Keep:
    """Make the folder, empty it of decisions, and say how one is kept in it. Raises InputError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in folder.iterdir():
            path.unlink()
    except OSError as error:
        place = f"--save-instances {folder}"
        raise InputError(place, error.strerror or "can't be made", "a folder that can be written") from None

    def keep(number: int, asked: Plain) -> None:
        with atomic_text(folder / f"{_PREFIX}{number:06}{_SUFFIX}") as file:
            json.dump(asked.plain(), file, separators=(",", ":"))
            file.write("\n")

    return keep


def _is_ours(name: str) -> bool:
    name = partly_written(name) or name
    return name.startswith(_PREFIX) and name.endswith(_SUFFIX)


def setup_of(dispatcher: str, settings: Iterable[str]) -> AskingSetUp:
    """A dispatcher that asks a model, with `KEY=VALUE` settings. Raises InputError."""
    if dispatcher not in ASKING_SETUPS:
        raise InputError(f"--dispatcher {dispatcher}", "asks no model", f"one of {', '.join(ASKING_SETUPS)}")
    return with_settings(ASKING_SETUPS[dispatcher], settings).checked()


def read_instances(what: Sequence[Path], setup: AskingSetUp) -> list[tuple[Path, Problem]]:
    """The problems of files, and of the files of folders in the order of their numbers.

    Raises InputError, also where jobs lack the deadlines that the model goes by.
    """
    files: list[Path] = []
    for path in what:
        found = sorted(one for one in path.iterdir() if _is_ours(one.name)) if path.is_dir() else [path]
        if not found:
            raise InputError(path, "holds no decisions", "a folder of --save-instances, or its files")
        files += found
    problems = [(file, _as_asked(read_instance(file), setup)) for file in files]
    for file, problem in () if setup.model().knows_shapes else problems:
        shaped = [waiting.job.number for waiting in problem.waiting if waiting.job.requests]
        if shaped:
            raise InputError(file, told_of(shaped[0]), "a model that decides on such jobs: another --dispatcher")
    for file, problem in problems if setup.needs_deadlines else ():
        undated = [waiting.job.number for waiting in problem.waiting if waiting.job.latest is None]
        if undated:
            expected = "a decision of a run with --deadlines: this model goes by expected waits"
            raise InputError(file, f"job {undated[0]} has no latest start", expected)
    return problems


def _as_asked(problem: Problem, setup: AskingSetUp) -> Problem:
    """The problem as the dispatcher would put it: most ask about those alone whose queues are open."""
    if setup.keeps_closed or not problem.keeps_hours:
        return problem
    waiting = [one for one in problem.waiting if problem.starts_of(one.job).opens(problem.now) == problem.now]
    return replace(problem, waiting=tuple(waiting), keeps_hours=False)


class Solution:
    """What a model makes of a problem."""

    TABLE: Final = CsvTable(
        "solutions.csv",
        Column("instance", TEXT, "file of the decision"),
        *SOLVED.columns,
        Column("starting", WORD, "jobs that begin at once"),
    )

    def __init__(self, path: Path, problem: Problem, answer: Answer, cpu_s: float) -> None:
        """Of this file; the answer took so much of this thread."""
        begins = [problem.waiting[place] for place, start in answer.starts.items() if start == problem.now]
        self.path = path
        self.moment = problem.now
        self.told: Solved = told(problem, answer, cpu_s, len(begins))
        self.starting = [waiting.job.number for waiting in begins]

    @property
    def row(self) -> list[object]:
        """As TABLE has it: the file, as in solver.csv, and who starts now."""
        return [str(self.path), *row_of(self.moment, self.told), " ".join(map(str, self.starting))]


def check_table(path: Path) -> None:
    """See that a table can be written there, before any decision is made. Raises InputError."""
    if path.is_dir():
        raise InputError(f"--out {path}", "is a folder", "a file")
    if not path.absolute().parent.is_dir():
        raise InputError(f"--out {path}", "its folder is not there", "a file in a folder that is")


def write_solutions(path: Path, solutions: Sequence[Solution]) -> None:
    """Write a row for each as CSV."""
    Solution.TABLE.write(path, (one.row for one in solutions))
