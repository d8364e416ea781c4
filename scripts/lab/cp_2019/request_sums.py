"""Sums what the jobs of each problem of HCP request (002, table 2), which no file of a run has."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Final

import numpy as np

from dardis.dispatch.cp.decision_problem import Decision, DecisionModel, DecisionProblem
from dardis.dispatch.cp.setups import Hcp19SetUp
from dardis.model.arrays import Ints
from dardis.model.choices import Expecting
from scripts.lab.kit.eurora_run import run_on_eurora
from scripts.lab.kit.page import table

KINDS: Final = ("cores", "gpu", "mic")
PRINTED: Final = {0: "6,267", 1: "1,292"}
"""Requested resources by version (table 2)."""


class Summing:
    """A model that keeps the sums of its problems."""

    knows_shapes: ClassVar[bool] = False

    def __init__(self, model: DecisionModel, version: int, sums: list[Ints]) -> None:
        """Keep the requests of all kinds in `sums`, an entry a problem with an answer."""
        self._model, self._version, self._sums = model, version, sums

    def decide(self, problem: DecisionProblem, seed: int) -> Decision:
        """As `DecisionModel` has it."""
        answer = self._model.decide(problem, seed)
        if answer.starts:  # version 0 fixes the other jobs at the end
            jobs = [problem.waiting[place] for place in answer.starts] if self._version else problem.waiting
            assert len(jobs) == answer.variables
            self._sums.append(np.sum([waiting.amounts for waiting in jobs], axis=0))
        return answer


@dataclass(frozen=True, slots=True)
class SummingSetUp(Hcp19SetUp):
    """HCP'19 with sums."""

    sums: list[Ints] = field(default_factory=list)

    def model(self) -> Summing:  # type: ignore[override]
        """The model of the version."""
        return Summing(Hcp19SetUp.model(self), self.version, self.sums)


def mean_requests(trace: Path, version: int, jobs: int | None, deadlines: str) -> tuple[int, Ints]:
    """Problems with an answer, and the mean of what their jobs request, by `KINDS`."""
    setup = SummingSetUp(expected=Expecting.WALLTIME, version=version)
    platform = run_on_eurora(trace, jobs, setup, ["hcp19"], deadlines)
    places = [platform.kinds.index(kind) for kind in KINDS]
    return len(setup.sums), np.mean(setup.sums, axis=0)[places]


def request_table(trace: Path, jobs: int | None, deadlines: str) -> list[str]:
    """HCP and HCP1-W with the paper's numbers of an unnamed unit."""
    rows = []
    for version, printed in PRINTED.items():
        problems, means = mean_requests(trace, version, jobs, deadlines)
        values = [f"{mean:.1f}" for mean in (*means, means.sum())]
        rows.append([f"HCP{version or ''}-W", printed, f"{problems:,}", *values])
    return table(["", "theirs: requested resources", "problems", *KINDS, "sum"], rows)
