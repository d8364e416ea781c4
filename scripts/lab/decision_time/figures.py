"""What a run cost a job, runs of the same summed up, and where the costs of two cross as the machine grows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from scripts.lab.decision_time.timed import Ledger, Why
from scripts.lab.decision_time.workloads import Case
from scripts.lab.kit.spread import Spread


@dataclass(frozen=True)
class Outcome:
    """One run. Seconds of CPU a job, but `…_mean_s` and `…_deviation_s`: those are of decisions for jobs that came.

    Of a central dispatcher `dispatching` is all there is, and a decision is a cycle.
    """

    decisions: int
    scheduling_s: float
    dispatching_s: float
    placing_s: float
    """Of all that, what a job took from its submission to its place."""
    scheduling_mean_s: float
    scheduling_deviation_s: float
    dispatching_mean_s: float
    dispatching_deviation_s: float
    whole_run_s: float
    """CPU of the run, with what is not counted."""

    @property
    def total_s(self) -> float:
        """CPU a job, all nodes and everything that followed."""
        return self.scheduling_s + self.dispatching_s


def outcome(case: Case, ledger: Ledger, whole_run_s: float) -> Outcome:
    """Sum up what a run's ledger says."""
    came = sum(one.why is Why.SUBMIT for one in ledger.decisions)
    jobs = case.counted or came
    return Outcome(
        decisions=len(ledger.decisions),
        scheduling_s=ledger.total("scheduling") / jobs,
        dispatching_s=ledger.total("dispatching") / jobs,
        placing_s=(ledger.total("scheduling", Why.SUBMIT) + ledger.total("dispatching", Why.SUBMIT)) / jobs,
        scheduling_mean_s=ledger.total("scheduling", Why.SUBMIT) / came,
        scheduling_deviation_s=ledger.deviation("scheduling"),
        dispatching_mean_s=ledger.total("dispatching", Why.SUBMIT) / came,
        dispatching_deviation_s=ledger.deviation("dispatching"),
        whole_run_s=whole_run_s,
    )


@dataclass(frozen=True)
class Measured:
    """The runs of one contender on one case."""

    case: str
    label: str
    nodes: int
    jobs: int
    runs: Sequence[Outcome]

    def spread(self, figure: str) -> Spread:
        """Median and range of a figure of `Outcome`."""
        return Spread.of([getattr(run, figure) for run in self.runs])

    @property
    def share_s(self) -> Spread:
        """CPU a job of one node's manager and of the task manager, where every node has a processor of its own."""
        return Spread.of([run.scheduling_s / self.nodes + run.dispatching_s for run in self.runs])


def crossings(ours: Mapping[int, float], theirs: Mapping[int, float]) -> list[float]:
    """Nodes at which two curves cross, drawn straight on log-log paper between the sizes that both have."""
    nodes = sorted(ours.keys() & theirs.keys())
    gaps = [math.log(ours[size] / theirs[size]) for size in nodes]
    found = []
    for (low, gap), (high, next_gap) in pairwise(zip(nodes, gaps, strict=True)):
        if gap * next_gap < 0:
            found.append(low * (high / low) ** (gap / (gap - next_gap)))
    return found


def verdict(name: str, ours: Mapping[int, float], theirs: Mapping[int, float]) -> str:
    """Whether and where the curve of `name` crosses ours, and how they end, in words."""
    nodes = sorted(ours.keys() & theirs.keys())
    last = nodes[-1]
    times = theirs[last] / ours[last]
    compared = f"{two_digits(times)} times dearer" if times >= 1 else f"{two_digits(1 / times)} times cheaper"
    where = [two_digits(found) for found in crossings(ours, theirs)]
    crossed = f"crosses at about {' and '.join(where)} nodes" if where else f"no crossing from {nodes[0]:,} nodes on"
    return f"{name}: {crossed}; at {last:,} {compared}"


def headline(name: str, ours: Mapping[int, float], others: Mapping[str, Mapping[int, float]]) -> str:
    """Who crosses the curve of `name`, and where, in one sentence."""
    where = {label: [two_digits(found) for found in crossings(ours, theirs)] for label, theirs in others.items()}
    crossed = [f"{' and '.join(nodes)} by {label}" for label, nodes in where.items() if nodes]
    return f"{name}: crossed at about {', '.join(crossed)}" if crossed else f"{name}: crossed by nobody"


def two_digits(value: float) -> str:
    """The value to two digits, thousands apart."""
    rounded = float(f"{value:.2g}")
    return f"{rounded:,.0f}" if rounded >= 10 else f"{rounded:g}"
