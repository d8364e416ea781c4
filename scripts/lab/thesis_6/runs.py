"""Does the runs: each trace under each search and scenario once, kept in files so that an interrupted whole goes on."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dardis.metrics.audit import audit
from dardis.model.arrays import Ints
from dardis.model.placements import Placements
from offline.planner.day_problem import Running
from offline.planner.searches import rule_based, rule_setups
from scripts.lab.kit.cache import Arrays, arrays_of, code_version, fingerprint, kept_arrays, placements_of, read_arrays
from scripts.lab.thesis_6.cases import SCENARIOS, Case, Scenario, Workload, load
from scripts.lab.thesis_6.roll import Rolled, judge, roll, whole_schedule
from scripts.lab.thesis_6.searches import BY_SOLVER, FULL, QUICK, SEARCHES, Bounds, search_of


@dataclass(frozen=True)
class Part:
    """One trace under one search, planned in one scenario."""

    workload: Workload
    search: str
    scenario: Scenario
    bounds: Bounds

    def told(self) -> str:
        """How progress calls it."""
        return f"{self.workload.name} load, {self.search}, {self.scenario.name}"


def parts(workloads: tuple[Workload, ...], *, full: bool) -> Iterator[Part]:
    """All that is to be planned, the slowest first: the solver's searches in one scenario, in all with `full`."""
    bounds = FULL if full else QUICK
    for search in sorted(SEARCHES, key=lambda name: name not in BY_SOLVER):
        for workload in workloads:
            for scenario in SCENARIOS if full or search not in BY_SOLVER else SCENARIOS[:1]:
                yield Part(workload, search, scenario, bounds)


def planned(out: Path, part: Part) -> Rolled:
    """The plan of a part: read, or made and kept."""
    case = load(out, part.workload)
    told = (case.told.submit, case.told.duration, case.told.core_w, case.cores)
    name = fingerprint(code_version(), (part.search, part.scenario, part.bounds.of(part.search)), *told)
    path = kept_arrays(out / "runs" / f"{name}.npz", lambda: _planned(case, part))
    arrays = read_arrays(path)
    return Rolled(arrays["start"], placements_of(arrays), arrays["jobs_a_day"], arrays["own"])


def _planned(case: Case, part: Part) -> Arrays:
    def tell(day: int, jobs: int) -> None:
        sys.stderr.write(f"{part.told()}: day {day}, {jobs} jobs\n")

    rolled = roll(case, part.scenario, search_of(part.search, part.bounds), tell)
    judge(whole_schedule(case, part.scenario, rolled), case, part.search, whole=True)
    own = {"start": rolled.start, "jobs_a_day": rolled.jobs_a_day, "own": rolled.own}
    return own | arrays_of(rolled.placed)


def rules(case: Case) -> dict[str, Ints]:
    """The starts that each of the six rule-based set-ups gives the trace, told true durations."""
    platform, jobs = case.powered()
    nothing = np.zeros(0, dtype=np.int64)
    none = np.zeros(0)
    nobody = Running(
        nothing, nothing, nothing, nothing, np.zeros((0, len(platform.kinds)), dtype=np.int64), none, none,
        Placements.none(0),
    )  # fmt: skip
    found = {}
    for name, setup in rule_setups().items():
        schedule = rule_based(jobs, nobody, platform, setup, case.first)
        for violation in audit(schedule, platform, expected=case.told.number.tolist()):
            raise ValueError(f"{case.workload.name} load, {name}: {violation}")
        order = np.argsort(schedule.number)
        found[name] = schedule.start[order[np.searchsorted(schedule.number[order], case.told.number)]]
    return found
