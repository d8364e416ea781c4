"""Parts, exact and neighbouring nodes and alternatives under the central dispatcher, worked out by hand."""

from __future__ import annotations

import pytest
from kit.actual import actual
from kit.central import dispatch, setup_of
from kit.replay import placement
from kit.run import Run

from dardis.dispatch import CentralDispatcher
from dardis.model.errors import ProtocolError
from dardis.model.job import Actual
from dardis.model.platform import NodeGroup, Platform
from dardis.model.profile import StepFunction
from dardis.model.shapes import Part, Request
from dardis.model.target import DesiredProfile
from dardis.registry import find_dispatcher

FOUR = Platform("four", (NodeGroup("n", 4, {"cores": 4}),))
MIXED = Platform("mixed", (NodeGroup("a", 2, {"cores": 4}), NodeGroup("g", 1, {"cores": 4, "gpu": 1})))


def plain(number: int, submit: int, walltime: int, units: int, *request: int, groups: int = 0b11) -> Actual:
    """A job of equal units, of as many kinds as are named."""
    return actual(number, submit, submit, None, walltime, units, request, groups, runtime=walltime)


def shaped(number: int, submit: int, *requests: Request) -> Actual:
    """A job that may run as any of these, to its walltime."""
    first = requests[0]
    part = first.parts[0]
    job = actual(
        number, submit, submit, None, first.walltime, first.units, part.request, part.groups, runtime=first.walltime,
        requests=requests,
    )  # fmt: skip
    return Actual(job.asked, job.runtime, runtimes=tuple(request.walltime for request in requests))


def run(platform: Platform, jobs: list[Actual], name: str = "easy", *settings: str) -> Run:
    return dispatch(platform, jobs, find_dispatcher(name, settings).setup)


def where(made: Run, place: int) -> list[dict[int, int]]:
    """The nodes of each part."""
    parts = made.schedule.parts
    if parts is None:
        return [placement(made.schedule, place)]
    return [dict(parts.placed.pairs(part)) for part in range(*parts.offsets[place : place + 2].tolist())]


def test_parts_that_need_what_few_nodes_have_look_first() -> None:
    """Else the first part would be on the only node that holds the second."""
    both = Request((Part(3, (4, 0), 0b11), Part(1, (0, 1), 0b11)), 10)
    assert where(run(MIXED, [shaped(1, 0, both)]), 0) == [{0: 1, 1: 1, 2: 1}, {2: 1}]
    small_first = Request((Part(1, (1, 0), 0b10), Part(1, (4, 1), 0b11)), 10)
    assert run(MIXED, [shaped(1, 0, small_first)]).reasons == {
        0: "asks for 1 units of (1 cores) and 1 units of (4 cores, 1 gpu); the empty machine holds no such"
    }


def test_a_reservation_is_for_the_alternative_that_ends_first() -> None:
    """Node 0 is free at 5 for 30 s, all are at 15 for 10 s; of equal ends it is the first stated."""
    busy = [plain(1, 0, 5, 1, 4), plain(2, 0, 15, 3, 4)]
    wide = Request((Part(4, (4,), 1),), 10)
    for seconds, start in ((30, 15), (20, 15), (19, 5)):
        jobs = [*busy, shaped(3, 0, wide, Request((Part(1, (4,), 1),), seconds))]
        told: list[dict[int, int]] = []
        dispatch(FOUR, jobs, setup_of("easy"), watch=lambda _, __, reserved, told=told: told.append(reserved))
        assert told[0] == {3: start}


def test_what_no_machine_holds_is_rejected_and_the_rest_runs() -> None:
    together = Request((Part(3, (4,), 1), Part(2, (4,), 1)), 10)
    spread = Request((Part(5, (1,), 1, 5),), 10)
    fits = Request((Part(4, (4,), 1),), 10)
    made = run(FOUR, [shaped(1, 0, together), shaped(2, 0, spread), shaped(3, 0, together, fits), plain(4, 0, 5, 1, 4)])
    assert made.schedule.ran.tolist() == [False, False, True, True]
    assert made.schedule.taken.tolist() == [-1, -1, 1, -1]
    assert made.reasons == {
        0: "asks for 3 units of (4 cores) and 2 units of (4 cores); the empty machine holds no such",
        1: "asks for 5 units of (1 cores) on 5 nodes; the empty machine holds no such",
    }


def test_a_dispatcher_that_is_handed_a_profile_refuses() -> None:
    desired = DesiredProfile(FOUR, {0: StepFunction.from_steps(8, [])})
    dispatcher = CentralDispatcher(setup_of("easy"), FOUR, desired, 1)
    with pytest.raises(ProtocolError, match="job 1 has parts"):
        dispatcher.submit(shaped(1, 0, Request((Part(1, (1,), 1),), 10)).asked, 0)
