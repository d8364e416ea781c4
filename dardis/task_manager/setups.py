"""The set-ups of the thesis by name, and every setting that can be chosen by hand instead."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from dardis.config.set_up import AnySetUp
from dardis.config.settings import setting
from dardis.model.choices import NodeChoice, OnOff
from dardis.model.host_tree import levels_below


class Generator(StrEnum):
    """Which start times a node offers (thesis 5.3.3 to 5.3.5, 7.5)."""

    FIRST = "first"
    UNIFORM = "uniform"
    EXPONENTIAL = "exponential"


class Selection(StrEnum):
    """Which common start a task manager takes (thesis 7.5)."""

    MIN_START = "min-start"
    MAX_PROBABILITY = "max-probability"
    RANDOM = "random"


class OfferRule(StrEnum):
    """Whether the first generator offers all its runs or the thesis's quota of start times."""

    RUNS = "runs"
    QUOTA = "quota"


class BackfillScope(StrEnum):
    """Who asks again after an early end: the next jobs on the freed nodes, or all that wait, of all nodes."""

    SAME_NODES = "same-nodes"
    ALL_NODES = "all-nodes"


@dataclass(frozen=True, slots=True)
class SetUp(AnySetUp):
    """What makes one DARDIS scheduler differ from another. Field names are the keys of `--set`."""

    asks_nodes: ClassVar[bool] = True
    samples: ClassVar[bool] = True
    rounds: ClassVar[bool] = True
    switches: ClassVar[bool] = True
    bears_failures: ClassVar[bool] = True

    generator: Generator
    selection: Selection
    node_choice: NodeChoice
    backfill: OnOff
    start_grain_s: int = 60
    offers: OfferRule = OfferRule.RUNS
    backfill_depth: int = setting(0, least=0)
    """Later jobs a node tells of an early end; 0: the node's cores (same-nodes) or all (all-nodes)."""
    backfill_scope: BackfillScope = BackfillScope.SAME_NODES

    @property
    def grain(self) -> int:
        """Distance of the start times it considers, in s: only drawn ones lie on a grid."""
        return 1 if self.generator is Generator.FIRST else self.start_grain_s

    @property
    def drawn(self) -> bool:
        """Whether nodes offer a quota of start times before they offer all."""
        return self.generator is not Generator.FIRST or self.offers is OfferRule.QUOTA

    @property
    def seeded(self) -> bool:
        """Whether starts or nodes are drawn."""
        drawn = self.generator is not Generator.FIRST or self.selection is Selection.RANDOM
        return drawn or self.node_choice is NodeChoice.RANDOM


SETUPS: dict[str, SetUp] = {
    "dardis-throughput": SetUp(
        Generator.FIRST, Selection.MIN_START, NodeChoice.BEST_FIT, OnOff.ON,
        about="earliest common start, asks again after early ends (thesis 5.3.3)",
    ),
    "dardis-profile": SetUp(
        Generator.UNIFORM, Selection.RANDOM, NodeChoice.RANDOM, OnOff.OFF, deadlines="factor:1",
        about="start times drawn in proportion to the room below the desired profile (thesis 5.3.4)",
    ),
    "dardis-balance": SetUp(
        Generator.EXPONENTIAL, Selection.MAX_PROBABILITY, NodeChoice.WORST_FIT, OnOff.OFF, deadlines="factor:1",
        about="drawn start times, early ones likelier; the emptiest start and nodes (thesis 5.3.5)",
    ),
    "dardis-conservative": SetUp(
        Generator.FIRST, Selection.MIN_START, NodeChoice.BEST_FIT, OnOff.ON, backfill_scope=BackfillScope.ALL_NODES,
        about="earliest common start, all ask again at every end: conservative backfilling without a queue (ours)",
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reach:
    """How task managers reach node managers. The decision is the same for any `arity`, another one with a `sample`."""

    arity: int = 0
    """Children of a host in the tree that sums offers; 0: every host answers the task manager (flat)."""
    sample: int = 0
    """Nodes that are asked first, for each unit of the job; 0: all."""

    def levels(self, hosts: int) -> int:
        """Levels below the root of the tree of so many hosts; 0 without one."""
        return levels_below(hosts, self.arity) if self.arity else 0

    @property
    def questions(self) -> int:
        """Questions of a round, one after the other, at most: a tree is asked for sums, then for candidates."""
        return 2 if self.arity else 1


EVERY_HOST = Reach()


@dataclass(frozen=True, slots=True)
class LateSetUp(AnySetUp):
    """The late set-up's settings. Field names are the keys of `--set`.

    It samples nobody: a job that binds late knows what all nodes have published.
    """

    asks_nodes: ClassVar[bool] = True
    switches: ClassVar[bool] = True
    bears_failures: ClassVar[bool] = True

    aged_after_s: int = 14_400
    """How much longer than the work that was there when it came takes a job waits until it is old, in s."""
    aged_work_s: int = 172_800
    """Of the time that this work takes, at most so much counts, in s: walltimes may be many times what jobs use."""
    node_choice: NodeChoice = NodeChoice.BEST_FIT
    about: str = setting(
        "late binding in one agreed order, one reservation in the whole system (ours, docs/late.md)", key=False
    )

    @property
    def seeded(self) -> bool:
        """Whether nodes are drawn."""
        return self.node_choice is NodeChoice.RANDOM

    @property
    def search(self) -> SetUp:
        """How a job that reserves looks for its earliest start."""
        return SetUp(
            Generator.FIRST, Selection.MIN_START, self.node_choice, OnOff.OFF, units_per_node=self.units_per_node,
            profile=self.profile, profile_split=self.profile_split, backfill_scope=BackfillScope.ALL_NODES,
        )  # fmt: skip


LATE_SETUPS = {"dardis-late": LateSetUp()}
