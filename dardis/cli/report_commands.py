"""`dardis report`, `dispatchers` and `pue`."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Protocol

import typer

from dardis.cli.page_option import PagePort

if TYPE_CHECKING:
    from dardis.config.cuts import Cut
    from dardis.model.out_folder import OutFolder
    from dardis.report.chart import ChartFormat


class ReportDrawer(Protocol):
    """Draws a folder's report and returns its path; `form` also exports charts."""

    def __call__(self, folder: Path, /, *, form: ChartFormat | None = None) -> Path:
        """Raises InputError and OSError."""


def report(
    run_dir: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder of a run, comparison, plan, loop or scale experiment.")
    ],
    charts: Annotated[
        Literal["pdf", "svg"] | None, typer.Option(help="Write every chart to DIR/charts as well.", metavar="pdf|svg")
    ] = None,
    gantt: Annotated[
        str | None,
        typer.Option(metavar="FROM,TO", help="Draw each job of a run between these times (s, +2d, dates)."),
    ] = None,
    batsim: Annotated[
        Path | None,
        typer.Option(metavar="PREFIX", help="Also write Batsim's files: PREFIX_jobs.csv, PREFIX_schedule.csv."),
    ] = None,
    serve: Annotated[
        bool,
        typer.Option("--serve", help="Instead, show a run as a web page on the loopback device, until interrupted."),
    ] = False,
    page_port: PagePort = None,
) -> None:
    """Draw DIR/report.html from the other files in DIR: one file, readable offline."""
    from dardis.model.errors import InputError

    if serve:
        _serve_page(run_dir, page_port, others=(charts, gantt, batsim))
        return
    if page_port is not None:
        raise InputError("--page-port", "given without --serve", "--serve as well")
    from dardis.model.out_folder import RUN_FOLDER, lock_folder
    from dardis.report.batsim_files import write_batsim_files
    from dardis.report.chart import ChartFormat
    from dardis.report.run_page import draw_report

    form, span = None if charts is None else ChartFormat(charts), None if gantt is None else _span(gantt)
    what, draw = _kind_of(run_dir)
    if span is not None and what is not RUN_FOLDER:
        raise InputError("--gantt", f"{run_dir} is the folder of {what.description}", "the folder of a run")
    if batsim is not None and what is not RUN_FOLDER:
        raise InputError("--batsim", f"{run_dir} is the folder of {what.description}", "the folder of a run")
    with lock_folder(run_dir, run_dir) if run_dir.is_dir() else nullcontext():
        what.check_finished(run_dir)
        path = draw(run_dir, form=form) if draw is not None else draw_report(run_dir, form=form, span=span)
        written = () if batsim is None else write_batsim_files(run_dir, batsim)
    typer.echo(f"report: {path}")
    for file in written:
        typer.echo(f"batsim: {file}")
    if form is not None:
        typer.echo(f"charts: {run_dir / 'charts'}")


def _serve_page(folder: Path, port: int | None, others: tuple[object, ...]) -> None:
    import asyncio

    from dardis.live.finished_run_page import RunPage
    from dardis.model.errors import InputError
    from dardis.model.out_folder import RUN_FOLDER
    from dardis.report.finished_run import FinishedRun

    if any(one is not None for one in others):
        raise InputError("--serve", "given with --charts, --gantt or --batsim", "one of them")
    what, _ = _kind_of(folder)
    if what is not RUN_FOLDER:
        raise InputError("--serve", f"{folder} is the folder of {what.description}", "the folder of a run")
    what.check_finished(folder)
    page = RunPage(FinishedRun(folder), port, f"dardis report {folder} --serve")
    asyncio.run(page.serve(lambda link: typer.echo(f"{link}\nCtrl-C ends the page.")))


def _kind_of(folder: Path) -> tuple[OutFolder, ReportDrawer | None]:
    from dardis.model.out_folder import COMPARISON_FOLDER, LOOP_FOLDER, PLAN_FOLDER, RUN_FOLDER, SCALE_FOLDER
    from dardis.report.compare_page import draw_comparison
    from dardis.report.pictures import redraw_loop
    from dardis.report.plan_page import redraw_plan
    from dardis.report.scale_page import draw_scale_report

    for name, kind, draw in (
        ("compare.json", COMPARISON_FOLDER, draw_comparison),
        ("scale.json", SCALE_FOLDER, draw_scale_report), ("scale.csv", SCALE_FOLDER, draw_scale_report),
        ("onoff.csv", PLAN_FOLDER, redraw_plan), ("days.csv", LOOP_FOLDER, redraw_loop),
    ):  # fmt: skip
        if (folder / name).exists():
            return kind, draw
    return RUN_FOLDER, None


def _span(text: str) -> tuple[Cut, Cut]:
    from dardis.config.cuts import cut_of
    from dardis.model.errors import InputError

    begin, comma, end = (part.strip() for part in text.partition(","))
    if not comma:
        raise InputError("--gantt", repr(text), "FROM,TO: 0,86400 or +2d,+3d or 2012-02-03,2012-02-04")
    return cut_of("--gantt", begin), cut_of("--gantt", end)


def dispatchers() -> None:
    """List the dispatchers with purpose, settings and origin, and those that cannot be loaded."""
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


def pue(
    cooling: Annotated[
        str, typer.Option(metavar="air|hybrid|TABLE.csv", help="A modelled plant, or the table of a measured plant.")
    ],
    temperature: Annotated[float, typer.Option(metavar="C", help="Outdoor temperature in °C.")],
    it_w: Annotated[float, typer.Option("--it-w", metavar="W", help="Power of the machine in W.")],
    rows: Annotated[
        str, typer.Option(metavar="nearest|interpolate", help="Value of a table between two rows.")
    ] = "nearest",
    design_w: Annotated[
        float | None, typer.Option("--design-w", metavar="W", help="Design power of a modelled plant in W [107000].")
    ] = None,
) -> None:
    """Print PUE = (IT + cooling) / IT of a cooling plant."""
    from math import isfinite

    from dardis.metrics.power import find_cooling
    from dardis.model.errors import InputError
    from dardis.power.cooling import RowChoice, beyond_calibration, pue_of

    if rows not in tuple(RowChoice):
        raise InputError("--rows", repr(rows), " or ".join(RowChoice))
    if not (isfinite(it_w) and it_w > 0):
        raise InputError("--it-w", f"{it_w:g}", "more than 0 W")
    if not -90 <= temperature <= 60:
        raise InputError("--temperature", f"{temperature:g}", "°C, from -90 to 60")
    if design_w is not None and not (isfinite(design_w) and design_w > 0):
        raise InputError("--design-w", f"{design_w:g}", "more than 0 W")
    plant = find_cooling(cooling, design_w, rows)
    answer = pue_of(plant, temperature, it_w)
    if beyond := beyond_calibration(plant, temperature, it_w):
        typer.echo(f"dardis: note: {beyond}", err=True)
    typer.echo(f"{answer:.6f}")
