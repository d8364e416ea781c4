"""The `dardis forecast` command."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dardis.cli.derived_options import Strict, TracePath, options_of
from dardis.config import option_texts
from dardis.config.option_texts import days_of, whole_number_parser
from dardis.model.errors import InputError

if TYPE_CHECKING:
    from dardis.model.platform import Platform
    from dardis.workload.trace import Trace
    from offline.forecast.backtest import Backtest
    from offline.forecast.forecast import Forecast
    from offline.site.calendar import Calendar


@options_of("dardis.config.run_spec:CalendarSpec")
def forecast(
    options: dict[str, Any],
    trace: TracePath,
    platform: Annotated[Path, typer.Option(metavar="P.toml", help=option_texts.PLATFORM)],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE|DIR", help="A job table (.csv, .csv.gz), or a folder for the files.")
    ] = None,
    day: Annotated[
        int | None,
        typer.Option(
            parser=whole_number_parser("--day", 0),
            metavar="N",
            help="UTC day to forecast, from 0 (default: after the last job).",
        ),
    ] = None,
    hours: Annotated[int, typer.Option(metavar="24|48", help="Hours to forecast.")] = 24,
    method: Annotated[
        str | None, typer.Option(metavar="NAME", help="previous-day, previous-week, mean or seasonal (the default).")
    ] = None,
    seed: Annotated[
        int,
        typer.Option(
            parser=whole_number_parser("--seed", 0, 2**62), metavar="N", help="The same seed gives the same forecast."
        ),
    ] = 1,
    backtest: Annotated[bool, typer.Option("--backtest", help="Judge all methods by the trace's own days.")] = False,
    days: Annotated[
        str | None, typer.Option(metavar="A-B", help="With --backtest: only these UTC days (default: evenly spread).")
    ] = None,
    strict: Strict = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the files of --out.")] = False,
) -> None:
    """Forecast the submissions of one or two days from earlier submissions."""
    from dardis.config.platform_file import load_platform
    from dardis.config.run_spec import CalendarSpec
    from dardis.workload.trace_reader import read_equal_units
    from offline.forecast import DEFAULT
    from offline.forecast.forecast import HORIZONS, forecast
    from offline.site.calendar import calendar_of
    from offline.site.current_jobs import complete_times
    from offline.site.history import trace_that_fits

    _check(out, day, method, days, backtest=backtest)
    if hours not in HORIZONS:
        raise InputError("--hours", f"{hours}", "24 or 48")
    with ExitStack() as held:
        files = None if out is None else held.enter_context(_lock_files(out, force=force))
        machine = load_platform(platform)
        start = machine.facility.begins(CalendarSpec(**options).begins)
        history = read_equal_units(trace, strict=strict, not_ended=not backtest)
        calendar, assumed = calendar_of(history, start)
        jobs, left_out = trace_that_fits(history, machine)
        _print_notes(assumed, left_out, *history.notes)
        if files is None:
            _print_backtest(trace.name, jobs, calendar, hours, None if days is None else days_of("--days", days), seed)
            return
        chosen = calendar.day_of(int(jobs.submit.max())) + 1 if day is None else day
        known = complete_times(jobs, calendar.day(chosen)[0])
        made = forecast(known, calendar, chosen, hours, method or DEFAULT, seed)
        _print_notes(*made.notes)
        _write(made, machine, calendar, files)


def _check(out: Path | None, day: int | None, method: str | None, days: str | None, *, backtest: bool) -> None:
    if backtest:
        for option, value in (("--out", out), ("--day", day), ("--method", method)):
            if value is not None:
                raise InputError(option, "has no meaning with --backtest, which judges all methods", "one of the two")
    elif days is not None:
        raise InputError("--days", "is for --backtest", "--day N for a forecast")
    elif out is None:
        raise InputError("dardis forecast", "neither --out nor --backtest", "one of the two")


@contextmanager
def _lock_files(out: Path, *, force: bool) -> Iterator[tuple[Path, Path]]:
    from dardis.model.files import plain_name
    from dardis.model.out_folder import LOCK_FILE, lock_folder
    from offline.forecast.forecast_files import DEMAND_FILE, JOBS_FILE

    a_table = plain_name(out).endswith(".csv") and not out.is_dir()
    if a_table:
        files = out, out.with_name(plain_name(out).removesuffix(".csv") + "." + DEMAND_FILE)
        lock = f".{files[1].name}{LOCK_FILE}"
    else:
        files, lock = (out / JOBS_FILE, out / DEMAND_FILE), LOCK_FILE
    with ExitStack() as held:
        try:
            if not a_table:
                out.mkdir(parents=True, exist_ok=True)
            held.enter_context(lock_folder(files[0].parent, f"--out {out}", lock))
        except OSError as error:
            raise InputError(f"--out {out}", error.strerror or "can't be written", "a place to write to") from None
        for file in files:
            if file.exists() and not force:
                raise InputError(file, "exists", "another --out, or --force to replace it")
        yield files


def _print_notes(*notes: str | None) -> None:
    for note in notes:
        if note:
            typer.echo(f"dardis: note: {note}", err=True)


def _write(made: Forecast, machine: Platform, calendar: Calendar, files: tuple[Path, Path]) -> None:
    from offline.forecast.forecast_files import write_forecast

    write_forecast(made, machine, calendar, *files)
    used = made.demand.in_use
    hour = int(used.mean.argmax())
    if not len(made.trace):
        _print_notes("no job is expected; a job table without jobs is no trace to simulate")
    first, busiest = (calendar.display_text(int(made.edges[index])) for index in (0, hour))
    typer.echo(f"  {len(made.trace):,} jobs from {first}, {len(used.mean)} h, {made.method}")
    typer.echo(
        f"  expected cores in use {used.mean.mean():,.0f} on average, at most {used.mean[hour]:,.0f} "
        f"({used.low[hour]:,.0f} to {used.high[hour]:,.0f}) in the hour from {busiest}"
    )
    typer.echo(f"  jobs    {files[0]}\n  demand  {files[1]}")


def _print_backtest(
    name: str, jobs: Trace, calendar: Calendar, hours: int, span: tuple[int, int] | None, seed: int
) -> None:
    from rich.progress import Progress

    from offline.forecast.backtest import backtest, backtest_days

    days = backtest_days(jobs, calendar, hours, span)
    with Progress(transient=True, disable=not sys.stdout.isatty()) as bars:
        task = bars.add_task("forecasting", total=len(days))
        result = backtest(jobs, calendar, days, hours, seed, lambda: bars.advance(task))
    typer.echo(
        f"{name}: cores in use by the jobs submitted within {hours} h, mean forecast against truth by hour, "
        f"if all started at once\n{len(days)} of the UTC days {days[0]} to {days[-1]}; {result.mean_in_use:,.0f} cores "
        "in use on average"
    )
    _show(_rows(result))
    typer.echo(
        "* the default. MAE, RMSE: also as a multiple of those of previous-day and mean. Jobs: MAE of the generated "
        "jobs.\nTotal: |error| of the sum over all hours. Submitted: MAE of the core-hours submitted in an hour. "
        "In band: hours within the 10–90 % band."
    )


def _rows(result: Backtest) -> list[list[str]]:
    from offline.forecast import DEFAULT

    score_of = {score.method: score for score in result.scores}
    naive = [score_of[name] for name in ("previous-day", "mean")]
    head = ["method", "MAE", "/ prev. day", "/ mean", "RMSE", "/ prev. day", "/ mean"]
    rows = [[*head, "jobs", "total, core-h", "submitted, core-h", "in band"]]
    for score in result.scores:
        row = [score.method + (" *" if score.method == DEFAULT else ""), f"{score.mae:,.1f}"]
        row += [_ratio(score.mae, other.mae) for other in naive]
        row += [f"{score.rmse:,.1f}", *(_ratio(score.rmse, other.rmse) for other in naive)]
        row += [f"{score.jobs_mae:,.1f}", f"{score.total:,.0f}", f"{score.submitted_mae:,.1f}", f"{score.inside:.0%}"]
        rows.append(row)
    return rows


def _ratio(value: float, of: float) -> str:
    return f"{value / of:.3f}" if of else "-"


def _show(rows: list[list[str]]) -> None:
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.table import Table

        table = Table(rows[0][0])
        for title in rows[0][1:]:
            table.add_column(title, justify="right")
        for row in rows[1:]:
            table.add_row(*row, style="bold" if row[0].endswith("*") else None)
        Console().print(table)
        return
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        texts = [row[0].ljust(widths[0]), *(text.rjust(width) for text, width in zip(row[1:], widths[1:], strict=True))]
        typer.echo("  " + "  ".join(texts))
