"""The page of a live service with 10,000 jobs: first rows and a filter in Chromium, the cost of three open pages."""

from __future__ import annotations

import time
from contextlib import ExitStack, suppress
from http.client import HTTPException
from pathlib import Path
from threading import Thread
from typing import Any, Final
from urllib.request import Request, urlopen

from scripts.chromium import chromium
from scripts.lab.bench.live import Service, cpu_s, mib_of, new_folder
from scripts.lab.bench.measure import Row
from scripts.lab.kit.spread import Spread

QUEUED: Final = 10_000
PAGES, WATCHED_S, CHANGE_S = 3, 30.0, 1.0
"""Open pages, how long they are watched, and how often a job changes meanwhile, s."""
FIRST_ROWS: Final = """
const done = arguments[arguments.length - 1], begun = performance.timeOrigin;
(function look() {
  if (document.querySelectorAll('#jobs-table tbody a').length) done(Date.now() - begun); else setTimeout(look, 2);
})()"""
CHANGE: Final = """
const done = arguments[arguments.length - 1];
(function look(id) {
  if (app.jobs.has(id)) done(Date.now()); else setTimeout(look, 2, id);
})(arguments[0])"""
FILTER: Final = """
const done = arguments[arguments.length - 1], begun = performance.now(), field = document.getElementById('search');
field.value = arguments[0];
field.dispatchEvent(new Event('input'));
requestAnimationFrame(() => requestAnimationFrame(() => done([performance.now() - begun,
  document.querySelectorAll('#jobs-table tbody a').length])));"""


def page(folder: Path, repeats: int) -> list[Row]:
    """All rows."""
    with ExitStack() as stack:
        service = Service(new_folder(folder, "page"), "--page", counted=True)
        stack.callback(service.end)
        numbers = service.asks.submit(["/bin/sleep", "3600"], QUEUED)
        driver = stack.enter_context(chromium())
        driver.get(_link(service))
        base = driver.current_url.partition("#")[0]
        rows_ms, filter_ms = [], []
        for turn in range(repeats + 1):
            driver.get("about:blank")
            time.sleep(2)  # no page is open: the service forgets the rows
            driver.get(f"{base}#/jobs")
            rows_ms.append(float(driver.execute_async_script(FIRST_ROWS)))
            until = time.monotonic() + 60
            while not driver.execute_script("return app.isReady") and time.monotonic() < until:
                time.sleep(0.05)
            took, found = driver.execute_async_script(FILTER, str(numbers[turn]))
            if not found:
                raise RuntimeError("the filter has found nothing")
            filter_ms.append(float(took))
        change_ms = [_change_ms(service, driver) for _ in range(10)]
        driver.get("about:blank")
        share = _open_pages(service, driver, base, numbers)
        peak = Spread.of([mib_of(service.processes)])
    nothing = Spread.of([0.0])
    return [
        Row("first rows of 10,000 jobs", "dardis serve --page", QUEUED, nothing, peak, Spread.of(rows_ms[1:]),
            "ms from the navigation", "<= 1000", {}),
        Row("a filter over 10,000 jobs", "dardis serve --page", QUEUED, nothing, peak, Spread.of(filter_ms[1:]),
            "ms until it is drawn", "<= 200", {}),
        Row("a submitted job appears", "dardis serve --page", QUEUED, nothing, peak, Spread.of(change_ms),
            "ms from the acknowledgement", "<= 1000", {}),
        Row("three open pages", "dardis serve --page", QUEUED, nothing, peak, Spread.of([share]),
            "% of a core, a job changing each second, less than without pages", "<= 3", {}),
    ]  # fmt: skip


def _change_ms(service: Service, driver: Any) -> float:  # noqa: ANN401 (Selenium's)
    """Time from the acknowledgement of a job until the page has its row, ms."""
    (number,) = service.asks.submit(["/bin/true"])
    begun = time.time()
    return float(driver.execute_async_script(CHANGE, number)) - 1000 * begun


def _link(service: Service) -> str:
    return str(service.asks.ask("POST", "/page")["link"])


def _open_pages(service: Service, driver: Any, base: str, numbers: range) -> float:  # noqa: ANN401 (Selenium's)
    """Share of a core that the service takes for three pages, beyond the same time without them, %."""
    cookie = _cookie(driver, base)
    without = _watched(service, numbers[-200:])
    readers = [Thread(target=_read, args=(base, cookie), daemon=True) for _ in range(PAGES)]
    for reader in readers:
        reader.start()
    time.sleep(5)  # all have the first rows
    return 100 * (_watched(service, numbers[-400:-200]) - without) / WATCHED_S


def _cookie(driver: Any, base: str) -> str:  # noqa: ANN401 (Selenium's)
    driver.get(base)
    told = "; ".join(f"{one['name']}={one['value']}" for one in driver.get_cookies())
    driver.get("about:blank")
    time.sleep(2)
    return told


def _watched(service: Service, numbers: range) -> float:
    begun, end = cpu_s(service.processes), time.monotonic() + WATCHED_S
    for number in numbers:
        if time.monotonic() >= end:
            break
        service.asks.ask("POST", f"/jobs/{number}/hold")
        time.sleep(CHANGE_S)
    return cpu_s(service.processes) - begun


def _read(base: str, cookie: str) -> None:
    address = base.rstrip("/")
    name, _, port = address.removeprefix("http://").partition(":")
    request = Request(f"http://127.0.0.1:{port}/events", headers={"Cookie": cookie, "Host": f"{name}:{port}"})
    with suppress(HTTPException, OSError), urlopen(request) as events:  # noqa: S310 (of this machine)
        while events.read(1 << 14):
            pass
