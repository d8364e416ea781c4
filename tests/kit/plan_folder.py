"""Small plans made up for tests: a day on a few nodes, some of them off for a while."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
from hypothesis import strategies as st

from dardis.model.placements import Placements
from dardis.model.platform import NodeGroup, NodePower, Platform
from offline.folder.plan_folder import PlanFolder
from offline.folder.tables import JobKind, OnOffTable, ProfileTable, ScheduleTable

POWER = NodePower(idle_w=100.0, core_w=6.0, off_w=10.0, boot_s=240, boot_w=125.0, shutdown_s=30, shutdown_w=100.0)
PLATFORM = Platform(
    "grid", (NodeGroup("n", 8, {"cores": 32}, POWER), NodeGroup("fat", 2, {"cores": 64}, POWER, always_on=True))
)
OFFSET = 1_688_342_400 - 5_000
"""Unix less trace time: 2023-07-03T00:00:00Z is second 5,000 of the trace."""
ACTIONS = ((5_000, 0, False), (5_000, 1, False), (5_000, 5, True), (6_800, 7, False), (8_600, 0, True),
           (8_600, 1, True), (12_200, 0, False))  # fmt: skip
"""(time, node, on): nodes 0 and 1 go off and come back, node 5 was off before, 7 and at last 0 stay off."""


def onoff(actions: tuple[tuple[int, int, bool], ...] = ACTIONS) -> OnOffTable:
    """A table of (time, node, on)."""
    time, node, on = (list(column) for column in zip(*actions, strict=True)) if actions else ([], [], [])
    return OnOffTable(np.array(time, np.int64), np.array(node, np.int64), np.array(on, np.bool_))


@st.composite
def actions(draw):
    """Actions on five nodes at times from -50 to 1,050, each one's off and on in turn."""
    found = []
    for node in range(5):
        on = draw(st.booleans())
        for time in sorted(draw(st.sets(st.integers(-50, 1_050), max_size=5))):
            found.append((time, node, on))
            on = not on
    return tuple(sorted(found))


def profile(start: int = 5_000) -> ProfileTable:
    """Four hours of which the second has no cap and the last no load."""
    place = np.arange(4)
    it_w = np.where(place == 3, 0.0, 1_500.0 + 100.1 * place)
    cooling_w = 0.3 * it_w
    return ProfileTable(
        edges=start + 3_600 * np.arange(5), cores_target=200 - 10 * place,
        power_cap_w=np.where(place == 1, np.nan, 2_000.0 + 50 * place), it_w=it_w, cooling_w=cooling_w,
        pue=np.divide(it_w + cooling_w, it_w, out=np.full(4, np.nan), where=it_w > 0),
        price_per_kwh=0.1 - 0.05 * place, gco2_per_kwh=350.0 + place, temp_c=-2.5 + place, nodes_on=8.0 + 0.25 * place,
    )  # fmt: skip


def schedule() -> ScheduleTable:
    """One running, one queued and one forecast job, the last one after the day."""
    return ScheduleTable(
        number=np.array([7, 8, 9]), submit=np.array([100, 4_000, 6_000]), start=np.array([200, 5_000, 900_000]),
        finish=np.array([6_000, 5_001, 900_060]), units=np.array([1, 3, 1]), req_cores=np.array([32, 8, 64]),
        kind=(JobKind.RUNNING, JobKind.QUEUED, JobKind.FORECAST),
        placed=Placements(np.array([0, 1, 3, 4]), np.array([2, 2, 3, 9]), np.array([1, 1, 2, 1])),
    )  # fmt: skip


def plan(platform: Platform = PLATFORM, actions: tuple[tuple[int, int, bool], ...] = ACTIONS) -> PlanFolder:
    """The whole example."""
    summary = {"jobs": 3, "profit_eur": 12.5, "bound_eur": None, "stopped_by": "done"}
    return PlanFolder(platform, OFFSET, profile(), onoff(actions), schedule(), summary, {"seed": 1})


def same(a: object, b: object) -> bool:
    """Whether two plans or tables say the same."""
    if isinstance(a, np.ndarray):
        return bool(np.array_equal(a, b, equal_nan=a.dtype.kind == "f"))
    if isinstance(a, PlanFolder | OnOffTable | ProfileTable | ScheduleTable | Placements):
        return type(a) is type(b) and all(same(getattr(a, one.name), getattr(b, one.name)) for one in fields(a))
    return a == b
