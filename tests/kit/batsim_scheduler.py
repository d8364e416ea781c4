"""A scheduler with Batsim's protocol, written from its docs: FCFS, EASY, or what a test says; here or over ZeroMQ."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

import zmq

Said = tuple[str, dict[str, Any]]
React = Callable[[float, list[Said]], Any]


class BatsimScheduler:
    """Answers with what `react(now, events)` says: a list of events, a whole answer, or bytes."""

    endpoint, timeout_s = "tcp://here:1", 60

    def __init__(self, react: React) -> None:
        self.react = react
        self.heard: list[dict[str, Any]] = []
        self.closed = False

    def request(self, text: str) -> bytes:
        message = json.loads(text)
        self.heard.append(message)
        now = message["now"]
        said = self.react(now, [(one["type"], one["data"]) for one in message["events"]])
        if isinstance(said, list):
            said = {"now": now, "events": [{"timestamp": now, "type": kind, "data": data} for kind, data in said]}
        return said if isinstance(said, bytes) else json.dumps(said).encode()

    def close(self) -> None:
        self.closed = True

    def events(self, *kinds: str) -> list[tuple[float, str, dict[str, Any]]]:
        """What it was told: time, type and data."""
        told = [(one["now"], event["type"], event["data"]) for one in self.heard for event in one["events"]]
        return [one for one in told if not kinds or one[1] in kinds]


class QueueScheduler(BatsimScheduler):
    """FCFS on the lowest free resources; with `backfill`, EASY."""

    def __init__(self, *, backfill: bool = False) -> None:
        super().__init__(self._decide)
        self._backfill = backfill
        self._waiting: list[dict[str, Any]] = []
        self._running: dict[str, tuple[float, list[int]]] = {}

    def _decide(self, now: float, events: list[Said]) -> list[Said]:
        for kind, data in events:
            if kind == "SIMULATION_BEGINS":
                self._count, self._free = data["nb_resources"], [*range(data["nb_resources"])]
            elif kind == "JOB_SUBMITTED":
                self._waiting.append(data["job"])
            elif kind == "JOB_COMPLETED":
                self._free = sorted(self._free + self._running.pop(data["job_id"])[1])
        large = [job for job in self._waiting if job["res"] > self._count]
        self._waiting = [job for job in self._waiting if job not in large]
        said: list[Said] = [("REJECT_JOB", {"job_id": job["id"]}) for job in large]
        while self._waiting and self._waiting[0]["res"] <= len(self._free):
            said.append(self._start(self._waiting[0], now))
        return said + (self._fill(now) if self._backfill and self._waiting else [])

    def _start(self, job: dict[str, Any], now: float) -> Said:
        self._waiting.remove(job)
        taken, self._free = self._free[: job["res"]], self._free[job["res"] :]
        self._running[job["id"]] = now + job["walltime"], taken
        return "EXECUTE_JOB", {"job_id": job["id"], "alloc": ",".join(map(str, taken))}

    def _fill(self, now: float) -> list[Said]:
        needed, at, free = self._waiting[0]["res"], now, len(self._free)
        for end, taken in sorted(self._running.values()):
            if free >= needed and end > at:
                break
            at, free = end, free + len(taken)
        spare, said = free - needed, []
        for job in self._waiting[1:]:
            outlasts = now + job["walltime"] > at
            if job["res"] <= len(self._free) and (not outlasts or job["res"] <= spare):
                spare -= job["res"] * outlasts
                said.append(self._start(job, now))
        return said


def scripted(*answers: Any) -> BatsimScheduler:
    """Answers of the messages in order, from the first submission on; then none."""
    told = iter(answers)
    return BatsimScheduler(lambda _, events: [] if events[0][0] == "SIMULATION_BEGINS" else next(told, []))


def execute(job: int | str, alloc: str, **more: Any) -> Said:
    return "EXECUTE_JOB", {"job_id": job if isinstance(job, str) else f"w0!{job}", "alloc": alloc, **more}


def call(at: float) -> Said:
    return "CALL_ME_LATER", {"timestamp": at}


@contextmanager
def served(scheduler: BatsimScheduler) -> Iterator[str]:
    """Endpoint of the scheduler on a free port."""
    over = Event()
    with zmq.Context() as context, context.socket(zmq.REP) as socket:
        socket.bind("tcp://127.0.0.1:*")
        thread = Thread(target=_serve, args=(scheduler, socket, over), daemon=True)
        thread.start()
        try:
            yield socket.get_string(zmq.LAST_ENDPOINT)
        finally:
            over.set()
            thread.join()


def _serve(scheduler: BatsimScheduler, socket: zmq.Socket[bytes], over: Event) -> None:
    while not over.is_set():
        if socket.poll(20):
            socket.send(scheduler.request(socket.recv_string()))
