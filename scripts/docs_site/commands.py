"""Writes the page of all commands from what `dardis -h` says of them, so that no option is left out."""

from __future__ import annotations

import contextlib
import io
import os
import textwrap
from collections.abc import Iterator

import typer

from dardis.cli.main import app_of, run


def page_of_commands() -> str:
    """Answer the page, as Markdown: a place for each command with its help."""
    os.environ |= {"COLUMNS": "80", "NO_COLOR": "1"}
    lines = ["# Commands", "", "What `-h` says of each.", ""]
    for words in _commands(app_of(), ()):
        told = io.StringIO()
        with contextlib.redirect_stdout(told):
            run([*words, "-h"])
        text = "\n".join(line.rstrip() for line in textwrap.dedent(told.getvalue()).splitlines())
        lines += [f"## dardis {' '.join(words)}", "", "```text", text.strip(), "```", ""]
    return "\n".join(lines)


def _commands(of: typer.Typer, before: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Name all commands, in the order in which `-h` lists them."""
    for one in of.registered_commands:
        name = one.name or (one.callback.__name__.replace("_", "-") if one.callback else "")
        yield (*before, name)
    for group in of.registered_groups:
        if group.typer_instance:
            yield from _commands(group.typer_instance, (*before, str(group.name)))
