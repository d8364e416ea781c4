"""The `dardis submit` command."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from dardis.cli.live_requests import (
    Folder,
    JobStatus,
    Json,
    WordsCommand,
    print_json,
    service_client,
    wait_for_jobs,
    warn,
)

_DASHES: Final = "dardis.dashes"


class BeforeCommand(WordsCommand):
    """A command that records `--` before the words."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 (typer's own click, or click's)
        """Parse the options; record the dashes."""
        given = list(args)
        left = super().parse_args(ctx, args)
        words = len(ctx.params.get("words") or ())
        ctx.meta[_DASHES] = given[len(given) - words - 1 : len(given) - words] == ["--"]
        return left


def submit(
    context: typer.Context,
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="SCRIPT [ARGS…] | -- COMMAND…", help="Script or command; -: script on standard input."),
    ] = None,
    array: Annotated[
        str | None, typer.Option(metavar="A-B[:STEP][%MOST]", help="One job per index; at most MOST run at once.")
    ] = None,
    time: Annotated[
        str | None, typer.Option(metavar="TIME", help="Walltime: MM, MM:SS, HH:MM:SS, D-HH[:MM[:SS]], 90s, 2h [1h].")
    ] = None,
    cpus: Annotated[str | None, typer.Option(metavar="N", help="Cores on each node [1].")] = None,
    gpus: Annotated[str | None, typer.Option(metavar="N", help="GPUs on each node [0].")] = None,
    mem: Annotated[str | None, typer.Option(metavar="SIZE", help="Memory on each node: MiB, or 500M, 4G.")] = None,
    nodes: Annotated[
        str | None, typer.Option(metavar="N", help="Number of nodes; the job runs on the first [1].")
    ] = None,
    after: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ok:ID,…",
            help="Start after success (ok), failure or cancellation (fail), or any end (any) of other jobs.",
        ),
    ] = None,
    export: Annotated[
        str | None,
        typer.Option(metavar="all|none|NAMES", help="Exported variables; NAME=VALUE sets one."),
    ] = None,
    chdir: Annotated[Path | None, typer.Option(metavar="DIR", help="Working folder (default: this one).")] = None,
    output: Annotated[
        str | None,
        typer.Option(metavar="PATTERN", help="Output file: %j id, %A array's first id, %a index, %x name, %u user."),
    ] = None,
    error: Annotated[
        str | None, typer.Option(metavar="PATTERN", help="File for the error output (default: the output file).")
    ] = None,
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of the job (default: SCRIPT or COMMAND).")
    ] = None,
    grace: Annotated[str | None, typer.Option(metavar="S", help="Seconds from SIGTERM to SIGKILL [10].")] = None,
    requeue: Annotated[bool, typer.Option("--requeue", help="Run the job again if its end is unknown.")] = False,
    hold: Annotated[bool, typer.Option("--hold", help="Hold the job until dardis release.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for its end; exit as dardis wait.")] = False,
    key: Annotated[
        str | None, typer.Option(metavar="KEY", help="Another submission with this key returns the same job.")
    ] = None,
    folder: Folder = None,
    as_json: Json = False,
) -> JobStatus:
    """Submit a job and print its id; for an array, the first id and all ids: 12 (12-111).

    The head of a script may state options in #DARDIS lines, or sbatch options in #SBATCH lines. The command line
    overrides #DARDIS; #DARDIS overrides #SBATCH. Options end at SCRIPT; later words are arguments of the script.
    """
    from dardis.live.client import current_folder
    from dardis.live.directives import (
        STDIN,
        YES,
        Directives,
        OptionText,
        is_set,
        read_directives,
        read_script,
        submit_request,
    )
    from dardis.live.random_keys import fresh_key
    from dardis.model.errors import InputError

    if not words or not words[0]:
        raise InputError("SCRIPT", "none", "a script, or a command after --")
    service = service_client(folder)
    texts = {
        "array": array, "time": time, "cpus": cpus, "gpus": gpus, "mem": mem, "nodes": nodes,
        "after": ",".join(after) if after else None,
        "export": export, "chdir": None if chdir is None else str(chdir), "output": output, "error": error,
        "name": name, "grace": grace, "requeue": YES if requeue else None, "hold": YES if hold else None,
        "wait": YES if wait else None,
    }  # fmt: skip
    given = {option: OptionText(text, f"--{option}") for option, text in texts.items() if text is not None}
    script, directives, argv = "", Directives(), words
    if not context.meta[_DASHES]:
        path, argv = Path(words[0]), words[1:]
        script = read_script(path)
        directives = read_directives(script, path)
    said = directives.merge_options(given)
    file = "" if Path(words[0]) == STDIN else Path(words[0]).name
    asked = submit_request(said, argv, file or "job", os.environ)
    for line in (*directives.warnings, *asked.warnings):
        warn(line)
    answer = service.submit({
        "key": key or fresh_key(), "jobs": asked.job.as_dict(), "script": script, "environment": asked.environment,
        "cwd": current_folder(),
    })  # fmt: skip
    ids = answer["ids"]
    for line in answer["warnings"]:
        warn(line)
    if as_json:
        print_json(answer)
    else:
        typer.echo(f"{ids[0]}" if asked.job.array is None else f"{ids[0]} ({ids[0]}-{ids[-1]})")
    return wait_for_jobs(service, range(ids[0], ids[-1] + 1), as_json) if is_set(said, "wait") else JobStatus(0)
