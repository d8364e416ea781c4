"""`dardis/Queue-v0`: an agent picks the next job of one queue."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from dardis.gym.env_inputs import (
    PlatformLike,
    TraceLike,
    check_choice,
    check_count,
    choose_start,
    expected_runtimes,
    read_inputs,
)
from dardis.gym.queue_episodes import Episode, QueueEpisodes
from dardis.kernels.jit import lock_compilation
from dardis.kernels.queue_decisions import SLOWED, WAITED
from dardis.model.arrays import Bools, Ints
from dardis.model.choices import Expecting
from dardis.model.errors import InputError
from dardis.model.job import ActualJob
from dardis.model.schedule import Schedule
from dardis.runs.queue_runs import BACKFILLS

if TYPE_CHECKING:
    from pandas import DataFrame

Observation = dict[str, NDArray[np.float32]]
HORIZON_S: Final = (0, 600, 1800, 3600, 7200, 14_400, 43_200, 86_400)
REWARDS: Final[Mapping[object, int]] = {"bounded_slowdown": SLOWED, "wait": WAITED}
UNIT_S: Final = 3600
"""Unit of the reward `wait`."""


class QueueEnv(gymnasium.Env[Observation, np.int64]):
    """Queue of `trace` on `platform`, in which the agent picks the next job; options in docs/gym.md.

    Raises InputError.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 (as in the base class)

    def __init__(
        self, trace: TraceLike | DataFrame, platform: PlatformLike, *, backfill: str | None = "easy",
        jobs_per_episode: int | None = 256, jobs_seen: int = 128, horizon_s: Sequence[int] = HORIZON_S,
        reward: str | Callable[[Episode], float] = "bounded_slowdown", each_step: bool = False,
        expected: str = "walltime",
    ) -> None:  # fmt: skip
        check_choice("backfill", backfill, BACKFILLS)
        self._places = check_count("jobs_seen", jobs_seen)
        self._horizon = _horizon(horizon_s)
        self._function = reward if callable(reward) else None
        self._column = SLOWED if callable(reward) else check_choice("reward", reward, REWARDS)
        if each_step and callable(reward):
            raise InputError("each_step", "a reward of the complete episode", f"one of {', '.join(map(str, REWARDS))}")
        self._each_step = each_step
        expecting = check_choice("expected", expected, {str(one): one for one in Expecting})
        inputs = read_inputs(trace, platform, BACKFILLS[backfill], {})
        runtimes = None
        if expecting is not Expecting.WALLTIME:
            waits = dict(zip(inputs.sources.trace.number.tolist(), inputs.sources.trace.wait.tolist(), strict=True))
            runtimes = expected_runtimes(inputs.jobs, [waits[job.number] for job in inputs.jobs], expecting)
        self._episodes = episodes = QueueEpisodes(inputs.jobs, inputs.platform, backfill, runtimes)
        count = len(episodes.jobs)
        what = "the jobs that can run"
        self._jobs = (
            count if jobs_per_episode is None else check_count("jobs_per_episode", jobs_per_episode, count, what)
        )
        self.action_space = spaces.Discrete(self._places)
        free = spaces.Box(0.0, 1.0, (len(self._horizon), len(episodes.total)), np.float32)
        jobs = spaces.Box(0.0, 1.0, (self._places, 5), np.float32)
        self.observation_space = spaces.Dict({"jobs": jobs, "free": free})  # type: ignore[assignment]
        self._is_due = False
        with lock_compilation("queue-environment") as is_compiled:
            if not is_compiled:
                episodes.begin(0, 1, 1, self._horizon).advance()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:  # fmt: skip
        """Begin an episode, with a random job or `options["first"]`."""
        super().reset(seed=seed)
        self._first = choose_start(options, len(self._episodes.jobs) - self._jobs + 1, self.np_random)
        self._decisions = self._episodes.begin(self._first, self._jobs, self._places, self._horizon)
        self._is_due = self._decisions.advance()
        return self._observation(), self._info()

    def step(self, action: np.int64 | int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Pick a waiting job by place; a place without a job means the first job."""
        place = int(action)
        if not 0 <= place < self._places:
            raise InputError("action", str(place), f"a whole number from 0 to {self._places - 1}")
        if not self._is_due:
            raise InputError("step", "the episode is over", "a call of reset")
        view = self._decisions.view
        before = float(view.sums[self._column]) if self._each_step else 0.0
        self._is_due = due = self._decisions.advance(place if view.mask[place] else 0)
        reward = 0.0 if due and not self._each_step else self._reward_since(before)
        return self._observation(), reward, not due, False, self._info()

    def action_masks(self) -> Bools:
        """Places with a waiting job, (jobs_seen,)."""
        return self._decisions.view.mask.copy()

    @property
    def jobs(self) -> Sequence[ActualJob]:
        """Jobs that can run, in order of submission."""
        return self._episodes.jobs

    def schedule(self) -> Schedule:
        """Schedule of the episode, which is over; `digest()` equals that of `dardis.simulate`. Raises InputError."""
        self._check_over("schedule")
        return self._episodes.schedule(self._decisions, self._first)

    def episode(self) -> Episode:
        """Arrays of the episode, which is over. Raises InputError."""
        self._check_over("episode")
        return self._episodes.arrays(self._decisions, self._first)

    def _check_over(self, what: str) -> None:
        if self._is_due:
            raise InputError(what, "jobs still wait", "the end of the episode")

    def _reward_since(self, before: float) -> float:
        if self._function is not None:
            return float(self._function(self.episode()))
        unit = UNIT_S if self._column == WAITED else 1
        return (before - float(self._decisions.view.sums[self._column])) / (unit * self._jobs)

    def _observation(self) -> Observation:
        view = self._decisions.view
        return {"jobs": view.jobs.copy(), "free": view.free.copy()}

    def _info(self) -> dict[str, Any]:
        info: dict[str, Any] = {"action_mask": self._decisions.view.mask.astype(np.int8)}
        if not self._is_due:
            sums = self._decisions.view.sums / self._jobs
            info |= {"mean_wait_s": float(sums[WAITED]), "mean_bounded_slowdown": float(sums[SLOWED])}
        return info


def _horizon(stated: Sequence[int]) -> Ints:
    try:
        horizon = np.array(stated, dtype=np.int64)
    except (TypeError, ValueError, OverflowError):
        raise InputError("horizon_s", repr(stated), "whole seconds from now, ascending from 0") from None
    if horizon.ndim != 1 or len(horizon) == 0 or horizon[0] != 0 or (np.diff(horizon) <= 0).any():
        raise InputError("horizon_s", repr(stated), "whole seconds from now, ascending from 0")
    return horizon
