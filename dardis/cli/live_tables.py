"""Tables and lines for a live service, with UTC times."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final

import typer

from dardis.live.job_option_texts import read_time, time_text
from dardis.model.errors import InputError
from dardis.model.moments import parse_utc

Job = Mapping[str, Any]
Row = tuple[str, ...]
USUAL_HISTORY: Final = 100
_NOTHING: Final = "-"
_NUMBERS: Final = frozenset({"NODES", "CPUS", "TIME", "LIMIT", "CORES", "USED", "GPUS", "MEMORY"})


def print_table(columns: Row, rows: Iterable[Row]) -> None:
    """Print a table: drawn on a terminal, otherwise plain."""
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.markup import escape
        from rich.table import Table

        table = Table(box=None, pad_edge=False)
        for column in columns:
            table.add_column(column, justify="right" if column in _NUMBERS else "left", no_wrap=column != columns[-1])
        for row in rows:
            table.add_row(*map(escape, row))
        Console().print(table)
        return
    for line in plain_lines(columns, rows):
        typer.echo(line)


def plain_lines(columns: Row, rows: Iterable[Row]) -> list[str]:
    """Return the lines of a plain table."""
    lines = [columns, *(tuple(cell or _NOTHING for cell in row) for row in rows)]
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]


def array_rows(arrays: Iterable[Job], now_ms: int) -> tuple[Row, list[Row]]:
    """Return a row for each array of unfinished jobs, and for each other job."""
    rows: list[Row] = []
    for job in arrays:
        states = job["states"]
        state = "running" if states.get("running") else "waiting" if states.get("waiting") else job["state"]
        alone = sum(states.values()) == 1
        rows.append((
            _range_text(job["id"], job["last_id"]),
            "" if job["index"] is None else _range_text(job["index"], job["last_index"]),
            job["name"], job["user"], state, str(job["node_count"]), str(job["cpus"]),
            _span(job["started_ms"], now_ms if job["state"] == "running" and alone else None),
            time_text(job["walltime_s"]), _nodes_or_reason(job) if alone else _counts_text(job),
        ))  # fmt: skip
    return ("ID", "INDEX", "NAME", "USER", "STATE", "NODES", "CPUS", "TIME", "LIMIT", "ON OR REASON"), rows


def ended_rows(jobs: Iterable[Job]) -> tuple[Row, list[Row]]:
    """Return rows of finished jobs."""
    rows: list[Row] = [
        (
            str(job["id"]), job["name"], job["user"], job["state"], _code(job), _run_time(job),
            _moment(job["submitted_ms"]), _moment(job["started_ms"]), _moment(job["ended_ms"]), ",".join(job["nodes"]),
            job["why"],
        )
        for job in jobs
    ]  # fmt: skip
    return ("ID", "NAME", "USER", "STATE", "CODE", "TIME", "SUBMITTED", "STARTED", "ENDED", "ON", "WHY"), rows


def node_rows(nodes: Iterable[Mapping[str, Any]]) -> tuple[Row, list[Row]]:
    """Return rows of nodes."""
    rows: list[Row] = [
        (
            node["name"], "unreachable" if node["silent"] else node["state"], str(node["cores"]),
            str(node["used_cores"]), str(node["gpus"]), f"{node['memory_mib']} MiB", ",".join(map(str, node["jobs"])),
            node["why"],
        )
        for node in nodes
    ]  # fmt: skip
    return ("NODE", "STATE", "CORES", "USED", "GPUS", "MEMORY", "JOBS", "WHY"), rows


def job_lines(job: Job) -> list[str]:
    """Return one line per known property; file patterns become paths."""
    from dardis.live.output import output_path

    paths = {name: str(output_path(job, error=name == "error")) for name in ("output", "error") if job[name]}
    said = {
        name.removesuffix("_ms") if name.endswith("_ms") else name: _value(name, value)
        for name, value in {**job, **paths}.items()
        if value is not None and value not in ("", [])
    }
    width = max(map(len, said))
    return [f"{name:{width}}  {text}" for name, text in said.items()]


def _nodes_or_reason(job: Job) -> str:
    on = ",".join(job["nodes"]) if job["state"] == "running" else ""
    return ": ".join(part for part in (on, job["why"]) if part)


def ended_since(text: str, now_ms: int) -> int:
    """Return `--since` (UTC time, or span before now) in Unix ms. Raises InputError."""
    with suppress(ValueError, OverflowError):
        return parse_utc(text) * 1000
    if ":" not in text:  # could be a time of day, or hours and minutes ago
        with suppress(InputError):
            return now_ms - read_time(text, "--since") * 1000
    raise InputError("--since", repr(text), "a UTC time as 2026-11-25 or 2026-11-25T04:00Z, or 2h, 1d")


def _range_text(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def _counts_text(array: Job) -> str:
    counts = array["states"] | {"ended": array["array_size"] - sum(array["states"].values())}
    parts = [f"{counts[state]} {state}" for state in ("running", "waiting", "held", "ended") if counts.get(state)]
    why = next(iter(array["reasons"]), "")
    return ", ".join(parts) + (f": {why}" if why else "")


def _value(name: str, value: object) -> str:
    if name.endswith("_ms") and isinstance(value, int):
        return _moment(value)
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return shlex.join(value)
    return json.dumps(value)


def _moment(unix_ms: int | None) -> str:
    if unix_ms is None:
        return ""
    return datetime.fromtimestamp(unix_ms // 1000, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _span(begun_ms: int | None, ended_ms: int | None) -> str:
    return "" if begun_ms is None or ended_ms is None else time_text(max(0, ended_ms - begun_ms) // 1000)


def _run_time(job: Job) -> str:
    return _span(job["started_ms"], job["ended_ms"])


def _code(job: Job) -> str:
    if job["signal"] is not None:
        return f"signal {job['signal']}"
    return "" if job["code"] is None else str(job["code"])
