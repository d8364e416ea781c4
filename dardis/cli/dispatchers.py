"""`dardis dispatchers`: which there are, with one line, the settings and the paper of each."""

from __future__ import annotations

import typer


def dispatchers() -> None:
    """List the dispatchers, what each is for, its settings and where it comes from."""
    from dardis.config.settings import known_settings, plain_settings
    from dardis.sim.dispatchers import DISPATCHERS

    for name, setup in DISPATCHERS.items():
        settings = " ".join(f"{key}={value}" for key, value in plain_settings(setup).items())
        typer.echo(f"{name}\n  {setup.about}\n  {settings}\n  without --deadlines: {setup.deadlines}\n")
    for kind in dict.fromkeys(type(setup) for setup in DISPATCHERS.values()):
        names = ", ".join(name for name, setup in DISPATCHERS.items() if type(setup) is kind)
        typer.echo(f"--set of {names}:\n  " + "\n  ".join(f"{k}={v}" for k, v in known_settings(kind).items()) + "\n")
