"""`dardis export`: writes a plan for the tools that operators have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dardis.cli.options import NodeNames


def export(
    plan_dir: Annotated[
        Path, typer.Argument(metavar="PLAN_DIR", help="The folder that dardis plan made, or its JSON export.")
    ],
    wanted: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="slurm, redfish, openmetrics, csv or json.")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Where to write it, instead of standard output.")
    ] = None,
    names: NodeNames = None,
    limits_only: Annotated[
        bool, typer.Option("--limits-only", help="Redfish: power limits alone, where another tool switches nodes.")
    ] = False,
    accept_stale: Annotated[
        bool, typer.Option("--accept-stale", help="Write a plan of a history that had ended before its time.")
    ] = False,
) -> None:
    """Write a plan as a Slurm script, Redfish requests, OpenMetrics, CSV or JSON."""
    from dardis.config.node_names import node_names
    from dardis.model.errors import InputError
    from dardis.model.files import write_text
    from offline.export.formats import format_named, load_plan

    form = format_named(wanted, limits_only=limits_only)
    plan = load_plan(plan_dir)
    if plan.stale and not accept_stale:
        raise InputError(plan_dir, f"was made of a stale history ({plan.stale})", "another plan, or --accept-stale")
    made = form.export(plan, node_names(plan.platform, names))
    called = plan.settings.get("names") if names is None else None
    unnamed = (
        [f"nodes are called as the platform calls them; the plan was made with --names {called}"] if called else []
    )
    for note in (*unnamed, *made.notes):
        typer.echo(f"dardis: note: {note}", err=True)
    if out is None:
        typer.echo(made.text, nl=False)
        return
    write_text(out, made.text)
    if form.is_program and out.suffix != ".gz":
        out.chmod(out.stat().st_mode | 0o111)
