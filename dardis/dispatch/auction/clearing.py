"""Auction of a window of jobs: priorities, bids, winners and placements (001)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import ClassVar

import numpy as np

from dardis.dispatch.auction.bids import (
    Bid,
    BidClass,
    FreeLevels,
    PreferenceScale,
    SinglePartRequest,
    bids_of,
    nodesets,
    single_part_requests,
    slurm_nodes,
    spread,
)
from dardis.dispatch.auction.main_loop import MainLoop
from dardis.dispatch.auction.programme import (
    Auction,
    Shortage,
    alpha_exact,
    alpha_of_paper,
    choose_winners,
    distribute_spare_units,
    greedy,
)
from dardis.dispatch.cp.decision_problem import Decision, DecisionProblem, Placement, WaitingJob
from dardis.dispatch.cp.first_answer import ProblemMachine
from dardis.engine.clock import cpu_timed
from dardis.model.arrays import Ints
from dardis.model.choices import Choice
from dardis.model.errors import ProtocolError
from dardis.model.platform import Platform
from dardis.solver.milp import MilpBudget
from dardis.solver.result import Result

HOUR_S = 3600


class Alpha(Choice):
    """How much preferences count beside priorities."""

    PAPER = "paper", "Small preferences by eq. 10. They may also decide between answers of different priorities."
    EXACT = "exact", "Smaller preferences, which decide only between answers of equal priorities."


class BidClasses(Choice):
    """What jobs may bid for."""

    ALL = "all", "Nodes of all classes (A, B and C)."
    CONTIGUOUS = (
        "contiguous",
        "Only classes A and B, adjacent nodes (table 8, contigonly); beside bids of Slurm and of several parts.",
    )


@dataclass(frozen=True, slots=True)
class Terms:
    """Settings of an auction."""

    window: int
    bids_per_job: int
    bids: BidClasses
    slurm_bids: bool
    alpha: Alpha
    size_weight: int
    age_weight: int
    search_nodes: int
    main_loop: bool


@dataclass(frozen=True)
class Aucsched:
    """Decides by auction about starts now."""

    terms: Terms
    knows_shapes: ClassVar[bool] = True

    def decide(self, problem: DecisionProblem, seed: int) -> Decision:
        """Starts; the objective is the negative value of bids."""
        window = self._window(problem)
        before = MainLoop.of(problem, window) if self.terms.main_loop else MainLoop(problem, window, {})
        window = before.bidding
        auction, build_s = cpu_timed(lambda: auction_of(before.problem, window, self.terms))
        if not auction.bids:
            return Decision(dict.fromkeys(before.started, problem.now), 0.0, 0.0, before.started, build_cpu_s=build_s)
        cleared, solve_s = cpu_timed(lambda: self._clear(auction, seed))
        order = sorted(range(len(cleared.winners)), key=lambda at: auction.bids[cleared.winners[at]].job)
        places = [window[auction.bids[cleared.winners[at]].job] for at in order]
        value = -auction.value(cleared.winners)
        solver_s = 0.0 if cleared.result is None else cleared.result.cpu_s
        return Decision(
            dict.fromkeys((*before.started, *places), problem.now),
            value,
            min(value, cleared.bound),
            before.started | {place: cleared.placements[at] for place, at in zip(places, order, strict=True)},
            result=cleared.result,
            solver_cpu_s=solver_s,
            build_cpu_s=build_s + max(0.0, solve_s - solver_s),
            variables=cleared.variables,
        )

    def _window(self, problem: DecisionProblem) -> list[int]:
        waiting, platform = problem.waiting, problem.platform
        front = [(-platform.level_of(one.job.queue), one.arrival) for one in waiting]
        window = sorted(range(len(waiting)), key=lambda place: front[place])[: self.terms.window]
        order = [-priority(waiting[place], platform, problem.now, self.terms) for place in window]
        return [place for _, place in sorted(zip(order, window, strict=True), key=lambda one: (one[0], front[one[1]]))]

    def _clear(self, auction: Auction, seed: int) -> ClearedAuction:
        first = greedy(auction)
        more = distribute_spare_units(auction, first)
        if isinstance(more, Shortage):
            raise ProtocolError("consecutive winning bids do not fit on their nodes")
        floor = ClearedAuction.of(auction, first, more)
        everybody = sum(
            max(float(auction.worth[place]) for place, bid in enumerate(auction.bids) if bid.job == job)
            for job in {bid.job for bid in auction.bids}
        )
        if auction.value(floor.winners) >= everybody - 1e-9:
            return replace(floor, bound=-everybody)
        result, winners, more = choose_winners(auction, MilpBudget(self.terms.search_nodes, seed), first)
        bound = -everybody if result.bound is None else -min(everybody, result.bound)
        best = ClearedAuction.of(auction, winners, more) if auction.value(winners) > auction.value(first) else floor
        return replace(best, result=result, bound=bound, variables=len(auction.bids))


@dataclass(frozen=True)
class ClearedAuction:
    """Winning bids and placements."""

    winners: list[int]
    placements: list[Placement]
    result: Result | None = None
    bound: float = -inf
    variables: int = 0

    @classmethod
    def of(cls, auction: Auction, winners: list[int], more: Sequence[Ints]) -> ClearedAuction:
        """Build from winners and spare units."""
        held = []
        for place, units in zip(winners, more, strict=True):
            bid = auction.bids[place]
            held.append(bid.put(units) if bid.placement is None else bid.placement)
        return cls(winners, held)


def priority(waiting: WaitingJob, platform: Platform, now: int, terms: Terms) -> int:
    """P of a job, by share and wait as in Slurm (the paper prints none)."""
    capacity = np.maximum(platform.capacity.sum(axis=0), 1)
    share = float((np.array(waiting.amounts) / capacity).max())
    hours = (now - waiting.job.submit) / HOUR_S
    return 1 + round(terms.size_weight * share + terms.age_weight * hours)


def auction_of(problem: DecisionProblem, window: Sequence[int], terms: Terms) -> Auction:
    """Auction of jobs, most important first."""
    jobs = [problem.waiting[place] for place in window]
    free = FreeLevels.of_steps(ProblemMachine(problem, ()).free(), max((one.duration for one in jobs), default=1))
    asked = [list(single_part_requests(problem, free, place, job)) for job, place in enumerate(window)]
    worth = PreferenceScale(free.amounts.shape[1], len(nodesets(free.amounts[0], _levels(jobs))))
    bids: list[Bid] = []
    cursor = 0
    for job, requests in enumerate(asked):
        each = max(1, terms.bids_per_job // max(1, len(jobs[job].requests)))
        for one in requests:
            contiguous = terms.bids is BidClasses.CONTIGUOUS
            found = bids_of(one, worth, each, cursor, contiguous=contiguous)
            bids += found
            cursor = next((int(bid.nodes[-1]) + 1 for bid in found if bid.bid_class is BidClass.B), cursor)
        bids += _multi_part_bids(problem, window[job], job, free, worth)
    if terms.slurm_bids:
        bids += _slurm_bids(asked, free, worth)
    priorities = tuple(priority(one, problem.platform, problem.now, terms) for one in jobs)
    alpha = 0.0
    if bids:
        alpha = alpha_of_paper(priorities, len(bids)) if terms.alpha is Alpha.PAPER else alpha_exact(priorities)
    return Auction(free, priorities, tuple(bids), alpha)


def _levels(jobs: Sequence[WaitingJob]) -> list[tuple[int, ...]]:
    asked = {part.request[1:] for one in jobs for _, request in one.requests for part in request.parts}
    return sorted(asked | {tuple(0 for _ in jobs[0].job.request[1:])}) if jobs else []


def _slurm_bids(asked: Sequence[Sequence[SinglePartRequest]], free: FreeLevels, worth: PreferenceScale) -> list[Bid]:
    left, bids = free.amounts.copy(), []
    for requests in asked:
        for one in requests:
            request = np.array(one.part.request, dtype=np.int64)
            kinds = request > 0
            # Shorter jobs leave longer levels unchanged, but all share the present capacity.
            least = left[: one.level + 1].min(axis=0)
            most = np.minimum((least[:, kinds] // request[kinds]).min(axis=1), one.most)
            nodes = slurm_nodes(one, most)
            if nodes is None:
                continue
            value = worth.preference(BidClass.SLURM, cores_only=one.cores_only, nodes=len(nodes), sets=1)
            bid = one.bid(BidClass.SLURM, nodes, value, most)
            if bid is not None:
                left[: one.level + 1, nodes] -= spread(most[nodes], one.part.units)[:, None] * request
                bids.append(bid)
                break
    return bids


def _multi_part_bids(
    problem: DecisionProblem, place: int, job: int, free: FreeLevels, worth: PreferenceScale
) -> list[Bid]:
    """Bids for jobs of several parts; not in the paper.

    Preference: class C's on as many nodesets as blocks.
    """
    waiting, bids = problem.waiting[place], []
    for at, request in waiting.requests:
        if len(request.parts) == 1:
            continue
        alone = replace(waiting, orders={at: waiting.orders[at]}, duration=request.walltime)
        plan = ProblemMachine(problem, (alone,)).start_in_turn([0])
        if plan is None or plan.starts[0] > 0:
            continue
        fixed: dict[int, Ints] = {}
        for part, (nodes, units) in zip(request.parts, plan.where[0][1], strict=True):
            for node, count in zip(nodes.tolist(), units.tolist(), strict=True):
                fixed[node] = fixed.get(node, 0) + count * np.array(part.request)
        nodes = np.array(sorted(fixed), dtype=np.int64)
        blocks = int((np.diff(nodes, prepend=-2) > 1).sum())
        value = worth.preference(BidClass.C, cores_only=False, nodes=len(nodes), sets=blocks)
        taken = np.array([fixed[node] for node in nodes.tolist()])
        unit = request.parts[0].request
        bids.append(
            Bid(job, at, BidClass.C, value, free.level(request.walltime), nodes, taken, 0, unit, plan.where[0])
        )  # fmt: skip
    return bids
