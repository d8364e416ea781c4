"""The `dardis platform` commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final

import typer

from dardis.cli.derived_options import CommandGroup, Force, NodeNames, check_platform_out, options_of


def import_site(
    site: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Slurm's nodes (scontrol show node -o, JSON, slurm.conf), or a SimGrid platform (XML) of Batsim.",
        ),
    ],
    out: Annotated[
        Path | None, typer.Argument(metavar="OUT.toml", help="Output file (default: standard output).")
    ] = None,
    merge_memory: Annotated[
        str,
        typer.Option(
            metavar="PERCENT", help="Slurm: put nodes into one group if their memory differs by at most this: 1%."
        ),
    ] = "0%",
    force: Force = False,
) -> None:
    """Create a platform file from a Slurm site's nodes and partitions, or from Batsim hosts; power is left open."""
    from dardis.config.option_texts import parse_percent
    from dardis.config.site_file import import_platform
    from dardis.model.files import write_text

    if out is not None:
        check_platform_out(out, force)
    made = import_platform(site, parse_percent("--merge-memory", merge_memory))
    for note in made.notes:
        typer.echo(f"dardis: note: {note}", err=True)
    if out is None:
        typer.echo(made.text, nl=False)
        return
    write_text(out, made.text)
    held = f"{made.platform.node_count} nodes in {len(made.platform.groups)} groups"
    typer.echo(f"{out}: {held}, {len(made.platform.partitions)} partitions")


@options_of("dardis.config.run_spec:CalendarSpec")
def calibrate(
    options: dict[str, Any],
    platform: Annotated[Path, typer.Argument(metavar="P.toml", help="The platform file with the nodes.")],
    history: Annotated[
        Path,
        typer.Option(metavar="TRACE", help="Trace with recorded starts; of sacct preferably with NodeList."),
    ],
    power: Annotated[
        Path,
        typer.Option(
            metavar="W.csv",
            help="Measured watts: of nodes over time (time,node,watts, or a column per node), or means per node of "
            "jobs; plain or .gz.",
        ),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="OUT.toml", help="Output file with the new figures.")
    ] = None,
    names: NodeNames = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace OUT if it exists; without --out change P.toml.")
    ] = False,
) -> None:
    """Fit idle_w, core_w and device watts of each node group to measured power, by robust regression on past jobs.

    Shows values before and after, and errors on days outside the fit. Values without enough data stay unchanged. Writes
    nothing without --out or --force.
    """
    from dardis.config.node_fields import node_names
    from dardis.config.platform_file import load_platform
    from dardis.config.power_edit import write_figures
    from dardis.config.run_spec import CalendarSpec
    from dardis.model.errors import InputError
    from offline.calibrate.calibrate import calibrate as fit
    from offline.calibrate.calibrate import report_lines

    if out is not None:
        check_platform_out(out, force)
    calendar = CalendarSpec(**options).begins
    found = fit(platform, history, power, node_names(load_platform(platform), names), calendar)
    for note in found.notes:
        typer.echo(f"dardis: note: {note}", err=True)
    for line in report_lines(found):
        typer.echo(line)
    if not found.changed:
        raise InputError(power, "determines no figure of any group", "power measured while the load varied")
    target = out or (platform if force else None)
    if target is not None:
        write_figures(platform, target, found.changed)
    typer.echo(f"{target}: written" if target else "nothing is written: --out OUT.toml, or --force to change P.toml")


GROUP: Final = CommandGroup(
    "Make platform files from a site's tools and measurements.", {"import": import_site, "calibrate": calibrate}
)
