"""Puts every decision of PCP'19 on Eurora as a problem to PCP'20, too (003, section 5.3), and keeps what each took.

Both decide on the same instance; only PCP'19's answer is carried out. Where PCP'20 needs the positions of those who
run, they get the lowest that are free on their nodes, as PCP'19 knows none.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from math import inf
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np

from dardis.dispatch.cp.decision_problem import Decision, DecisionModel, DecisionProblem
from dardis.dispatch.cp.setups import CP_SETUPS, CpSetUp
from dardis.engine.clock import process_cpu_s
from dardis.model.arrays import Bools, Floats, Ints
from dardis.model.choices import Correction, Expecting
from scripts.lab.kit.cache import cached_arrays, code_version, fingerprint, read_arrays
from scripts.lab.kit.command import EURORA_PLATFORM
from scripts.lab.kit.eurora_run import run_on_eurora

EXPECTED: Final = {"D": "data-driven", "R": "real"}
"""How the papers call what says how long a job will run, and how we do."""


class Beside:
    """A model whose problems a second one answers as well."""

    knows_shapes: ClassVar[bool] = False

    def __init__(self, first: DecisionModel, second: DecisionModel) -> None:
        """Carry out what the first says."""
        self._models = (first, second)
        self.rows: list[tuple[float, ...]] = []
        """In the order of `Instances`, those of the first model before those of the second."""

    def decide(self, problem: DecisionProblem, seed: int) -> Decision:
        """As `DecisionModel` has it."""
        answers, row = [], []
        for model in self._models:
            begun = process_cpu_s()
            answer = model.decide(problem, seed)
            row += [answer.variables, process_cpu_s() - begun, answer.objective, float(answer.result is not None),
                    float(answer.too_large)]  # fmt: skip
            answers.append(answer)
        self.rows.append(tuple(row))
        return answers[0]


@dataclass(frozen=True)
class Instances:
    """Decisions, each by PCP'19 and PCP'20: shape (decisions, 2)."""

    variables: Ints
    cpu_s: Floats
    """Of all of it and of all threads: our own answer, the model, and its solver, which has threads of its own."""
    objective: Floats
    """Sum of slowdowns; infinite where there is no answer."""
    asked: Bools
    """Whether the solver was asked."""
    too_large: Bools

    @property
    def solved(self) -> Bools:
        """The decisions, by place, in which both asked the solver."""
        return np.asarray(self.asked.all(axis=1))

    @property
    def variable_ratio(self) -> Floats:
        """PCP'20's variables over PCP'19's, of the decisions that have some."""
        some = self.variables[:, 0] > 0
        return np.asarray(self.variables[some, 1] / self.variables[some, 0])

    def cpu_ratio(self, chosen: Bools) -> Floats:
        """PCP'20's CPU over PCP'19's, of some decisions by place."""
        return np.asarray(self.cpu_s[chosen, 1] / self.cpu_s[chosen, 0])

    def objective_ratio(self, chosen: Bools) -> Floats:
        """PCP'20's objective over PCP'19's, of some decisions by place, where there are both."""
        both = chosen & (self.objective < inf).all(axis=1) & (self.objective > 0).all(axis=1)
        return np.asarray(self.objective[both, 1] / self.objective[both, 0])


def instances(trace: Path, expected: str, jobs: int | None, folder: Path) -> Instances:
    """The decisions of a run, kept in the folder, by how long jobs are expected to run."""
    told = fingerprint(trace.read_bytes(), EURORA_PLATFORM.read_bytes(), code_version())
    name = f"instances-{expected}{'' if jobs is None else f'-first-{jobs}'}-{told}.npz"
    kept = read_arrays(cached_arrays(folder / name, lambda: _played(trace, expected, jobs)))
    return Instances(**kept)


def of_rows(rows: list[tuple[float, ...]]) -> dict[str, np.ndarray[Any, Any]]:
    """The arrays of `Instances` by name, of what `Beside` kept."""
    table = np.array(rows, dtype=np.float64).reshape(len(rows), 2, -1)
    kinds = (np.int64, np.float64, np.float64, np.bool_, np.bool_)
    names = [one.name for one in fields(Instances)]
    return {name: table[:, :, place].astype(kind) for place, (name, kind) in enumerate(zip(names, kinds, strict=True))}


@dataclass(frozen=True, slots=True)
class _BothSetUp(CpSetUp):
    """Asks PCP'19 and PCP'20."""

    both: Beside = field(default_factory=lambda: Beside(CP_SETUPS["pcp19"].model(), CP_SETUPS["pcp20"].model()))

    def model(self) -> Beside:
        """Both."""
        return self.both


def _played(trace: Path, expected: str, jobs: int | None) -> dict[str, np.ndarray[Any, Any]]:
    setup = _BothSetUp(expected=Expecting(EXPECTED[expected]), correction=Correction.SECOND)
    run_on_eurora(trace, jobs, setup, ["pcp19", "pcp20"])
    return of_rows(setup.both.rows)
