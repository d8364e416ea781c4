"""The options of `dardis export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from dardis.config.option import FILE, Option
from dardis.config.toml_file import Table


class ExportSpec(Table):
    """Options of `dardis export`."""

    plan_dir: Annotated[
        Path, FILE, Option("The folder that dardis plan made, or its JSON export.", "PLAN_DIR", is_argument=True)
    ]
    format: Annotated[str | None, Option("slurm, redfish, openmetrics, csv or json.", "FORMAT")] = None
    out: Annotated[Path | None, FILE, Option("Where to write it, instead of standard output.", "FILE")] = None
    names: Annotated[
        Path | None, FILE, Option("Names of the nodes, one a line, where they aren't the platform's.", "FILE")
    ] = None
    mode: Annotated[
        str | None,
        Option(
            "Slurm: keep idle nodes on, close nodes at fixed hours, or power saving alone. "
            "Default: with --check the best of them.",
            "spares|windows|suspend-time",
        ),
    ] = None
    check: Annotated[bool, Option("Slurm: play all modes on the days before; write the best if it gains.")] = False
    history: Annotated[
        Path | None, FILE, Option("--check: what ran before (default: the plan's history).", "TRACE")
    ] = None
    wait_price: Annotated[
        float | None,
        Field(ge=0),
        Option("--check: what an hour costs that a job waits (default: the plan's price).", "EUR"),
    ] = None
    anyway: Annotated[bool, Option("--check: write the mode though it would have lost.", also="--accept-loss")] = False
    limits_only: Annotated[bool, Option("Redfish: power limits alone, where another tool switches nodes.")] = False
    accept_stale: Annotated[bool, Option("Write a plan of a history that had ended before its time.")] = False
