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
    """A plan of waiting jobs."""

    obeys_shapes: ClassVar[bool] = True

    plan_jobs: int = setting(
        100,
        about="How many waiting jobs are planned: those of the largest weight. 50 gave as good means on eight slices of"
        " traces.",
    )
    exchanges: int = setting(
        100,
        least=0,
        about="How many other orders are tried in each plan. They take most of the CPU time and bring most of the gain:"
        " without any, mean waits were 7 to 52 % longer.",
    )
    weights: PlanWeights = PlanWeights.AGED
    solver: OnOff = setting(
        OnOff.OFF,
        about="Whether a constraint solver is asked for a better plan. Without it the settings of searches have no"
        " effect.",
    )

    @property
    def seeded_pass(self) -> bool:
        """Whether exchanges or the solver use the seed."""
        return self.exchanges > 0 or self.solver is OnOff.ON

    def new_pass(self, platform: Platform, seed: int) -> ReplanPass:  # noqa: ARG002 (sums come from the profiles)
        """A pass by plan."""
        improves = self.solver is OnOff.ON
        planning = Planning(self.plan_jobs, self.exchanges, self.weights is PlanWeights.SHORT, improves)
        return ReplanPass(planning, self.effort, seed)


_REPLAN = "plans all who wait anew, in sums over nodes, improves the plan by chance, and starts who starts now by it"
REPLAN_SETUPS: dict[str, ReplanSetUp] = {"replan": ReplanSetUp(about=_REPLAN)}
