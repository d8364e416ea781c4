"""Set-ups of the constraint-solver dispatchers."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, ClassVar

from dardis.config.settings import setting
from dardis.dispatch.cp import eurora_scheduler, pcp_nodes, pools
from dardis.dispatch.cp.decision_problem import DecisionModel
from dardis.dispatch.cp.eurora_scheduler import Eurora, Pacing
from dardis.dispatch.cp.pcp_nodes import Aim, NodeModelLimits, Pcp14, Pcp19
from dardis.dispatch.cp.pools import Hcp19
from dardis.dispatch.cp.portfolio import Portfolio, Ranges
from dardis.dispatch.cp.positions import pcp20
from dardis.dispatch.cp.positions.pcp20 import Pcp20
from dardis.dispatch.cp.search_effort import Effort
from dardis.dispatch.cp.solver_dispatcher import ModelPass
from dardis.dispatch.queue_pass import QueuePass
from dardis.dispatch.setups import ProfileCheck, QueueSetUp
from dardis.model.choices import Choice, Correction, OnOff, UnitsPerNode
from dardis.model.errors import InputError
from dardis.model.platform import Platform

if TYPE_CHECKING:
    from typing import Self

NEWEST = 3
"""Last version of PCP'19 and HCP'19."""


class DecisionCost(Choice):
    """When decisions of a solver take effect."""

    NONE = "none", "Immediately."
    DETERMINISTIC = (
        "deterministic",
        "After the solver's deterministic seconds, rounded up, without other decisions meanwhile.",
    )


def _positive(text: str) -> float:
    value = float(text)
    if not 0 < value < inf:
        raise ValueError(text)
    return value


def _factor(text: str) -> float:
    value = float(text)
    if not 0 <= value < inf:
        raise ValueError(text)
    return value


def _version(text: str) -> int:
    if text not in ("0", "1", "2", "3"):
        raise ValueError(text)
    return int(text)


MANY_CONFLICTS = 1_000_000
"""Without a heuristic answer: a short search finds nothing."""
_SECONDS = "deterministic seconds above 0"
_TOO_LARGE = "in the largest model. Above it, the heuristic's answer counts, and `solver.csv` says `too_large`."
_VERSION = (
    "Version of PCP'19's table 1. 0 is the original; 1 has smaller models; 2 gives jobs that exceed the expected"
    " runtime one more second; 3 uses runtimes."
)


@dataclass(frozen=True, slots=True)
class SearchingSetUp(QueueSetUp):
    """Search limits of solver dispatchers."""

    delta: float = setting(1.0, values=_SECONDS, parse=_positive, about="Limit of a first search (δ).")
    delta_max: float = setting(16.0, values=_SECONDS, parse=_positive, about="Limit of every search (δ_max).")
    restarts: int = setting(
        2,
        least=0,
        about="Largest number of repetitions of a search without result (k), each with twice the limit.",
    )
    conflicts: int = setting(
        0,
        zero="default",
        about="Conflicts in one search, since deterministic time does not bound large models. By default few (1,000"
        " for `hcp19` and `replan`, 200 for the others) if the heuristic has an answer, a million with"
        " `shortcuts=off`.",
    )
    guard_s: int = setting(
        0,
        zero="off",
        about="Seconds of wall time after which a search is stopped. Then `stopped_by` in `metrics.json` and"
        " `solver.csv` is `time`, and a repeated run may have another schedule.",
    )

    few_conflicts: ClassVar[int] = pools.CONFLICTS
    """With a heuristic answer: more rarely improve."""

    @property
    def answers_first(self) -> bool:
        """Whether a heuristic answer comes first."""
        return True

    @property
    def effort(self) -> Effort:
        """Search's bounds."""
        conflicts = self.conflicts or (self.few_conflicts if self.answers_first else MANY_CONFLICTS)
        return Effort(self.delta, self.delta_max, self.restarts, conflicts, float(self.guard_s or inf))

    def checked(self) -> Self:
        """Check the settings."""
        if self.delta > self.delta_max:
            raise InputError(f"--set delta={self.delta:g}", f"is above delta_max={self.delta_max:g}", "no more")
        return self


@dataclass(frozen=True, slots=True)
class ModelSetUp(QueueSetUp):
    """Base of dispatchers with a decision model."""

    obeys_shapes: ClassVar[bool] = True
    keeps_closed: ClassVar[bool] = False

    @property
    def seeded_pass(self) -> bool:
        """Searches use the seed."""
        return True

    def new_pass(self, platform: Platform, seed: int) -> QueuePass:  # noqa: ARG002 (`see_empty` gets the machine)
        """Pass with a model."""
        return self.model_pass(seed)

    def model_pass(self, seed: int) -> ModelPass:
        """Pass with a model."""
        return ModelPass(
            self.model(),
            seed,
            distinct=self.units_per_node is UnitsPerNode.DISTINCT,
            shortcuts=self.needs_startable_job,
            takes_time=self.takes_time,
            keeps_closed=self.keeps_closed,
            again_s=self.repeat_s,
            fills_idle=self.fills_idle,
        )

    @property
    def needs_startable_job(self) -> bool:
        """Whether the model runs only if a job could start."""
        return True

    @property
    def repeat_s(self) -> int | None:
        """Time to the next decision after a start; None: next event."""
        return None

    @property
    def fills_idle(self) -> bool:
        """Whether jobs that fit start on an idle machine, as the model may start none."""
        return True

    @abstractmethod
    def model(self) -> DecisionModel:
        """Decision model."""


@dataclass(frozen=True, slots=True)
class CpSetUp(ModelSetUp, SearchingSetUp):
    """Base of dispatchers with a constraint solver."""

    shortcuts: OnOff = setting(
        OnOff.ON, about="Whether a heuristic answers first, and the solver searches only for possible improvements."
    )
    decision_cost: DecisionCost = DecisionCost.NONE

    @property
    def answers_first(self) -> bool:
        """As set."""
        return self.shortcuts is OnOff.ON

    @property
    def needs_startable_job(self) -> bool:
        """As set."""
        return self.answers_first

    @property
    def takes_time(self) -> bool:
        """As set."""
        return self.decision_cost is DecisionCost.DETERMINISTIC


@dataclass(frozen=True, slots=True)
class NodeModelSetUp(CpSetUp):
    """Base of models with units on nodes."""

    few_conflicts: ClassVar[int] = pcp_nodes.CONFLICTS
    most_places: int = setting(pcp_nodes.MOST_PLACES, about=f"Pairs of job and node {_TOO_LARGE}")

    @property
    def search_limits(self) -> NodeModelLimits:
        """Solver's limits."""
        return NodeModelLimits(self.effort, self.most_places, self.answers_first)


@dataclass(frozen=True, slots=True)
class Pcp14SetUp(NodeModelSetUp):
    """PCP'14 (thesis 3)."""

    objective: Aim = Aim.MAKESPAN
    composite: OnOff = setting(
        OnOff.ON,
        about="Whether the two other objectives are bounded by `delta_0` and `delta_1` times their best values."
        " If no known answer keeps these bounds, they widen to the nearest answer.",
    )
    delta_0: float = setting(
        1.0, values="a factor from 0", parse=_factor, about="Factor of the first bound of `composite`."
    )
    delta_1: float = setting(
        1.0, values="a factor from 0", parse=_factor, about="Factor of the second bound of `composite`."
    )
    pools: OnOff = setting(
        OnOff.OFF,
        about="Whether a relaxation with pools of nodes replaces a model above `most_places`, which is then not"
        " `too_large`. The nodes follow in the order of its starts.",
    )

    @property
    def search_limits(self) -> NodeModelLimits:
        """Solver's limits."""
        return replace(super(Pcp14SetUp, self).search_limits, pools=self.pools is OnOff.ON)

    @property
    def needs_deadlines(self) -> bool:
        """Tardiness and late jobs need expected waits."""
        return self.composite is OnOff.ON or self.objective is not Aim.MAKESPAN

    def model(self) -> Pcp14:
        """As set."""
        return Pcp14(self.objective, self.composite is OnOff.ON, (self.delta_0, self.delta_1), self.search_limits)


@dataclass(frozen=True, slots=True)
class Pcp19SetUp(NodeModelSetUp):
    """PCP'19 (002)."""

    correction: Correction = Correction.SECOND
    version: int = setting(NEWEST, values="0|1|2|3", parse=_version, about=_VERSION)

    @property
    def needs_deadlines(self) -> bool:
        """Earlier versions need expected waits."""
        return self.version < NEWEST

    def model(self) -> Pcp19:
        """As set."""
        return Pcp19(self.version, self.search_limits)


@dataclass(frozen=True, slots=True)
class Hcp19SetUp(CpSetUp):
    """HCP'19 (002)."""

    correction: Correction = Correction.SECOND
    version: int = setting(NEWEST, values="0|1|2|3", parse=_version, about=_VERSION)
    model_jobs: int = setting(100, about="Jobs in the model (m), in order of arrival.")

    @property
    def needs_deadlines(self) -> bool:
        """Earlier versions need expected waits."""
        return self.version < NEWEST

    def model(self) -> Hcp19:
        """As set."""
        return Hcp19(self.version, self.model_jobs, self.effort, self.answers_first)


@dataclass(frozen=True, slots=True)
class Pcp20SetUp(CpSetUp):
    """PCP'20 (003)."""

    bears_failures: ClassVar[bool] = False
    """Running jobs may hold positions that must stay free."""
    correction: Correction = Correction.SECOND
    delta: float = setting(pcp20.EFFORT.first_s, values=_SECONDS, parse=_positive)
    delta_max: float = setting(pcp20.EFFORT.longest_s, values=_SECONDS, parse=_positive)
    few_conflicts: ClassVar[int] = pcp20.EFFORT.conflicts
    most_boxes: int = setting(pcp20.MOST_BOXES, about=f"Boxes {_TOO_LARGE}")

    def model(self) -> Pcp20:
        """As set."""
        effort = replace(self.effort, linear=pcp20.EFFORT.linear, presolve=pcp20.EFFORT.presolve)
        return Pcp20(effort, self.most_boxes, self.answers_first)


@dataclass(frozen=True, slots=True)
class EuroraBaseSetUp(CpSetUp):
    """Base of Eurora dispatchers: δ follows search times (thesis 4.4)."""

    few_conflicts: ClassVar[int] = pcp_nodes.CONFLICTS
    # The model always follows the desired profile; K₁, K₂ and M replace the hidden settings.
    profile_check: ProfileCheck = setting(ProfileCheck.SPAN, key=False)
    delta: float = setting(1.0, key=False)
    delta_max: float = setting(300.0, key=False)
    restarts: int = setting(0, key=False)
    k1: float = setting(
        1.0,
        values=_SECONDS,
        parse=_positive,
        about="δ of the first cycle. Later cycles add the time of the last one to its first solution (K₁).",
    )
    k2: float = setting(
        2.0,
        values="a factor above 0",
        parse=_positive,
        about="Factor of δ after a run without solution (K₂).",
    )
    m: int = setting(3, about="Largest number of runs until a solution (M).")
    most_places: int = setting(
        200,
        about="Pairs of job and node in the largest model. The model takes the jobs that start first in the heuristic's"
        " answer. If even the first has too many pairs, no model is built, and `solver.csv` says `too_large`.",
    )
    exchanges: int = setting(2000, least=0, about="Number of other orders that the heuristic tries.")
    plan_jobs: int = setting(100, about="Number of jobs in these orders: those that start first.")

    def model(self) -> Eurora:
        """As set."""
        pacing, effort = Pacing(self.k1, self.k2, self.m), self.effort
        return Eurora(
            eurora_scheduler.EuroraLimits(
                pacing,
                self.most_places,
                self.exchanges,
                self.plan_jobs,
                effort.conflicts,
                effort.guard_s,
                self.answers_first,
            )
        )


@dataclass(frozen=True, slots=True)
class EuroraSetUp(EuroraBaseSetUp):
    """Eurora scheduler (thesis 4)."""

    keeps_closed: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class PortfolioSetUp(EuroraBaseSetUp):
    """Rule, the Eurora scheduler or `pbs-walltime`, by working range (thesis 4.5.2)."""

    light: int = setting(
        9,
        least=0,
        about="Units per node from which `cp-eurora` decides. Below, each job that fits starts, the shortest walltime"
        " first. With 4 and 8, waits were equal on 65 nodes; with 11, 15 and 30, the model's were 3, 9 and 34 % less.",
    )
    heavy: int = setting(
        266_500,
        least=0,
        about="Units · nodes from which `pbs-walltime` decides: the thesis's 4,100 units on 65 nodes (it also has"
        " 270,000).",
    )

    def new_pass(self, platform: Platform, seed: int) -> Portfolio:  # noqa: ARG002 (`see_empty` gets the machine)
        """By working range."""
        return Portfolio(self.model_pass(seed), Ranges(self.light, self.heavy))


CP_SETUPS: dict[str, CpSetUp] = {
    "pcp14": Pcp14SetUp(about="a constraint model over nodes for all waiting jobs, makespan first (PCP'14, thesis 3)"),
    "pcp19": Pcp19SetUp(about="a constraint model over nodes for startable jobs, least slowdowns (PCP'19)"),
    "hcp19": Hcp19SetUp(about="a constraint model of sums for the first waiting jobs, then nodes by best fit (HCP'19)"),
    "pcp20": Pcp20SetUp(about="a constraint model of positions on lines of resources for startable jobs (PCP'20)"),
    "cp-eurora": EuroraSetUp(about="a constraint model over nodes for all jobs, least waits by queue (thesis 4)"),
    "portfolio": PortfolioSetUp(about="a rule, cp-eurora or pbs-walltime, by the submissions of a day (thesis 4)"),
}
