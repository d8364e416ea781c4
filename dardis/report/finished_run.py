"""Finished run as data for the page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from dardis.metrics.page_rows import COLUMNS, HOUR_S, JOULES_PER_KWH, MOST_NODES_OF_ROW, energy_by_user
from dardis.model.arrays import Floats, Ints
from dardis.model.job import Status
from dardis.model.resources import CORES
from dardis.model.step_function import StepFunction
from dardis.power.account import added_watts
from dardis.power.node_power import MachinePower
from dardis.report import run_summary
from dardis.report.over_time import envelope
from dardis.report.run_files import read_run

MOST_ROWS: Final = 100_000
"""Jobs on the page, the run's first."""
BINS: Final = 4000
"""Most moments of a chart."""


class FinishedRun:
    """Data of a run's folder: overview, jobs, nodes and energy. Times are Unix s or ms."""

    def __init__(self, folder: Path) -> None:
        """Read all files. Raises InputError."""
        self._files = files = read_run(folder)
        schedule = files.schedule
        self._folder, self._zero = folder, files.run.unix_start or 0
        ran = schedule.ran
        self._start = int(schedule.submit.min(initial=0 if not len(schedule.submit) else schedule.submit[0]))
        self._end = max(int(schedule.finish[ran].max(initial=0)), self._start + 1)
        self._watts = self._added_watts()
        self._reasons = {one.job: one.reason for one in files.run.rejected}
        self._energy: dict[str, Any] | None = None
        self._cores = schedule.requested_total(CORES)
        self._places = {number: place for place, number in enumerate(schedule.number[:MOST_ROWS].tolist())}

    @property
    def jobs(self) -> int:
        """Number of jobs."""
        return len(self._files.schedule.number)

    def hello(self) -> dict[str, Any]:
        """All but the jobs."""
        files, platform = self._files, self._files.platform
        kind = platform.kinds.index(CORES)
        capacity = platform.capacity[:, kind]
        headlines = run_summary.headlines(files.metrics, platform.currency)
        figures = [(row.name, row.value) for row in headlines]
        if self.jobs > MOST_ROWS:
            figures.append(("On this page", f"the first {MOST_ROWS:,} of {self.jobs:,} jobs"))
        use = self._node_use(capacity)
        jobs = np.bincount(files.schedule.placed.nodes, minlength=platform.node_count).tolist()
        return {
            "kind": "run", "title": str(self._folder), "columns": COLUMNS, "now_ms": self._unix_s(self._end) * 1000,
            "operator": False, "uid": -1, "is_dated": files.run.unix_start is not None, "figures": figures,
            "nodes": [[platform.node_name(node), ""] for node in range(platform.node_count)],
            "cores": capacity.tolist(), "power": files.power is not None, "currency": platform.currency,
            "node_states": [["up", round(value, 2), count, ""] for value, count in zip(use, jobs, strict=True)],
            "samples": self._samples(int(capacity.sum())), "plan": {"cap": [], "nodes_on": []}, "most_rows": MOST_ROWS,
            "cap": None, "trouble": "", "unreachable": {}, "waiting": 0, "running": 0, "measured_w": None,
        }  # fmt: skip

    def rows(self) -> Iterator[list[Any]]:
        """Yield rows of jobs."""
        for place in range(min(self.jobs, MOST_ROWS)):
            yield self._row(place)

    def _row(self, place: int) -> list[Any]:
        schedule = self._files.schedule
        ran = schedule.status[place] != Status.REJECTED
        nodes, _ = schedule.placed.of(place)
        watts = None if self._watts is None else round(float(self._watts[place]), 3)
        return [
            int(schedule.number[place]), schedule.queue[place], schedule.user[place],
            Status(schedule.status[place]).name.lower(), self._unix_s(int(schedule.submit[place])) * 1000,
            self._unix_s(int(schedule.start[place])) * 1000 if ran else None,
            self._unix_s(int(schedule.finish[place])) * 1000 if ran else None, len(nodes), int(self._cores[place]),
            int(schedule.walltime[place]), watts, self._names(nodes[:MOST_NODES_OF_ROW].tolist()),
        ]  # fmt: skip

    def job(self, number: int) -> dict[str, Any] | None:
        """Job's facts; None: unknown."""
        if (place := self._places.get(number)) is None:
            return None
        schedule, row = self._files.schedule, dict(zip(COLUMNS, self._row(place), strict=True))
        nodes, units = schedule.placed.of(place)
        ran = row["started_ms"] is not None
        facts = {
            "State": row["state"], "Why": self._reasons.get(number), "Queue": row["name"], "User": row["user"],
            "Submitted": row["submitted_ms"], "Started": row["started_ms"], "Ended": row["ended_ms"],
            "Wait": (row["started_ms"] - row["submitted_ms"]) // 1000 if ran else None,
            "Run time": (row["ended_ms"] - row["started_ms"]) // 1000 if ran else None,
            "Longest run time": row["walltime_s"], "Cores": row["cores"], "Power that it adds": row["watts"],
            "Attempts": int(schedule.attempts[place]),
        }  # fmt: skip
        on = [[name, int(count)] for name, count in zip(self._names(nodes.tolist()), units.tolist(), strict=True)]
        return {"state": row["state"], "facts": facts, "on": on}

    def jobs_of(self, name: str) -> list[int]:
        """Numbers of the last jobs on a node."""
        platform, placed = self._files.platform, self._files.schedule.placed
        names = [platform.node_name(node) for node in range(platform.node_count)]
        if name not in names:
            return []
        found = np.unique(placed.job_of[placed.nodes == names.index(name)])
        return [int(number) for number in self._files.schedule.number[found[found < MOST_ROWS]][-200:]]

    def energy(self) -> dict[str, Any]:
        """Power and cost by hour, and by user."""
        if self._energy is None:
            self._energy = self._all_energy()
        return self._energy

    def _all_energy(self) -> dict[str, Any]:
        users = energy_by_user(self.rows(), self._unix_s(self._start), self._unix_s(self._end), lambda _: None)
        note = "The whole run. The kWh of users are those that their jobs add to idle nodes."
        return {"hours": self._hours(), "users": users, "note": note}

    def _hours(self) -> list[list[Any]]:
        if (power := self._files.power) is None:
            return []
        fine = np.append(power["time_s"], power["until_s"][-1]).astype(np.int64) + self._zero
        first, last = int(fine[0]) // HOUR_S, -(-int(fine[-1]) // HOUR_S)
        hours = np.arange(first, last + 1, dtype=np.int64) * HOUR_S
        edges = np.union1d(fine, hours)
        edges = edges[(edges >= fine[0]) & (edges <= fine[-1])]
        seconds = np.diff(edges).astype(np.float64)
        places = np.searchsorted(fine, edges[:-1], side="right") - 1
        whose = np.searchsorted(hours, edges[:-1], side="right") - 1
        watts = power["it_w"][places]
        price = (power["energy_eur"] / np.diff(fine))[places]
        found = []
        for hour in np.unique(whose).tolist():
            mine = whose == hour
            joules, time_s = float(watts[mine] @ seconds[mine]), float(seconds[mine].sum())
            cost = float(price[mine] @ seconds[mine]) if price.any() else None
            kwh = joules / JOULES_PER_KWH
            found.append([int(hours[hour]), joules / time_s, float(watts[mine].max()), kwh, cost])
        return found

    # ------------------------------------------------------------------------------------------------------------------

    def _unix_s(self, time: int) -> int:
        return time + self._zero

    def _added_watts(self) -> Floats | None:
        """Power that each job adds, W; None: unknown."""
        schedule, platform = self._files.schedule, self._files.platform
        if not MachinePower.of_platform(platform).stated:
            return None
        parts = schedule.by_part
        watts = added_watts(parts, platform, parts.request[:, parts.kinds.index(CORES)])
        if schedule.parts is None:
            return watts
        job = np.repeat(np.arange(len(schedule.number)), np.diff(schedule.parts.offsets))
        return np.bincount(job, watts, len(schedule.number)).astype(np.float64)

    def _names(self, nodes: list[int]) -> list[str]:
        return [self._files.platform.node_name(node) for node in nodes]

    def _node_use(self, capacity: Ints) -> list[float]:
        """Mean cores in use of each node, from the first submission to the last end."""
        schedule = self._files.schedule.by_part
        job = schedule.placed.job_of
        length = (schedule.finish - schedule.start)[job]
        cores = schedule.placed.units * schedule.request[job, schedule.kinds.index(CORES)]
        total = np.bincount(schedule.placed.nodes, weights=cores * length, minlength=len(capacity))
        return [float(value) for value in total / (self._end - self._start)]

    def _samples(self, all_cores: int) -> list[list[Any]]:
        """Largest use and cap of each moment of a chart, as live samples."""
        files, schedule = self._files, self._files.schedule
        ran = schedule.ran
        used, desired = files.profile[f"{CORES}_used"], files.profile[f"{CORES}_desired"]
        waiting = StepFunction.from_spans(schedule.submit[ran], schedule.start[ran])
        breaks = np.unique(np.concatenate([
            np.array([self._start, self._end], dtype=np.int64), used.breaks_in(self._start, self._end),
            desired.breaks_in(self._start, self._end), self._power_edges(),
        ]))  # fmt: skip
        if len(breaks) > BINS:
            breaks = np.unique(np.linspace(self._start, self._end, BINS + 1).astype(np.int64))
        (_, most, _), (_, cap, _), (_, queue, _) = (envelope(one, breaks) for one in (used, desired, waiting))
        watts = self._largest_watts(breaks)
        has_cap = bool(files.run.profile_file) and bool((desired.values != all_cores).any())
        return [
            [
                self._unix_s(int(time)), None if watts is None else float(watts[at]), int(most[at]), None,
                int(cap[at]) if has_cap and cap[at] < all_cores else None, files.platform.node_count, int(queue[at]),
            ]
            for at, time in enumerate(breaks[:-1].tolist())
        ]  # fmt: skip

    def _power_edges(self) -> Ints:
        if (power := self._files.power) is None:
            return np.zeros(0, dtype=np.int64)
        edges = np.append(power["time_s"], power["until_s"][-1]).astype(np.int64)
        return edges[(edges > self._start) & (edges < self._end)]

    def _largest_watts(self, edges: Ints) -> Floats | None:
        if (power := self._files.power) is None:
            return None
        fine = power["time_s"].astype(np.int64)
        first = np.clip(np.searchsorted(fine, edges[:-1], side="right") - 1, 0, len(fine) - 1)
        last = np.maximum(np.searchsorted(fine, edges[1:], side="left"), first + 1)
        return np.array([power["it_w"][begin:end].max() for begin, end in zip(first, last, strict=True)])
