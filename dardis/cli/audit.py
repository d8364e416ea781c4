"""`dardis audit`: judges whether the schedule of a run is legal, from its files alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dardis.model.errors import InputError

if TYPE_CHECKING:
    from dardis.metrics.audit import Audit
    from dardis.metrics.violation import Violation
    from dardis.model.platform import Platform

SHOWN = 20
"""Violations that are told; of the rest only how many."""


def audit(
    run_dir: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a run, with jobs.csv and run.json.")],
    platform: Annotated[
        Path | None,
        typer.Option(metavar="P.toml", help="The machine, when DIR has no run.json or to judge by another."),
    ] = None,
) -> None:
    """Judge whether a schedule is legal: exit status 0 when it is, 1 with what is wrong when it is not."""
    from dardis.metrics.audit import Audit
    from dardis.metrics.downtime import DOWNTIME_FILE, read_downtime

    machine = _platform(run_dir, platform)
    switched = run_dir / DOWNTIME_FILE
    downtime = read_downtime(switched) if switched.exists() else None
    with closing(Audit(machine, downtime=downtime)) as judge:
        violations = _violations(judge, run_dir / "jobs.csv")
        shown = list(islice(violations, SHOWN))
        more = sum(1 for _ in violations)
    for violation in shown:
        typer.echo(f"audit: {violation}")
    if more:
        typer.echo(f"audit: and {more} more")
    if shown:
        raise typer.Exit(1)
    typer.echo(f"audit: {judge.job_count} jobs, ok")


def _violations(judge: Audit, path: Path) -> Iterator[Violation]:
    """What is wrong with the schedule of a file, one after the other, under a progress bar."""
    from dardis.cli.progress import bar

    with bar("reading", "MB") as tell:
        yield from judge.file(path, tell)
    with bar("sweeping", "nodes") as tell:
        yield from judge.rest(tell=tell)


def _platform(run_dir: Path, file: Path | None) -> Platform:
    """The machine that the user names, else the one the run was made on."""
    if file is not None:
        from dardis.config.platform import load_platform

        return load_platform(file)
    from dardis.model.folders import RUN_FOLDER
    from dardis.model.platform_dict import platform_from_dict

    RUN_FOLDER.check_finished(run_dir, ", or --platform P.toml to judge jobs.csv alone")
    path = run_dir / "run.json"
    try:
        run = json.loads(path.read_text(encoding="utf-8"))
        return platform_from_dict(run["platform"])
    except OSError as error:
        raise InputError(path, error.strerror or "can't be read", "a run's folder, or --platform P.toml") from None
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(path, f"has no platform ({error})", "run.json of a run, or --platform P.toml") from None
