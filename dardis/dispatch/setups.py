"""Central dispatchers by name, with settings.

Jobs behind the first blocked job wait (strict), may start (relaxed), or may start beside reservations of the first
`backfill_depth` blocked jobs (EASY: 1, conservative: all).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from dardis.config.settings import AnySetUp, setting
from dardis.dispatch.queue_orders import (
    MULTIFACTOR,
    ORDERS,
    MultifactorWeights,
    TimedOrder,
    order_name,
    order_of,
    rule_of,
    sort_numbers,
)
from dardis.model.choices import Choice, Correction, Expecting, NodeChoice, OnOff, ProfileRule
from dardis.model.errors import InputError
from dardis.model.job import FOREVER
from dardis.model.platform import Platform

if TYPE_CHECKING:
    from dardis.dispatch.queue_pass import JobByJobPass, QueuePass
    from dardis.dispatch.rule import Rule

SAME_AS_RULE = "rule"
_KNOWN = "|".join(ORDERS)


class Ordering(Choice):
    """What becomes of the jobs behind one that cannot start (thesis algorithm 1)."""

    STRICT = "strict", "They wait."
    RELAXED = "relaxed", "They may start: the job is skipped."


class ProfileCheck(Choice):
    """When a run must respect the desired profile."""

    INSTANT = (
        "instant",
        (
            "At its start (thesis algorithm 4): running jobs may exceed a hard profile that falls later. A job whose"
            " nodes must boot is tested at its decision. With backfilling, a job that only the profile prevents from"
            " starting has a reservation."
        ),
    )
    SPAN = "span", "During the complete run."


def _order_or_same(text: str) -> str:
    return text if text == SAME_AS_RULE else order_name(text)


@dataclass(frozen=True, slots=True)
class QueueSetUp(AnySetUp):
    """Base of dispatchers with a single queue."""

    bears_failures: ClassVar[bool] = True
    has_plain_pass: ClassVar[bool] = False
    """Whether `new_pass` gives a `JobByJobPass`."""
    profile_check: ProfileCheck = ProfileCheck.SPAN
    node_choice: NodeChoice = NodeChoice.BEST_FIT
    expected: Expecting = Expecting.WALLTIME
    correction: Correction = Correction.STEPS

    @property
    def expecting(self) -> Expecting:
        """As set."""
        return self.expected

    @property
    def seeded(self) -> bool:
        """Whether schedules use the seed."""
        drawn = self.node_choice is NodeChoice.RANDOM or self.expected is Expecting.LEARNED
        return drawn or self.seeded_pass

    @property
    def seeded_pass(self) -> bool:
        """Whether passes use the seed."""
        return False

    @property
    def checks_starts_only(self) -> bool:
        """See `AnySetUp.checks_starts_only`."""
        return self.profile is ProfileRule.HARD and self.profile_check is ProfileCheck.INSTANT

    @property
    def step_s(self) -> int:
        """Seconds between decisions from the first on; 1: at each event."""
        return 1

    @property
    def keeps_promises(self) -> bool:
        """Whether reservations may persist. Predictions are no promise: each pass reserves anew."""
        return self.expected is Expecting.WALLTIME

    @property
    def takes_time(self) -> bool:
        """Whether starts wait for the solver's time."""
        return False

    @abstractmethod
    def new_pass(self, platform: Platform, seed: int) -> QueuePass:
        """Pass method."""


@dataclass(frozen=True, slots=True)
class CentralSetUp(QueueSetUp):
    """Ordered queue, optionally with reservations. Field names are keys of `--set`."""

    obeys_shapes: ClassVar[bool] = True
    switches: ClassVar[bool] = True
    has_plain_pass: ClassVar[bool] = True

    rule: str = setting("fcfs", values=_KNOWN, parse=order_name, about="Order of the queue.")
    order: str = setting(
        SAME_AS_RULE,
        values=f"{SAME_AS_RULE}|{_KNOWN}",
        parse=_order_or_same,
        about="Order of backfilling after the first job that cannot start: `easy --set order=sjbf`. Without"
        " backfilling, order of the complete queue.",
    )
    ordering: Ordering = Ordering.STRICT
    backfill: OnOff = setting(
        OnOff.OFF, about="Whether jobs after the first that cannot start may start without delaying a reservation."
    )
    backfill_depth: int = setting(
        1,
        zero="unlimited",
        about="Number of jobs with reservations. With a number, each queue pass makes new reservations (1 is EASY)."
        " With `unlimited`, jobs keep reservations, which improve in arrival order at every end (conservative).",
    )
    backfill_window: int = setting(
        0, zero="unlimited", about="Number of jobs that backfilling tries, from the first that cannot start."
    )
    age_weight: int = setting(MultifactorWeights().age, least=0, about="In `multifactor`: weight of age.")
    size_weight: int = setting(MultifactorWeights().size, least=0, about="In `multifactor`: weight of cores.")
    queue_weight: int = setting(
        MultifactorWeights().queue,
        least=0,
        about="In `multifactor`: weight of the priority of the job's queue over the largest one (without its sign). 0:"
        " priorities of queues precede the order, as in all orders and in Slurm's `PriorityTier`. Above 0, if it is"
        " the `rule`, they count only in the sum, as in `PriorityJobFactor`.",
    )
    max_age_s: int = setting(
        MultifactorWeights().max_age_s,
        about="In `multifactor`: age in s from which it no longer grows (`PriorityMaxAge`).",
    )
    favor_small: OnOff = setting(
        OnOff.OFF, about="In `multifactor`: whether few cores count instead of many (`PriorityFavorSmall`)."
    )
    profile: ProfileRule = ProfileRule.HARD
    profile_check: ProfileCheck = ProfileCheck.INSTANT
    node_choice: NodeChoice = NodeChoice.FIRST_FIT

    def new_pass(self, platform: Platform, seed: int) -> JobByJobPass:  # noqa: ARG002 (no random draws)
        """Job by job."""
        from dardis.dispatch.queue_pass import JobByJobPass  # loads kernels, not needed for settings

        first = order_of(self.rule, platform, self._weights)
        return JobByJobPass(
            keys=(first, first if self.order == self.rule else order_of(self.order, platform, self._weights)),
            strict=self.ordering is Ordering.STRICT,
            backfill=self.backfill is OnOff.ON,
            depth=self.backfill_depth or (0 if self.keeps_promises and self.backfill_window == 0 else FOREVER),
            window=self.backfill_window,
            weighs_levels=self.rule == MULTIFACTOR and self.queue_weight > 0,
        )

    @property
    def _weights(self) -> MultifactorWeights:
        small = self.favor_small is OnOff.ON
        return MultifactorWeights(self.age_weight, self.size_weight, self.queue_weight, self.max_age_s, small)

    def checked(self) -> CentralSetUp:
        """Check and normalise settings."""
        if self.backfill is OnOff.ON and self.ordering is Ordering.RELAXED:
            found = "skips jobs that cannot start, so there is no backfilling"
            raise InputError("--set ordering=relaxed", found, "backfill=off")
        if self.order == SAME_AS_RULE:
            return replace(self, order=self.rule)
        return self if self.backfill is OnOff.ON else replace(self, rule=self.order)

    def check_platform(self, platform: Platform) -> None:
        """Check resource kinds. Raises InputError."""
        for name in (self.rule, self.order):
            order_of(name, platform, self._weights)


@dataclass(frozen=True, slots=True)
class RuleSetUp(QueueSetUp):
    """Base of set-ups of a `dardis.Rule` with backfilling."""

    obeys_shapes: ClassVar[bool] = True
    switches: ClassVar[bool] = True
    has_plain_pass: ClassVar[bool] = True
    make: ClassVar[Any]
    """Builds the rule."""
    is_seeded: ClassVar[bool] = True

    @property
    def seeded_pass(self) -> bool:
        """As the class states."""
        return self.is_seeded

    def new_pass(self, platform: Platform, seed: int) -> JobByJobPass:
        """Job by job, in the rule's order."""
        from dardis.dispatch.queue_pass import JobByJobPass  # loads kernels, not needed for settings

        rule: Rule = self.make(self, platform, None, seed)
        for name in ("free", "waiting", "running"):  # these would be those of the start
            vars(rule).pop(name, None)
        own = TimedOrder(lambda jobs: sort_numbers(rule.keys(jobs, jobs.now or 0), jobs))
        is_easy = rule.backfill == "easy"
        return JobByJobPass(
            keys=(own if rule.reserve == "rule" else rule_of("fcfs", platform), own),
            strict=True,
            backfill=True,
            depth=1 if is_easy else 0 if self.keeps_promises else FOREVER,
            window=0,
        )


def _backfilling(depth: int, about: str, *, rule: str = "fcfs", window: int = 0) -> CentralSetUp:
    return CentralSetUp(
        rule=rule,
        node_choice=NodeChoice.BEST_FIT,
        backfill=OnOff.ON,
        backfill_depth=depth,
        backfill_window=window,
        profile=ProfileRule.SOFT,
        profile_check=ProfileCheck.SPAN,
        about=about,
    )


_RULE = "a queue in this order, stopped by the first job that cannot start (thesis algorithms 1 and 4)"
CENTRAL_SETUPS: dict[str, CentralSetUp] = {
    "rules-fcfs": CentralSetUp(rule="fcfs", about=f"earliest est first: {_RULE}"),
    "rules-df": CentralSetUp(rule="df", about=f"earliest deadline (lst) first: {_RULE}"),
    "rules-wt": CentralSetUp(rule="wt", about=f"shortest walltime first: {_RULE}"),
    "rules-ljf": CentralSetUp(rule="ljf", about=f"longest walltime first: {_RULE}"),
    "rules-profit": CentralSetUp(rule="profit", about=f"most profit per cost first (thesis 6.3): {_RULE}"),
    "easy": _backfilling(1, "FCFS with backfilling that never delays the first waiting job (thesis algorithm 3)"),
    "conservative": _backfilling(0, "FCFS with a reservation for every job; none is delayed (thesis algorithm 2)"),
    "pbs-fifo": _backfilling(
        1, "EASY with backfilling among the first 10 jobs: CINECA's set-up of PBS (thesis 4.5)", window=10
    ),
    "pbs-walltime": _backfilling(
        1, "EASY, shortest walltime first, among the first 400 jobs: PBS set up for short waits (thesis 4.5)",
        rule="wt", window=400,
    ),
}  # fmt: skip
