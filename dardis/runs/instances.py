"""Decisions of a run in files, and a model's answers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from dardis.config.settings import with_settings
from dardis.dispatch import MODEL_SETUPS, ModelSetUp
from dardis.dispatch.cp.decision_problem import Decision, DecisionProblem
from dardis.dispatch.cp.instance import read_instance
from dardis.dispatch.cp.solver_dispatcher import decision_record
from dardis.model.csv_table import TEXT, WORD, Column, CsvTable
from dardis.model.errors import InputError
from dardis.model.files import atomic_text, partly_written
from dardis.runs.solved_instances import SOLVED, row_of
from dardis.sim.recorder import Keep
from dardis.wire.effects import Plain, Solved
from dardis.workload.trace import unequal_units_text

_PREFIX, _SUFFIX = "decision-", ".json"


def check_folder(folder: Path, dispatcher: str, out: Path, *, force: bool) -> None:
    """Raise InputError unless the folder can hold the dispatcher's decisions."""
    place = f"--save-instances {folder}"
    if dispatcher not in MODEL_SETUPS:
        raise InputError(place, f"{dispatcher} has no model instances", f"one of {', '.join(MODEL_SETUPS)}")
    if folder.resolve().is_relative_to(out.resolve()):
        raise InputError(place, f"is inside --out {out}", "another folder")
    if not folder.exists():
        return
    try:
        found = [path.name for path in folder.iterdir()]
    except OSError as error:
        raise InputError(place, error.strerror or "cannot be read", "a writable folder") from None
    if not all(map(_is_instance, found)):
        raise InputError(place, "has other content than decisions", "an empty folder")
    if found and not force:
        raise InputError(place, "is not empty", "an empty folder, or --force to replace decisions")


def instance_writer(folder: Path) -> Keep:
    """Create or empty the folder; return a function to save decisions. Raises InputError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in folder.iterdir():
            path.unlink()
    except OSError as error:
        place = f"--save-instances {folder}"
        raise InputError(place, error.strerror or "cannot be created", "a writable folder") from None

    def keep(number: int, asked: Plain) -> None:
        with atomic_text(folder / f"{_PREFIX}{number:06}{_SUFFIX}") as file:
            json.dump(asked.plain(), file, separators=(",", ":"))
            file.write("\n")

    return keep


def _is_instance(name: str) -> bool:
    name = partly_written(name) or name
    return name.startswith(_PREFIX) and name.endswith(_SUFFIX)


def setup_of(dispatcher: str, settings: Iterable[str]) -> ModelSetUp:
    """Model dispatcher's set-up with `KEY=VALUE` settings. Raises InputError."""
    if dispatcher not in MODEL_SETUPS:
        raise InputError(f"--dispatcher {dispatcher}", "has no model", f"one of {', '.join(MODEL_SETUPS)}")
    return with_settings(MODEL_SETUPS[dispatcher], settings).checked()


def read_instances(what: Sequence[Path], setup: ModelSetUp) -> list[tuple[Path, DecisionProblem]]:
    """Problems in files and folders, by number.

    Raises InputError, also for jobs without required deadlines.
    """
    files: list[Path] = []
    for path in what:
        found = sorted(one for one in path.iterdir() if _is_instance(one.name)) if path.is_dir() else [path]
        if not found:
            raise InputError(path, "holds no decisions", "a folder of --save-instances, or its files")
        files += found
    problems = [(file, _drop_closed_queues(read_instance(file), setup)) for file in files]
    for file, problem in () if setup.model().knows_shapes else problems:
        shaped = [waiting.job.number for waiting in problem.waiting if waiting.job.requests]
        if shaped:
            raise InputError(file, unequal_units_text(shaped[0]), "a --dispatcher whose model supports such jobs")
    for file, problem in problems if setup.needs_deadlines else ():
        undated = [waiting.job.number for waiting in problem.waiting if waiting.job.latest is None]
        if undated:
            expected = "a decision of a run with --deadlines, since the model needs expected waits"
            raise InputError(file, f"job {undated[0]} has no latest start", expected)
    return problems


def _drop_closed_queues(problem: DecisionProblem, setup: ModelSetUp) -> DecisionProblem:
    if setup.keeps_closed or not problem.keeps_hours:
        return problem
    waiting = [one for one in problem.waiting if problem.starts_of(one.job).opens(problem.now) == problem.now]
    return replace(problem, waiting=tuple(waiting), keeps_hours=False)


class Solution:
    """Model's answer to a problem."""

    TABLE: Final = CsvTable(
        "solutions.csv",
        Column("instance", TEXT, "file of the decision"),
        *SOLVED.columns,
        Column("starting", WORD, "jobs that start immediately"),
    )

    def __init__(self, path: Path, problem: DecisionProblem, answer: Decision, cpu_s: float) -> None:
        begins = [problem.waiting[place] for place, start in answer.starts.items() if start == problem.now]
        self.path = path
        self.moment = problem.now
        self.told: Solved = decision_record(problem, answer, cpu_s, len(begins))
        self.starting = [waiting.job.number for waiting in begins]

    @property
    def row(self) -> list[object]:
        """Row of TABLE."""
        return [str(self.path), *row_of(self.moment, self.told), " ".join(map(str, self.starting))]


def check_table(path: Path) -> None:
    """Raise InputError unless the table can be written."""
    if path.is_dir():
        raise InputError(f"--out {path}", "is a folder", "a file")
    if not path.absolute().parent.is_dir():
        raise InputError(f"--out {path}", "its folder does not exist", "a file in an existing folder")


def write_solutions(path: Path, solutions: Sequence[Solution]) -> None:
    """Write one CSV row per solution."""
    Solution.TABLE.write(path, (one.row for one in solutions))
