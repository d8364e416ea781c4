"""Set-ups of the thesis, and their settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dardis.config.settings import AnySetUp, setting
from dardis.model.addresses import levels_below
from dardis.model.choices import Choice, Expecting, NodeChoice, OnOff
from dardis.model.numbers import decimal_number
from dardis.task_manager.selection import Selection


class Generator(Choice):
    """Which start times a node offers (thesis 5.3.3 to 5.3.5, 7.5)."""

    FIRST = "first", "All feasible starts, as runs, in windows that double until enough nodes agree."
    UNIFORM = (
        "uniform",
        "Starts drawn from the job's whole window, in proportion to the free capacity below the desired profile.",
    )
    EXPONENTIAL = "exponential", "As `uniform`, with early starts more likely: free capacity · e^(−(t − est) / window)."


class OfferRule(Choice):
    """How many starts the generator `first` offers."""

    RUNS = "runs", "All feasible starts."
    QUOTA = "quota", "The thesis's quota of earliest starts."


class BackfillScope(Choice):
    """Which jobs ask for an earlier start after an early end."""

    SAME_NODES = "same-nodes", "The next jobs on the freed nodes ask these nodes (the thesis)."
    ALL_NODES = (
        "all-nodes",
        (
            "All jobs that have not started ask all nodes, in arrival order, for an earlier start, or for the same"
            " start on nodes that fit better."
        ),
    )


@dataclass(frozen=True, slots=True)
class SetUp(AnySetUp):
    """Settings of a DARDIS scheduler: keys of `--set`."""

    asks_nodes: ClassVar[bool] = True
    samples: ClassVar[bool] = True
    rounds: ClassVar[bool] = True
    switches: ClassVar[bool] = True
    bears_failures: ClassVar[bool] = True

    generator: Generator
    selection: Selection
    node_choice: NodeChoice
    backfill: OnOff = setting(
        about="Whether jobs with reservations ask for earlier starts when a job ends before its walltime."
    )
    start_grain_s: int = setting(60, about="Distance in s of drawn starts, counted from the earliest start.")
    offers: OfferRule = OfferRule.RUNS
    backfill_depth: int = setting(
        0,
        least=0,
        about="Number of jobs that ask. With `same-nodes`: later jobs of each freed node (0: its number of cores). With"
        " `all-nodes`: jobs of the queue (0: all).",
    )
    backfill_scope: BackfillScope = BackfillScope.SAME_NODES
    further_windows: int = setting(
        3,
        least=0,
        most=20,
        about="Windows that follow the job's own, before that after the last reservation (thesis 5.3.6).",
    )

    @property
    def grain(self) -> int:
        """Step of starts, in s: only drawn starts lie on a grid."""
        return 1 if self.generator is Generator.FIRST else self.start_grain_s

    @property
    def drawn(self) -> bool:
        """Whether nodes first offer a quota."""
        return self.generator is not Generator.FIRST or self.offers is OfferRule.QUOTA

    @property
    def seeded(self) -> bool:
        """Whether starts or nodes are drawn."""
        drawn = self.generator is not Generator.FIRST or self.selection.draws
        return drawn or self.node_choice is NodeChoice.RANDOM


SETUPS: dict[str, SetUp] = {
    "dardis-throughput": SetUp(
        Generator.FIRST, Selection.MIN_START, NodeChoice.BEST_FIT, OnOff.ON,
        about="earliest common start, asks again after early ends (thesis 5.3.3)",
    ),
    "dardis-profile": SetUp(
        Generator.UNIFORM, Selection.RANDOM, NodeChoice.RANDOM, OnOff.OFF, deadlines="factor:1",
        about="start times drawn in proportion to the free capacity below the desired profile (thesis 5.3.4)",
    ),
    "dardis-balance": SetUp(
        Generator.EXPONENTIAL, Selection.MAX_PROBABILITY, NodeChoice.WORST_FIT, OnOff.OFF, deadlines="factor:1",
        about="drawn start times, early ones more likely; emptiest start and nodes (thesis 5.3.5)",
    ),
    "dardis-conservative": SetUp(
        Generator.FIRST, Selection.MIN_START, NodeChoice.BEST_FIT, OnOff.ON, backfill_scope=BackfillScope.ALL_NODES,
        about="earliest common start, all ask again at every end: conservative backfilling without a queue (ours)",
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reach:
    """Communication with node managers. Decisions depend on `sample`, not on `arity`."""

    arity: int = 0
    """Children per host in the tree that sums offers; 0: no tree."""
    sample: int = 0
    """Nodes in the first sample per unit; 0: all."""

    def levels(self, hosts: int) -> int:
        """Tree levels below the root."""
        return levels_below(hosts, self.arity) if self.arity else 0

    @property
    def questions(self) -> int:
        """Most queries of a round: trees need two."""
        return 2 if self.arity else 1


EVERY_HOST = Reach()

LEAST_MULTIPLE, LARGEST_MULTIPLE = 1.1, 10.0


def _multiple(text: str) -> float:
    if not LEAST_MULTIPLE <= (value := decimal_number(text)) <= LARGEST_MULTIPLE:
        raise ValueError
    return value


@dataclass(frozen=True, slots=True)
class LateSetUp(AnySetUp):
    """Settings of late binding: keys of `--set`.

    No samples: all profiles are known.
    """

    asks_nodes: ClassVar[bool] = True
    switches: ClassVar[bool] = True
    shares_profile: ClassVar[bool] = True
    bears_failures: ClassVar[bool] = True

    longest_wait: float = setting(
        1.5,
        values=f"{LEAST_MULTIPLE:g} to {LARGEST_MULTIPLE:g}",
        parse=_multiple,
        about="Intended longest wait relative to that of `easy`. With larger values, mean waits are shorter and longest"
        " waits longer. A job is old after (`longest_wait` − 0.25) · A and the smaller of A and `aged_after_s`, where"
        " A is the largest late backlog in s. The job that became old first goes first.",
    )
    aged_after_s: int = setting(14_400, about="Most seconds of the age that do not grow with `longest_wait`.")
    expected: Expecting = Expecting.USED_SHARE
    node_choice: NodeChoice = NodeChoice.BEST_FIT
    about: str = setting(
        "late binding in one common order, with one reservation in total (ours, docs/late.md)", key=False
    )

    @property
    def seeded(self) -> bool:
        """Whether nodes are drawn, or predictions."""
        return self.node_choice is NodeChoice.RANDOM or self.expected is Expecting.LEARNED

    @property
    def expecting(self) -> Expecting:
        """As set. It orders jobs; reservations last for the walltime."""
        return self.expected

    @property
    def search(self) -> SetUp:
        """Search for the earliest start."""
        return SetUp(
            Generator.FIRST, Selection.MIN_START, self.node_choice, OnOff.OFF, units_per_node=self.units_per_node,
            profile=self.profile, profile_split=self.profile_split, backfill_scope=BackfillScope.ALL_NODES,
        )  # fmt: skip


LATE_SETUPS = {"dardis-late": LateSetUp()}
