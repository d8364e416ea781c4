"""What a plan says by time, by node and by job, as arrays. Promises that what it holds is in order."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from dardis.model.arrays import Bools, Floats, Ints
from dardis.model.job import FOREVER
from dardis.model.placements import Placements
from dardis.model.schedule import Downtime


@dataclass(frozen=True)
class ProfileTable:
    """What the machine should do over the day: segment i is `[edges[i], edges[i+1])`, s of the trace's clock.

    Arrays of shape (segments,), powers and `nodes_on` being means over the segment. `power_cap_w` caps the IT power;
    NaN: no cap. `pue` is NaN where no IT power flows.
    """

    edges: Ints
    cores_target: Ints
    power_cap_w: Floats
    it_w: Floats
    cooling_w: Floats
    pue: Floats
    price_per_kwh: Floats
    gco2_per_kwh: Floats
    temp_c: Floats
    nodes_on: Floats

    def __post_init__(self) -> None:
        """Refuse what is no profile."""
        values = [getattr(self, name) for name in self.__dataclass_fields__ if name != "edges"]
        if {len(column) for column in values} != {len(self.edges) - 1} or not (np.diff(self.edges) > 0).all():
            raise ValueError("a profile needs ascending edges, one more than values")

    @property
    def start(self) -> int:
        """Begin of the first segment."""
        return int(self.edges[0])

    @property
    def end(self) -> int:
        """End of the last segment."""
        return int(self.edges[-1])


@dataclass(frozen=True)
class OnOffTable:
    """When nodes are switched, arrays of shape (actions,) ascending by (time, node).

    At `time` the shut-down of `node` begins, or where `on` is true its boot. The actions of a node alternate.
    """

    time: Ints
    node: Ints
    on: Bools

    def __post_init__(self) -> None:
        """Refuse what nobody could carry out."""
        if (np.diff(self.time) < 0).any():
            raise ValueError("actions in the order of their times")
        order = np.lexsort((self.time, self.node))
        same = np.diff(self.node[order]) == 0
        if (same & (np.diff(self.time[order]) == 0)).any() or (
            same & (self.on[order][1:] == self.on[order][:-1])
        ).any():
            raise ValueError("the actions of a node one after the other, off and on in turn")

    @classmethod
    def of(cls, downtime: Downtime, boot_s: Ints) -> OnOffTable:
        """The actions that bring a downtime about; `boot_s` (nodes,) is how long before `up` a boot begins."""
        back = downtime.up < FOREVER
        time = np.concatenate([downtime.down, (downtime.up - boot_s[downtime.node])[back]])
        node = np.concatenate([downtime.node, downtime.node[back]])
        on = np.arange(len(time)) >= len(downtime.node)
        order = np.lexsort((node, time))
        return cls(time[order], node[order], on[order])


class JobKind(StrEnum):
    """What a plan knows a job from."""

    FORECAST = "forecast"
    RUNNING = "running"
    """Runs when the day begins, and stays where it is."""
    QUEUED = "queued"


@dataclass(frozen=True)
class ScheduleTable:
    """Where and when the plan has every job run; arrays of shape (jobs,), times in s of the trace's clock.

    `req_cores` is what one unit takes. A start after the day: the job waits for another one.
    """

    number: Ints
    submit: Ints
    start: Ints
    finish: Ints
    units: Ints
    req_cores: Ints
    kind: tuple[JobKind, ...]
    placed: Placements
