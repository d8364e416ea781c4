"""`dardis export`: writes a plan for the tools that operators have."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dardis.cli.options import NodeNames
from dardis.config.option_texts import decimal

if TYPE_CHECKING:
    from offline.folder.plan import PlanFolder
    from offline.loop.check import Check


def export(
    plan_dir: Annotated[
        Path, typer.Argument(metavar="PLAN_DIR", help="The folder that dardis plan made, or its JSON export.")
    ],
    wanted: Annotated[
        str | None, typer.Option("--format", metavar="FORMAT", help="slurm, redfish, openmetrics, csv or json.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Where to write it, instead of standard output.")
    ] = None,
    names: NodeNames = None,
    mode: Annotated[
        str | None,
        typer.Option(
            metavar="spares|windows|suspend-time",
            help="Slurm: keep idle nodes on, close nodes at fixed hours, or power saving alone. "
            "Default: with --check the best of them.",
        ),
    ] = None,
    check: Annotated[
        bool,
        typer.Option("--check", help="Slurm: play all modes on the days before; write the best if it gains."),
    ] = False,
    history: Annotated[
        Path | None, typer.Option(metavar="TRACE", help="--check: what ran before (default: the plan's history).")
    ] = None,
    wait_price: Annotated[
        float | None,
        typer.Option(
            parser=decimal("--wait-price", 0),
            metavar="EUR",
            help="--check: what an hour costs that a job waits (default: the plan's price).",
        ),
    ] = None,
    anyway: Annotated[
        bool, typer.Option("--anyway", "--accept-loss", help="--check: write the mode though it would have lost.")
    ] = False,
    limits_only: Annotated[
        bool, typer.Option("--limits-only", help="Redfish: power limits alone, where another tool switches nodes.")
    ] = False,
    accept_stale: Annotated[
        bool, typer.Option("--accept-stale", help="Write a plan of a history that had ended before its time.")
    ] = False,
) -> None:
    """Write a plan as a Slurm program, Redfish requests, OpenMetrics, CSV or JSON; or check what it would bring."""
    from dardis.config.node_names import node_names
    from dardis.model.errors import InputError
    from offline.export.formats import format_named, load_plan
    from offline.export.slurm import mode_of
    from offline.loop.check import in_mode

    form = format_named(wanted or _only_checked(check=check), limits_only=limits_only, mode=mode, check=check)
    given = {"--history": history is not None, "--wait-price": wait_price is not None, "--anyway": anyway}
    if any(given.values()) and not check:
        raise InputError(next(name for name, said in given.items() if said), "given without --check", "--check")
    plan = load_plan(plan_dir)
    if plan.stale and not accept_stale:
        raise InputError(plan_dir, f"was made of a stale history ({plan.stale})", "another plan, or --accept-stale")
    called_as = node_names(plan.platform, names)
    if form.can_be_checked:
        asked = None if mode is None else mode_of(plan, mode)
        found = _check(plan, history, wait_price, to_stdout=out is not None or wanted is None) if check else None
        chosen = asked or (mode_of(plan, None) if found is None else found.best)
        if found is not None:
            typer.echo(found.choice(chosen), err=out is None and wanted is not None)
            if not anyway:
                found.see_that_it_pays(chosen)
        form = format_named("slurm", mode=chosen)
        made = form.export(in_mode(plan, chosen, found), called_as)
    else:
        made = form.export(plan, called_as)
    called = plan.settings.get("names") if names is None else None
    notes = [*made.notes]
    if called:
        notes.insert(0, f"nodes are called as the platform calls them; the plan was made with --names {called}")
    if form.can_be_checked and not check:
        notes.append("nobody has checked what it would have brought on the days before (--check does)")
    for note in notes if wanted is not None else ():
        typer.echo(f"dardis: note: {note}", err=True)
    if wanted is not None:
        _write(made.text, out, executable=form.is_program)


def _only_checked(*, check: bool) -> str:
    """The format where none is asked for. Raises InputError unless it is only to be checked."""
    from dardis.model.errors import InputError

    if not check:
        raise InputError("dardis export", "no --format", "--format FORMAT, or --check")
    return "slurm"


def _check(plan: PlanFolder, history: Path | None, wait_price: float | None, *, to_stdout: bool) -> Check:
    """Show what each mode would have brought. Raises InputError."""
    from dardis.cli.plan import shown_progress
    from offline.loop.check import check_export

    with shown_progress() as progress:
        tell = (lambda doing: progress(doing, None, None)) if progress else None
        found = check_export(plan, history, tell, wait_price)
    for note in found.notes:
        typer.echo(f"dardis: note: {note}", err=True)
    for line in found.table:
        typer.echo(line, err=not to_stdout)
    return found


def _write(text: str, out: Path | None, *, executable: bool) -> None:
    """To the file, or to standard output."""
    from dardis.model.files import write_text

    if out is None:
        typer.echo(text, nl=False)
        return
    write_text(out, text)
    if executable and out.suffix != ".gz":
        out.chmod(out.stat().st_mode | 0o111)
