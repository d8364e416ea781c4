"""What the page shows of a live service: jobs, nodes and use, and what has changed since."""

from __future__ import annotations

import asyncio
import json
import os
from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, Final, NamedTuple

from dardis.engine.clock import monotonic_s, unix_ms, unix_now
from dardis.live.energy_prices import EnergyPrices
from dardis.live.gateway import Gateway
from dardis.live.gateway_orders import GatewayOutput
from dardis.live.job_option_texts import LARGEST_ID
from dardis.live.journal import JournalError
from dardis.live.live_decisions import JobStart, expected_starts
from dardis.live.live_jobs import LiveJob, LiveJobState
from dardis.live.node_switching import NodeState
from dardis.live.service import Service
from dardis.live.use_history import KEPT_S, UseHistory, UseSample, steps_after
from dardis.metrics.page_rows import COLUMNS, energy_by_user
from dardis.power.unit_power import MILLI

MOST_ROWS: Final = 20_000
"""Jobs on the page: those that run or wait, and the last that ended. Others are found by their numbers."""
PIECE: Final = 50
"""Jobs read per turn."""
CHUNK: Final = 500
"""Rows in an event."""
SHORTEST_S: Final = 0.4
"""Least time between two changes, s."""
LONGEST_S: Final = 1.0
"""Longest time between two looks at the use, s."""
MOST_PENDING: Final = 60
"""Changes that a client may be behind."""
MOST_FORECAST: Final = 1000
"""Most waiting jobs whose starts are forecast."""
MOST_INSTANTS: Final = 1000
FORECAST_S: Final = 15.0
"""Age at which a forecast is made anew, s."""
MOST_NODES_OF_ROW: Final = 4


class _Row(NamedTuple):
    """A job of the page as JSON, for its user and for others."""

    uid: int
    is_over: bool
    full: str
    hidden: str


class Subscriber:
    """A client that receives changes."""

    def __init__(self, uid: int) -> None:
        self.uid = uid
        self.queue = asyncio.Queue[str](MOST_PENDING)
        self.is_slow = False
        """Whether changes were left out: the client is closed, and starts anew."""

    def put(self, text: str) -> None:
        """Add an event, unless too many wait."""
        try:
            self.queue.put_nowait(text)
        except asyncio.QueueFull:
            self.is_slow = True


class PageFeed:
    """Source of the page of a live service."""

    def __init__(self, service: Service) -> None:
        self._service, self._me = service, os.geteuid()
        self.history = UseHistory(service.folder)
        self._prices = EnergyPrices(service.machine.platform)
        self._rows: dict[int, _Row] = {}
        self._values: dict[int, Sequence[Any]] = {}
        """Values of the rows, by column."""
        self._ended = deque[tuple[int, int]]()
        """Ends in Unix ms, and numbers, of jobs that are over."""
        self._gone: list[int] = []
        self._changed: set[int] = set()
        self._nodes: list[list[Any]] = []
        self._subscribers: list[Subscriber] = []
        self._gateway: Gateway | None = None
        """Whose jobs the rows are; None: no rows."""
        self._building = asyncio.Lock()
        self._news = asyncio.Event()
        self._last_use: str = ""
        self._forecast: tuple[float, dict[int, tuple[int, JobStart]]] | None = None
        self._forecasting = asyncio.Lock()

    def on_output(self, taken: GatewayOutput) -> None:
        """Note the jobs that have changed."""
        if self._gateway is not None:
            self._changed.update(number for number, _ in taken.batch.jobs)
            self._changed.update(taken.begun)
            for row in taken.batch.submissions:
                if not row.over:
                    self._changed.update(range(row.first, row.first + row.count))
        self._news.set()

    @contextmanager
    def subscribe(self, uid: int) -> Iterator[Subscriber]:
        """A client of a user, until it leaves."""
        one = Subscriber(uid)
        self._subscribers.append(one)
        try:
            yield one
        finally:
            self._subscribers.remove(one)

    async def keep_looking(self) -> None:
        """Send changes and record the use, until cancelled."""
        while True:
            try:
                async with asyncio.timeout(LONGEST_S):
                    await self._news.wait()
            except TimeoutError:
                pass
            self._news.clear()
            self._look()
            await asyncio.sleep(SHORTEST_S)

    # ------------------------------------------------------------------------------------------------------------------

    async def first_events(self, uid: int) -> AsyncIterator[str]:
        """All that a new client needs, as events."""
        await self._build_rows()
        service, machine = self._service, self._service.machine
        names = [[name, machine.host(name) or ""] for name in machine.names]
        cores = [node["cores"] for node in service.gateway.nodes()]
        hello = {
            "kind": "live", "title": str(service.folder), "columns": COLUMNS, "now_ms": unix_ms(),
            "operator": uid == self._me, "uid": uid, "nodes": names, "cores": cores, "node_states": self._nodes,
            "power": machine.power.is_stated, "currency": machine.platform.money.currency,
            "samples": self.history.samples, "plan": self._plan(), "most_rows": MOST_ROWS, **self._use(),
        }  # fmt: skip
        yield event("hello", json.dumps(hello))
        rows = iter(list(self._rows.values()))
        while some := list(islice(rows, CHUNK)):
            yield event("jobs", f'{{"jobs": [{",".join(self._visible(uid, some))}]}}')
            await asyncio.sleep(0)
        yield event("ready", "{}")

    async def _build_rows(self) -> None:
        async with self._building:
            if self._gateway is not self._service.gateway:
                await self._build()

    async def _build(self) -> None:
        """Take the rows of all unfinished jobs, and of those that ended in the last day."""
        gateway = self._service.gateway
        self._rows, self._values, self._gone = {}, {}, []
        self._changed.clear()
        self._gateway = gateway  # changes are noted from now on
        ended = list[tuple[int, int]]()
        before, since_ms = LARGEST_ID, unix_ms() - KEPT_S * 1000
        while before and len(ended) < MOST_ROWS:
            begun_s = monotonic_s()
            jobs, before = self._service.history(before, PIECE, None, since_ms)
            for job in jobs:
                if job.state.is_over and (job.ended_ms or 0) >= since_ms:
                    self._put(job)
                    ended.append((job.ended_ms or 0, job.number))
            await asyncio.sleep(monotonic_s() - begun_s)
        self._ended = deque(sorted(ended))
        unfinished = sorted(gateway.jobs(), key=lambda job: (job.state is not LiveJobState.RUNNING, job.number))
        for place, job in enumerate(unfinished[:MOST_ROWS]):
            self._put(job)
            if place % PIECE == 0:
                await asyncio.sleep(0)
        self._prune()
        self._gone, self._nodes = [], self._node_states()

    def _put(self, job: LiveJob) -> None:
        asked, account = job.submission.request, self._service.gateway.account
        watts = account.node_mw(job) * asked.nodes / MILLI if self._service.machine.power.is_stated else None
        values = [
            job.number, asked.name, job.submission.user.name, job.state, job.submission.submitted_ms, job.started_ms,
            job.ended_ms, asked.nodes, sum(len(share.cores) for share in job.shares) or asked.nodes * asked.cpus,
            asked.walltime_s, watts, [share.node for share in job.shares[:MOST_NODES_OF_ROW]],
        ]  # fmt: skip
        hidden = json.dumps([*values[:1], "", *values[2:]])
        self._rows[job.number] = _Row(job.submission.user.uid, job.state.is_over, json.dumps(values), hidden)
        self._values[job.number] = values

    def _drop(self, number: int) -> None:
        self._gone.append(number)
        del self._rows[number], self._values[number]

    def _prune(self) -> None:
        """Leave out jobs that ended more than a day ago, and the first of too many."""
        since_ms = unix_ms() - KEPT_S * 1000
        while self._ended and (self._ended[0][0] < since_ms or len(self._rows) > MOST_ROWS):
            _, number = self._ended.popleft()
            if number in self._rows and self._rows[number].is_over:
                self._drop(number)
        while len(self._rows) > MOST_ROWS:
            self._drop(next(reversed(self._rows)))

    def _is_visible(self, uid: int, row: _Row) -> bool:
        return uid in (self._me, row.uid)

    def _visible(self, uid: int, rows: Iterable[_Row]) -> list[str]:
        return [row.full if self._is_visible(uid, row) else row.hidden for row in rows]

    # ------------------------------------------------------------------------------------------------------------------

    def _look(self) -> None:
        """Record the use, and send what has changed."""
        is_new = self.history.add(self._sample())
        if not self._subscribers:
            self._gateway = None  # nobody looks: the rows are taken anew
            self._rows, self._values = {}, {}
            return
        if self._building.locked() or self._gateway is None:
            return
        if self._gateway is not self._service.gateway:
            for one in self._subscribers:
                one.is_slow = True
                one.put("")
            return
        changed = [row for number in sorted(self._take_changed()) if (row := self._rows.get(number)) is not None]
        nodes = self._node_states()
        news = [[place, *node] for place, node in enumerate(nodes) if node != self._nodes[place]]
        self._nodes = nodes
        self._prune()
        gone, self._gone = self._gone, []
        use = json.dumps(self._use())
        if not (changed or gone or news or is_new or use != self._last_use):
            return
        self._last_use = use
        sample = [self.history.samples[-1]] if is_new else []
        told = {"gone": gone, "node_states": news, "samples": sample, "now_ms": unix_ms(), "plan": self._plan()}
        rest = f"{json.dumps(told)[1:-1]}, {use[1:]}"
        texts: dict[int, str] = {}
        for one in self._subscribers:
            if one.uid not in texts:
                rows = ",".join(self._visible(one.uid, changed))
                texts[one.uid] = event("change", f'{{"jobs": [{rows}], {rest}')
            one.put(texts[one.uid])

    def _take_changed(self) -> set[int]:
        changed, self._changed = self._changed, set()
        for number in changed:
            known = self._rows.get(number)
            try:
                job = self._service.find(number)
            except JournalError:  # the service restores its state, and the page with it
                continue
            if job is None:
                continue
            self._put(job)
            if job.state.is_over and not (known is not None and known.is_over):
                self._ended.append((job.ended_ms or 0, job.number))
        return changed

    def _node_states(self) -> list[list[Any]]:
        """State, used cores, number of jobs and reason of each node."""
        return [
            ["unreachable" if node["silent"] else node["state"], node["used_cores"], len(node["jobs"]), node["why"]]
            for node in self._service.gateway.nodes()
        ]

    def _sample(self) -> UseSample:
        service, now = self._service, unix_now()
        account, switching = service.gateway.account, service.gateway.switching
        watts, cores = account.sums(switching.saved_mw())
        limit = None if account.cap is None else account.cap.at(int(now))
        is_power = account.cap is not None and account.cap.is_power
        on = sum(switching.state(name) is NodeState.ON for name in service.machine.names)
        return UseSample(
            int(now), watts if service.machine.power.is_stated else None, cores, limit if is_power else None,
            None if is_power else limit, on, service.gateway.queued,
        )  # fmt: skip

    def _use(self) -> dict[str, Any]:
        """Counts of jobs, and the cap."""
        service = self._service
        cap, measured = service.gateway.account.cap, service.gateway.account.measured
        return {
            "waiting": service.gateway.queued, "running": service.gateway.running,
            "cap": None if cap is None else {"kind": cap.kind, "hard": cap.is_hard, "source": cap.source},
            "measured_w": round(sum(measured.values()), 1) if measured else None,
            "trouble": service.trouble, "unreachable": service.unreachable_hosts,
        }  # fmt: skip

    def _plan(self) -> dict[str, Any]:
        """Steps of the cap and of the nodes that are on at least, in the next 24 hours."""
        now = int(unix_now())
        cap, switching = self._service.gateway.account.cap, self._service.gateway.switching
        steps = [] if cap is None else steps_after(cap.steps, now, now + KEPT_S)
        return {"cap": steps, "nodes_on": switching.planned_on(now, now + KEPT_S)}

    # ------------------------------------------------------------------------------------------------------------------

    async def forecast(self) -> dict[int, tuple[int, JobStart]]:
        """Expected starts by job, Unix s, if all jobs take their walltimes; empty: too many wait.

        Jobs of which nobody knows when they may start are left out.
        """
        async with self._forecasting:
            now_s, gateway = monotonic_s(), self._service.gateway
            if self._forecast is None or now_s > self._forecast[0] + FORECAST_S:
                found: dict[int, tuple[int, JobStart]] = {}
                if gateway.queued <= MOST_FORECAST:
                    machine, events = gateway.machine, gateway.all_events(int(unix_now()))
                    starts = await asyncio.to_thread(
                        expected_starts, machine.platform, machine.bounds, gateway.account.cap, events, MOST_INSTANTS
                    )
                    found = {start.job: (at, start) for at, start in starts}
                self._forecast = monotonic_s(), found
            return self._forecast[1]

    async def node(self, name: str) -> dict[str, Any]:
        """Jobs on a node, and those that are expected to start next there."""
        node = self._service.machine.node(name)
        told = next((one for one in self._service.gateway.nodes() if one["name"] == name), None)
        found = [
            {"id": job, "expected_ms": at * 1000} for job, (at, start) in (await self.forecast()).items()
            if node in start.nodes
        ]  # fmt: skip
        next_ones = sorted(found, key=lambda one: one["expected_ms"])[:10]
        return {"jobs": [] if told is None else told["jobs"], "reservations": next_ones}

    async def energy(self, uid: int) -> dict[str, Any]:
        """Power and cost by hour, and by user, of the last 24 hours."""
        await self._build_rows()
        now = int(unix_now())
        hours = []
        for hour in self.history.hours(now):
            kwh = hour.mean_w * hour.hours / 1000
            price = self._prices.at(hour.unix_s)
            hours.append([hour.unix_s, hour.mean_w, hour.peak_w, kwh, None if price is None else price * kwh])
        users = energy_by_user(self._values.values(), now - KEPT_S, now, self._prices.at)
        mine = {self._values[number][COLUMNS.index("user")] for number, row in self._rows.items() if row.uid == uid}
        shown = [row for row in users if uid == self._me or row[0] in mine]
        whose = "" if uid == self._me else "By user: only your own jobs. "
        power = "The power of jobs is as stated, measured of similar jobs, or by the platform."
        return {"hours": hours, "users": shown, "note": f"The last 24 hours. {whose}{power}"}


def event(name: str, data: str) -> str:
    """A server-sent event. `data` has no line breaks."""
    return f"event: {name}\ndata: {data}\n\n"
