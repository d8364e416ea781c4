"""A pool's profiles, offers and lists of jobs against one array entry a second, over random histories."""

from dataclasses import dataclass, field

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from kit.dense import DenseNode, Offer, dense_nodes, weights_of
from kit.effort import examples
from kit.machine import desired_profiles, platforms, requests
from kit.offer_requests import ask_for, nothing_held

from dardis.kernels.offers import HeldReservations
from dardis.kernels.rows import Rows
from dardis.model.offer_rows import EXPONENTIAL, FIRST, UNIFORM
from dardis.model.platform import Platform
from dardis.model.target import DesiredProfile
from dardis.node_manager.pool_state import PoolState

UNTIL, SECONDS, SEED = 60, 150, 5


@dataclass
class Claim:
    job: int
    nodes: np.ndarray
    units: np.ndarray
    request: np.ndarray
    start: int
    end: int


@dataclass
class World:
    """The pool and its oracle, side by side."""

    platform: Platform
    desired: DesiredProfile | None
    state: PoolState
    dense: list[DenseNode]
    now: int = 0
    claims: list[Claim] = field(default_factory=list)
    made: int = 0

    def reserve(self, claim: Claim) -> None:
        spans = zip(claim.nodes.tolist(), claim.units.tolist(), strict=True)
        fits = all(self.dense[n].holds(claim.start, claim.end, claim.request * u) for n, u in spans)
        done = self.state.reserve(claim.nodes, claim.units, claim.request, claim.start, claim.end, self.now)
        assert done == fits
        if done:
            self.take(claim, claim.start, 1)
            self.state.book(claim.nodes, claim.job, claim.start, self.now)
            self.claims.append(claim)

    def release(self, claim: Claim) -> None:
        self.claims.remove(claim)
        self.state.unbook(claim.nodes, claim.job, claim.start)
        start = max(claim.start, self.now)
        if start < claim.end:
            self.state.release(claim.nodes, claim.units, claim.request, start, claim.end, self.now)
            self.take(claim, start, -1)

    def take(self, claim: Claim, start: int, sign: int) -> None:
        for node, units in zip(claim.nodes.tolist(), claim.units.tolist(), strict=True):
            self.dense[node].take(start, claim.end, sign * units * claim.request)

    def check(self) -> None:
        rows = self.state.profiles
        assert_rows_apart(rows)
        assert_rows_apart(self.state.books)
        moments = np.arange(self.now, SECONDS)
        for node, oracle in enumerate(self.dense):
            mine = slice(rows.head[node], rows.head[node] + rows.size[node])
            assert (np.diff(rows.time[mine]) > 0).all()
            value = rows.value[mine][np.searchsorted(rows.time[mine], moments, side="right") - 1]
            there = oracle.free if oracle.wished is None else np.concatenate([oracle.free, oracle.wished], axis=1)
            assert (value == there[self.now :]).all()

    def check_later(self, depth: int) -> None:
        nodes = np.arange(self.platform.node_count)
        expected, messages = set(), 0
        for node in nodes.tolist():
            later = sorted((c.start, c.job) for c in self.claims if node in c.nodes and c.start > self.now)
            told = self.state.later_jobs(np.array([node]), self.now, depth)[0].tolist()
            assert {job for start, job in later if job in told} == {*told}
            starts = {job: start for start, job in later}
            # Jobs that start together may come in any order, but nobody is told who starts after somebody who is not.
            assert sorted(starts[job] for job in told) == [start for start, _ in later[:depth]]
            expected |= {*told}
            messages += len(told)
        jobs, count = self.state.later_jobs(nodes, self.now, depth)
        assert (jobs.tolist(), count) == (sorted(expected), messages)

    def check_ends(self) -> None:
        horizon, last_end = self.state.ends()
        assert all((d.free[max(horizon, 0) :] == d.free[-1]).all() for d in self.dense)
        reserved = [int(np.flatnonzero((d.free != d.free[-1]).any(axis=1)).max(initial=-1)) + 1 for d in self.dense]
        if max(reserved) > self.now:
            assert last_end == max(reserved)
        else:
            assert last_end <= self.now


def assert_rows_apart(rows: Rows) -> None:
    """Every row lies inside its slots, and no two rows share one."""
    assert (rows.head >= rows.base).all()
    assert (rows.head + rows.size <= rows.base + rows.slots).all()
    order = np.lexsort((rows.slots, rows.base))
    ends = (rows.base + rows.slots)[order]
    assert (ends[:-1] <= rows.base[order][1:]).all()
    assert ends[-1] <= rows.tail[0] <= len(rows.time)


def tight(rows: Rows, spare: int) -> Rows:
    """The same rows in an arena with almost no room, so that rows must move and the arena must grow."""
    slots = rows.size + spare
    base = np.cumsum(slots) - slots
    time = np.zeros(int(slots.sum()) + 3, dtype=np.int64)
    value = np.zeros((len(time), rows.value.shape[1]), dtype=rows.value.dtype)
    for node, (place, size) in enumerate(zip(base.tolist(), rows.size.tolist(), strict=True)):
        old = slice(rows.head[node], rows.head[node] + size)
        time[place : place + size] = rows.time[old]
        value[place : place + size] = rows.value[old]
    return Rows(base, slots, base.copy(), rows.size.copy(), np.array([slots.sum()]), time, value)


@st.composite
def worlds(draw) -> World:
    """A pool with a past: it reserved, gave back and went on in time; its oracle did the same."""
    platform = draw(platforms(until=UNTIL))
    desired = draw(st.none() | desired_profiles(platform, UNTIL))
    state = PoolState(platform, 0, platform.node_count, desired)
    world = World(platform, desired, state, dense_nodes(platform, desired, SECONDS))
    world.check()
    state.profiles = tight(state.profiles, draw(st.integers(0, 2)))
    state.books = tight(state.books, draw(st.integers(0, 2)))
    seed = draw(st.integers(0, 2**32 - 1))
    asked = [np.array(draw(requests(platform))) for _ in range(3)]
    steps(world, asked, np.random.default_rng(seed), draw(st.integers(0, 60)))
    return world


def steps(world: World, asked: list[np.ndarray], rng: np.random.Generator, count: int) -> None:
    for _ in range(count):
        what = rng.integers(10)
        if what < 6:
            nodes = np.flatnonzero(rng.random(world.platform.node_count) < 0.5)
            if len(nodes):
                start = world.now + int(rng.integers(30))
                world.made += 1
                units = rng.integers(1, 3, len(nodes))
                request = asked[rng.integers(len(asked))]
                world.reserve(Claim(world.made, nodes, units, request, start, start + int(rng.integers(1, 25))))
        elif what < 9 and world.claims:
            world.release(world.claims[rng.integers(len(world.claims))])
        else:
            world.now += int(rng.integers(3))
        world.check()


@given(worlds(), st.integers(1, 4))
@examples(1.5)
def test_random_histories_leave_the_profiles_of_the_arrays(world, depth):
    world.check_later(depth)
    world.check_ends()


@st.composite
def offer_requests(draw, world: World, *, quota: bool):
    first = world.now + draw(st.integers(0, 40))
    return ask_for(
        job=draw(st.integers(1, 1000)),
        attempt=draw(st.integers(0, 5)),
        first=first,
        last=first + draw(st.integers(0, 60)),
        walltime=draw(st.integers(1, 30)),
        quota=draw(st.integers(1, 20)) if quota else -1,
        groups=draw(st.integers(1, world.platform.all_groups)),
        request=draw(requests(world.platform)),
        generator=draw(st.sampled_from((FIRST, UNIFORM, EXPONENTIAL))),
        grain=draw(st.sampled_from((1, 1, 3, 7))),
        desired_binds=draw(st.booleans()),
    )


def answers(world: World, ask, held=None) -> dict[int, dict[int, Offer]]:
    """What the pool offers, instant by instant; runs are sorted, apart and inside the window."""
    rows, offset = world.state.offers(ask, held or nothing_held(), SEED, world.now)
    assert offset.tolist() == [0, len(rows)]
    assert (np.diff(rows[:, 0]) >= 0).all()
    found: dict[int, dict[int, Offer]] = {}
    for node, low, high, index, free_from, free_to in rows.tolist():
        mine = found.setdefault(node, {})
        assert 0 <= low < high
        assert low > max(mine, default=-1)
        mine.update(dict.fromkeys(range(low, high), Offer(index, free_from, free_to)))
    return found


def expected_answers(world: World, ask, dense) -> dict[int, dict[int, Offer]]:
    first, last, walltime, quota = (int(a[0]) for a in (ask.first, ask.last, ask.walltime, ask.quota))
    request, desired_binds = ask.request[0], ask.desired_binds and world.desired is not None
    found = {}
    for node, oracle in enumerate(dense):
        if not int(ask.groups[0]) >> int(world.platform.group_of_node[node]) & 1:
            continue
        feasible = oracle.offers(world.now, first, last, walltime, request, desired_binds, ask.grain)
        index = oracle.index_of_starts(first, last, walltime, request, desired_binds)
        key = (SEED, int(ask.job[0]), int(ask.draw_key[0]), node)
        weights = weights_of(index, ask.generator, ask.grain)
        offered = oracle.quota_offers(feasible, quota, ask.generator, weights, key)
        if offered:
            found[node] = offered
    return found


@given(st.data(), worlds())
@examples(1.5)
def test_all_feasible_starts_are_offered_with_index_and_gap(data, world):
    ask = data.draw(offer_requests(world, quota=False))
    assert answers(world, ask) == expected_answers(world, ask, world.dense)


@given(st.data(), worlds())
@examples(2)
def test_a_quota_is_the_earliest_or_the_drawn_starts(data, world):
    ask = data.draw(offer_requests(world, quota=True))
    assert answers(world, ask) == expected_answers(world, ask, world.dense)


@given(st.data(), worlds(), st.booleans())
@examples(1)
def test_own_reservation_of_a_job_counts_as_free_for_it(data, world, held_only):
    later = [claim for claim in world.claims if claim.start > world.now]
    if not later:
        return
    claim = data.draw(st.sampled_from(later))
    ask = ask_for(
        job=claim.job, first=world.now, last=claim.start - 1, walltime=claim.end - claim.start,
        groups=world.platform.all_groups, request=tuple(claim.request.tolist()), desired_binds=data.draw(st.booleans()),
        held_only=held_only,
    )  # fmt: skip
    held = HeldReservations(
        np.array([0, len(claim.nodes)]), claim.nodes, claim.units, np.array([claim.start]), np.array([claim.end])
    )
    dense = [node.copy() for node in world.dense]
    for node, units in zip(claim.nodes.tolist(), claim.units.tolist(), strict=True):
        dense[node].take(claim.start, claim.end, -units * claim.request)
    expected = expected_answers(world, ask, dense)
    if held_only:
        expected = {node: mine for node, mine in expected.items() if node in claim.nodes}
    assert answers(world, ask, held) == expected
    world.check()
