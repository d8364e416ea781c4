"""`dardis export`: writes a plan for the tools that operators have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from dardis.cli.derived import options_of

if TYPE_CHECKING:
    from offline.export.slurm import Mode
    from offline.loop.check import Check


@options_of("offline.export.spec:ExportSpec")
def export(options: dict[str, Any]) -> None:
    """Write a plan as a Slurm program, Redfish requests, OpenMetrics, CSV or JSON; or check what it would bring."""
    from dardis.cli.plan import shown_progress
    from dardis.config.option import spec_of
    from offline.export.formats import load_plan
    from offline.export.spec import ExportSpec
    from offline.loop.export_plan import export_plan

    spec = spec_of(ExportSpec, options)

    checks: list[tuple[Check, Mode]] = []
    try:
        with shown_progress() as progress:
            tell = (lambda doing: progress(doing, None, None)) if progress else None
            made = export_plan(spec, load_plan, tell, lambda check, mode: checks.append((check, mode)))
    finally:  # a check is shown, too, where its mode is refused
        for check, mode in checks:
            _show(check, mode, to_stdout=spec.out is not None or spec.format is None)
    for note in made.notes:
        typer.echo(f"dardis: note: {note}", err=True)
    if spec.out is None:
        typer.echo(made.text, nl=False)


def _show(check: Check, mode: Mode, *, to_stdout: bool) -> None:
    for note in check.notes:
        typer.echo(f"dardis: note: {note}", err=True)
    for line in (*check.table, check.choice(mode)):
        typer.echo(line, err=not to_stdout)
