"""`dardis/Power-v0`: an agent caps the machine for each hour, from prices, weather and queue."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from dardis.gym.capped_hours import SETTINGS, CappedHours
from dardis.gym.env_inputs import PlatformLike, TraceLike, check_choice, check_count, choose_start, read_inputs
from dardis.metrics.power import NoCooling, PowerTerms
from dardis.model.arrays import Floats, Ints
from dardis.model.errors import InputError
from dardis.model.resources import CORES, POWER
from dardis.model.schedule import Schedule
from dardis.model.series import Series
from dardis.power.conditions import HOUR_S
from dardis.power.node_power import MachinePower
from dardis.runs.inputs import Inputs
from dardis.runs.kernel_warmup import warm_kernels

if TYPE_CHECKING:
    from pandas import DataFrame

Observation = dict[str, NDArray[np.float32]]
HOURS_SEEN: Final = 24
DAY_S, WEEK_S = 86_400, 604_800


class Hour(NamedTuple):
    """An hour of an episode. `cap`: share of the machine; `waiting_h`: sum of the jobs' waits."""

    begin_s: int
    cap: float
    cost_eur: float
    energy_kwh: float
    waiting_h: float


class PowerEnv(gymnasium.Env[Observation, Any]):
    """Machine under an hourly cap, scheduled by `dardis-late`; options in docs/gym.md. Raises InputError."""

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 (as in the base class)

    def __init__(
        self, trace: TraceLike | DataFrame, platform: PlatformLike, *, cap: str = CORES, hours: int = 168,
        levels: int | None = None, wait_price: float = 0.1, reward: Callable[[Hour], float] | None = None,
    ) -> None:  # fmt: skip
        self._is_power = bool(check_choice("cap", cap, {CORES: 0, POWER: 1}))
        self._levels = None if levels is None else check_count("levels", levels)
        if self._levels == 1:
            raise InputError("levels", "1", "at least 2, from no job to the complete machine")
        if not isinstance(wait_price, int | float) or not 0 <= wait_price < np.inf:
            raise InputError("wait_price", repr(wait_price), "an amount of money for each hour that a job waits")
        if reward is not None and not callable(reward):
            raise InputError("reward", repr(reward), "None or a function of a dardis.gym.power_env.Hour")
        self._wait_price, self._reward = wait_price, reward
        self._inputs = inputs = read_inputs(trace, platform, "dardis-late", SETTINGS)
        self._terms = _terms(inputs)
        if self._is_power and not MachinePower.of_platform(inputs.platform).stated:
            expected = "power = { idle_w = …, core_w = … } in each [[nodes]], or cap='cores'"
            raise InputError("cap", f"{inputs.platform.name} states no power for some nodes", expected)
        self._submit = np.array([job.submit for job in inputs.jobs], dtype=np.int64)
        self._offset = inputs.unix_start or 0
        first = int(self._submit[0]) - (int(self._submit[0]) + self._offset) % HOUR_S
        self._edges: Ints = np.arange(first, int(self._submit[-1]) + HOUR_S + 1, HOUR_S, dtype=np.int64)
        self._hours = check_count("hours", hours, len(self._edges) - 1, "the hours in which jobs are submitted")
        terms = self._terms
        self._conditions = conditions = terms.environment.over(first, int(self._edges[-1]))
        self._cooling = terms.cooling if terms.cooling and terms.environment.weather is not None else NoCooling()
        hourly = {"prices": conditions.price_per_kwh}
        if terms.environment.weather is not None:
            hourly["temperature"] = conditions.temp_c
        self._series = {
            name: np.pad(Series(conditions.edges, values).means(self._edges), (0, HOURS_SEEN), mode="edge")
            for name, values in hourly.items()
        }
        boxes = {name: _box(values) for name, values in self._series.items()}
        boxes["time"] = spaces.Box(-1.0, 1.0, (4,), np.float32)
        boxes["queue"] = spaces.Box(0.0, 1.0, (3,), np.float32)
        self.observation_space = spaces.Dict(boxes)  # type: ignore[assignment, arg-type]
        if self._levels is None:
            self.action_space = spaces.Box(0.0, 1.0, (1,), np.float32)
        else:
            self.action_space = spaces.Discrete(self._levels)
        self._left = 0
        warm_kernels(inputs.dispatcher, wished=True)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:  # fmt: skip
        """Begin an episode in a random hour of the trace, or in hour `options["first"]`, on the empty machine."""
        super().reset(seed=seed)
        first = choose_start(options, len(self._edges) - self._hours, self.np_random)
        self._place, self._left = first, self._hours
        begin = int(self._edges[first])
        low, high = np.searchsorted(self._submit, [begin, begin + self._hours * HOUR_S]).tolist()
        inputs = self._inputs
        jobs = inputs.jobs[low:high]
        self._run = CappedHours(jobs, inputs.platform, inputs.dispatcher, begin, power=self._is_power)
        return self._observation(), {}

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:  # noqa: ANN401 (of either space)
        """Run an hour under a cap: a share of the machine, or its level."""
        if not self._left:
            raise InputError("step", "the episode is over", "a call of reset")
        share = self._share(action)
        run, begin = self._run, self._run.now
        run.run_hour(round(share * run.most))
        told = run.account(begin, self._conditions, self._cooling, self._terms.tariff)
        cost = told.energy_eur + told.cooling_eur + told.co2_eur
        hour = Hour(begin, share, cost, told.energy_kwh + told.cooling_kwh, run.waiting_s(begin) / 3600)
        self._place += 1
        self._left -= 1
        reward = -(cost + self._wait_price * hour.waiting_h) if self._reward is None else float(self._reward(hour))
        return self._observation(), reward, False, self._left == 0, hour._asdict()

    def schedule(self) -> Schedule:
        """Schedule of the episode's jobs, run to their ends without a cap after its last hour. Raises InputError."""
        if self._left:
            raise InputError("schedule", f"{self._left} hours are left", "the end of the episode")
        self._run.run_to_end()
        return self._run.schedule

    def _share(self, action: Any) -> float:  # noqa: ANN401 (of either space)
        values = np.asarray(action, dtype=np.float64).reshape(-1)
        most = 1 if self._levels is None else self._levels - 1
        whole = self._levels is None or bool((values == np.floor(values)).all())
        if len(values) != 1 or not 0 <= values[0] <= most or not whole:
            raise InputError(
                "action", repr(action), f"{'a number' if self._levels is None else 'a level'} of 0 to {most}"
            )
        return float(values[0]) / most

    def _observation(self) -> Observation:
        unix = self._run.now + self._offset
        angles = 2 * np.pi * np.array([unix % DAY_S / DAY_S, unix % WEEK_S / WEEK_S])
        queue, cores = self._run.state(), self._inputs.platform.cores
        waits = np.array([queue.waiting / cores, queue.waiting_core_s / (cores * DAY_S)])
        seen = slice(self._place, self._place + HOURS_SEEN)
        return {name: values[seen].astype(np.float32) for name, values in self._series.items()} | {
            "time": np.concatenate([np.sin(angles), np.cos(angles)]).astype(np.float32),
            "queue": np.array([queue.used / cores, *(waits / (1 + waits))], dtype=np.float32),
        }


def _terms(inputs: Inputs) -> PowerTerms:
    if inputs.power is None or inputs.power.environment.prices is None:
        raise InputError("platform", f"{inputs.platform.name} states no prices", "the key prices: a file or a number")
    return inputs.power


def _box(values: Floats) -> spaces.Box:
    low, high = np.float32(values.min()), np.float32(values.max())
    return spaces.Box(low, high if low < high else low + np.float32(1), (HOURS_SEEN,), np.float32)
