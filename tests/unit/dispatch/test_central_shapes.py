"""Parts, exact and neighbouring nodes and alternatives under the central dispatcher, worked out by hand."""

from __future__ import annotations

import pytest
from kit.actual import actual
from kit.central_runs import dispatch
from kit.replay import placement
from kit.run import Run

from dardis.model.job import ActualJob, Part, Request
from dardis.model.platform import NodeGroup, Platform
from dardis.registry import find_dispatcher

FOUR = Platform("four", (NodeGroup("n", 4, {"cores": 4}),))
MIXED = Platform("mixed", (NodeGroup("a", 2, {"cores": 4}), NodeGroup("g", 1, {"cores": 4, "gpu": 1})))


def plain(number: int, submit: int, walltime: int, units: int, *request: int, groups: int = 0b11) -> ActualJob:
    """A job of equal units, of as many kinds as are named."""
    return actual(number, submit, submit, None, walltime, units, request, groups, runtime=walltime)


def shaped(number: int, submit: int, *requests: Request) -> ActualJob:
    """A job that may run as any of these, to its walltime."""
    first = requests[0]
    part = first.parts[0]
    job = actual(
        number, submit, submit, None, first.walltime, first.units, part.request, part.groups, runtime=first.walltime,
        requests=requests,
    )  # fmt: skip
    return ActualJob(job.job, job.runtime, runtimes=tuple(request.walltime for request in requests))


def run(platform: Platform, jobs: list[ActualJob], name: str = "easy", *settings: str) -> Run:
    return dispatch(platform, jobs, find_dispatcher(name, settings).setup)


def where(made: Run, place: int) -> list[dict[int, int]]:
    """The nodes of each part."""
    parts = made.schedule.parts
    if parts is None:
        return [placement(made.schedule, place)]
    return [dict(parts.placed.pairs(part)) for part in range(*parts.offsets[place : place + 2].tolist())]


NAMES = ("rules-fcfs", "easy", "conservative", "pbs-fifo", "pbs-walltime", "replan")


@pytest.mark.parametrize("name", NAMES)
def test_a_total_of_cores_on_so_many_nodes(name: str) -> None:
    ten = Request((Part(10, (1,), 1, 3),), 10)
    made = run(FOUR, [shaped(1, 0, ten)], name)
    assert where(made, 0) == [{0: 4, 1: 4, 2: 2}]
    made = run(FOUR, [plain(1, 0, 10, 1, 3), shaped(2, 0, ten)], name)
    assert where(made, 1) == [{1: 4, 2: 4, 3: 2}]
    three = Request((Part(3, (1,), 1, 3),), 10)
    assert where(run(FOUR, [shaped(1, 0, three)], name), 0) == [{0: 1, 1: 1, 2: 1}]


@pytest.mark.parametrize("name", NAMES)
def test_neighbours_wait_for_each_other(name: str) -> None:
    busy = [plain(1, 0, 5, 1, 4), plain(2, 0, 10, 1, 4)]
    apart, beside = (Request((Part(3, (4,), 1),), 10, contiguous=side) for side in (False, True))
    made = run(FOUR, [*busy, shaped(3, 1, beside)], name)
    assert made.schedule.start.tolist() == [0, 0, 10]
    assert where(made, 2) == [{0: 1, 1: 1, 2: 1}]
    assert run(FOUR, [*busy, shaped(3, 1, apart)], name).schedule.start.tolist() == [0, 0, 5]


@pytest.mark.parametrize("name", NAMES)
def test_parts_start_together(name: str) -> None:
    both = Request((Part(2, (3, 0), 0b11), Part(1, (1, 1), 0b11)), 10)
    made = run(MIXED, [plain(1, 0, 8, 1, 1, 1), shaped(2, 0, both)], name)
    assert made.schedule.start.tolist() == [0, 8]
    assert where(made, 1) == [{0: 1, 1: 1}, {2: 1}]
    assert made.schedule.units.tolist() == [1, 3]
    assert made.schedule.requested_total("cores").tolist() == [1, 7]


@pytest.mark.parametrize("name", NAMES)
def test_the_first_alternative_that_can_start_is_taken(name: str) -> None:
    wide, long = Request((Part(4, (4,), 1),), 10), Request((Part(1, (4,), 1),), 30)
    made = run(FOUR, [shaped(1, 0, wide, long)], name)
    assert (made.schedule.finish.tolist(), made.schedule.taken.tolist()) == ([10], [0])
    made = run(FOUR, [plain(1, 0, 8, 1, 4), shaped(2, 1, wide, long)], name)
    assert (made.schedule.start.tolist(), made.schedule.finish.tolist()) == ([0, 1], [8, 31])
    assert made.schedule.taken.tolist() == [-1, 1]
    assert (made.schedule.units.tolist(), made.schedule.walltime.tolist()) == ([1, 1], [8, 30])


def test_job_larger_than_the_machine_is_rejected_and_others_run() -> None:
    together = Request((Part(3, (4,), 1), Part(2, (4,), 1)), 10)
    spread = Request((Part(5, (1,), 1, 5),), 10)
    fits = Request((Part(4, (4,), 1),), 10)
    made = run(FOUR, [shaped(1, 0, together), shaped(2, 0, spread), shaped(3, 0, together, fits), plain(4, 0, 5, 1, 4)])
    assert made.schedule.ran.tolist() == [False, False, True, True]
    assert made.schedule.taken.tolist() == [-1, -1, 1, -1]
    assert made.reasons == {
        0: "requests 3 units of (4 cores) and 2 units of (4 cores), which do not fit the empty machine",
        1: "requests 5 units of (1 cores) on 5 nodes, which do not fit the empty machine",
    }
