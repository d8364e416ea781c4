"""Set-up of `replan`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dardis.config.settings import setting
from dardis.dispatch.cp.setups import SearchingSetUp
from dardis.dispatch.replan.queue_plan import ReplanPass
from dardis.kernels.replan import Planning
from dardis.model.choices import Choice, OnOff
from dardis.model.platform import Platform


class PlanWeights(Choice):
    """What a second of a job's wait costs in a plan."""

    AGED = "aged", "(wait + 10 h) / (duration · √cores)."
    SHORT = "short", "1 / duration."


@dataclass(frozen=True, slots=True)
class ReplanSetUp(SearchingSetUp):
    """Plan of waiting jobs."""

    obeys_shapes: ClassVar[bool] = True

    plan_jobs: int = setting(
        100,
        about="Number of planned jobs: the waiting jobs with the largest weights. 50 gave equal means on eight slices"
        " of traces.",
    )
    exchanges: int = setting(
        100,
        least=0,
        about="Number of other orders tried in each plan. They take most of the CPU time and bring most of the gain:"
        " without them, mean waits were 7 to 52 % longer.",
    )
    weights: PlanWeights = PlanWeights.AGED
    solver: OnOff = setting(
        OnOff.OFF,
        about="Whether a constraint solver searches for a better plan. Without it, the settings of searches have no"
        " effect.",
    )

    @property
    def seeded_pass(self) -> bool:
        """Whether exchanges or the solver use the seed."""
        return self.exchanges > 0 or self.solver is OnOff.ON

    def new_pass(self, platform: Platform, seed: int) -> ReplanPass:  # noqa: ARG002 (sums come from the profiles)
        """Pass by plan."""
        improves = self.solver is OnOff.ON
        planning = Planning(self.plan_jobs, self.exchanges, self.weights is PlanWeights.SHORT, improves)
        return ReplanPass(planning, self.effort, seed)


_REPLAN = "plans all waiting jobs in sums over nodes, improves the plan at random, and starts the jobs that start now"
REPLAN_SETUPS: dict[str, ReplanSetUp] = {"replan": ReplanSetUp(about=_REPLAN)}
