"""Measures node power."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from dardis.engine.clock import monotonic_s, unix_ms
from dardis.live.gateway import Gateway
from dardis.live.keeper_client import SupervisorClient, SupervisorError
from dardis.live.power_readings import parse_watts, watts_of
from dardis.live.time_limited_program import run_program
from dardis.model.errors import InputError
from dardis.power.unit_power import MILLI

INTERVAL_S: Final = 10.0
LIMIT_S: Final = 10.0
"""Longest program run, s."""


class PowerMeter:
    """Node power by a program, else by the kernels of reachable hosts."""

    def __init__(
        self, program: Path | None, gateway: Callable[[], Gateway],
        supervisors: Callable[[], Mapping[str, SupervisorClient]], due: Callable[[], None],
        *, interval_s: float = INTERVAL_S, limit_s: float = LIMIT_S,
    ) -> None:  # fmt: skip
        self._program, self._gateway, self._supervisors, self._due = program, gateway, supervisors, due
        self._interval_s, self._limit_s = interval_s, limit_s
        self._readings: dict[str, tuple[float, Mapping[str, Any]]] = {}
        self._least_w: dict[str, float] = {}
        """Least power of processors and memory by host without jobs."""
        self._busy_s: dict[str, float] = {}
        self.trouble = ""

    async def keep_measuring(self) -> None:
        """Measure until cancelled. Failures are printed once."""
        while True:
            begun_s = monotonic_s()
            before = self.trouble
            try:
                watts = await self._measure()
                self.trouble = ""
            except InputError as error:
                watts, self.trouble = {}, str(error)
            if self.trouble and self.trouble != before:
                print(f"dardis: power is not measured: {self.trouble}", file=sys.stderr, flush=True)  # noqa: T201
            if watts or self._gateway().account.measured:
                self._gateway().on_power(watts, unix_ms())
                self._due()
            await asyncio.sleep(max(self._interval_s - (monotonic_s() - begun_s), 0.0))

    async def _measure(self) -> dict[str, float]:
        machine = self._gateway().machine
        if self._program is not None:
            output = await run_program(self._program, (), self._limit_s)
            return parse_watts(output, machine.names, str(self._program))
        found: dict[str, float] = {}
        supervisors = self._supervisors()
        readings = await asyncio.gather(*(one.power() for one in supervisors.values()), return_exceptions=True)
        busy = {node["name"] for node in self._gateway().nodes() if node["jobs"]}
        for host, reading in zip(supervisors, readings, strict=True):
            if isinstance(reading, SupervisorError):
                continue
            if isinstance(reading, BaseException):
                raise reading
            now_s = monotonic_s()
            last_s, last = self._readings.get(host, (now_s, {}))
            self._readings[host] = now_s, reading
            watts = watts_of(last, reading, now_s - last_s)
            if watts is not None and "zones" in reading:
                watts = self._with_idle_power(host, watts, busy, now_s)
            nodes = machine.nodes(host)
            if watts is not None:
                found |= {node: watts / len(nodes) for node in nodes}
        return found

    def _with_idle_power(self, host: str, watts: float, busy: set[str], now_s: float) -> float | None:
        """Power of a host's nodes if processors and memory take `watts`; None: unknown.

        `busy`: nodes with jobs. Power above that without jobs is added to the platform's idle power.
        """
        machine = self._gateway().machine
        nodes = machine.nodes(host)
        if not busy.isdisjoint(nodes):
            self._busy_s[host] = now_s
        elif now_s - self._busy_s.get(host, 0.0) > 2 * self._interval_s:  # a reading between two idle moments
            self._least_w[host] = min(watts, self._least_w.get(host, watts))
        if host not in self._least_w:
            return None
        idle_mw = sum(int(machine.power.idle_mw[n]) for n, name in enumerate(machine.names) if name in nodes)
        return idle_mw / MILLI + max(watts - self._least_w[host], 0.0)
