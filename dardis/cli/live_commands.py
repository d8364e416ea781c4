"""Commands for a live service."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from dardis.cli.derived_options import CommandGroup
from dardis.cli.live_requests import (
    Folder,
    JobId,
    JobIds,
    JobStatus,
    Json,
    WholeArray,
    id_of,
    ids_of,
    print_json,
    ranges_of,
    service_client,
    wait_for_jobs,
)
from dardis.config.option_texts import whole_number_parser
from dardis.model.errors import DardisError, InputError

if TYPE_CHECKING:
    from dardis.live.client import Client

OfUser = Annotated[str | None, typer.Option("--user", metavar="NAME", help="Only jobs of this user.")]
Limit = Annotated[
    int | None,
    typer.Option("--limit", parser=whole_number_parser("--limit", 1), metavar="N", help="At most so many jobs."),
]


def queue(user: OfUser = None, limit: Limit = None, folder: Folder = None, as_json: Json = False) -> None:
    """List unfinished jobs: states, reasons for waiting, and running times."""
    from dardis.cli.live_tables import array_rows, print_table
    from dardis.engine.clock import unix_ms

    ask = partial(service_client(folder).get, "/jobs", state="open", user=user, limit=limit)
    if as_json:
        print_json(ask())
    else:
        print_table(*array_rows(ask(array=1)["arrays"], unix_ms()))


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
            parser=whole_number_parser("--limit", 1),
            metavar="N",
            help="At most so many jobs; else 100, or all of --since.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write jobs.csv, metrics.json and the like to DIR, as dardis simulate does, and all jobs to "
            "recorded.csv, for report, audit and plan.",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the files of a run in DIR.")] = False,
    folder: Folder = None,
    as_json: Json = False,
) -> None:
    """List finished jobs: results, end times and running times. With --out, write them as the folder of a run."""
    from dardis.cli.live_tables import USUAL_HISTORY, ended_rows, ended_since, print_table
    from dardis.engine.clock import unix_ms

    first_ms = None if since is None else ended_since(since, unix_ms())
    if out is not None:
        for option, value in (("--user", user), ("--limit", limit), ("--json", as_json or None)):
            if value is not None:
                raise InputError(option, "given with --out", "all jobs, or those of --since")
        return _write_history(service_client(folder), out, first_ms, force=force)
    if force:
        raise InputError("--force", "given without --out", "--out as well")
    most = USUAL_HISTORY if limit is None and since is None else limit
    jobs = service_client(folder).history(most, state="over", user=user, since_ms=first_ms)
    if as_json:
        print_json({"jobs": jobs})
    else:
        print_table(*ended_rows(jobs))
    return None


def _write_history(service: Client, out: Path, since_ms: int | None, *, force: bool) -> None:
    from dardis.live.recorded_run import platform_of_jobs, recorded_run, write_recorded_run
    from dardis.report.run_page import draw_report

    told = service.get("/platform")
    jobs = {job["id"]: job for job in service.get("/jobs", state="open")["jobs"]}  # first: they may end meanwhile
    jobs |= {job["id"]: job for job in service.history(state="over", since_ms=since_ms)}
    run = recorded_run(jobs.values(), platform_of_jobs(told), told["nodes"])
    for note in run.notes:
        typer.echo(f"dardis: {note}", err=True)
    metrics = write_recorded_run(run, out, force=force)
    typer.echo(f"{metrics['jobs']} jobs: {draw_report(out)}")


def show(job: JobId, folder: Folder = None, as_json: Json = False) -> None:
    """Show all information about a job."""
    from dardis.cli.live_tables import job_lines

    found = service_client(folder).job(id_of(job))
    if as_json:
        print_json(found)
    else:
        typer.echo("\n".join(job_lines(found)))


def wait(jobs: JobIds, folder: Folder = None, as_json: Json = False) -> JobStatus:
    """Wait for the end of jobs; exit with their highest exit code.

    Other exit codes: 128 + N: ended by signal N. 124: walltime reached. 143: cancelled. 126: could not start. 125: end
    unknown, also if the service stays unreachable.
    """
    return wait_for_jobs(service_client(folder), ids_of(jobs), as_json)


def cancel(jobs: JobIds, whole_array: WholeArray = False, folder: Folder = None, as_json: Json = False) -> None:
    """Cancel jobs: running jobs get SIGTERM, and SIGKILL after their grace time; waiting jobs never start."""
    _change("cancel", jobs, whole_array, folder, as_json)


def hold(jobs: JobIds, whole_array: WholeArray = False, folder: Folder = None, as_json: Json = False) -> None:
    """Hold waiting jobs: none starts until its release."""
    _change("hold", jobs, whole_array, folder, as_json)


def release(jobs: JobIds, whole_array: WholeArray = False, folder: Folder = None, as_json: Json = False) -> None:
    """Release held jobs; run jobs with an unknown end again."""
    _change("release", jobs, whole_array, folder, as_json)


def retry(jobs: JobIds, folder: Folder = None, as_json: Json = False) -> None:
    """Run failed jobs again: failed, timed out, or with an unknown end. The first ID of an array means all its jobs."""
    service = service_client(folder)
    for number in ids_of(jobs):
        answer = service.change_job(number, "retry", array=service.job(number)["array"] == number)
        if as_json:
            print_json(answer)


def nodes(
    lost: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Declare an unreachable host or one of its nodes lost: jobs there end, with an unknown result.",
        ),
    ] = None,
    folder: Folder = None,
    as_json: Json = False,
) -> None:
    """List the nodes: resources, usage and jobs."""
    from dardis.cli.live_tables import node_rows, print_table

    service = service_client(folder)
    if lost is not None:
        given_up = service.change_node(lost, "lost")
        if as_json:
            print_json(given_up)
        else:
            said = f"{lost} was declared lost, with processes of {given_up['given_up']} jobs"
            typer.echo(f"{said}; jobs that ran there are unknown now (dardis release runs them again)")
        return
    answer = service.get("/nodes")
    if as_json:
        print_json(answer)
    else:
        print_table(*node_rows(answer["nodes"]))


def top(
    interval: Annotated[
        int | None,
        typer.Option(
            "--interval",
            parser=whole_number_parser("--interval", 1, 3600),
            metavar="S",
            help="Pause between two views, s (terminal: 2; otherwise one view).",
        ),
    ] = None,
    user: OfUser = None,
    folder: Folder = None,
) -> None:
    """Watch nodes, running jobs, and waiting jobs with their reasons."""
    from dardis.cli.live_top import watch

    watch(service_client(folder), user, interval)


def drain(
    node: Annotated[str, typer.Argument(metavar="NODE", help="Name of the node.")],
    why: Annotated[str, typer.Option(metavar="TEXT", help="Reason, shown by dardis nodes.")] = "",
    undo: Annotated[bool, typer.Option("--undo", help="Let jobs start there again.")] = False,
    folder: Folder = None,
    as_json: Json = False,
) -> None:
    """Start no more jobs on a node. Running jobs continue."""
    from dardis.model.errors import InputError

    if undo and why:
        raise InputError("--why, --undo", "both", "one of them")
    service = service_client(folder)
    answer = service.change_node(node, "resume") if undo else service.change_node(node, "drain", {"why": why})
    if as_json:
        print_json(answer)


def logs(
    job: JobId,
    error: Annotated[bool, typer.Option("--error", help="Print the error output instead.")] = False,
    follow: Annotated[
        bool,
        typer.Option(
            "--follow",
            "-f",
            help="Continue until the job is over; for the first ID of an array, all its jobs, with their index.",
        ),
    ] = False,
    folder: Folder = None,
    as_json: Json = False,
) -> None:
    """Print a job's output; with --json, its path."""
    from dardis.live.output import follow_array, output_path, read_output

    service, number = service_client(folder), id_of(job)
    found = service.job(number)
    if as_json:
        print_json(
            {"id": number, **{name: str(output_path(found, error=name == "error")) for name in ("output", "error")}}
        )
        return
    stream = typer.get_binary_stream("stdout")
    if follow and found["array"] == number:
        blocks = follow_array(service, found, error=error)
    else:
        blocks = read_output(service, found, output_path(found, error=error), follow=follow)
    for block in blocks:
        stream.write(block)
        stream.flush()


def execute(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="NODE [--] COMMAND…", help="Node of the job, and a command.")
    ] = None,
    folder: Folder = None,
) -> JobStatus:
    """Within a job: run a command on a node of the job; exit with its exit code.

    The command has this environment and folder, the job's cores there, and no input. The end of the job ends the
    command. Exit codes: 128 + N: signal N. 255: could not run, or end unknown.
    """
    from dardis.live.remote_shell import run_on
    from dardis.model.errors import InputError

    node, *command = words or [""]
    command = command[1:] if command[:1] == ["--"] else command
    if not node or not command:
        raise InputError("exec", "no command" if node else "no node", "NODE COMMAND…")
    return JobStatus(run_on(service_client(folder), node, command))


def stop(
    kill: Annotated[bool, typer.Option("--kill", help="First end running jobs, which else continue.")] = False,
    folder: Folder = None,
    as_json: Json = False,
) -> None:
    """Stop the service. Running jobs continue; waiting jobs are kept for the next dardis serve."""
    answer = service_client(folder).post("/stop", {"kill": kill}, again=False)
    if as_json:
        print_json(answer)
    elif running := answer["running"]:
        jobs = "1 job" if running == 1 else f"{running} jobs"
        typer.echo(f"{jobs} ended" if kill else f"{jobs} still running; the next dardis serve finds them again")


def _change(do: str, jobs: Sequence[str], whole_array: bool, folder: Path | None, as_json: bool) -> None:
    service = service_client(folder)
    refusals: list[DardisError] = []
    for first, last in ranges_of(jobs):
        if first < last and do != "release" and not whole_array and not as_json:
            if not service.change_range(first, last, do):
                refusals.append(DardisError(f"no job from {first} to {last} can be {_PAST[do]}"))
            continue
        for number in range(first, last + 1):
            try:
                answer = service.change_job(number, do, array=whole_array)
            except DardisError as error:
                refusals.append(error)
                continue
            if as_json:
                print_json(answer)
    for refusal in refusals[:-1]:
        typer.echo(f"dardis: {refusal}", err=True)
    if refusals:
        raise refusals[-1]


def page(folder: Folder = None, as_json: Json = False) -> None:
    """Print a link to the page of the service. It works once, within 5 minutes, for the user who asks."""
    from dardis.cli.live_requests import print_json

    answer = service_client(folder).post("/page")
    if as_json:
        print_json(answer)
    else:
        typer.echo(answer["link"])


_PAST: Final = {"cancel": "cancelled", "hold": "held"}


def replay(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a service, running or not.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as a JSON object.")] = False,
) -> int:
    """Repeat the recorded decisions. Exit status 1 if a job's start time or node differs."""
    from dataclasses import asdict

    from dardis.cli.live_requests import print_json
    from dardis.live.journal import read_instants
    from dardis.live.live_decisions import replay as replay_instants

    found = replay_instants(read_instants(folder))
    if as_json:
        print_json(asdict(found))
        return 1 if found.differs else 0
    what = f"{found.instants} instants of {found.services} services, {found.starts} starts"
    typer.echo(f"{what}: {found.differs or 'all the same'}")
    return 1 if found.differs else 0


GROUP: Final = CommandGroup("Inspect the journal of a live service.", {"replay": replay})
