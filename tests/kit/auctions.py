"""Random auctions of a few jobs on a few nodes, and what comes of them by trying every set of bids."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np
from hypothesis import strategies as st
from kit.cp_brute_force import empty_floor, seconds_of

from dardis.dispatch.auction.bids import Bid, BidClass, FreeLevels
from dardis.dispatch.auction.clearing import Alpha, Aucsched, BidClasses, Terms, auction_of
from dardis.dispatch.auction.programme import Auction
from dardis.dispatch.cp.decision_problem import BlockedCapacity, DecisionProblem, RunningJobPart, WaitingJob
from dardis.dispatch.job_shapes import ShapeChecker
from dardis.model.job import Job, Part, Request
from dardis.model.platform import NodeGroup, Platform


@dataclass(frozen=True)
class Case:
    """An auction and what it comes from."""

    problem: DecisionProblem
    terms: Terms
    window: list[int]
    auction: Auction

    @cached_property
    def most(self) -> dict[tuple[int, int], np.ndarray]:
        """By job of the window and request of one part: how many units each node has room for, second by second."""
        floor, found = empty_floor(self.problem, seconds_of(self.problem)), {}
        for job, place in enumerate(self.window):
            for at, request in self.problem.waiting[place].requests:
                if len(request.parts) == 1:
                    free = floor[:, :, : request.walltime].min(axis=2)
                    found[job, at] = self._most(request.parts[0], free)
        return found

    def _most(self, part: Part, free: np.ndarray) -> np.ndarray:
        single = self.problem.distinct or part.nodes == part.units
        return np.array(
            [
                min(
                    1 if single else part.units,
                    *(have // need for have, need in zip(amounts, part.request, strict=True) if need),
                )
                if part.groups >> group & 1
                else 0
                for amounts, group in zip(free.tolist(), self.problem.platform.group_of_node.tolist(), strict=True)
            ]
        )

    def part_of(self, bid: Bid) -> Part:
        return self.request_of(bid).parts[0]

    def request_of(self, bid: Bid) -> Request:
        return dict(self.problem.waiting[self.window[bid.job]].requests)[bid.request]


def terms() -> st.SearchStrategy[Terms]:
    return st.builds(
        Terms, window=st.sampled_from((50, 50, 2)), bids_per_job=st.integers(1, 4), bids=st.sampled_from(BidClasses),
        slurm_bids=st.booleans(), alpha=st.sampled_from(Alpha), size_weight=st.sampled_from((1000, 3, 0)),
        age_weight=st.sampled_from((10, 1000, 0)), search_nodes=st.just(1000), main_loop=st.just(False),
    )  # fmt: skip


def problem_of(seed: int, most_jobs: int, most_nodes: int, *, as_in_the_paper: bool = False) -> DecisionProblem:
    """A busy machine and a few jobs from a seed. `as_in_the_paper`: one amount a node, and jobs of types 1, 2 and 3."""
    rng = np.random.default_rng(seed)

    def upto(most: int) -> int:
        return int(rng.integers(0, most + 1))

    kinds, count = ("cores", "gpu")[: 1 + upto(1)], most_nodes - upto(2)
    first = 1 + upto(count - 2)
    groups = tuple(
        NodeGroup(name, size, dict(zip(kinds, (2 + upto(2), upto(2)), strict=False)))
        for name, size in (("a", first), ("b", count - first))
    )
    platform, now = Platform("busy", groups), 50
    problem = DecisionProblem(platform, now, (), (), (), upto(4) == 0)
    running, blocked = [], []
    for node, (cores, *others) in enumerate(platform.capacity.tolist()):
        taken = (upto(cores), *map(upto, others))
        if upto(2) == 0 and max(taken):
            end = now + 1 + upto(5)
            job = Job(100 + node, 0, 0, None, 99, 1, taken, 3)
            running.append(RunningJobPart(job, end, end, np.array([node]), np.array([1])))
        if not as_in_the_paper and upto(4) == 0:
            start = now - 2 + upto(6)
            blocked.append(BlockedCapacity(node, start, start + 1 + upto(5), (upto(cores), *map(upto, others))))
    waiting: list[WaitingJob] = []
    wanted, shapes = most_jobs - upto(1), ShapeChecker(platform, distinct=problem.distinct)
    for number in range(1, 10 * wanted):
        asked = [_request(upto, platform, as_in_the_paper) for _ in range(1 if as_in_the_paper else 1 + upto(5) // 4)]
        one, submit = asked[0].parts[0], now - upto(20)
        job = Job(
            number, submit, submit, None, asked[0].walltime, asked[0].units, one.request, one.groups,
            requests=tuple(asked),
        )  # fmt: skip
        if len(waiting) < wanted and (orders := shapes.feasible_orders(job)):
            waiting.append(WaitingJob(job, max(asked[place].walltime for place in orders), orders))
    return replace(problem, running=tuple(running), waiting=tuple(waiting), blocked=tuple(blocked))


def _request(upto: Callable[[int], int], platform: Platform, as_in_the_paper: bool) -> Request:
    parts = 1 if as_in_the_paper else 1 + upto(5) // 5
    return Request(tuple(_part(upto, platform, as_in_the_paper) for _ in range(parts)), 1 + upto(6), upto(2) == 0)


def _part(upto: Callable[[int], int], platform: Platform, as_in_the_paper: bool) -> Part:
    """Of type 1, 2 or 3, or units of some cores on any nodes, or on exactly so many."""
    of_type, kinds = 1 + upto(2 if as_in_the_paper else 4), len(platform.kinds)
    nodes = {2: 1 + upto(3), 3: 1 + upto(3), 5: 1 + upto(2)}.get(of_type, 0)
    units = {1: 1 + upto(7), 2: nodes + upto(5), 3: nodes, 4: 1 + upto(4), 5: nodes + upto(2)}[of_type]
    cores = 1 if of_type <= 2 else 1 + upto(1)
    request = (cores, *(upto(1) if of_type == 3 else 0 for _ in range(kinds - 1)))
    return Part(units, request, 3 if upto(2) else 1 + upto(1), nodes)


def case_of(problem: DecisionProblem, terms: Terms) -> Case:
    window = Aucsched(terms)._window(problem)
    return Case(problem, terms, window, auction_of(problem, window, terms))


def cases(
    most_jobs: int, most_nodes: int, *, as_in_the_paper: bool = False, **given: object
) -> st.SearchStrategy[Case]:
    """Auctions with any terms but those given."""
    return st.builds(
        lambda seed, terms: case_of(
            problem_of(seed, most_jobs, most_nodes, as_in_the_paper=as_in_the_paper), replace(terms, **given)
        ),
        st.integers(0, 1 << 32),
        terms(),
    )


CASES = cases(4, 5)
"""So small that every set of bids can be tried."""
WIDE = cases(6, 12)
"""With room for bids of all classes."""


def after(left: np.ndarray, bid: Bid) -> Iterator[np.ndarray]:
    """What may be left, (levels, nodes, kinds), when a bid takes its nodes, however it spreads its units."""
    left = left.copy()
    left[: bid.level + 1, bid.nodes] -= bid.fixed
    if (left < 0).any():
        return
    if not bid.spare:
        yield left
        return
    kind = bid.unit.index(1)
    room = left[: bid.level + 1, :, kind].min(axis=0)[bid.nodes].tolist()
    for more in product(*(range(min(have, bid.spare) + 1) for have in room)):
        if sum(more) == bid.spare:
            one = left.copy()
            one[: bid.level + 1, bid.nodes, kind] -= np.array(more)
            yield one


def fit_together(auction: Auction, places: Sequence[int]) -> bool:
    """Whether bids fit beside one another, by trying every way to spread their units."""
    states = [auction.free.amounts]
    for place in places:
        left = {one.tobytes(): one for state in states for one in after(state, auction.bids[place])}
        states = list(left.values())
    return bool(states)


def sets_that_fit(auction: Auction) -> list[tuple[int, ...]]:
    """All sets of bids, of each job one at most, that fit beside one another."""
    return [places for places in all_sets(auction) if fit_together(auction, places)]


def all_sets(auction: Auction) -> Iterator[tuple[int, ...]]:
    """All sets of bids, of each job one at most."""
    jobs = range(len(auction.priorities))
    of_job = [[None, *(p for p, bid in enumerate(auction.bids) if bid.job == job)] for job in jobs]
    for chosen in product(*of_job):
        yield tuple(place for place in chosen if place is not None)


def hand_made(
    free: Sequence[Sequence[int]], bids: Sequence[tuple[int, list[int], int, float]], priorities: Sequence[int]
) -> Auction:
    """An auction of jobs that ask for cores alone: the job of each bid, its nodes, its cores in all, and preference."""
    amounts, made = np.array([free], dtype=np.int64), []
    unit = (1, *(0 for _ in free[0][1:]))
    for job, nodes, cores, value in bids:
        fixed = np.repeat(np.array([unit]), len(nodes), axis=0)
        made.append(Bid(job, 0, BidClass.A, value, 0, np.array(nodes), fixed, cores - len(nodes), unit, None))
    return Auction(FreeLevels((1,), amounts), tuple(priorities), tuple(made), 0.0)
