"""The `dardis submit` command."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

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

if TYPE_CHECKING:
    from dardis.live.slurm_translation import OptionText

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
    each: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="One job for each item of a file (-: standard input), as {} in the words."),
    ] = None,
    items: Annotated[
        str | None,
        typer.Option(
            metavar="lines|null|json",
            help="Items of --each: lines; texts that end with a zero byte; JSON objects, a line each, with fields as "
            "{NAME} (default for .jsonl).",
        ),
    ] = None,
    at_once: Annotated[
        str | None, typer.Option("--at-once", metavar="N", help="With --each: at most N of its jobs run at once.")
    ] = None,
    retries: Annotated[str | None, typer.Option(metavar="N", help="Run a failed job again, at most N times.")] = None,
    retry_delay: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Pause before the first retry; doubled for each further one [10s]."),
    ] = None,
    retry_codes: Annotated[
        str | None, typer.Option(metavar="CODES", help="Retry only after these exit codes, as 75,124 (124: walltime).")
    ] = None,
    env_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Additional variables of the job: lines NAME=VALUE.")
    ] = None,
    stdin: Annotated[str | None, typer.Option(metavar="FILE", help="Input of the job (default: none).")] = None,
    nice: Annotated[
        str | None,
        typer.Option(metavar="N", help="Let jobs of lower niceness go first; below 0 only for the operator."),
    ] = None,
    comment: Annotated[str | None, typer.Option(metavar="TEXT", help="Text that dardis show prints.")] = None,
    watts: Annotated[
        str | None,
        typer.Option(metavar="W", help="Power that the job adds to each node [from its cores and GPUs]."),
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
    overrides #DARDIS; #DARDIS overrides #SBATCH. Options end at SCRIPT; later words are arguments of the script. All
    options of sbatch work here, too (-n, -c, -t, --ntasks …), with the meaning of sbatch.
    """
    from dardis.engine.clock import local_now
    from dardis.live.directives import STDIN, Directives, read_directives, read_script
    from dardis.live.random_keys import fresh_key
    from dardis.live.slurm_translation import YES, OptionText, translate_options
    from dardis.live.submit_request import body_of, is_set, read_environment, submit_request
    from dardis.model.errors import InputError

    if not words or not words[0]:
        raise InputError("SCRIPT", "none", "a script, or a command after --")
    service = service_client(folder)
    texts = {
        "array": array, "time": time, "cpus": cpus, "gpus": gpus, "mem": mem, "nodes": nodes,
        "after": ",".join(after) if after else None,
        "export": export, "chdir": None if chdir is None else str(chdir), "output": output, "error": error,
        "name": name, "grace": grace, "watts": watts,
        "requeue": YES if requeue else None, "hold": YES if hold else None,
        "wait": YES if wait else None, "exclusive": YES if exclusive else None, "begin": begin, "deadline": deadline,
        "open-mode": open_mode, "signal": signal, "comment": comment,
        "stdin": stdin, "nice": nice,
        "retries": retries, "retry-delay": retry_delay, "retry-codes": retry_codes,
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
    texts_of_items, kind = _items(each, items, argv, said, at_once)
    file = "" if Path(words[0]) == STDIN else Path(words[0]).name
    asked = submit_request(said, argv, file or "job", os.environ, local_now())
    if env_file is not None:
        asked.environment.update(read_environment(env_file))
    for line in (*warnings, *directives.warnings, *asked.warnings):
        warn(line)
    answer = service.submit(body_of(asked, script, key or fresh_key(), texts_of_items, json_items=kind == "json"))
    ids = answer["ids"]
    for line in answer["warnings"]:
        warn(line)
    if as_json:
        print_json(answer)
    else:
        typer.echo(f"{ids[0]}" if asked.job.array is None else f"{ids[0]} ({ids[0]}-{ids[-1]})")
    return wait_for_jobs(service, range(ids[0], ids[-1] + 1), as_json) if is_set(said, "wait") else JobStatus(0)


def _items(
    each: str | None, kind: str | None, argv: Sequence[str], said: dict[str, OptionText], at_once: str | None
) -> tuple[list[str], str]:
    """Items of --each and their format; sets the array in `said`. Raises InputError."""
    from dardis.live.job_items import ItemFormat, check_items, parse_items
    from dardis.live.slurm_translation import OptionText
    from dardis.live.submit_request import integer_value
    from dardis.model.errors import InputError
    from dardis.model.files import read_bytes

    if each is None:
        if kind is not None or at_once is not None:
            raise InputError("--at-once" if kind is None else "--items", "given without --each", "--each as well")
        return [], ""
    if "array" in said:
        raise InputError("--each, --array", "both", "one of them")
    usual = ItemFormat.JSON if Path(each).suffix in {".jsonl", ".ndjson"} else ItemFormat.LINES
    if kind is not None and kind not in list(ItemFormat):
        raise InputError("--items", repr(kind), ", ".join(ItemFormat))
    form = usual if kind is None else ItemFormat(kind)
    data = sys.stdin.buffer.read() if each == "-" else read_bytes(Path(each))
    found = parse_items(data, form, each)
    check_items(found, argv, form, each)
    most = "" if at_once is None else f"%{integer_value(OptionText(at_once, '--at-once'), 1, len(found))}"
    said["array"] = OptionText(f"0-{len(found) - 1}{most}", "--each")
    return found, str(form)
