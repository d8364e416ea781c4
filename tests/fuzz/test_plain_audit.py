"""The plain audit finds out every rule that a schedule, by hand, is made to break; and what is sound passes it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from kit.actual import actual, asking
from kit.plain_audit import Audit, Promises
from kit.plain_rows import Down, Row

from dardis.model.job import ActualJob
from dardis.model.platform import Maintenance, NodeGroup, NodePower, Platform
from dardis.model.step_function import StepFunction
from dardis.model.target import DesiredProfile, Split, Switching

POWER = NodePower(boot_s=4, shutdown_s=2)
PLATFORM = Platform(
    "by hand",
    (
        NodeGroup("a", 2, {"cores": 4, "gpu": 1}, POWER),
        NodeGroup("b", 2, {"cores": 8}),
        NodeGroup("c", 2, {"cores": 2}, POWER, always_on=True),
    ),
    maintenance=(Maintenance((1, 3), 100, 200),),
)
JOBS = (
    actual(1, 0, 0, None, 10, 2, (4, 1), 0b001, runtime=10),
    actual(2, 0, 5, 40, 10, 3, (2, 0), 0b010, runtime=15),
    actual(3, 0, 0, None, 10, 3, (8, 0), 0b111, runtime=10),
    actual(4, 0, 3, 60, 5, 1, (2, 0), 0b010, after=1, think=5, runtime=3),
    actual(5, 30, 30, 90, 40, 2, (3, 0), 0b011, runtime=4),
)
ROWS = (
    Row(1, 0, 0, None, 10, 2, {"cores": 4, "gpu": 1}, "completed", 0, 10, [(0, 1), (1, 1)], 1),
    Row(2, 0, 5, 40, 10, 3, {"cores": 2, "gpu": 0}, "killed", 5, 15, [(2, 3)], 1),
    Row(3, 0, 0, None, 10, 3, {"cores": 8, "gpu": 0}, "rejected", None, None, [], 0),
    Row(4, 15, 15, 75, 5, 1, {"cores": 2, "gpu": 0}, "completed", 15, 18, [(2, 1)], 1),
    Row(5, 30, 30, 90, 40, 2, {"cores": 3, "gpu": 0}, "completed", 36, 40, [(0, 1), (2, 1)], 2),
)
DESIRED = DesiredProfile(
    PLATFORM, {0: StepFunction.from_steps(28, [(77, 14), (80, 28)])}, {(2, 0): StepFunction.from_steps(6, [(20, 4)])}
)
SWITCHING = Switching(
    {0: StepFunction.from_steps(2, [(16, 1), (50, 0)])}, {0: StepFunction.from_steps(0, [(20, 1)])}, idle_s=5,
    most_cycles_per_day=2.0,
)  # fmt: skip
DOWNS = (Down(1, 16, 30), Down(1, 50, None))


@dataclass
class Case:
    """A run by hand that is to be broken."""

    rows: list[Row]
    downs: list[Down]
    promises: Promises
    jobs: list[ActualJob]
    desired: DesiredProfile | None
    switching: Switching | None
    platform: Platform = PLATFORM

    def row(self, number: int) -> Row:
        return next(row for row in self.rows if row.number == number)

    def rules(self) -> set[str]:
        """Those that are found broken."""
        found = Audit(
            self.platform, self.jobs, self.promises, self.rows, self.desired, self.switching, self.downs
        ).findings()
        return {finding.rule for finding in found}


def by_hand() -> Case:
    promises = Promises(distinct=False, hard="span", grain=3, searches=True)
    return Case(deepcopy(list(ROWS)), list(DOWNS), promises, list(JOBS), DESIRED, SWITCHING)


def changed(number: int, **fields: object) -> Callable[[Case], None]:
    def change(case: Case) -> None:
        case.rows = [replace(row, **fields) if row.number == number else row for row in case.rows]

    return change


def switched(*downs: Down, **fields: object) -> Callable[[Case], None]:
    def change(case: Case) -> None:
        case.downs = list(downs)
        case.switching = replace(SWITCHING, **fields)

    return change


def with_promise_fields(**fields: object) -> Callable[[Case], None]:
    def change(case: Case) -> None:
        case.promises = replace(case.promises, **fields)

    return change


def with_desired_profile(value: int, at: int, hard: str = "span") -> Callable[[Case], None]:
    def change(case: Case) -> None:
        with_promise_fields(hard=hard)(case)
        case.desired = DesiredProfile(PLATFORM, {}, {(2, 0): StepFunction.from_steps(8, [(at, value)])})

    return change


def split_as(split: Split, cores: int = 16) -> Callable[[Case], None]:
    """Half of the machine, or less: node 0 has 2 of its 4 cores, or all of them."""
    steps = StepFunction.from_steps(28, [(36, cores)])
    return lambda case: setattr(case, "desired", DesiredProfile(PLATFORM, {0: steps}, split=split))


def without(number: int) -> Callable[[Case], None]:
    return lambda case: case.rows.remove(case.row(number))


def again(number: int) -> Callable[[Case], None]:
    return lambda case: case.rows.append(replace(case.row(number), number=number))


def with_unknown_job(case: Case) -> None:
    case.rows.append(replace(case.row(3), number=99))


def narrower(units: int, **promises: object) -> Callable[[Case], None]:
    """Job 3 with fewer units: the machine holds two, under its wishes one."""

    def change(case: Case) -> None:
        case.jobs = [asking(job, units=units) if job.number == 3 else job for job in case.jobs]
        changed(3, units=units)(case)
        with_promise_fields(**promises)(case)

    return change


def place_alone(step: int = 1, **fields: object) -> Callable[[Case], None]:
    """Job 5 on a machine that is empty, always open and up, after a second window."""

    def change(case: Case) -> None:
        changed(5, **fields)(case)
        case.platform = replace(PLATFORM, maintenance=())
        case.desired, case.switching, case.downs = None, None, []
        with_promise_fields(grain=None, step=step)(case)

    return change


def past_its_window(attempts: int, hard: str | None = None, *, searches: bool = True) -> Callable[[Case], None]:
    """Job 5, which has a deadline at 90."""

    def change(case: Case) -> None:
        changed(5, start=201, finish=205, attempts=attempts)(case)
        with_promise_fields(hard=hard, searches=searches)(case)

    return change


@pytest.mark.parametrize(
    ("rule", "breaks"),
    [
        ("lost", without(4)),
        ("doubled", again(2)),
        ("unknown", with_unknown_job),
        ("altered", changed(2, units=2, where=[(2, 2)])),
        ("altered", changed(2, walltime=11)),
        ("altered", changed(1, request={"cores": 3, "gpu": 1})),
        ("arrival", changed(4, submit=14)),
        ("arrival", changed(1, submit=1)),
        ("window", changed(4, earliest=14)),
        ("window", changed(4, latest=60)),
        ("rejected", changed(3, start=5, finish=15)),
        ("rejected", changed(3, where=[(2, 1), (3, 1)])),
        ("rejected", changed(4, status="rejected", start=None, finish=None, where=[])),
        ("rejected", narrower(1)),
        ("rejected", narrower(2, hard=None)),
        ("status", changed(2, status="completed")),
        ("status", changed(1, status="killed")),
        ("status", changed(1, finish=None)),
        ("early", changed(2, start=4, finish=14)),
        ("early", changed(5, start=29, finish=33)),
        ("duration", changed(2, finish=20)),
        ("duration", changed(5, finish=39)),
        ("grid", changed(5, start=37, finish=41)),
        ("units", changed(5, where=[(0, 1)])),
        ("units", changed(5, where=[(0, 1), (1, 0), (2, 1)])),
        ("nodes", changed(5, where=[(2, 1), (0, 1)])),
        ("nodes", changed(2, where=[(2, 1), (2, 2)])),
        ("nodes", changed(5, where=[(0, 1), (6, 1)])),
        ("group", changed(5, where=[(0, 1), (4, 1)])),
        ("distinct", with_promise_fields(distinct=True)),
        ("maintenance", changed(5, start=61, finish=65, where=[(2, 1), (3, 1)])),
        ("attempts", changed(1, attempts=2)),
        ("attempts", changed(5, attempts=6)),
        ("attempts", changed(2, attempts=0)),
        ("attempts", with_promise_fields(searches=False)),
        ("late", past_its_window(attempts=1)),
        ("late", place_alone(start=999_990, finish=999_994)),
        ("late", place_alone(start=91, finish=95)),
        ("late", place_alone(start=95, finish=99, step=5)),
        ("capacity", changed(4, start=14, finish=17, where=[(2, 2)])),
        ("capacity", changed(5, start=6, finish=10)),
        ("hard", with_desired_profile(5, 14)),
        ("hard", with_desired_profile(2, 75)),
        ("hard", split_as(Split.PROPORTIONAL)),
        ("hard", split_as(Split.SHARED, 0)),
        ("hard", changed(5, where=[(2, 2)])),
        ("down", changed(5, start=48, finish=52, where=[(1, 1), (2, 1)])),
        ("down", switched(Down(1, 16, 21))),
        ("down", switched(Down(1, 16, 30), Down(1, 29, None))),
        ("down", switched(Down(1, 16, None), Down(1, 50, None))),
        ("always on", switched(Down(2, 16, 30))),
        ("always on", switched(Down(4, 16, 30), spares={2: StepFunction.from_steps(0, [])})),
        ("always on", lambda case: setattr(case, "switching", None)),
        ("idle", switched(Down(1, 14, 30), spares={0: StepFunction.from_steps(0, [])})),
        ("idle", switched(Down(1, 16, 30), Down(1, 34, None))),
        ("cycles", switched(Down(1, 16, 30), Down(1, 50, 60), Down(1, 65, None))),
        ("cycles", switched(Down(1, 16, 30), most_cycles_per_day=0.5)),
        ("maintenance", switched(Down(1, 100, None))),
        ("floor", switched(Down(0, 60, None), Down(1, 60, None))),
        ("floor", switched(Down(0, 19, None), Down(1, 19, None), spares={})),
        ("floor", switched(Down(1, 16, None), spares={}, floors={0: StepFunction.from_steps(1, [(30, 2)])})),
        ("floor", switched(Down(1, 16, 35), spares={}, floors={0: StepFunction.from_steps(1, [(30, 2)])})),
        ("spares", switched(Down(1, 36, None))),
        ("spares", switched(Down(1, 20, None), floors={}, spares={0: StepFunction.from_steps(1, [(30, 2)])})),
        ("spares", switched(Down(1, 20, None), floors={}, spares={0: StepFunction.from_steps(1, [])})),
        ("spares", switched(Down(1, 15, 30), spares={0: StepFunction.from_steps(0, [(19, 2)])})),
    ],
)
def test_broken_schedules_are_reported(rule, breaks):
    case = by_hand()
    breaks(case)
    assert rule in case.rules()


@pytest.mark.parametrize(
    "harmless",
    [
        lambda _: None,
        with_promise_fields(hard=None),
        with_promise_fields(hard="instant"),
        with_desired_profile(2, 75, hard="instant"),  # job 5 may run till 76, beyond the step, though it ends at 40
        split_as(Split.WHOLE_NODES),
        split_as(Split.OPEN_NODES),
        split_as(Split.SHARED),
        narrower(2),
        with_promise_fields(grain=None),
        changed(5, start=90, finish=94, where=[(0, 1), (2, 1)]),
        changed(4, start=21, finish=24),
        past_its_window(attempts=2),
        past_its_window(attempts=1, hard="span"),
        past_its_window(attempts=1, searches=False),
        place_alone(start=90, finish=94),
        place_alone(start=94, finish=98, step=5),
        switched(),
        switched(Down(1, 16, 30), Down(1, 50, 60), most_cycles_per_day=2.9),
        switched(Down(1, 16, 30), spares={}, floors={0: StepFunction.from_steps(1, [(30, 2)])}),
        switched(Down(1, 16, None), spares={}, floors={0: StepFunction.from_steps(1, [(80, 2)])}),
    ],
)
def test_legal_schedules_pass_the_plain_audit(harmless):
    case = by_hand()
    harmless(case)
    assert case.rules() == set()


def test_plain_audit_shares_no_code_with_the_package():
    folder = Path(__file__).resolve().parents[1]
    command = [sys.executable, "-c", "import sys, kit.plain_audit; print(*sys.modules)"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    ours = {name for name in done.stdout.split() if name.partition(".")[0] in {"dardis", "offline", "kit", "fuzz"}}
    assert {name for name in ours if not name.startswith(("kit.plain_", "dardis.model."))} == {
        "kit", "dardis", "dardis.model",
    }  # fmt: skip
