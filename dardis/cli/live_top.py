"""`dardis top`: nodes and jobs of a service, again and again."""

from __future__ import annotations

import sys
from collections import Counter
from time import sleep
from typing import TYPE_CHECKING, Any, Final

import typer

from dardis.cli.live_tables import array_rows, node_rows, plain_lines
from dardis.engine.clock import unix_ms, utc_now
from dardis.model.errors import DardisError

if TYPE_CHECKING:
    from dardis.live.client import Client

USUAL_S: Final = 2
MOST_ROWS: Final = 20
"""Rows of running jobs, and of reasons."""


def watch(service: Client, user: str | None, interval_s: int | None) -> None:
    """Show views until interrupted: drawn on a terminal, plain otherwise, where one is enough without an interval."""
    if not sys.stdout.isatty():
        while True:
            typer.echo("\n".join(view(service, user)))
            if interval_s is None:
                return
            sleep(interval_s)
    from rich.live import Live
    from rich.text import Text

    with Live(screen=True, auto_refresh=False) as live:
        lines, trouble = view(service, user), list[str]()
        while True:
            live.update(Text("\n".join([*trouble, *lines]), no_wrap=True, overflow="ellipsis"), refresh=True)
            sleep(interval_s or USUAL_S)
            try:
                lines, trouble = view(service, user), []
            except DardisError as error:
                trouble = [str(error)]


def view(service: Client, user: str | None) -> list[str]:
    """Lines of one view."""
    nodes = service.get("/nodes")["nodes"]
    arrays: list[dict[str, Any]] = service.get("/jobs", state="open", user=user, array=1)["arrays"]
    states, reasons = Counter[str](), Counter[str]()
    for array in arrays:
        states.update(array["states"])
        reasons.update(array["reasons"])
    cores, used = sum(node["cores"] for node in nodes), sum(node["used_cores"] for node in nodes)
    head = f"{utc_now()}  {len(nodes)} nodes, {used} of {cores} cores in use; "
    head += f"jobs: {states['running']} running, {states['waiting']} waiting, {states['held']} held"
    columns, rows = node_rows([{**node, "jobs": [len(node["jobs"])]} for node in nodes])
    lines = [head, "", *plain_lines(columns, rows)]
    running = [array for array in arrays if "running" in array["states"]]
    if running:
        lines += ["", *plain_lines(*array_rows(running[:MOST_ROWS], unix_ms()))]
        lines += [f"and {len(running) - MOST_ROWS} more"] if len(running) > MOST_ROWS else []
    if reasons:
        lines += ["", *plain_lines(("JOBS", "REASON"), [(str(n), why) for why, n in reasons.most_common(MOST_ROWS)])]
    return lines
