"""Shared parts of commands for a live service."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from typer.core import TyperCommand

from dardis.config.option_texts import parse_whole_number

if TYPE_CHECKING:
    from dardis.live.client import Client

MOST_IDS: Final = 1_000_000

Folder = Annotated[
    Path | None,
    typer.Option(
        "--folder",
        metavar="DIR",
        help="Folder of the service (default: $DARDIS_FOLDER, else dardis in XDG state).",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print the service's answers, one JSON object per line.")]
JobId = Annotated[str, typer.Argument(metavar="ID", help="A job's id.")]
JobIds = Annotated[list[str], typer.Argument(metavar="ID…", help="Ids of jobs; A-B for all from A to B.")]
WholeArray = Annotated[bool, typer.Option("--array", help="All jobs of the array of each ID.")]


class WordsCommand(TyperCommand):
    """A command with options only before the first word."""

    allow_interspersed_args = False


class JobStatus(int):
    """Exit status of a job, not of the command."""

    __slots__ = ()


def service_client(folder: Path | None) -> Client:
    """Return the client of the service. Raises InputError."""
    from dardis.live.client import Client, service_folder

    return Client(service_folder(folder))


def id_of(text: str) -> int:
    """Return a job id from text. Raises InputError."""
    from dardis.live.job_option_texts import LARGEST_ID

    return parse_whole_number("ID", text, 1, LARGEST_ID, "the number of a job")


def ids_of(words: Iterable[str]) -> list[int]:
    """Return job ids from ids and A-B ranges. Raises InputError."""
    return [number for first, last in ranges_of(words) for number in range(first, last + 1)]


def ranges_of(words: Iterable[str]) -> list[tuple[int, int]]:
    """Return first and last job ids of ids and A-B ranges. Raises InputError."""
    from dardis.live.job_option_texts import LARGEST_ID

    found = []
    for word in words:
        first, dash, last = word.partition("-")
        low = parse_whole_number("ID", first, 1, LARGEST_ID, "the number of a job, or A-B", word)
        high = parse_whole_number("ID", last, low, low + MOST_IDS, "the number of a job, or A-B", word) if dash else low
        found.append((low, high))
    return found


def wait_for_jobs(service: Client, numbers: Iterable[int], as_json: bool) -> JobStatus:
    """Wait for jobs, report failures, and return the highest exit status.

    The status is UNKNOWN if the service stays unreachable.
    """
    from dardis.cli.live_progress import wait_progress
    from dardis.live.client import ServiceUnavailableError
    from dardis.live.exit_codes import UNKNOWN, exit_code_of

    highest, listed = JobStatus(0), list(numbers)
    with wait_progress(service, [] if as_json else listed) as ended:
        try:
            for last in _last_numbers(listed):
                service.job(last)  # an unknown number is reported before the wait for others
            for number in listed:
                job = service.wait_for_end(number)
                if as_json:
                    print_json(job)
                elif job["state"] != "completed":
                    typer.echo(f"dardis: job {number} {job['state']}{_failure_reason(job)}", err=True)
                status = exit_code_of(job)
                ended(failed=bool(status))
                highest = JobStatus(max(highest, status))
        except ServiceUnavailableError as away:
            typer.echo(f"dardis: {away}", err=True)
            return JobStatus(max(highest, UNKNOWN))
    return highest


def _last_numbers(numbers: list[int]) -> list[int]:
    following = [*numbers[1:], 0]
    return [
        number for number, later in zip(numbers, following, strict=True) if later != number + 1 and len(numbers) > 1
    ]


def _failure_reason(job: Mapping[str, Any]) -> str:
    if job["why"] and job["why"] != job["state"]:
        return f": {job['why'].removeprefix(job['state'] + ': ')}"
    if job["state"] != "failed":
        return ""
    return f": signal {job['signal']}" if job["code"] is None else f": exit code {job['code']}"


def print_json(answer: Mapping[str, Any]) -> None:
    """Print an answer of the service as one line."""
    typer.echo(json.dumps(answer))


def warn(line: str) -> None:
    """Print a warning."""
    typer.echo(f"dardis: warning: {line}", err=True)
