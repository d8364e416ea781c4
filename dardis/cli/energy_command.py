"""The `dardis energy` command."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from dardis.cli.derived_options import NodeNames, check_absent
from dardis.config.option_texts import whole_number_parser

if TYPE_CHECKING:
    from dardis.metrics.job_energy import EnergySums, Grouping, JobEnergy
    from dardis.model.csv_table import Column, CsvTable

_ROWS: Final = 20


def energy(
    jobs: Annotated[
        Path, typer.Argument(metavar="JOBS", help="Slurm's accounting: sacct --parsable2, or sacct --json.")
    ],
    by: Annotated[
        Literal["job", "user", "account", "partition", "day"],
        typer.Option(metavar="WHAT", help="Rows: job, user, account, partition or day (UTC)."),
    ] = "user",
    platform: Annotated[
        Path | None,
        typer.Option(metavar="P.toml", help="Power figures for jobs without measured energy; also prices and carbon."),
    ] = None,
    names: NodeNames = None,
    prices: Annotated[Path | None, typer.Option(metavar="FILE", help="Electricity prices over time.")] = None,
    carbon: Annotated[Path | None, typer.Option(metavar="FILE", help="CO2 intensity over time.")] = None,
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="Count energy from this UTC time, as in 2023-05-01.")
    ] = None,
    until: Annotated[str | None, typer.Option(metavar="TIME", help="Count energy before this UTC time.")] = None,
    form: Annotated[
        Literal["table", "csv", "json", "page"] | None,
        typer.Option("--format", metavar="FORM", help="table (default), csv, json, or page (HTML, needs --out)."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Output file; its suffix sets the form: .csv, .json, .html.")
    ] = None,
    rows: Annotated[
        int,
        typer.Option(parser=whole_number_parser("--rows", 0), metavar="N", help="Most rows of a table; 0: all."),
    ] = _ROWS,
    force: Annotated[bool, typer.Option("--force", help="Replace FILE of --out if it exists.")] = False,
) -> None:
    """Show energy, cost, CO2 and unused cores of past jobs. Energy is measured, or that of the platform's figures."""
    from dardis.config.clocks import parse_utc
    from dardis.config.platform_file import load_platform
    from dardis.metrics.job_energy import EnergyTerms, Grouping, energy_table, job_energy
    from dardis.model.errors import InputError
    from dardis.model.files import write_text
    from dardis.workload.slurm_usage import read_usage

    chosen = _form(form, out)
    if out is not None:
        check_absent(out, force)
    if names is not None and platform is None:
        raise InputError("--names", "given without --platform", "--platform P.toml as well")
    start, end = (
        None if text is None else parse_utc(text, option) for text, option in ((since, "--since"), (until, "--until"))
    )
    if start is not None and end is not None and end <= start:
        raise InputError("--until", f"{until} is not after {since}", "a later time than --since")
    machine = None if platform is None else load_platform(platform)
    terms = EnergyTerms(machine, names, prices, carbon, start, end)
    found = job_energy(jobs, read_usage(jobs), terms)
    for note in found.notes:
        typer.echo(f"dardis: note: {note}", err=True)
    kind = Grouping(by)
    if chosen == "page":
        from dardis.report.energy_page import draw_energy

        assert out is not None
        draw_energy(out, found, jobs.name)
        typer.echo(f"{out}: written")
        return
    table = energy_table(kind)
    if chosen == "csv":
        text = table.text(found.rows(kind))
    elif chosen == "json":
        text = _json_text(found, kind, table)
    else:
        text = "".join(f"{line}\n" for line in _table_lines(found, kind, table, rows))
    if out is None:
        typer.echo(text, nl=False)
    else:
        write_text(out, text)
        typer.echo(f"{out}: written")


def _form(form: str | None, out: Path | None) -> str:
    """Form of the output. Raises InputError."""
    from dardis.model.errors import InputError

    of_suffix = {".csv": "csv", ".json": "json", ".html": "page", ".txt": "table"}
    if out is None:
        if form == "page":
            raise InputError("--format page", "given without --out", "--out FILE.html")
        return form or "table"
    found = of_suffix.get(out.suffix)
    if form is None and found is None:
        raise InputError(f"--out {out}", "no form by this suffix", f"{', '.join(of_suffix)}, or --format")
    if not out.parent.is_dir():
        raise InputError(f"--out {out}", "its folder does not exist", "a file in a folder that exists")
    return form or found or "table"


def _json_text(found: JobEnergy, kind: Grouping, table: CsvTable) -> str:
    from dataclasses import asdict

    from dardis.model.moments import utc_text

    content = {
        "since_utc": utc_text(int(found.start.min()), seconds=True),
        "until_utc": utc_text(int(found.end.max()), seconds=True),
        "currency": found.currency,
        "total": asdict(found.sums()),
        "by": str(kind),
        "rows": [dict(zip(table.names, row, strict=True)) for row in found.rows(kind)],
        "notes": list(found.notes),
    }
    return json.dumps(content, indent=2, allow_nan=False) + "\n"


def _table_lines(found: JobEnergy, kind: Grouping, table: CsvTable, most: int) -> Iterator[str]:
    yield _total_line(found.sums(), found.currency)
    every = found.rows(kind)
    shown = every[:most] if most else every
    cells = [[_cell(value, column) for value, column in zip(row, table.columns, strict=True)] for row in shown]
    used = [place for place in range(len(table.columns)) if any(row[place] not in {"", "0"} for row in cells)]
    titles = _TITLES | {"eur": found.currency}
    lines = [[titles.get(name, name.replace("_", " ")) for name in table.names], *cells]
    widths = [max(len(line[place]) for line in lines) for place in used]
    numeric = [table.columns[place].kind.name in {"WHOLE", "REAL"} for place in used]
    for line in lines:
        parts = zip((line[place] for place in used), widths, numeric, strict=True)
        yield "  ".join(text.rjust(width) if right else text.ljust(width) for text, width, right in parts).rstrip()
    if len(every) > len(shown):
        yield f"{len(every) - len(shown):,} more rows (--rows 0 shows all)"


_TITLES: Final = {"kwh": "kWh", "measured_kwh": "measured kWh", "co2_kg": "kg CO2", "unused_share": "unused cores"}


def _cell(value: object, column: Column) -> str:
    from dardis.report.words import number, share

    if isinstance(value, float):
        return share(value) if column.unit_text == "share" else number(value)
    if column.kind.name == "TEXT":
        return str(value) or "(none)"
    return "" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def _total_line(sums: EnergySums, currency: str) -> str:
    from dardis.report.words import energy, mass, money, share

    parts = [f"{sums.jobs:,} runs of jobs", f"{sums.core_h:,.0f} core-hours"]
    if sums.kwh is not None:
        measured = f" ({share(sums.measured_kwh / sums.kwh)} measured)" if sums.kwh else ""
        parts.append(energy(sums.kwh) + measured)
    if sums.eur is not None:
        parts.append(f"{money(sums.eur)} {currency}")
    if sums.co2_kg is not None:
        parts.append(f"{mass(sums.co2_kg)} CO2")
    if sums.unused_share is not None:
        parts.append(f"{share(sums.unused_share)} of reserved cores unused")
    return ", ".join(parts)
