"""Auctions: winners against trying every set of bids, the bids themselves, and whole runs."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from kit.actual import actual
from kit.auctions import CASES, WIDE, after, all_sets, cases, fit_together, sets_that_fit
from kit.central_runs import dispatch, setup_of
from kit.cp_brute_force import see_that_starts_fit
from kit.effort import examples
from kit.machine import jobs, platforms, with_queues, with_shapes
from kit.shapes_reference import slurm_best_fit

from dardis.dispatch.auction import programme
from dardis.dispatch.auction.bids import BidClass, PreferenceScale, SinglePartRequest, bids_of, nodesets, slurm_nodes
from dardis.dispatch.auction.clearing import Alpha, Aucsched, BidClasses
from dardis.dispatch.auction.main_loop import MainLoop
from dardis.dispatch.auction.programme import CapacityRows, Shortage, alpha_exact, choose_winners, greedy
from dardis.dispatch.auction.setups import AUCTION_SETUPS
from dardis.dispatch.cp.first_answer import ProblemMachine
from dardis.model.choices import EventOrder, OnOff, ProfileRule, UnitsPerNode
from dardis.model.job import Part
from dardis.model.platform import NodeGroup, Platform
from dardis.solver.milp import MilpBudget, maximise
from scripts.lab.kit.auction_printed import printed

TABLE_3 = {
    (1, "A"): (0, 0.25, 0), (1, "B"): (0.25, 0.25, 0), (1, "C"): (0.5, 0.25, 0.25),
    (2, "A"): (0, 0, 0), (2, "B"): (0.5, 0, 0), (2, "C"): (0.5, 0, 0.5),
}  # fmt: skip

MUCH = MilpBudget(10_000)


def winners_of(auction):
    result, winners, _ = choose_winners(auction, MUCH)
    assert result.proven
    return result.objective, winners


def best_of(auction, fitting):
    return max(auction.value(places) for places in fitting)


@given(CASES)
def test_the_programme_finds_what_trying_every_set_of_bids_finds(case):
    auction = case.auction
    assume(auction.bids)
    fitting = sets_that_fit(auction)
    objective, winners = winners_of(auction)
    assert objective == pytest.approx(best_of(auction, fitting))
    assert auction.value(winners) == pytest.approx(objective)
    assert tuple(sorted(winners, key=lambda place: auction.bids[place].job)) in fitting


@given(cases(4, 5, as_in_the_paper=True))
def test_programme_finds_the_printed_optima_of_the_paper(case):
    auction = case.auction
    assume(auction.bids)
    ours, _ = winners_of(auction)
    theirs, values = maximise(*printed(auction), MUCH)
    winners = np.flatnonzero(values[: len(auction.bids)] > 0.5).tolist()
    assert (theirs.proven, ours) == (True, pytest.approx(theirs.objective))
    assert fit_together(auction, winners)


@given(CASES)
def test_the_greedy_auction_is_never_better_and_always_fits(case):
    auction = case.auction
    winners = greedy(auction)
    assert len({auction.bids[place].job for place in winners}) == len(winners)
    assert fit_together(auction, winners)
    assert auction.value(winners) <= best_of(auction, sets_that_fit(auction)) + 1e-9


@examples(0.5)
@given(CASES)
def test_units_are_assigned_in_integers_if_and_only_if_bids_fit(case):
    auction = case.auction
    fitting = set(sets_that_fit(auction))
    for places in all_sets(auction):
        spare = programme.distribute_spare_units(auction, places)
        assert isinstance(spare, Shortage) == (places not in fitting)
        if isinstance(spare, Shortage):
            row = CapacityRows(auction).row(spare)
            assert row[0] < row[1:][[*places]].sum()
            assert all(row[0] >= row[1:][[*good]].sum() for good in fitting)
            continue
        left = auction.free.amounts.copy()
        for place, more in zip(places, spare, strict=True):
            bid = auction.bids[place]
            assert more.dtype.kind == "i"
            assert (more >= 0).all()
            assert more.sum() == bid.spare
            left[: bid.level + 1, bid.nodes] -= bid.fixed + more[:, None] * np.array(bid.unit)
        assert (left >= 0).all()


@given(CASES)
def test_preferences_never_outweigh_priorities_under_alpha_exact(case):
    auction = case.auction
    assume(auction.bids)
    auction = replace(auction, alpha=alpha_exact(auction.priorities))

    def sums(places):
        priorities = sum(auction.priorities[auction.bids[place].job] for place in places)
        return priorities, sum(auction.bids[place].preference for place in places)

    first, second = max(map(sums, sets_that_fit(auction)))
    _, winners = winners_of(auction)
    assert sums(winners) == (first, pytest.approx(second))


@given(CASES)
def test_started_jobs_are_those_of_the_best_set_of_bids(case):
    answer = Aucsched(case.terms).decide(case.problem, 1)
    see_that_starts_fit(case.problem, answer)
    assert set(answer.starts) <= {*case.window}
    if case.auction.bids:
        assert -answer.objective == pytest.approx(best_of(case.auction, sets_that_fit(case.auction)))
        assert answer.bound == pytest.approx(answer.objective)
        for place, (taken, parts) in answer.where.items():
            request = dict(case.problem.waiting[place].requests)[taken]
            for part, (nodes, _) in zip(request.parts, parts, strict=True):
                groups = case.problem.platform.group_of_node[nodes].tolist()
                assert all(part.groups >> group & 1 for group in groups)
                assert not case.problem.distinct or len(nodes) == part.units


def runs_of(most):
    """Of nodes that hold a unit: the run that each is in, by numbers from 0 on; −1: none."""
    found, run = [], -1
    for node, held in enumerate(most.tolist()):
        if held:
            run += node == 0 or not most[node - 1]
        found.append(run if held else -1)
    return found


def is_a_block(nodes):
    return nodes == [*range(nodes[0], nodes[0] + len(nodes))]


@given(WIDE)
def test_each_bid_matches_its_class_and_holds_its_units(case):
    for bid in case.auction.bids:
        if (bid.job, bid.request) not in case.most:
            continue
        part, request = case.part_of(bid), case.request_of(bid)
        most, nodes = case.most[bid.job, bid.request], bid.nodes.tolist()
        assert nodes == sorted(set(nodes))
        assert (most[nodes] > 0).all()
        assert most[nodes].sum() >= part.units >= len(nodes)
        exact = part.units if case.problem.distinct else part.nodes
        assert exact in (0, len(nodes))
        assert any(True for _ in after(case.auction.free.amounts, bid))
        amounts = bid.fixed.sum(axis=0) + bid.spare * np.array(bid.unit)
        assert amounts.tolist() == (part.units * np.array(part.request)).tolist()
        several_ways = len(nodes) < part.units < most[nodes].sum() and part.nodes != part.units
        free_to_spread = several_ways and sum(part.request) == 1 and not case.problem.distinct
        assert (bid.placement is None) == free_to_spread
        contiguous = request.contiguous or (
            case.terms.bids is BidClasses.CONTIGUOUS and bid.bid_class is not BidClass.SLURM
        )
        assert is_a_block(nodes) or not contiguous
        if bid.bid_class is BidClass.SLURM:
            continue
        run = runs_of(most)
        begins = nodes[0] == 0 or run[nodes[0] - 1] < 0
        ends = nodes[-1] == len(run) - 1 or run[nodes[-1] + 1] < 0
        assert is_a_block(nodes) == (bid.bid_class is not BidClass.C)
        assert bid.bid_class is BidClass.C or (begins or ends) == (bid.bid_class is BidClass.A)
        spans = len({run[node] for node in nodes}) > 1
        assert spans == (bid.bid_class is BidClass.C) or (bid.bid_class is BidClass.C and exact < part.units)


@given(st.lists(st.integers(0, 8), min_size=1, max_size=10), st.integers(2, 4), st.integers(1, 24), st.booleans())
def test_job_of_type_2_bids_if_and_only_if_it_fits(free, nodes, more, adjacent):
    part = Part(nodes + more, (1,), 1, nodes)
    most = np.minimum(free, part.units)
    asked = SinglePartRequest(0, 0, part, 0, adjacent, nodes, False, most)
    chosen = list(combinations(range(len(free)), nodes))
    fitting = [
        one for one in chosen
        if most[[*one]].min() > 0 and most[[*one]].sum() >= part.units and (not adjacent or is_a_block([*one]))
    ]  # fmt: skip
    bids = bids_of(asked, PreferenceScale(len(free), 2), 3, 0, contiguous=False)
    assert bool(bids) == bool(fitting)
    slurm = slurm_nodes(asked, most)
    assert {tuple(bid.nodes.tolist()) for bid in bids} | ({tuple(slurm.tolist())} if slurm is not None else set()) <= {
        *fitting
    }


@given(cases(4, 5, slurm_bids=True))
def test_slurm_bids_are_its_best_fit_one_job_after_the_other_and_fit_beside_one_another(case):
    places = [place for place, bid in enumerate(case.auction.bids) if bid.bid_class is BidClass.SLURM]
    assert fit_together(case.auction, places)
    first = next((case.auction.bids[place] for place in places), None)
    found = {}
    for (job, at), most in case.most.items():
        part = dict(case.problem.waiting[case.window[job]].requests)[at].parts[0]
        exact = part.units if case.problem.distinct else part.nodes
        contiguous = dict(case.problem.waiting[case.window[job]].requests)[at].contiguous
        nodes = slurm_best_fit(most.tolist(), part.units, exact, contiguous=contiguous)
        if nodes is not None:
            found.setdefault(job, (at, nodes))
    if case.auction.bids and places:
        job = min(found)  # nobody has taken anything before
        assert (first.job, first.request, first.nodes.tolist()) == (job, *found[job])


@given(CASES)
def test_jobs_start_by_priority_until_one_must_wait_which_keeps_its_earliest_start(case):
    before = MainLoop.of(case.problem, case.window)
    answer = Aucsched(replace(case.terms, main_loop=True)).decide(case.problem, 1)
    see_that_starts_fit(case.problem, answer)
    won = {place: where for place, where in answer.where.items() if place not in before.started}
    see_that_starts_fit(before.problem, replace(answer, starts=dict.fromkeys(won, case.problem.now), where=won))
    jobs = [case.problem.waiting[place] for place in case.window]
    plan = ProblemMachine(case.problem, jobs).start_in_turn(range(len(jobs)))
    assume(plan is not None and jobs)
    early = [*plan.starts.tolist(), 0]
    now = int(np.argmax([*(plan.starts > 0), True]))
    # Closed nodes prevent jobs that would start later: the loop passes them.
    assume(case.problem.now + early[now] < replace(case.problem, blocked=()).horizon)
    assert [*before.started] == case.window[:now]
    assert {*before.started} <= {*answer.starts} <= {*before.started, *before.bidding}
    if early[now]:
        assert before.bidding == case.window[now + 1 :]
        assert before.problem.blocked[-1].start == case.problem.now + early[now]


@st.composite
def runs(draw):
    """A set-up with any settings, a machine, and jobs."""
    platform = draw(platforms())
    listed = draw(with_shapes(platform, draw(jobs(platform, most=8, following=True))))
    platform, listed = draw(with_queues(platform, listed))
    setup = replace(
        AUCTION_SETUPS["aucsched"],
        event_order=draw(st.sampled_from(EventOrder)),
        units_per_node=draw(st.sampled_from(UnitsPerNode)),
        profile=draw(st.sampled_from([ProfileRule.SOFT, ProfileRule.HARD])),
        step=draw(st.sampled_from((1, 5, 7))),
        window=draw(st.sampled_from((1, 3, 50))),
        bids_per_job=draw(st.integers(1, 6)),
        bids=draw(st.sampled_from(BidClasses)),
        slurm_bids=draw(st.sampled_from(OnOff)),
        alpha=draw(st.sampled_from(Alpha)),
        size_weight=draw(st.sampled_from((0, 1000))),
        age_weight=draw(st.sampled_from((0, 10, 10_000))),
        search_nodes=draw(st.sampled_from((1, 100))),
        main_loop=draw(st.sampled_from(OnOff)),
    )
    return setup, platform, listed


@examples(0.5)
@given(runs())
def test_all_jobs_end_and_starts_are_multiples_of_the_step(case):
    setup, platform, listed = case
    run = dispatch(platform, listed, setup)
    first = min((job.submit for job in listed), default=0)
    assert ((run.schedule.start[run.schedule.ran] - first) % setup.step == 0).all()
    assert dispatch(platform, listed, setup).schedule.digest() == run.schedule.digest()
    rules = setup_of("rules-fcfs", f"units_per_node={setup.units_per_node.value}")
    assert run.reasons == dispatch(platform, listed, rules).reasons


@given(WIDE)
def test_preferences_are_those_of_equation_12(case):
    free = case.auction.free.amounts[0]
    asked = {part.request[1:] for place in case.window for _, request in case.problem.waiting[place].requests
             for part in request.parts}  # fmt: skip
    count = len(nodesets(free, sorted(asked | {(0,) * (free.shape[1] - 1)}))) if case.window else 0
    for bid in case.auction.bids:
        if bid.bid_class is BidClass.SLURM:
            assert bid.preference == 1.0
        elif (bid.job, bid.request) in case.most:
            part = case.part_of(bid)
            type_1 = not case.problem.distinct and part.nodes == 0
            k1, k2, k3 = TABLE_3[1 if type_1 else 2, str(bid.bid_class)]
            run = runs_of(case.most[bid.job, bid.request])
            sets = len({run[node] for node in bid.nodes.tolist()})
            expected = 1 - k1 - k2 * len(bid.nodes) / (len(free) + 1) - k3 * sets / (max(count, sets) + 1)
            assert bid.preference == pytest.approx(expected)
        assert 0 < bid.preference <= 1


@pytest.mark.parametrize("step", [1, 2, 5])
def test_job_outside_the_window_bids_in_the_next_auction_without_events(step):
    platform = Platform("four", (NodeGroup("n", 4, {"cores": 2}),))
    listed = [actual(number, 0, 0, None, 100, 1, (2,), 1, runtime=100) for number in range(1, 5)]
    setup = replace(AUCTION_SETUPS["aucsched"], window=1, step=step)
    assert dispatch(platform, listed, setup).schedule.start.tolist() == [0, step, 2 * step, 3 * step]
