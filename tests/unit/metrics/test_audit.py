"""The audit finds nothing in legal schedules and every fault that is put into one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from kit.effort import examples
from kit.schedules import INSTANCES, schedule_of, use_by_second

from dardis.metrics import capacities as placements
from dardis.metrics.audit import audit
from dardis.metrics.job_rules import Violation
from dardis.model.job import NO_TIME, Status
from dardis.model.placements import Placements
from dardis.model.platform import Maintenance, NodeGroup, Platform
from dardis.model.schedule import Schedule


def changed(schedule: Schedule, field: str, index: int, value: int) -> Schedule:
    """The schedule with one value of one array replaced."""
    holder = schedule.placed if field.startswith("placed.") else schedule
    name = field.removeprefix("placed.")
    array = getattr(holder, name).copy()
    array[index] = value
    changed = replace(holder, **{name: array})
    return replace(schedule, placed=changed) if isinstance(changed, Placements) else changed


@given(data=st.data())
@settings(deadline=None)
def test_legal_schedules_pass(data: st.DataObject) -> None:
    platform, schedule = data.draw(INSTANCES)
    assert audit(schedule, platform, expected=schedule.number.tolist()) == []


Edit = tuple[str, str, Callable[[Schedule, int], int]]
FAULTS: dict[str, tuple[Edit, ...]] = {
    "starts before its submission": (("submit", "job", lambda s, i: s.start[i] + 1),),
    "starts before its earliest start": (("earliest", "job", lambda s, i: s.start[i] + 1),),
    "runs longer than its walltime": (("finish", "job", lambda s, i: s.start[i] + s.walltime[i] + 1),),
    "does not end after its start": (("finish", "job", lambda s, i: s.start[i]),),
    "is killed before its walltime ends": (
        ("status", "job", lambda *_: Status.KILLED),
        ("walltime", "job", lambda s, i: s.finish[i] - s.start[i] + 1),
    ),
    "ran but has no start or no end": (("finish", "job", lambda *_: NO_TIME),),
    "was rejected but has times or nodes": (("status", "job", lambda *_: Status.REJECTED),),
    "units placed instead of": (("units", "job", lambda s, i: s.units[i] + 1),),
    "does not exist": (("placed.nodes", "place", lambda *_: 4),),
    "is among the job's nodes but has none of its units": (("placed.units", "place", lambda *_: 0),),
    "occurs 2 times": (("number", "job", lambda s, i: s.number[i - 1]),),
    "has no walltime": (("walltime", "job", lambda *_: 0),),
    "has no units": (("units", "job", lambda *_: 0),),
    "has a negative request": (("request", "job", lambda *_: -1),),
    "exceeds its": (("placed.units", "place", lambda *_: 1000),),
    "was submitted but is missing": (("number", "job", lambda *_: 1000),),
    "was never submitted": (("number", "job", lambda *_: 1000),),
}
"""What the audit says, and the edits of one job (or of its first node) that make it say so."""


@pytest.mark.parametrize("text", FAULTS)
@given(data=st.data())
@settings(deadline=None, max_examples=20, suppress_health_check=[HealthCheck.filter_too_much])
def test_an_injected_fault_is_found(data: st.DataObject, text: str) -> None:
    platform, schedule = data.draw(INSTANCES)
    assume(len(schedule.number) > 1 and schedule.ran.any())
    job = data.draw(st.sampled_from(np.flatnonzero(schedule.ran).tolist()))
    places = {"job": job, "place": int(schedule.placed.offsets[job])}
    faulty = schedule
    for field, where, value in FAULTS[text]:
        faulty = changed(faulty, field, places[where], value(schedule, job))
    found = [v for v in audit(faulty, platform, expected=schedule.number.tolist()) if text in v.text]
    assert {v.job for v in found} <= {int(schedule.number[job]), int(faulty.number[job])}
    assert found


@pytest.mark.parametrize("block", [1, 3, 500_000])
@given(data=st.data())
@examples(0.4)
def test_the_first_excess_of_every_node_and_kind_is_that_of_every_second(data: st.DataObject, block: int) -> None:
    platform, schedule = data.draw(INSTANCES)
    count = len(schedule.placed.nodes)
    moved = data.draw(st.lists(st.integers(-20, 20), min_size=count, max_size=count))
    start = np.where(schedule.ran, schedule.start // 2, NO_TIME)  # crowds the jobs so that some nodes overflow
    finish = np.where(schedule.ran, schedule.finish - schedule.start + start, NO_TIME)
    nodes = (schedule.placed.nodes + np.array(moved, dtype=np.int64)) % platform.node_count
    crowded = replace(schedule, start=start, finish=finish, placed=replace(schedule.placed, nodes=nodes))
    over = use_by_second(platform, crowded) > platform.capacity[:, :, None]
    expected = {
        (node, int(over[node, kind].argmax()), name)
        for kind, name in enumerate(platform.kinds)
        for node in range(platform.node_count)
        if over[node, kind].any()
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(placements, "BLOCK", block)
        found = [violation for violation in audit(crowded, platform) if "exceeds its" in violation.text]
    assert {(v.node, v.time, v.text.split()[-1]) for v in found} == expected
    assert len(found) == len(expected)


@pytest.fixture
def one() -> Schedule:
    """A job of walltime 50 on nodes 0 and 1 that runs in [10, 30)."""
    return schedule_of(  # type: ignore[no-any-return]
        ("cores",), [{"submit": 5, "start": 10, "finish": 30, "walltime": 50, "placed": {0: 1, 1: 1}}]
    )


@pytest.mark.parametrize(
    ("window", "reserved", "legal"),
    [
        ((1, 25, 40), True, False), ((1, 25, 40), False, False),
        ((1, 30, 40), True, False), ((1, 30, 40), False, True),
        ((1, 60, 90), True, True), ((1, 0, 10), True, True), ((1, 0, 11), True, False), ((2, 0, 99), True, True),
    ],
)  # fmt: skip
def test_maintenance_is_audited(one: Schedule, window: tuple[int, int, int], reserved: bool, legal: bool) -> None:
    node, start, end = window
    platform = Platform("p", (NodeGroup("n", 3, {"cores": 1}),), maintenance=(Maintenance((node,), start, end),))
    text = f"is in maintenance from {start} s to {end} s"
    expected = [] if legal else [Violation(1, node, max(10, start), text)]
    assert audit(one, platform, reserved=reserved) == expected
