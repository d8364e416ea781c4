"""Draws the energy account of a site's jobs."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np
from matplotlib.axes import Axes

from dardis.metrics.job_energy import DAY_S, EnergySums, Grouping, JobEnergy, energy_table
from dardis.model.arrays import Floats, Ints
from dardis.model.csv_table import TEXT, Column
from dardis.model.moments import utc_text
from dardis.report import chart, words
from dardis.report.chart import Chart, TimeAxis
from dardis.report.plan_charts import LEGEND
from dardis.report.run_page import write_page
from dardis.report.words import NOTHING

_MOST_ROWS: Final = 25
_MOST_BARS: Final = 15
_HOURLY_S: Final = 4 * DAY_S
"""Shorter spans are drawn by the hour."""
_TITLES: Final = {
    "core_h": "core-hours", "kwh": "kWh", "measured_kwh": "measured kWh", "co2_kg": "kg CO2",
    "unused_share": "unused cores", "unknown_jobs": "jobs without energy", "start_utc": "start", "end_utc": "end",
}  # fmt: skip


def draw_energy(path: Path, found: JobEnergy, source: str) -> None:
    """Write the page of an account of `source`. Raises OSError."""
    total = found.sums()
    first, last = int(found.start.min()), int(found.end.max())
    with chart.style():
        charts = _charts(found, first, last)
    write_page(
        path,
        "energy.html.j2",
        title="Energy of jobs",
        lead=f"{source}, from {utc_text(first)} to {utc_text(last)}",
        notes=list(found.notes),
        headlines=_headlines(total, found.currency),
        charts=charts,
        tables=[_table(found, kind) for kind in (*_GROUPS, Grouping.DAY, Grouping.JOB)],
    )


_GROUPS: Final = (Grouping.USER, Grouping.ACCOUNT, Grouping.PARTITION)


def _headlines(total: EnergySums, currency: str) -> list[tuple[str, str]]:
    measured = None if not total.kwh else total.measured_kwh / total.kwh
    figures = (
        ("energy of the jobs", None if total.kwh is None else words.energy(total.kwh)),
        ("of it measured, the rest by the platform's figures", None if measured is None else words.share(measured)),
        ("cost of the energy", None if total.eur is None else f"{words.money(total.eur)} {currency}"),
        ("CO2", None if total.co2_kg is None else words.mass(total.co2_kg)),
        ("core-hours reserved", words.number(round(total.core_h))),
        ("of reserved cores unused", None if total.unused_share is None else words.share(total.unused_share)),
    )
    return [(name, value) for name, value in figures if value is not None]


def _charts(found: JobEnergy, first: int, last: int) -> list[Chart]:
    known = ~np.isnan(found.watts)
    if not known.any():
        return []
    bars = [_ranking(found, kind) for kind in (Grouping.USER, Grouping.ACCOUNT)]
    return [_energy_over_time(found, first, last), *(one for one in bars if one is not None)]


def _energy_over_time(found: JobEnergy, first: int, last: int) -> Chart:
    step, name = (3600, "hour") if last - first <= _HOURLY_S else (DAY_S, "day")
    edges = np.arange(first - first % step, last + step, step, dtype=np.int64)
    measured, modelled = (watts * step / 3.6e6 for watts in found.load(edges))
    with_prices = found.price_per_kwh is not None or found.gco2_per_kwh is not None
    drawing, panels = chart.figure(chart.FULL, 3.6 if with_prices else 2.8, 2 if with_prices else 1)
    axis = TimeAxis(int(edges[0]), int(edges[-1]), 0)
    x = axis.place(edges)
    base = np.zeros(len(measured))
    for values, colour, label in ((measured, chart.BLUE, "measured"), (modelled, chart.VERMILLION, "platform model")):
        if values.any():
            panels[0].fill_between(
                x, _step(base), _step(base + values), step="post", color=colour, alpha=0.75, linewidth=0, label=label
            )
            base = base + values
    panels[0].set_ylabel(f"kWh per {name}")
    panels[0].set_ylim(bottom=0)
    panels[0].legend(**LEGEND)
    if with_prices:
        _draw_conditions(panels[1], found, edges, axis)
    axis.dress(panels[-1])
    return chart.finish(drawing, "Energy over time", f"Energy of the jobs in each {name}, by origin.")


def _draw_conditions(axes: Axes, found: JobEnergy, edges: Ints, axis: TimeAxis) -> None:
    inside = np.unique(np.clip(edges, found.edges[0], found.edges[-1]))
    values, unit = found.price_per_kwh, f"{found.currency} per kWh"
    if values is None:
        values, unit = found.gco2_per_kwh, "g CO2 per kWh"
    assert values is not None
    whole = np.concatenate([[0.0], np.cumsum(np.diff(found.edges) * values)])
    means = np.diff(np.interp(inside, found.edges, whole)) / np.diff(inside)
    axes.step(axis.place(inside), _step(means), where="post", color=chart.BLUE, linewidth=1.1)
    axes.set_ylabel(unit)


def _step(values: Floats) -> Floats:
    return np.append(values, values[-1])


def _ranking(found: JobEnergy, kind: Grouping) -> Chart | None:
    """Bars of the groups with most energy; None for a single group."""
    groups = [(name, sums) for name, sums in found.groups(kind) if sums.kwh]
    if len(groups) < 2:
        return None
    shown = groups[:_MOST_BARS][::-1]
    drawing, (axes,) = chart.figure(chart.HALF, 0.8 + 0.24 * len(shown))
    places = np.arange(len(shown))
    measured = [sums.measured_kwh for _, sums in shown]
    axes.barh(places, measured, color=chart.BLUE, alpha=0.75, label="measured")
    rest = [(sums.kwh or 0.0) - sums.measured_kwh for _, sums in shown]
    axes.barh(places, rest, left=measured, color=chart.VERMILLION, alpha=0.75, label="platform model")
    axes.set_yticks(places, [name or "(none)" for name, _ in shown])
    axes.set_xlabel("kWh")
    axes.xaxis.set_major_formatter(chart.amounts())
    axes.grid(visible=False, axis="y")
    more = f" {len(groups) - len(shown):,} more have less." if len(groups) > len(shown) else ""
    return chart.finish(drawing, f"Energy by {kind}", f"Energy of the jobs of each {kind}.{more}")


def _table(found: JobEnergy, kind: Grouping) -> tuple[str, list[str], list[list[str]], str]:
    table, every = energy_table(kind), found.rows(kind)
    shown = every[-_MOST_ROWS:] if kind is Grouping.DAY else every[:_MOST_ROWS]
    used = [place for place in range(len(table.names)) if any(row[place] not in {None, 0, ""} for row in shown)]
    columns = [_TITLES.get(table.names[place], table.names[place].replace("_", " ")) for place in used]
    columns = [found.currency if name == "eur" else name for name in columns]
    rows = [[_cell(row[place], table.columns[place]) for place in used] for row in shown]
    title = "Jobs with most energy" if kind is Grouping.JOB else f"By {kind}"
    left = len(every) - len(shown)
    which = "earlier days" if kind is Grouping.DAY else "more with less energy"
    return title, columns, rows, f"and {left:,} {which}" if left else ""


def _cell(value: object, column: Column) -> str:
    if value is None:
        return NOTHING
    if isinstance(value, float):
        return words.share(value) if column.unit_text == "share" else words.number(value)
    if column.kind is TEXT:
        return str(value) or "(none)"
    return f"{value:,}" if isinstance(value, int) else str(value)
