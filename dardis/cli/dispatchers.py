"""`dardis dispatchers`: which there are, with one line, the settings and the paper of each."""

from __future__ import annotations

import typer


def dispatchers() -> None:
    """List the dispatchers, what each is for, its settings and where it comes from."""
    from dardis.task_manager.setups import DESCRIPTIONS, SETUPS, known_settings

    for name, setup in SETUPS.items():
        typer.echo(f"{name}\n  {DESCRIPTIONS[name]}")
        settings = " ".join(f"{key}={value}" for key, value in setup.settings().items())
        typer.echo(f"  {settings}\n  without --deadlines: {setup.deadlines}\n")
    typer.echo("--set takes: " + ", ".join(f"{key}={values}" for key, values in known_settings().items()))
