"""What the page shows of a live service, and changes."""

from __future__ import annotations

import asyncio
import json
import os
import sys
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
from dardis.live.live_decisions import JobStart, expected_starts
from dardis.live.live_jobs import LiveJob, LiveJobState
from dardis.live.node_switching import NodeState
from dardis.live.service import Service
from dardis.live.use_history import KEPT_S, UseHistory, UseSample
from dardis.metrics.page_rows import COLUMNS, MOST_NODES_OF_ROW, energy_by_user
from dardis.power.unit_power import MILLI

MOST_ROWS: Final = 20_000
"""Running, waiting, and last ended jobs. Others are found by number."""
PIECE: Final = 50
MOST_SEARCHED: Final = 100_000
CHUNK: Final = 500
"""Rows in an event."""
MOST_AT_ONCE: Final = 2000
"""Changed jobs in an event."""
SHORTEST_S: Final = 0.4
"""Least time between two changes, s."""
REST: Final = 10
"""Least pause between changes, in durations of the last change."""
LONGEST_S: Final = 1.0
"""Between two looks at the use, s."""
REFILL_S: Final = 5.0
"""Least pause between searches for jobs without room, s."""
MOST_PENDING: Final = 60
"""Changes that a client may be behind."""
MOST_FORECAST: Final = 1000
"""Most waiting jobs with forecast starts."""
MOST_INSTANTS: Final = 1000
FORECAST_S: Final = 15.0
"""Age at which a forecast is renewed, s."""
_USER: Final = COLUMNS.index("user")


class _Row(NamedTuple):
    uid: int
    state: LiveJobState
    values: Sequence[Any]
    full: str
    hidden: str


class Subscriber:
    """Client that receives changes."""

    def __init__(self, uid: int) -> None:
        self.uid = uid
        self.queue = asyncio.Queue[str](MOST_PENDING)
        self.is_slow = False
        """Changes were left out: the client is closed, and starts anew."""

    def put(self, text: str) -> None:
        """Add an event, unless too many wait."""
        try:
            self.queue.put_nowait(text)
        except asyncio.QueueFull:
            self.is_slow = True


class _Rows:
    def __init__(self, gateway: Gateway) -> None:
        self.gateway = gateway
        self.rows: dict[int, _Row] = {}
        self.ended = deque[tuple[int, int]]()
        self.gone: list[int] = []
        self.lacks = False

    def put(self, number: int, row: _Row) -> bool:
        known = self.rows.get(number)
        if row.state.is_over:
            if known is None or not known.state.is_over:
                self.ended.append((row.values[COLUMNS.index("ended_ms")] or 0, number))
        elif known is None and len(self.rows) >= MOST_ROWS and not self._make_room(running=row.state == "running"):
            self.lacks = True
            return False
        self.rows[number] = row
        return True

    def _make_room(self, *, running: bool) -> bool:
        while self.ended:
            _, number = self.ended.popleft()
            if number in self.rows and self.rows[number].state.is_over:
                self._drop(number)
                return True
        waits = (number for number in reversed(self.rows) if self.rows[number].state is not LiveJobState.RUNNING)
        if not running or (last := next(waits, None)) is None:
            return False
        self.lacks = True
        self._drop(last)
        return True

    def _drop(self, number: int) -> None:
        self.gone.append(number)
        del self.rows[number]

    def prune(self, since_ms: int) -> None:
        while self.ended and (self.ended[0][0] < since_ms or len(self.rows) > MOST_ROWS):
            _, number = self.ended.popleft()
            if number in self.rows and self.rows[number].state.is_over:
                self._drop(number)


class PageFeed:
    """Source of the page of a live service."""

    def __init__(self, service: Service) -> None:
        self._service, self._me = service, os.geteuid()
        self.history = UseHistory(service.folder)
        self._prices = EnergyPrices(service.machine.platform)
        self._page: _Rows | None = None
        self._building: asyncio.Task[_Rows] | None = None
        self._changed: set[int] = set()
        self._nodes: list[list[Any]] = []
        self._subscribers: list[Subscriber] = []
        self._news = asyncio.Event()
        self._last_use = ""
        self._refilled_s = 0.0
        self._forecast: tuple[float, dict[int, tuple[int, JobStart]]] | None = None
        self._forecasting = asyncio.Lock()

    def on_output(self, taken: GatewayOutput) -> None:
        """Note changed jobs."""
        if self._page is not None or self._building is not None:
            self._changed.update(number for number, _ in taken.batch.jobs)
            self._changed.update(taken.begun)
            for row in taken.batch.submissions:
                if not row.over:
                    self._changed.update(range(row.first, row.first + row.count))
        self._news.set()

    @contextmanager
    def subscribe(self, uid: int) -> Iterator[Subscriber]:
        """User's client, until it leaves."""
        one = Subscriber(uid)
        self._subscribers.append(one)
        try:
            yield one
        finally:
            self._subscribers.remove(one)

    async def keep_looking(self) -> None:
        """Send changes and record use, until cancelled. Clients start anew after errors."""
        while True:
            try:
                async with asyncio.timeout(LONGEST_S):
                    await self._news.wait()
            except TimeoutError:
                pass
            self._news.clear()
            begun_s = monotonic_s()
            try:
                await self._look()
            except Exception as error:  # noqa: BLE001 (the page must not end the service, nor itself)
                print(f"dardis: the page starts anew: {error!r}", file=sys.stderr, flush=True)  # noqa: T201
                self._start_anew()
            await asyncio.sleep(max(SHORTEST_S, REST * (monotonic_s() - begun_s)))

    def _start_anew(self) -> None:
        self._page = None
        for one in self._subscribers:
            one.is_slow = True
            one.put("")

    # ------------------------------------------------------------------------------------------------------------------

    async def first_events(self, uid: int) -> AsyncIterator[str]:
        """All that a new client needs, as events."""
        page = await self._rows()
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
        rows = iter(list(page.rows.values()))
        while some := list(islice(rows, CHUNK)):
            yield event("jobs", f'{{"jobs": [{",".join(self._visible(uid, some))}]}}')
            await asyncio.sleep(0)
        yield event("ready", "{}")

    async def _rows(self) -> _Rows:
        if self._page is not None and self._page.gateway is self._service.gateway:
            return self._page
        if self._building is None:
            self._building = asyncio.create_task(self._build())
        return await asyncio.shield(self._building)

    async def _build(self) -> _Rows:
        try:
            self._page = await self._all_rows()
            return self._page
        finally:
            self._building = None

    async def _all_rows(self) -> _Rows:
        self._changed.clear()
        gateway = self._service.gateway
        page, ended = _Rows(gateway), list[LiveJob]()
        before, since_ms = LARGEST_ID, unix_ms() - KEPT_S * 1000
        for _ in range(MOST_SEARCHED // PIECE):
            begun_s = monotonic_s()
            jobs, before = self._service.history(before, PIECE, None, since_ms)
            ended += (job for job in jobs if job.state.is_over and (job.ended_ms or 0) >= since_ms)
            if not before or len(ended) >= MOST_ROWS:
                break
            await asyncio.sleep(monotonic_s() - begun_s)
        unfinished = sorted(gateway.jobs(), key=lambda job: (job.state is not LiveJobState.RUNNING, job.number))
        latest = sorted(ended, key=lambda job: (job.ended_ms or 0, job.number))
        for place, job in enumerate([*latest[-MOST_ROWS:], *unfinished]):
            page.put(job.number, self._row(job))
            if place % PIECE == 0:
                await asyncio.sleep(0)
        page.gone.clear()
        self._nodes = self._node_states()
        return page

    def _row(self, job: LiveJob) -> _Row:
        asked = job.submission.request
        values = [
            job.number, asked.name, job.submission.user.name, job.state, job.submission.submitted_ms, job.started_ms,
            job.ended_ms, asked.nodes, sum(len(share.cores) for share in job.shares) or asked.nodes * asked.cpus,
            asked.walltime_s, self._watts(job), [share.node for share in job.shares[:MOST_NODES_OF_ROW]],
        ]  # fmt: skip
        hidden = json.dumps([*values[:1], "", *values[2:]])
        return _Row(job.submission.user.uid, job.state, values, json.dumps(values), hidden)

    def _watts(self, job: LiveJob) -> float | None:
        if job.measured_mw is not None:
            return job.measured_mw * len(job.shares) / MILLI
        if not self._service.machine.power.is_stated:
            return None
        asked = job.submission.request
        if asked.watts is None and job.shares:
            return self._service.metrics.job_watts(job)
        return self._service.gateway.account.node_mw(job) * asked.nodes / MILLI

    def _visible(self, uid: int, rows: Iterable[_Row]) -> list[str]:
        return [row.full if uid in (self._me, row.uid) else row.hidden for row in rows]

    # ------------------------------------------------------------------------------------------------------------------

    async def _look(self) -> None:
        is_new = self.history.add(self._sample())
        page = self._page
        if not self._subscribers:
            self._page = None  # the rows are taken anew for the next client
            return
        if page is None or self._building is not None:
            return
        if page.gateway is not self._service.gateway:
            self._start_anew()
            return
        changed = await self._take_changed(page)
        page.prune(unix_ms() - KEPT_S * 1000)
        nodes = self._node_states()
        news = [[place, *node] for place, node in enumerate(nodes) if node != self._nodes[place]]
        self._nodes = nodes
        gone, page.gone = page.gone, []
        use = json.dumps(self._use())
        if not (changed or gone or news or is_new or use != self._last_use):
            return
        self._last_use = use
        sample = [self.history.samples[-1]] if is_new else []
        told = {"gone": gone, "node_states": news, "samples": sample, "now_ms": unix_ms(), "plan": self._plan()}
        rest = f"{json.dumps(told)[1:-1]}, {use[1:]}"
        rows = [row for number in changed if (row := page.rows.get(number)) is not None]
        texts: dict[int, str] = {}
        for one in self._subscribers:
            if one.uid not in texts:
                some = ",".join(self._visible(one.uid, rows))
                texts[one.uid] = event("change", f'{{"jobs": [{some}], {rest}')
            one.put(texts[one.uid])

    async def _take_changed(self, page: _Rows) -> list[int]:
        if page.lacks and monotonic_s() > self._refilled_s + REFILL_S:
            self._refilled_s = monotonic_s()
            room = MOST_ROWS - sum(not row.state.is_over for row in page.rows.values())
            absent = [job.number for job in page.gateway.jobs() if job.number not in page.rows]
            page.lacks = len(absent) > room
            self._changed.update(absent[:room])
        numbers = sorted(self._changed)
        if len(page.rows) >= MOST_ROWS and len(numbers) > MOST_AT_ONCE:
            unknown = [number for number in numbers if number not in page.rows][MOST_AT_ONCE:]
            self._changed.difference_update(unknown)  # there will be no room
            page.lacks |= bool(unknown)
            numbers = sorted(self._changed)
        taken = list[int]()
        for place, number in enumerate(numbers[:MOST_AT_ONCE]):
            self._changed.discard(number)
            if (job := self._service.find(number)) is not None and page.put(number, self._row(job)):
                taken.append(number)
            if place % PIECE == PIECE - 1:
                await asyncio.sleep(0)
        if self._changed:
            self._news.set()
        return taken

    def _node_states(self) -> list[list[Any]]:
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
        service = self._service
        cap, measured = service.gateway.account.cap, service.gateway.account.measured
        states = service.gateway.counts(1, LARGEST_ID)
        return {
            "waiting": states[LiveJobState.WAITING] + states[LiveJobState.HELD],
            "running": states[LiveJobState.RUNNING],
            "cap": None if cap is None else {"kind": cap.kind, "hard": cap.is_hard, "source": cap.source},
            "measured_w": round(sum(measured.values()), 1) if measured else None,
            "trouble": service.trouble, "unreachable": service.unreachable_hosts,
        }  # fmt: skip

    def _plan(self) -> dict[str, Any]:
        now = int(unix_now())
        cap, switching = self._service.gateway.account.cap, self._service.gateway.switching
        steps = () if cap is None else cap.steps_between(now, now + KEPT_S)
        return {"cap": steps, "nodes_on": switching.planned_on(now, now + KEPT_S)}

    # ------------------------------------------------------------------------------------------------------------------

    async def forecast(self) -> dict[int, tuple[int, JobStart]]:
        """Expected starts by job, Unix s, if all jobs take their walltimes; empty: too many wait.

        Omits jobs that also wait for something else.
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
        """Jobs on a node, and those expected next there."""
        node = self._service.machine.node(name)
        told = next((one for one in self._service.gateway.nodes() if one["name"] == name), None)
        found = [
            {"id": job, "expected_ms": at * 1000} for job, (at, start) in (await self.forecast()).items()
            if node in start.nodes
        ]  # fmt: skip
        next_ones = sorted(found, key=lambda one: one["expected_ms"])[:10]
        return {"jobs": [] if told is None else told["jobs"], "reservations": next_ones}

    async def energy(self, uid: int) -> dict[str, Any]:
        """Power and cost of the last 24 hours, by hour and by user."""
        page = await self._rows()
        now = int(unix_now())
        hours = []
        for hour in self.history.hours(now):
            kwh = hour.mean_w * hour.hours / 1000
            price = self._prices.at(hour.unix_s)
            hours.append([hour.unix_s, hour.mean_w, hour.peak_w, kwh, None if price is None else price * kwh])
        users = energy_by_user((row.values for row in page.rows.values()), now - KEPT_S, now, self._prices.at)
        mine = {row.values[_USER] for row in page.rows.values() if row.uid == uid}
        shown = [row for row in users if uid == self._me or row[0] in mine]
        whose = "" if uid == self._me else "By user: only your own jobs. "
        power = "The power of jobs is as measured or stated, else by the platform."
        return {"hours": hours, "users": shown, "note": f"The last 24 hours. {whose}{power}"}


def event(name: str, data: str) -> str:
    """Server-sent event. `data` has no line breaks."""
    return f"event: {name}\ndata: {data}\n\n"
