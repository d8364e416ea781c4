"""Cap on the sum of all nodes of a live service. Pure."""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Final, NamedTuple, TypeVar

from dardis.live.machine import LiveMachine
from dardis.model.errors import InputError
from dardis.model.moments import utc_text
from dardis.model.platform import Platform
from dardis.model.resources import CORES, MOST_WATTS, POWER
from dardis.model.step_function import StepFunction
from dardis.model.target import DesiredProfile, Split
from dardis.power.unit_power import MILLI

MOST_STEPS: Final = 100_000
LAST_UNIX_S: Final = 1 << 36
_PLACE: Final = "cap"
CAP: Final = "cap"
"""Name of the setting in the journal."""


@dataclass(frozen=True)
class Cap:
    """Cap of the IT power (W), or of the used cores, from each time in Unix s; before: no cap.

    `is_hard`: binds all jobs; else deadlines outrank the cap.
    """

    kind: str
    is_hard: bool
    steps: tuple[tuple[int, int], ...]
    source: str = ""
    """Amount or file as stated."""
    is_measured: bool = False
    """Measured power counts, plus that of jobs about to start."""

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> Cap:
        """From JSON values. Raises InputError."""
        if unknown := sorted(told.keys() - {"kind", "hard", "steps", "source", "measured"}):
            raise InputError(_PLACE, f"unknown key {unknown[0]!r}", "kind, hard, steps, source, measured")
        kind, source = told.get("kind"), told.get("source", "")
        steps: Any = told.get("steps")
        if kind not in (POWER, CORES):
            raise InputError(f"{_PLACE}.kind", repr(kind), f"{POWER} or {CORES}")
        if not isinstance(told.get("hard"), bool):
            raise InputError(f"{_PLACE}.hard", repr(told.get("hard")), "true or false")
        if not isinstance(told.get("measured", False), bool):
            raise InputError(f"{_PLACE}.measured", repr(told["measured"]), "true or false")
        if told.get("measured") and kind != POWER:
            raise InputError("--measured", f"a cap of {kind}", "a cap of power")
        if not isinstance(source, str) or len(source) > MOST_STEPS:
            raise InputError(f"{_PLACE}.source", "is no short text", "a text")
        _check_steps(steps)
        rows = tuple((time, value) for time, value in steps)
        return cls(str(kind), told["hard"], rows, source, told.get("measured", False))

    @classmethod
    def from_text(cls, text: str) -> Cap | None:
        """Convert from `text`; empty: no cap."""
        return cls.from_dict(json.loads(text)) if text else None

    def as_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {"kind": self.kind, "hard": self.is_hard, "steps": self.steps, "source": self.source} | (
            {"measured": True} if self.is_measured else {}
        )

    def text(self) -> str:
        """Convert to text for the journal."""
        return json.dumps(self.as_dict())

    @property
    def is_power(self) -> bool:
        """Whether the cap limits power."""
        return self.kind == POWER

    @property
    def settings(self) -> tuple[str, ...]:
        """Dispatcher's settings."""
        return f"profile={'hard' if self.is_hard else 'soft'}", f"profile_split={Split.SHARED}"

    def desired(self, platform: Platform) -> DesiredProfile:
        """Profile that all nodes share."""
        if self.is_power:
            return DesiredProfile(platform, split=Split.SHARED, watts=StepFunction.from_steps(MOST_WATTS, self.steps))
        function = StepFunction.from_steps(platform.cores, self.steps)
        return DesiredProfile(platform, {platform.kinds.index(CORES): function}, split=Split.SHARED)

    def after(self, earlier: Cap | None, now: int) -> Cap:
        """This cap, preceded by the steps of an earlier one from now on.

        Raises InputError if this one begins later and the earlier one has another kind or rule.
        """
        if earlier is None or (begin := self.steps[0][0]) <= now:
            return self
        if self.rule != earlier.rule:
            found = f"begins at {utc_text(begin, seconds=True)}, and the present cap has another kind or rule"
            raise InputError(
                _PLACE, found, "the same kind, --hard or --soft, and --measured or not; or first dardis cap off"
            )
        steps = joined_steps(earlier.steps, self.steps, now)
        if len(steps) > MOST_STEPS:
            raise InputError(_PLACE, f"{len(steps)} steps with those until it begins", f"at most {MOST_STEPS}")
        return replace(self, steps=steps)

    @property
    def rule(self) -> tuple[str, bool, bool]:
        """Kind, and whether hard and measured."""
        return self.kind, self.is_hard, self.is_measured

    def at(self, unix_s: int) -> int | None:
        """Value at a time; None: no cap."""
        place = bisect_right(self._times, unix_s)
        return self.steps[place - 1][1] if place else None

    def next_step(self, unix_s: int) -> tuple[int, int] | None:
        """Next step after a time."""
        place = bisect_right(self._times, unix_s)
        return self.steps[place] if place < len(self.steps) else None

    def steps_between(self, begin: int, end: int) -> Sequence[tuple[int, int]]:
        """Steps after `begin` and before `end`, Unix s."""
        return self.steps[bisect_right(self._times, begin) : bisect_left(self._times, end)]

    @cached_property
    def _times(self) -> list[int]:
        return [time for time, _ in self.steps]

    def check(self, machine: LiveMachine, switchable: Iterable[str] = ()) -> None:
        """Raise InputError for a cap that the machine cannot keep. `switchable`: nodes that may be off."""
        if not self.is_power:
            return
        if not machine.power.is_stated:
            expected = "power = { idle_w = …, core_w = … } in each [[nodes]] of its platform, or a cap in cores"
            raise InputError(_PLACE, "the service knows no power of its nodes", expected)
        power, off = machine.power, [node for name in switchable if (node := machine.node(name)) is not None]
        idle_mw = int(power.idle_mw.sum() - power.idle_mw[off].sum() + power.off_mw[off].sum())
        idle_w, least_w = -(-idle_mw // MILLI), min(value for _, value in self.steps)
        if least_w < idle_w:
            found = f"{least_w} W is below the power of the idle nodes that cannot be off"
            raise InputError(_PLACE, found, f"at least {idle_w} W")


class CapUse(NamedTuple):
    """What is taken of a cap now: W or cores."""

    limit: float | None
    used: float
    excess: float


def _check_steps(steps: Any) -> None:  # noqa: ANN401 (any JSON)
    if not isinstance(steps, list | tuple) or not 0 < len(steps) <= MOST_STEPS:
        raise InputError(f"{_PLACE}.steps", "no list", f"1 to {MOST_STEPS} steps")
    for step in steps:
        if not (isinstance(step, list | tuple) and len(step) == 2 and all(type(one) is int for one in step)):
            raise InputError(f"{_PLACE}.steps", repr(step), "[Unix seconds, value]")
        if not (0 <= step[0] <= LAST_UNIX_S and 0 <= step[1] <= MOST_WATTS):
            raise InputError(f"{_PLACE}.steps", repr(step), f"Unix seconds, and a value from 0 to {MOST_WATTS}")
    for before, after in pairwise(steps):
        if after[0] <= before[0]:
            raise InputError(f"{_PLACE}.steps", f"{after[0]} s after {before[0]} s", "steps in order of time")


_Step = TypeVar("_Step", bound=Sequence[int])


def joined_steps(earlier: Sequence[_Step], steps: Sequence[_Step], now: int) -> tuple[_Step, ...]:
    """Steps (Unix s, value) from now on: `earlier` until the first of `steps`, then these."""
    begin = steps[0][0]
    past = [step for step in earlier if step[0] <= min(now, begin - 1)]
    return (*past[-1:], *(step for step in earlier if now < step[0] < begin), *steps)
