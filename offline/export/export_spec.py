"""Options of `dardis export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from dardis.config.option import FILE, Option
from dardis.config.toml_file import Table


class ExportSpec(Table):
    """Options of `dardis export`."""

    plan_dir: Annotated[Path, FILE, Option("Folder of dardis plan, or its JSON export.", "PLAN_DIR", is_argument=True)]
    format: Annotated[str | None, Option("slurm, redfish, openmetrics, csv or json.", "FORMAT")] = None
    out: Annotated[Path | None, FILE, Option("File to write instead of standard output.", "FILE")] = None
    names: Annotated[
        Path | None, FILE, Option("File with node names, one per line, instead of the platform's names.", "FILE")
    ] = None
    mode: Annotated[
        str | None,
        Option(
            "Slurm: keep idle nodes on, close nodes at fixed hours, or only power saving. "
            "Default with --check: the best of them.",
            "spares|windows|suspend-time",
        ),
    ] = None
    check: Annotated[bool, Option("Slurm: simulate all modes on earlier days; write the best if it gains.")] = False
    history: Annotated[Path | None, FILE, Option("--check: earlier jobs (default: the plan's history).", "TRACE")] = (
        None
    )
    wait_price: Annotated[
        float | None,
        Field(ge=0),
        Option("--check: cost of an hour of waiting of a job (default: the plan's price).", "EUR"),
    ] = None
    anyway: Annotated[bool, Option("--check: write the mode even if it would have lost.", also="--accept-loss")] = False
    limits_only: Annotated[bool, Option("Redfish: only power limits, if another tool switches nodes.")] = False
    accept_stale: Annotated[bool, Option("Write a plan even if its history seems to end too early.")] = False
