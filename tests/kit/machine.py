"""Random machines and jobs, small enough for the dense oracle."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st
from kit.actual import actual, asking

from dardis.config.queue_fields import check_reservations, places_of
from dardis.model.errors import InputError
from dardis.model.job import ActualJob, Part, Request
from dardis.model.moments import united
from dardis.model.node_layout import make_layout
from dardis.model.platform import Maintenance, NodeGroup, Platform
from dardis.model.queues import Queue, Reservation
from dardis.model.step_function import StepFunction
from dardis.model.target import DesiredProfile, Split

KINDS = ("cores", "gpu", "memory")


@st.composite
def platforms(draw, *, most_nodes: int = 6, until: int = 60) -> Platform:
    """One to three unlike groups, one to three kinds, now and then a maintenance window before `until`."""
    kinds = KINDS[: draw(st.integers(1, 3))]
    groups = []
    for name in "abc"[: draw(st.integers(1, 3))]:
        amounts = [draw(st.integers(1, 5)), *(draw(st.integers(0, 6)) for _ in kinds[1:])]
        groups.append(
            NodeGroup(name, draw(st.integers(1, max(1, most_nodes // 3))), dict(zip(kinds, amounts, strict=True)))
        )
    count = sum(group.count for group in groups)
    windows = []
    for _ in range(draw(st.integers(0, 2))):
        closed = draw(st.sets(st.integers(0, count - 1), min_size=1))
        start = draw(st.integers(0, until - 1))
        windows.append(Maintenance(tuple(sorted(closed)), start, start + draw(st.integers(1, until // 2))))
    return Platform("random", tuple(groups), maintenance=tuple(windows))


@st.composite
def step_functions(draw, most: int, until: int, steps: int = 4) -> StepFunction:
    """A value from 0 to `most` that changes at most `steps` times."""
    value = st.integers(0, most)
    return StepFunction.from_steps(draw(value), draw(st.lists(st.tuples(st.integers(0, until), value), max_size=steps)))


NODE_SPLITS = [split for split in Split if split is not Split.SHARED]
"""How wishes become those of nodes."""


@st.composite
def desired_profiles(draw, platform: Platform, until: int = 60, steps: int = 4) -> DesiredProfile:
    """Wishes for the whole machine, for single nodes, or for both."""
    machine, nodes = {}, {}
    for kind in range(len(platform.kinds)):
        total = int(platform.capacity[:, kind].sum())
        if draw(st.booleans()):
            machine[kind] = draw(step_functions(total + 1, until, steps))
        if draw(st.booleans()):
            node = draw(st.integers(0, platform.node_count - 1))
            nodes[node, kind] = draw(step_functions(int(platform.capacity[node, kind]) + 1, until, steps))
    return DesiredProfile(platform, machine, nodes, draw(st.sampled_from(NODE_SPLITS)))


@st.composite
def shared_profiles(draw, platform: Platform, until: int = 60, steps: int = 4) -> DesiredProfile:
    """Wishes for the whole machine that its nodes share, of some kinds or of its power."""
    machine = {
        kind: draw(step_functions(int(platform.capacity[:, kind].sum()) + 1, until, steps))
        for kind in range(len(platform.kinds))
        if draw(st.booleans())
    }
    watts = draw(st.none() | step_functions(10 * platform.cores + 1, until, steps))
    return DesiredProfile(platform, machine, {}, Split.SHARED, watts)


@st.composite
def requests(draw, platform: Platform) -> tuple[int, ...]:
    """What a unit asks for: most of the time some group can hold it."""
    group = draw(st.sampled_from(platform.groups))
    amounts = [draw(st.integers(0, max(1, group.resources.get(kind, 0)))) for kind in platform.kinds]
    if max(amounts) == 0:
        amounts[0] = 1
    return tuple(amounts)


@st.composite
def jobs(draw, platform: Platform, *, most: int = 10, until: int = 60, following: bool = False) -> list[ActualJob]:
    """Jobs in (submit, number) order: early ends and kills, delayed earliest starts, deadlines, eligible groups."""
    made = []
    spread = draw(st.sampled_from((0, 10, until)))
    for number in range(1, draw(st.integers(1, most)) + 1):
        submit = draw(st.integers(0, spread))
        earliest = submit + draw(st.sampled_from((0, 0, 0, 7)))
        latest = draw(st.none() | st.integers(0, 40).map(lambda window, earliest=earliest: earliest + window))
        walltime = draw(st.integers(1, 30))
        runtime = draw(st.sampled_from((walltime, max(1, walltime - 1), max(1, walltime // 2), 1, walltime + 5)))
        job = actual(
            number, submit, earliest, latest, walltime, draw(st.integers(1, 6)), draw(requests(platform)),
            draw(st.integers(1, platform.all_groups)), runtime=runtime,
        )  # fmt: skip
        if following and made and draw(st.integers(0, 3)) == 0:
            job = replace(job, after=draw(st.integers(1, number - 1)), think=draw(st.integers(0, 9)))
        made.append(job)
    return sorted(made, key=lambda job: (job.submit, job.number))


@st.composite
def with_queues(draw, platform: Platform, listed: list[ActualJob], until: int = 60) -> tuple[Platform, list[ActualJob]]:
    """Now and then two queues, with priorities and stopped now and then, and jobs in them or in none."""
    if not draw(st.booleans()):
        return platform, listed
    spans = st.lists(st.tuples(st.integers(0, until), st.integers(1, until // 2)), max_size=3)
    queues = tuple(
        Queue(name, priority=draw(st.sampled_from((0, 0, 1, -3))), stopped=tuple((s, s + n) for s, n in draw(spans)))
        for name in ("day", "night")
    )
    names = st.sampled_from(("day", "night", ""))
    return replace(platform, queues=queues), [asking(job, queue=draw(names)) for job in listed]


@st.composite
def with_reservations(
    draw, platform: Platform, listed: list[ActualJob], until: int = 60
) -> tuple[Platform, list[ActualJob]]:
    """One or two reservations that the machine can keep, with queues of their own, and jobs in these or in others."""
    kept: tuple[Reservation, ...] = ()
    for name in ("first", "second")[: draw(st.integers(1, 2))]:
        nodes = sorted(draw(st.sets(st.integers(0, platform.node_count - 1), min_size=1)))
        spans = draw(st.lists(st.tuples(st.integers(0, until), st.integers(5, until)), min_size=1, max_size=3))
        amounts = {kind: draw(st.integers(0, 5)) for kind in platform.kinds}
        one = Reservation(
            name, name, tuple(nodes), tuple(united((s, s + n) for s, n in spans)),
            draw(st.none() | st.just(amounts)), draw(st.none() | st.just(("ann",))),
        )  # fmt: skip
        site = replace(platform, queues=tuple(map(Queue, ("first", "second", "all"))), reservations=(*kept, one))
        try:
            check_reservations(site, places_of("here", site))
        except InputError:
            continue
        kept = site.reservations
    site = replace(platform, queues=tuple(map(Queue, ("first", "second", "all"))), reservations=kept)
    names = st.sampled_from((*(one.queue for one in kept), "all", ""))
    users = st.sampled_from(("ann", "bob"))
    groups_of = {queue.name: queue.groups for queue in make_layout(site).machine.queues}
    in_queues = []
    for job in listed:
        asks = asking(job, queue=draw(names), user=draw(users))
        if asks.queue in site.reservation_of:
            asks = asking(asks, groups=sum(1 << group for group in groups_of[asks.queue] or ()))
        in_queues.append(asks)
    return site, in_queues


@st.composite
def parts(draw, platform: Platform) -> Part:
    """A part, on an exact number of nodes now and then."""
    units = draw(st.integers(1, 4))
    nodes = draw(st.sampled_from((0, 0, 1, 2, 3)))
    share = draw(st.integers(1, 3))
    request = tuple(-(-amount // share) for amount in draw(requests(platform)))
    groups = draw(st.sampled_from((platform.all_groups, platform.all_groups, 1, 2))) & platform.all_groups
    return Part(units, request, groups or 1, min(nodes, units))


@st.composite
def with_shapes(draw, platform: Platform, listed: list[ActualJob]) -> list[ActualJob]:
    """Most jobs with parts, exact or neighbouring nodes, or alternatives."""
    made = []
    for job in listed:
        asked = tuple(
            Request(
                tuple(draw(parts(platform)) for _ in range(draw(st.sampled_from((1, 1, 2, 3))))),
                job.walltime if place == 0 else draw(st.integers(1, 30)),
                contiguous=draw(st.booleans()),
            )
            for place in range(draw(st.sampled_from((0, 1, 1, 2, 3))))
        )
        if asked:
            first = asked[0].parts[0]
            runtimes = (job.runtime, *(draw(st.integers(1, request.walltime + 2)) for request in asked[1:]))
            job = asking(  # noqa: PLW2901
                job, requests=asked, units=asked[0].units, request=first.request, groups=first.groups
            )
            job = replace(job, runtimes=runtimes)  # noqa: PLW2901
        made.append(job)
    return made


BUSY_UNTIL = 4000
"""By when the last job of a busy hour may have been submitted, and the last step of its profile comes twice as late."""


@st.composite
def busy_hours(draw) -> tuple[Platform, list[ActualJob], DesiredProfile]:
    """A machine with maintenance, under a profile of many steps, and 20 to 40 jobs of up to 1500 s, from a seed."""
    platform = draw(platforms(most_nodes=9, until=BUSY_UNTIL))
    rng = np.random.default_rng(draw(st.integers(0, 1 << 32)))
    desired = draw(desired_profiles(platform, 2 * BUSY_UNTIL, steps=12))
    spread, made, submit = draw(st.sampled_from((30, 100, 200))), [], 0

    def upto(most: int) -> int:
        return int(rng.integers(0, most + 1))

    for number in range(1, 20 + upto(20) + 1):
        submit = min(submit + upto(spread), BUSY_UNTIL)
        earliest = submit + (upto(2000) if upto(3) == 0 else 0)
        latest = earliest + upto(3000) if upto(1) else None
        walltime = 1 + upto(1500)
        runtime = (walltime, walltime + 5, 1 + upto(walltime - 1))[upto(2)]
        capacity = platform.groups[upto(len(platform.groups) - 1)].resources
        request = [upto(capacity.get(kind, 0)) for kind in platform.kinds]
        request[0] += max(request) == 0
        groups = 1 + upto(platform.all_groups - 1) if upto(1) else platform.all_groups
        job = actual(number, submit, earliest, latest, walltime, 1 + upto(4), tuple(request), groups, runtime=runtime)
        if made and upto(6) == 0:
            job = replace(job, after=1 + upto(number - 2), think=upto(50))
        made.append(job)
    return platform, made, desired
