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
_SBATCH: Final = "dardis.sbatch"


class BeforeCommand(WordsCommand):
    """A command that records `--` before the words, and also takes the options of sbatch."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 (typer's own click, or click's)
        """Parse the options; record the dashes and the options of sbatch."""
        given = self._take_sbatch_options(ctx, args)
        kept = list(given)
        left = super().parse_args(ctx, given)
        words = len(ctx.params.get("words") or ())
        ctx.meta[_DASHES] = kept[len(kept) - words - 1 : len(kept) - words] == ["--"]
        return left

    def _take_sbatch_options(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 (as above)
        from dardis.live.sbatch_options import SBATCH

        flags = {option: getattr(one, "is_flag", False) for one in self.params for option in one.opts}
        left, kept = [*reversed(args)], list[str]()
        found = ctx.meta[_SBATCH] = []
        while left and left[-1].startswith("-") and left[-1] not in {"-", "--"}:
            name, equals, _ = left[-1].partition("=")
            if name not in flags and SBATCH.has(left[-1]):
                found.append(SBATCH.take(left, "submit"))
                continue
            kept.append(left.pop())
            if left and not equals and not flags.get(name, True):
                kept.append(left.pop())
        return kept + left[::-1]


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
        str | None,
        typer.Option(metavar="TIME", help="Walltime: MM, HH:MM:SS, D-HH[:MM[:SS]], 90s, 2h, unlimited [1h]."),
    ] = None,
    begin: Annotated[
        str | None, typer.Option(metavar="MOMENT", help="Earliest start: 16:00, now+1hour, 2026-12-24T16:00.")
    ] = None,
    deadline: Annotated[
        str | None, typer.Option(metavar="MOMENT", help="Latest end: a job that can no longer keep it is cancelled.")
    ] = None,
    cpus: Annotated[str | None, typer.Option(metavar="N", help="Cores on each node [1].")] = None,
    gpus: Annotated[str | None, typer.Option(metavar="N", help="GPUs on each node [0].")] = None,
    mem: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Memory on each node: MiB, or 500M, 4G; 0: all.")
    ] = None,
    nodes: Annotated[
        str | None, typer.Option(metavar="N[-MOST]", help="Number of nodes; the job runs on the first [1].")
    ] = None,
    exclusive: Annotated[bool, typer.Option("--exclusive", help="Whole nodes, shared with no other job.")] = False,
    after: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ok:ID,…",
            help="Start after success (ok), failure (fail), any end (any) or the start (start) of other jobs, after "
            "the job with the same index of an array (each), or after all earlier jobs of this name (singleton).",
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
    open_mode: Annotated[
        str | None, typer.Option("--open-mode", metavar="append|truncate", help="Existing output files [truncate].")
    ] = None,
    signal: Annotated[
        str | None,
        typer.Option(metavar="[B:]SIG[@S]", help="Signal S seconds ahead of the end, to job steps; B: to the script."),
    ] = None,
    stdin: Annotated[str | None, typer.Option(metavar="FILE", help="Input of the job (default: none).")] = None,
    nice: Annotated[
        str | None,
        typer.Option(metavar="N", help="Let jobs of lower niceness go first; below 0 only for the operator."),
    ] = None,
    comment: Annotated[str | None, typer.Option(metavar="TEXT", help="Text that dardis show prints.")] = None,
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
    overrides #DARDIS; #DARDIS overrides #SBATCH. Options end at SCRIPT; later words are arguments of the script. All
    options of sbatch work here, too (-n, -c, -t, --ntasks …), with the meaning of sbatch.
    """
    from dardis.engine.clock import local_now
    from dardis.live.directives import STDIN, YES, Directives, read_directives, read_script
    from dardis.live.random_keys import fresh_key
    from dardis.live.slurm_translation import OptionText, translate_options
    from dardis.live.submit_request import body_of, is_set, submit_request
    from dardis.model.errors import InputError

    if not words or not words[0]:
        raise InputError("SCRIPT", "none", "a script, or a command after --")
    service = service_client(folder)
    texts = {
        "array": array, "time": time, "cpus": cpus, "gpus": gpus, "mem": mem, "nodes": nodes,
        "after": ",".join(after) if after else None,
        "export": export, "chdir": None if chdir is None else str(chdir), "output": output, "error": error,
        "name": name, "grace": grace, "requeue": YES if requeue else None, "hold": YES if hold else None,
        "wait": YES if wait else None, "exclusive": YES if exclusive else None, "begin": begin, "deadline": deadline,
        "open-mode": open_mode, "signal": signal, "comment": comment,
        "stdin": stdin, "nice": nice,
    }  # fmt: skip
    given, warnings = translate_options(context.meta[_SBATCH], "")
    given |= {option: OptionText(text, f"--{option}") for option, text in texts.items() if text is not None}
    script, directives, argv = "", Directives(), words
    if not context.meta[_DASHES]:
        path, argv = Path(words[0]), words[1:]
        script, notes = read_script(path)
        warnings += notes
        directives = read_directives(script, path)
    said = directives.merge_options(given)
    file = "" if Path(words[0]) == STDIN else Path(words[0]).name
    asked = submit_request(said, argv, file or "job", os.environ, local_now())
    for line in (*warnings, *directives.warnings, *asked.warnings):
        warn(line)
    answer = service.submit(body_of(asked, script, key or fresh_key()))
    ids = answer["ids"]
    for line in answer["warnings"]:
        warn(line)
    if as_json:
        print_json(answer)
    else:
        typer.echo(f"{ids[0]}" if asked.job.array is None else f"{ids[0]} ({ids[0]}-{ids[-1]})")
    return wait_for_jobs(service, range(ids[0], ids[-1] + 1), as_json) if is_set(said, "wait") else JobStatus(0)
