"""Small random schedules on small random machines, legal because each second of each node was counted."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from dardis.model.arrays import Ints
from dardis.model.job import NO_TIME, Status
from dardis.model.placements import Placements, offsets_of
from dardis.model.platform import NodeGroup, Platform
from dardis.model.schedule import Schedule

HORIZON = 160
Instance = tuple[Platform, Schedule]
NAMES = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("'=+-@\t\r\n"), max_size=4)


def schedule_of(kinds: tuple[str, ...], rows: list[dict[str, object]]) -> Schedule:
    """A schedule from one dict a job; what a row leaves out is as uneventful as can be."""
    columns: dict[str, list[object]] = {}
    for number, row in enumerate(rows, start=1):
        placed = dict(row.get("placed", {}))  # type: ignore[call-overload]
        submit = row.get("submit", 0)
        status = row.get("status", Status.COMPLETED)
        start = row.get("start", submit) if status != Status.REJECTED else NO_TIME
        full = {
            "number": number, "submit": submit, "earliest": submit, "latest": NO_TIME, "walltime": 10,
            "units": max(sum(placed.values()), 1), "request": [1] + [0] * (len(kinds) - 1), "attempts": 1,
            "queue": "", "user": "", "finish": start + 10 if start != NO_TIME else NO_TIME,
        } | row | {"start": start, "status": status, "placed": placed}  # fmt: skip
        for name, value in full.items():
            columns.setdefault(name, []).append(value)
    placed_all: list[dict[int, int]] = columns.pop("placed", [])  # type: ignore[assignment]
    texts = {name: columns.pop(name, []) for name in ("queue", "user")}
    names = ("number", "submit", "earliest", "latest", "walltime", "units", "start", "finish", "attempts")
    return Schedule(
        kinds=kinds,
        request=np.array(columns.get("request", []), dtype=np.int64).reshape(-1, len(kinds)),
        status=np.array(columns.get("status", []), dtype=np.int8),
        placed=Placements(
            offsets_of([*map(len, placed_all)]),
            np.array([node for placed in placed_all for node in sorted(placed)], dtype=np.int64),
            np.array([placed[node] for placed in placed_all for node in sorted(placed)], dtype=np.int64),
        ),
        queue=texts["queue"],  # type: ignore[arg-type]
        user=texts["user"],  # type: ignore[arg-type]
        **{name: np.array(columns.get(name, []), dtype=np.int64) for name in names},
    )


def _place(free: Ints, request: Ints, units: int, earliest: int, walltime: int) -> tuple[int, dict[int, int]] | None:
    """The first start and its nodes; `free` has shape (nodes, kinds, seconds)."""
    asked = request > 0
    for start in range(earliest, HORIZON - walltime):
        least = free[:, :, start : start + walltime].min(axis=2)
        whole = (least[:, asked] // request[asked]).min(axis=1)
        if whole.sum() >= units:
            before = np.concatenate([[0], np.cumsum(whole)[:-1]])
            taken = np.clip(units - before, 0, whole)
            return start, {node: int(count) for node, count in enumerate(taken) if count}
    return None


@st.composite
def legal(draw: st.DrawFn) -> Instance:
    """A machine of two groups and a schedule of up to eight jobs on it."""
    groups = tuple(
        NodeGroup(
            prefix, draw(st.integers(1, 2)), {"cores": draw(st.integers(1, 4)), "memory": draw(st.integers(0, 6))}
        )
        for prefix in ("a", "b")
    )
    platform = Platform("small", groups)
    free = np.repeat(platform.capacity[:, :, None], HORIZON, axis=2)
    rows: list[dict[str, object]] = []
    for _ in range(draw(st.integers(0, 8))):
        submit, wait = draw(st.integers(0, 30)), draw(st.integers(0, 5))
        walltime, units = draw(st.integers(1, 12)), draw(st.integers(1, 4))
        request = np.array([draw(st.integers(1, 3)), draw(st.integers(0, 3))])
        run = draw(st.integers(1, walltime))
        latest = draw(st.one_of(st.just(NO_TIME), st.integers(0, 60)))
        row: dict[str, object] = {
            "submit": submit, "earliest": submit + wait, "latest": latest,
            "walltime": walltime, "units": units, "request": request.tolist(), "attempts": draw(st.integers(1, 3)),
            "queue": draw(NAMES), "user": draw(NAMES),
        }  # fmt: skip
        found = _place(free, request, units, submit + wait, walltime)
        if found is None:
            row |= {"status": Status.REJECTED}
        else:
            start, placed = found
            killed = run == walltime and draw(st.booleans())
            row |= {"start": start, "finish": start + run, "placed": placed}
            row |= {"status": Status.KILLED if killed else Status.COMPLETED}
            for node, count in placed.items():
                free[node, :, start : start + run] -= count * request[:, None]
        rows.append(row)
    return platform, schedule_of(platform.kinds, rows)


INSTANCES = legal()
"""(platform, legal schedule)."""


def use_by_second(platform: Platform, schedule: Schedule) -> Ints:
    """What every node holds of every kind at every second from 0, shape (nodes, kinds, HORIZON)."""
    held = np.zeros((*platform.capacity.shape, HORIZON), dtype=np.int64)
    for job in np.flatnonzero(schedule.ran).tolist():
        for node, units in zip(*schedule.placed.of(job), strict=True):
            amounts = units * schedule.request[job]
            held[node, :, schedule.start[job] : schedule.finish[job]] += amounts[:, None]
    return held
