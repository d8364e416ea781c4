"""`dardis dispatchers`: which there are, with one line, the settings and the paper of each."""

from __future__ import annotations

import typer


def dispatchers() -> None:
    """List the dispatchers, what each is for, its settings and where it comes from; and those that can't be had."""
    from dardis.config.settings import known_settings, plain_settings
    from dardis.registry import all_dispatchers

    alike: dict[tuple[tuple[str, str], ...], list[str]] = {}
    found, wrong = all_dispatchers()
    for dispatcher in found:
        setup, origin = dispatcher.setup, f"\n  from {dispatcher.origin}" if dispatcher.origin else ""
        settings = " ".join(f"{key}={value}" for key, value in plain_settings(setup).items())
        typer.echo(
            f"{dispatcher.name}{origin}\n  {setup.about}\n  {settings}\n  without --deadlines: {setup.deadlines}\n"
        )
        alike.setdefault(tuple(known_settings(type(setup)).items()), []).append(dispatcher.name)
    for known, names in alike.items():
        typer.echo(f"--set of {', '.join(names)}:\n  " + "\n  ".join(f"{k}={v}" for k, v in known) + "\n")
    for mistake in wrong:
        typer.echo(f"dardis: {mistake}", err=True)
    if wrong:
        raise typer.Exit(wrong[0].exit_status)
