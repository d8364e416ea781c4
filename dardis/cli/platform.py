"""`dardis platform`: makes platform files. Output files are whole or absent."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dardis.cli.options import Force
from dardis.cli.outputs import check_platform_out

app = typer.Typer(no_args_is_help=True, help="Make a platform file of what a site's own tools say.")


@app.callback()
def common() -> None:
    """Make a platform file of what a site's own tools say."""


@app.command("import")
def import_site(
    site: Annotated[
        Path, typer.Argument(metavar="FILE", help="What scontrol show node -o prints, or a slurm.conf; plain or .gz.")
    ],
    out: Annotated[
        Path | None, typer.Argument(metavar="OUT.toml", help="Where to write it, instead of standard output.")
    ] = None,
    force: Force = False,
) -> None:
    """Make a platform file of a Slurm site's nodes and partitions; power figures are left to fill in."""
    from dardis.config.slurm.platform import platform_of
    from dardis.config.slurm.read import read_slurm
    from dardis.model.files import write_text

    if out is not None:
        check_platform_out(out, force)
    made = platform_of(site, read_slurm(site))
    for note in made.notes:
        typer.echo(f"dardis: note: {note}", err=True)
    if out is None:
        typer.echo(made.text, nl=False)
        return
    write_text(out, made.text)
    held = f"{made.platform.node_count} nodes in {len(made.platform.groups)} groups"
    typer.echo(f"{out}: {held}, {len(made.platform.partitions)} partitions")
