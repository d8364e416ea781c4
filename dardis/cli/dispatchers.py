"""`dardis dispatchers`: which there are, with one line, the settings and the paper of each."""

from __future__ import annotations

import typer


def dispatchers() -> None:
    """List the dispatchers, what each is for, its settings and where it comes from."""
    from dardis.config.settings import known_settings, plain_settings
    from dardis.registry import dispatcher_as_registered, dispatcher_names

    alike: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for name in dispatcher_names():
        dispatcher = dispatcher_as_registered(name)
        setup, origin = dispatcher.setup, f"\n  from {dispatcher.origin}" if dispatcher.origin else ""
        settings = " ".join(f"{key}={value}" for key, value in plain_settings(setup).items())
        typer.echo(f"{name}{origin}\n  {setup.about}\n  {settings}\n  without --deadlines: {setup.deadlines}\n")
        alike.setdefault(tuple(known_settings(type(setup)).items()), []).append(name)
    for known, names in alike.items():
        typer.echo(f"--set of {', '.join(names)}:\n  " + "\n  ".join(f"{k}={v}" for k, v in known) + "\n")
