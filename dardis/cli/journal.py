"""`dardis journal`: what a live service has written down."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from dardis.cli.derived import Group


def replay(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a service, running or not.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print what came of it as an object.")] = False,
) -> int:
    """Put what happened through the same decisions again; exit status 1 where a job starts at another time or node."""
    from dataclasses import asdict

    from dardis.cli.asking import print_json
    from dardis.live.journal import told_instants
    from dardis.live.replay import replay as replay_instants

    found = replay_instants(told_instants(folder))
    if as_json:
        print_json(asdict(found))
        return 1 if found.differs else 0
    what = f"{found.instants} instants of {found.services} services, {found.starts} starts"
    typer.echo(f"{what}: {found.differs or 'all the same'}")
    return 1 if found.differs else 0


GROUP: Final = Group("Look at what a live service has written down.", {"replay": replay})
