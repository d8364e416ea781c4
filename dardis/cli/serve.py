"""`dardis serve`: the live service of this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from dardis.live.service import Service


def serve(
    folder: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where the service keeps all it knows, on a local disk.")
    ] = None,
    platform: Annotated[
        Path | None,
        typer.Option(
            metavar="P.toml",
            help="Stand for these nodes, whose cores are counted and not bound, instead of this machine's own.",
        ),
    ] = None,
    users: Annotated[
        bool, typer.Option("--users", help="As root: let all users of this machine hand jobs in, each his own.")
    ] = False,
) -> None:
    """Run jobs of `dardis submit` on this machine, until `dardis stop`.

    What was acknowledged is in a journal first: a service that was killed goes on where it was, and running jobs go on
    without it.
    """
    from dardis.config.platform import load_platform
    from dardis.live.client import place_of
    from dardis.live.serve import serve as serve_folder

    described = None if platform is None else load_platform(platform)

    def begun(service: Service) -> None:
        jobs = f"{service.gateway.queued} jobs wait, {service.gateway.running} run"
        typer.echo(f"dardis serves {service.folder}: {len(service.machine.names)} nodes; {jobs}", err=True)

    serve_folder(place_of(folder), described, users=users, begun=begun)
