"""How long the jobs of a Batsim workload run: delays, computations, and sequences of these.

Batsim has named its types anew from version to version; all these names are read. A computation takes as long as a core
of the platform needs for its floating-point operations. What communicates, or reads and writes files, has no runtime
before a network is simulated.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any, Final

from dardis.model.errors import one_line
from dardis.workload.trace import LARGEST

_DELAYS: Final = frozenset({"delay", "DelayProfile"})
_VECTORS: Final = frozenset({"parallel", "msg_par", "ptask", "ParallelTaskProfile"})
"""`cpu` has an entry for each host, `com` one for each pair of hosts."""
_EACH_HOST: Final = frozenset(
    {"parallel_homogeneous", "msg_par_hg", "ptask_homogeneous", "ParallelTaskHomogeneousProfile"}
)
"""`cpu` is that of each host, unless it is to be spread over the hosts."""
_ALL_HOSTS: Final = frozenset({"parallel_homogeneous_total", "msg_par_hg_tot"})
"""`cpu` is that of all hosts together."""
_SPREAD: Final = frozenset({"defined_amount_spread_uniformly", "DefinedAmountsSpreadUniformly"})
_SEQUENCES: Final = frozenset({"composed", "sequential_composition", "SequentialCompositionProfile"})
_DEEPEST: Final = 100
"""Sequences within one another."""
_LONGEST_TYPE: Final = 60


class Profiles:
    """The profiles of a workload by their names, and the speed of a core in floating-point operations a second."""

    def __init__(self, stated: Mapping[str, Any], flop_per_s: float | None) -> None:
        """Take them as they are stated; None where the platform states no speed."""
        self._stated = stated
        self._flop_per_s = flop_per_s
        self._known: dict[tuple[str, int], tuple[float | str, int]] = {}
        """What a profile takes, and how deep sequences are in it."""

    def seconds(self, name: object, hosts: int) -> float | str:
        """For how long a job on so many hosts runs, or why it has no runtime here.

        ValueError where the profile is none of the workload's, or makes no sense.
        """
        return self._found(name, hosts, 0)[0]

    def _found(self, name: object, hosts: int, above: int) -> tuple[float | str, int]:
        """That, and how deep sequences are in it; it is within `above` sequences."""
        profile = self._stated.get(name) if isinstance(name, str) else None
        if not isinstance(name, str) or not isinstance(profile, dict) or not isinstance(profile.get("type"), str):
            raise ValueError(f"profile {name!r} is not among the workload's")
        found = self._known.get((name, hosts))
        if found is None and above <= _DEEPEST:
            is_sequence = profile["type"] in _SEQUENCES
            found = self._of_sequence(profile, hosts, above) if is_sequence else (self._of_one(profile, hosts), 0)
            self._known[name, hosts] = found
        if found is None or above + found[1] > _DEEPEST:
            raise ValueError(f"profile {name!r} is within itself, or in more than {_DEEPEST} sequences")
        return found

    def _of_one(self, profile: dict[str, Any], hosts: int) -> float | str:
        kind = profile["type"]
        if kind in _DELAYS:
            return number(profile, "delay")
        told = f"its profile is of type {one_line(kind, _LONGEST_TYPE)}, "
        if kind not in _VECTORS | _EACH_HOST | _ALL_HOSTS:
            return f"{told}no delay"
        if any(_amounts(profile, "com", several=kind in _VECTORS)):
            return f"{told}which communicates"
        if self._flop_per_s is None:
            return f"{told}which computes, and no flop_per_s is known"
        flop = max(_amounts(profile, "cpu", several=kind in _VECTORS))
        strategy = profile.get("generation_strategy")
        if kind in _ALL_HOSTS or (isinstance(strategy, str) and strategy in _SPREAD):
            flop /= max(hosts, 1)
        return min(flop / self._flop_per_s, LARGEST + 1.0)

    def _of_sequence(self, profile: dict[str, Any], hosts: int, above: int) -> tuple[float | str, int]:
        members, repeat = profile.get("seq"), profile.get("repeat", 1)
        if not isinstance(members, list) or not members:
            raise ValueError("a sequence of profiles without `seq`")
        if type(repeat) is not int or repeat < 1:
            raise ValueError(f"repeat is {repeat!r}")
        total, deepest, without = 0.0, 0, ""
        for member in members:
            found, depth = self._found(member, hosts, above + 1)
            deepest = max(deepest, depth)
            if isinstance(found, str):
                without = without or found
            elif found < 0:
                raise ValueError(f"profile {member!r} takes less than 0 s")
            else:
                total += found
        return without or min(total * min(repeat, LARGEST + 1), LARGEST + 1.0), deepest + 1


def number(where: Mapping[str, Any], key: str) -> float:
    """A number of seconds, `LARGEST + 1` for all beyond. ValueError for anything else."""
    return max(min(_finite(where.get(key), key), LARGEST + 1), -LARGEST)


def _finite(value: object, key: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{key} is {value!r}")
    try:
        found = float(value)
    except OverflowError:
        found = float("inf") if value > 0 else float("-inf")
    if isinstance(value, float) and not isfinite(value):
        raise ValueError(f"{key} is {value!r}")
    return found


def _amounts(profile: Mapping[str, Any], key: str, *, several: bool) -> list[float]:
    """What a profile says of its computation or communication, each at least 0. ValueError for anything else."""
    stated = profile.get(key)
    if several and (not isinstance(stated, list) or (key == "cpu" and not stated)):
        raise ValueError(f"{key} is no list")
    found = [_finite(one, key) for one in (stated if isinstance(stated, list) and several else [stated])]
    if min(found, default=0.0) < 0:
        raise ValueError(f"{key} is less than 0")
    return found
