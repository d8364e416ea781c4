"""`dardis audit`: judges whether the schedule of a run is legal, from its files alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dardis.model.errors import InputError

if TYPE_CHECKING:
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
    from dardis.metrics.audit import audit as violations
    from dardis.metrics.contradictions import contradictions
    from dardis.metrics.downtime import DOWNTIME_FILE, read_downtime
    from dardis.metrics.table import read_jobs

    machine = _platform(run_dir, platform)
    path = run_dir / "jobs.csv"
    schedule = read_jobs(path)
    switched = run_dir / DOWNTIME_FILE
    downtime = read_downtime(switched) if switched.exists() else None
    found = [*violations(schedule, machine, downtime=downtime), *contradictions(path, schedule)]
    for violation in found[:SHOWN]:
        typer.echo(f"audit: {violation}")
    if len(found) > SHOWN:
        typer.echo(f"audit: and {len(found) - SHOWN} more")
    if found:
        raise typer.Exit(1)
    typer.echo(f"audit: {len(schedule.number)} jobs, ok")


def _platform(run_dir: Path, file: Path | None) -> Platform:
    """The machine that the user names, else the one the run was made on."""
    if file is not None:
        from dardis.config.platform import load_platform

        return load_platform(file)
    from dardis.model.platform_dict import platform_from_dict

    path = run_dir / "run.json"
    try:
        run = json.loads(path.read_text(encoding="utf-8"))
        return platform_from_dict(run["platform"])
    except OSError as error:
        raise InputError(path, error.strerror or "can't be read", "a run's folder, or --platform P.toml") from None
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(path, f"has no platform ({error})", "run.json of a run, or --platform P.toml") from None
