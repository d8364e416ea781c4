"""Commands that ask a live service, and the tables that they print."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from dardis.cli.asking import (
    Folder,
    JobId,
    JobIds,
    JobStatus,
    Json,
    WholeArray,
    asked_service,
    id_of,
    ids_of,
    print_json,
    waited_for,
)
from dardis.cli.derived import Group
from dardis.config.option_texts import whole
from dardis.live.asked import read_time, time_text
from dardis.live.output import path_of
from dardis.model.errors import InputError
from dardis.model.moments import parse_utc

OfUser = Annotated[str | None, typer.Option("--user", metavar="NAME", help="Only jobs of this user.")]
Limit = Annotated[
    int | None, typer.Option("--limit", parser=whole("--limit", 1), metavar="N", help="At most so many jobs.")
]


def queue(user: OfUser = None, limit: Limit = None, folder: Folder = None, as_json: Json = False) -> None:
    """List the jobs that are not over: their states, what they wait for, since when they run."""
    from dardis.cli.live import job_rows, print_table
    from dardis.engine.clock import unix_now

    answer = asked_service(folder).get("/jobs", state="open", user=user, limit=limit)
    if as_json:
        print_json(answer)
    else:
        print_table(*job_rows(answer["jobs"], round(unix_now() * 1000)))


def history(
    since: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Only jobs that ended since: a UTC date or moment, or so long ago (2h, 1d)."),
    ] = None,
    user: OfUser = None,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit",
            parser=whole("--limit", 1),
            metavar="N",
            help="At most so many jobs; else 100, or all of --since.",
        ),
    ] = None,
    folder: Folder = None,
    as_json: Json = False,
) -> None:
    """List the jobs that are over: how they ended, when, and how long they ran."""
    from dardis.cli.live import USUAL_HISTORY, ended_rows, ended_since, print_table
    from dardis.engine.clock import unix_now

    first_ms = None if since is None else ended_since(since, round(unix_now() * 1000))
    most = USUAL_HISTORY if limit is None and since is None else limit
    jobs = asked_service(folder).history(most, state="over", user=user, since_ms=first_ms)
    if as_json:
        print_json({"jobs": jobs})
    else:
        print_table(*ended_rows(jobs))


def show(job: JobId, folder: Folder = None, as_json: Json = False) -> None:
    """Show all that is known of a job."""
    from dardis.cli.live import job_lines

    found = asked_service(folder).job(id_of(job))
    if as_json:
        print_json(found)
    else:
        typer.echo("\n".join(job_lines(found)))


def wait(jobs: JobIds, folder: Folder = None, as_json: Json = False) -> JobStatus:
    """Wait for the end of jobs, and end with the job's exit code, of several with the highest.

    A job that a signal N ended counts as 128 + N, one that met its walltime as 124, one that was cancelled as 143, one
    that could not be started as 126, and one whose end nobody knows as 125, as where the service is away for long.
    """
    return waited_for(asked_service(folder), ids_of(jobs), as_json)


def cancel(jobs: JobIds, whole_array: WholeArray = False, folder: Folder = None, as_json: Json = False) -> None:
    """End jobs that run, by SIGTERM and after their grace by SIGKILL; jobs that wait won't start."""
    _change("cancel", jobs, whole_array, folder, as_json)


def hold(jobs: JobIds, whole_array: WholeArray = False, folder: Folder = None, as_json: Json = False) -> None:
    """Keep jobs that wait from starting."""
    _change("hold", jobs, whole_array, folder, as_json)


def release(jobs: JobIds, whole_array: WholeArray = False, folder: Folder = None, as_json: Json = False) -> None:
    """Let jobs start that are held, or once more where nobody can say how they ended."""
    _change("release", jobs, whole_array, folder, as_json)


def nodes(
    lost: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Give up a host that is silent, or a node of it: what runs there is taken for over, and unknown.",
        ),
    ] = None,
    folder: Folder = None,
    as_json: Json = False,
) -> None:
    """List the nodes: what they have, what of it is in use, by which jobs."""
    from dardis.cli.live import node_rows, print_table

    service = asked_service(folder)
    if lost is not None:
        given_up = service.node(lost, "lost")
        if as_json:
            print_json(given_up)
        else:
            said = f"what {given_up['given_up']} jobs had on {lost} is taken for over"
            typer.echo(f"{said}; those that ran there are unknown now (dardis release runs them again)")
        return
    answer = service.get("/nodes")
    if as_json:
        print_json(answer)
    else:
        print_table(*node_rows(answer["nodes"]))


def drain(
    node: Annotated[str, typer.Argument(metavar="NODE", help="Its name.")],
    why: Annotated[str, typer.Option(metavar="TEXT", help="What is told to those who ask.")] = "",
    undo: Annotated[bool, typer.Option("--undo", help="Let jobs start there again.")] = False,
    folder: Folder = None,
    as_json: Json = False,
) -> None:
    """Let no more jobs start on a node; those that run there go on."""
    from dardis.model.errors import InputError

    if undo and why:
        raise InputError("--why, --undo", "both", "one of them")
    service = asked_service(folder)
    answer = service.node(node, "resume") if undo else service.node(node, "drain", {"why": why})
    if as_json:
        print_json(answer)


def logs(
    job: JobId,
    error: Annotated[bool, typer.Option("--error", help="The error output instead.")] = False,
    follow: Annotated[bool, typer.Option("--follow", help="Go on until the job is over.")] = False,
    folder: Folder = None,
    as_json: Json = False,
) -> None:
    """Print what a job has written; with --json where that is."""
    from dardis.live.output import copied, path_of

    service, number = asked_service(folder), id_of(job)
    found = service.job(number)
    if as_json:
        print_json({"id": number, **{name: str(path_of(found, error=name == "error")) for name in ("output", "error")}})
        return
    stream = typer.get_binary_stream("stdout")
    for block in copied(service, found, path_of(found, error=error), follow=follow):
        stream.write(block)
        stream.flush()


def execute(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="NODE [--] COMMAND…", help="A node of the job, and what runs there.")
    ] = None,
    folder: Folder = None,
) -> JobStatus:
    """Within a job: run a command on a node of the job, and end with its exit code.

    It has this environment and folder, the cores of the job there, and no input; it ends with the job. 128 + N after
    signal N, 255 where it could not be run or nobody knows how it ended.
    """
    from dardis.live.remote import run_on
    from dardis.model.errors import InputError

    node, *command = words or [""]
    command = command[1:] if command[:1] == ["--"] else command
    if not node or not command:
        raise InputError("exec", "no command" if node else "no node", "NODE COMMAND…")
    return JobStatus(run_on(asked_service(folder), node, command))


def stop(
    kill: Annotated[bool, typer.Option("--kill", help="End jobs that run first; else they go on without it.")] = False,
    folder: Folder = None,
    as_json: Json = False,
) -> None:
    """End the service. What waits is there again at the next dardis serve, and what runs goes on."""
    answer = asked_service(folder).post("/stop", {"kill": kill}, again=False)
    if as_json:
        print_json(answer)
    elif running := answer["running"]:
        jobs = "1 job" if running == 1 else f"{running} jobs"
        typer.echo(f"{jobs} told to end" if kill else f"{jobs} running on; the next dardis serve finds them again")


def _change(do: str, jobs: Sequence[str], whole_array: bool, folder: Path | None, as_json: bool) -> None:
    """Have something done to jobs; where it can't be done to one, to the others all the same."""
    from dardis.model.errors import DardisError

    service = asked_service(folder)
    refusal: DardisError | None = None
    for number in ids_of(jobs):
        try:
            answer = service.change(number, do, array=whole_array)
        except DardisError as error:
            if refusal is not None:
                typer.echo(f"dardis: {refusal}", err=True)
            refusal = error
            continue
        if as_json:
            print_json(answer)
    if refusal is not None:
        raise refusal


def replay(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a service, running or not.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print what came of it as an object.")] = False,
) -> int:
    """Put what happened through the same decisions again; exit status 1 where a job starts at another time or node."""
    from dataclasses import asdict

    from dardis.cli.asking import print_json
    from dardis.live.deciding import replay as replay_instants
    from dardis.live.journal import told_instants

    found = replay_instants(told_instants(folder))
    if as_json:
        print_json(asdict(found))
        return 1 if found.differs else 0
    what = f"{found.instants} instants of {found.services} services, {found.starts} starts"
    typer.echo(f"{what}: {found.differs or 'all the same'}")
    return 1 if found.differs else 0


GROUP: Final = Group("Look at what a live service has written down.", {"replay": replay})


Job = Mapping[str, Any]
Row = tuple[str, ...]
USUAL_HISTORY: Final = 100
_NOTHING: Final = "-"
_NUMBERS: Final = frozenset({"NODES", "CPUS", "TIME", "LIMIT", "CORES", "USED", "GPUS", "MEMORY"})


def print_table(columns: Row, rows: Iterable[Row]) -> None:
    """A table: drawn on a terminal, else in plain columns, in which nothing is left empty."""
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
    lines = [columns, *(tuple(cell or _NOTHING for cell in row) for row in rows)]
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    for line in lines:
        typer.echo("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def job_rows(jobs: Iterable[Job], now_ms: int) -> tuple[Row, list[Row]]:
    """The jobs that are not over; those of an array that wait for the same are one row."""
    rows: list[Row] = []
    for _, alike in groupby(jobs, _alike):
        group = list(alike)
        job, last = group[0], group[-1]
        running = job["state"] == "running"
        rows.append((
            _from_to(job["id"], last["id"]), "" if job["index"] is None else _from_to(job["index"], last["index"]),
            job["name"], job["user"], job["state"], str(job["node_count"]), str(job["cpus"]),
            _span(job["started_ms"], now_ms if running else None), time_text(job["walltime_s"]), _on_or_why_not(job),
        ))  # fmt: skip
    return ("ID", "INDEX", "NAME", "USER", "STATE", "NODES", "CPUS", "TIME", "LIMIT", "ON, OR WHY NOT"), rows


def ended_rows(jobs: Iterable[Job]) -> tuple[Row, list[Row]]:
    """The jobs that are over."""
    rows: list[Row] = [
        (
            str(job["id"]), job["name"], job["user"], job["state"], _code(job), _ran(job),
            _moment(job["submitted_ms"]), _moment(job["started_ms"]), _moment(job["ended_ms"]), ",".join(job["nodes"]),
            job["why"],
        )
        for job in jobs
    ]  # fmt: skip
    return ("ID", "NAME", "USER", "STATE", "CODE", "TIME", "SUBMITTED", "STARTED", "ENDED", "ON", "WHY"), rows


def node_rows(nodes: Iterable[Mapping[str, Any]]) -> tuple[Row, list[Row]]:
    """The nodes."""
    rows: list[Row] = [
        (
            node["name"], "silent" if node["silent"] else node["state"], str(node["cores"]), str(node["used_cores"]),
            str(node["gpus"]), f"{node['memory_mib']} MiB", ",".join(map(str, node["jobs"])), node["why"],
        )
        for node in nodes
    ]  # fmt: skip
    return ("NODE", "STATE", "CORES", "USED", "GPUS", "MEMORY", "JOBS", "WHY"), rows


def job_lines(job: Job) -> list[str]:
    """All that is told of a job, a line each; what is nothing is left out, and patterns are told as paths."""
    paths = {name: str(path_of(job, error=name == "error")) for name in ("output", "error") if job[name]}
    said = {
        name.removesuffix("_ms") if name.endswith("_ms") else name: _value(name, value)
        for name, value in {**job, **paths}.items()
        if value is not None and value not in ("", [])
    }
    width = max(map(len, said))
    return [f"{name:{width}}  {text}" for name, text in said.items()]


def _on_or_why_not(job: Job) -> str:
    """Where a job runs, and why that isn't sure; else why it doesn't run."""
    on = ",".join(job["nodes"]) if job["state"] == "running" else ""
    return ": ".join(part for part in (on, job["why"]) if part)


def ended_since(text: str, now_ms: int) -> int:
    """Unix ms that `--since` says: a moment of UTC, or a span back from now. Raises InputError."""
    with suppress(ValueError, OverflowError):
        return parse_utc(text) * 1000
    if ":" not in text:  # that could be a time of the day, or so many hours and minutes ago
        with suppress(InputError):
            return now_ms - read_time(text, "--since") * 1000
    raise InputError("--since", repr(text), "a UTC moment as 2026-11-25 or 2026-11-25T04:00Z, or 2h, 1d")


def _from_to(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def _alike(job: Job) -> tuple[object, ...]:
    if job["array"] is None or job["state"] not in {"held", "waiting"}:
        return (job["id"],)
    return (job["array"], job["state"], job["why"])


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


def _ran(job: Job) -> str:
    return _span(job["started_ms"], job["ended_ms"])


def _code(job: Job) -> str:
    if job["signal"] is not None:
        return f"signal {job['signal']}"
    return "" if job["code"] is None else str(job["code"])
