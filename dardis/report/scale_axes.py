"""How charts of scale experiments are laid out: markers are measured, dashes predicted; log axes with few ticks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter, FixedLocator, Formatter, NullFormatter, NullLocator

from dardis.report import chart
from dardis.report.scale_rows import Line

PREDICTED: Final = "--"
MOST_LINES: Final = 6
"""Of one chart."""


def looks(place: int) -> dict[str, Any]:
    """Measured figures: colours and markers tell lines apart, dashes are left to predictions."""
    return chart.line_look(place, marked=True) | {"linestyle": "-", "linewidth": 1.6}


def log_counts(axes: Axes, values: Sequence[float]) -> None:
    """A log axis of counts, with a tick at each that was measured where these are few."""
    axes.set_xscale("log")
    places = sorted(set(values))
    if len(places) <= 8:
        axes.xaxis.set_major_locator(FixedLocator(places))
        axes.xaxis.set_minor_locator(NullLocator())
    plain(axes.xaxis, chart.amounts())


def plain(axis: Axis, formatter: Formatter) -> None:
    """Say the large ticks of a log axis as other axes do, and no small ones."""
    axis.set_major_formatter(formatter)
    axis.set_minor_formatter(NullFormatter())


def seconds(axes: Axes) -> None:
    """A log y axis of times."""
    _whole_decades(axes, EngFormatter(unit="s"))


def amounts(axes: Axes) -> None:
    """A log y axis of counts."""
    _whole_decades(axes, chart.amounts())


def _whole_decades(axes: Axes, formatter: Formatter) -> None:
    """Let a log y axis end at large ticks, so that there are some."""
    axes.set_yscale("log")
    plain(axes.yaxis, formatter)
    low, high = (math.log10(end) for end in axes.get_ylim())
    axes.set_ylim(10.0 ** math.floor(low), 10.0 ** math.ceil(high))


def legend(axes: Axes, extra: Sequence[Line2D] = (), columns: int = 1) -> None:
    """Above the chart; the figure grows with it."""
    handles = [*axes.get_legend_handles_labels()[0], *extra]
    drawing = axes.get_figure()
    assert isinstance(drawing, Figure)
    drawing.set_figheight(drawing.get_figheight() + 0.17 * -(-len(handles) // columns))
    axes.legend(handles=handles, loc="lower left", bbox_to_anchor=(0, 1), ncols=columns, borderaxespad=0.2, fontsize=8)


def left_out(lines: Sequence[Line]) -> str:
    """What a caption says of the lines that are not drawn."""
    more = len(lines) - MOST_LINES
    return f" {more} more lines are in the table only." if more > 0 else ""
