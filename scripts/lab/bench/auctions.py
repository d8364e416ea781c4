"""What clearing an auction costs: our programme beside the one that AUCSCHED prints, and ours by nodes of the search.

Each auction is one of a workload of AUCSCHED (V, no job asks for neighbours) on a machine on which half of the jobs
have ended that filled it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from dardis.config.platform_file import load_platform
from dardis.dispatch.auction.clearing import Alpha, BidClasses, Terms, auction_of
from dardis.dispatch.auction.programme import Auction, choose_winners, greedy
from dardis.dispatch.cp.decision_problem import DecisionProblem, RunningJobPart, WaitingJob
from dardis.dispatch.cp.first_answer import ProblemMachine
from dardis.model.platform import Platform
from dardis.model.randomness import stream
from dardis.solver.milp import MilpBudget, maximise
from dardis.solver.result import Result
from dardis.workload import generate as workloads
from dardis.workload.generate import MACHINES as NODES
from dardis.workload.trace_jobs import to_jobs
from scripts.lab.bench.measure import Row, cpu_of
from scripts.lab.kit.auction_printed import printed
from scripts.lab.kit.command import PLATFORMS
from scripts.lab.kit.spread import Spread

AGAINST = ("S", 20, 5)
ALONE = (("M", 20, 5), ("L", 50, 2), ("L", 100, 5))
"""Machines, windows, and how many auctions."""
SEARCHES = (1, 20, 100)
"""Nodes of the search, at most."""
Solve = Callable[[Auction, MilpBudget], tuple[Result, int]]


def auctions_of(machine: str, window: int, count: int) -> list[Auction]:
    """So many, of windows of so many jobs with five bids each."""
    platform = load_platform(PLATFORMS / f"auction-{NODES[machine]}.toml")
    terms = Terms(window, 5, BidClasses.ALL, False, Alpha.EXACT, 1000, 10, 1, False)
    return [_auction(platform, machine, terms, seed) for seed in range(1, count + 1)]


def _auction(platform: Platform, machine: str, terms: Terms, seed: int) -> Auction:
    trace = workloads.generate_auction(workloads.AuctionParameters("V", machine), seed)
    asked = [job.job for job in to_jobs(trace, platform).jobs[: 100 + terms.window]]
    waiting = [WaitingJob(job, job.walltime, {0: [0]} if job.requests else {}) for job in asked]
    first, rest = waiting[: -terms.window], waiting[-terms.window :]
    empty = DecisionProblem(platform, 0, (), tuple(first))
    plan = ProblemMachine(empty, first).start_in_turn(range(len(first)))
    if plan is None:
        raise ValueError("a job of a workload of AUCSCHED does not fit its machine")
    rng, running = stream(seed, "bench", "auction"), []
    for one, start, (_, ((nodes, units),)) in zip(first, plan.starts.tolist(), plan.where, strict=True):
        if start == 0 and rng.random() < 0.5:
            running.append(RunningJobPart(one.job, one.duration, one.duration, nodes, units))
    problem = replace(empty, running=tuple(running), waiting=tuple(rest))
    return auction_of(problem, range(len(rest)), terms)


def solved(auction: Auction, solve: Solve, nodes: int) -> tuple[Result, int, float]:
    """What comes of a programme, how many variables it has, and CPU seconds of making and solving it."""
    (result, variables), cpu_s = cpu_of(lambda: solve(auction, MilpBudget(nodes)))
    return result, variables, cpu_s


def ours(auction: Auction, search: MilpBudget) -> tuple[Result, int]:
    """As the dispatcher solves it."""
    return choose_winners(auction, search, greedy(auction))[0], len(auction.bids)


def as_printed(auction: Auction, search: MilpBudget) -> tuple[Result, int]:
    """As the paper prints it (eq. 3 and 4 mended)."""
    program, whole = printed(auction)
    return maximise(program, whole, search)[0], len(whole)


def auctions() -> list[Row]:
    """Both programmes at 128 nodes and 20 jobs, in turns; and ours on larger ones, by nodes of the search."""
    made = auctions_of(*AGAINST)
    solved(made[0], ours, 1)  # imports
    both: dict[str, list[tuple[Result, int, float]]] = {"ours": [], "as printed (eq. 3 and 4 mended)": []}
    for auction in made:
        for name, solve in zip(both, (ours, as_printed), strict=True):
            both[name].append(solved(auction, solve, SEARCHES[-1]))
    rows = [_row(AGAINST, f"{name}, {SEARCHES[-1]} nodes", runs) for name, runs in both.items()]
    mine, theirs = both.values()
    times = Spread.ratio([cpu_s for *_, cpu_s in theirs], [cpu_s for *_, cpu_s in mine])
    rows[0] = replace(rows[0], ratio=times, ratio_of="CPU time as printed / ours", goal=">= 20")
    for which in ALONE:
        made = auctions_of(*which)
        for nodes in SEARCHES:
            runs = [solved(one, ours, nodes) for one in made]
            rows.append(_row(which, f"ours, {nodes} nodes", runs))
    return rows


def _row(which: tuple[str, int, int], program: str, runs: Sequence[tuple[Result, int, float]]) -> Row:
    """What the runs took, with the gap (%) and the variables of the one in the middle."""
    machine, window, _ = which
    gaps = [100 * result.gap for result, _, _ in runs if result.gap is not None]
    notes = {"variables": Spread.of([variables for _, variables, _ in runs]).median}
    notes |= {"gap_percent": round(Spread.of(gaps).median, 2), "largest_gap_percent": round(max(gaps), 2)}
    spent = Spread.of([cpu_s for *_, cpu_s in runs])
    return Row(f"auctions, {NODES[machine]} nodes x {window} jobs", program, window, spent, notes=notes)
