"""Chart style, axes and files."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, TypeAlias

import matplotlib as mpl
import numpy as np
from matplotlib import dates
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, Formatter, FuncFormatter

from dardis.model.arrays import Floats, Ints
from dardis.model.out_folder import CHARTS

BLUE: Final = "#0072B2"
VERMILLION: Final = "#D55E00"
GREY: Final = "#8a8f98"
INK: Final = "#22262b"
PAGE: Final = "#ffffff"
GRID: Final = "#e6e8eb"
PALE: Final = "#e3eef6"
CYCLE: Final = (BLUE, VERMILLION, "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Okabe and Ito's colours, without yellow (invisible on white) and black (totals)."""
IN_PIXELS: Final = ("#0173b3", *CYCLE[1:])
"""Colours for raster images, independent of the page."""
Dashes: TypeAlias = str | tuple[int, tuple[float, ...]]
_LINES: Final[tuple[tuple[str, Dashes, str], ...]] = (
    (CYCLE[0], "-", "o"), (CYCLE[1], "--", "s"), (CYCLE[2], "-.", "^"), (CYCLE[3], (0, (1, 1)), "D"),
    (CYCLE[4], (0, (7, 2, 1, 2, 1, 2)), "v"), (CYCLE[5], (0, (9, 3)), "P"), (INK, (0, (3, 1)), "X"), (GREY, "-", "*"),
)  # fmt: skip
MOST_LINES: Final = len(_LINES)
"""Distinguishable by colour, dashes and marker."""

FULL: Final = 10.0
HALF: Final = 5.0
"""Chart widths (inches)."""

_STYLE: Final = {
    "font.size": 9.0, "axes.titlesize": 9.5, "axes.labelsize": 9.0, "legend.fontsize": 8.5,
    "axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY, "axes.labelcolor": INK,
    "xtick.color": INK, "ytick.color": INK, "text.color": INK, "axes.titlelocation": "left",
    "axes.grid": True, "grid.color": GRID, "axes.facecolor": "none", "grid.linewidth": 0.8, "axes.axisbelow": True,
    "legend.frameon": False, "legend.handlelength": 3.2, "svg.hashsalt": "dardis", "pdf.fonttype": 42,
    "figure.constrained_layout.use": True,
}  # fmt: skip
_IN_PAGE: Final = {INK: "ink", PAGE: "page", GRID: "grid", PALE: "pale", BLUE.lower(): "blue"}
"""Replaced by page variables (style.html.j2) for dark mode."""
_HEAD: Final = re.compile(r"^.*?<svg [^>]*?(viewBox=\"[^\"]*\")[^>]*>", re.DOTALL)
_NOT_SHOWN: Final = re.compile(
    r"<!--.*?-->|<metadata>.*?</metadata>|<style.*?</style>|(?<=<g) id=\"[^\"]*\"", re.DOTALL
)
_BREAKS: Final = re.compile(r"\s*\n\s*")
_COLOURS: Final = re.compile("|".join(_IN_PAGE))
_YEAR_1: Final = -62_135_596_800 + 10**9
_YEAR_9999: Final = 253_402_300_800 - 10**9
"""Range of calendar dates (Unix s), with margin."""


@dataclass(frozen=True)
class Chart:
    """Title, figure and caption."""

    title: str
    drawing: Figure
    caption: str
    wide: bool

    @property
    def picture(self) -> str:
        """SVG in the page's colours."""
        buffer = io.BytesIO()
        with style():
            self.drawing.savefig(buffer, format="svg", metadata={"Date": None}, dpi=150, facecolor="none")
        head, body = _HEAD.split(_BREAKS.sub("\n", _NOT_SHOWN.sub("", buffer.getvalue().decode("utf-8"))), 1)[1:]
        body = _COLOURS.sub(lambda found: f"var(--{_IN_PAGE[found[0]]})", body)
        return f'<svg {head} role="img" aria-label="{html.escape(f"{self.title}: {self.caption}")}">{body}'

    def write(self, path: Path) -> None:
        """Write SVG or PDF, reproducibly. Raises OSError."""
        with style():
            date = "CreationDate" if path.suffix == ".pdf" else "Date"
            self.drawing.savefig(path, metadata={date: None}, dpi=300)


def style() -> AbstractContextManager[None]:
    """Context with the charts' style."""
    return mpl.rc_context(_STYLE)  # type: ignore[arg-type]


def figure(width: float, height: float, panels: int = 1) -> tuple[Figure, list[Axes]]:
    """Stacked panels with shared x axis; inches."""
    drawing = Figure(figsize=(width, height))
    axes = drawing.subplots(panels, 1, sharex=True, squeeze=False)
    return drawing, list(axes[:, 0])


def figure_in_row(width: float, height: float, panels: int) -> tuple[Figure, list[Axes]]:
    """Panels side by side with shared y axis; inches."""
    drawing = Figure(figsize=(width, height))
    axes = drawing.subplots(1, panels, sharey=True, squeeze=False)
    return drawing, list(axes[0])


def finish(drawing: Figure, title: str, caption: str) -> Chart:
    """Figure's chart."""
    return Chart(title, drawing, caption, wide=bool(drawing.get_figwidth() > HALF))


def line_look(place: int, *, marked: bool = False) -> dict[str, Any]:
    """Style of line `place`, below MOST_LINES."""
    colour, dashes, marker = _LINES[place]
    look = {"color": colour, "linestyle": dashes, "linewidth": 3.2 - 0.25 * place}
    return look | {"marker": marker, "markersize": 5.5, "markeredgewidth": 0} if marked else look


def amounts() -> Formatter:
    """Format of amounts: 500, 12k, 1.5M."""
    large = EngFormatter(sep="")
    return FuncFormatter(lambda value, _: f"{value:g}" if abs(value) < 1000 else large(value))


@dataclass(frozen=True)
class TimeAxis:
    """Time axis `[start, end)`, s of the trace's clock.

    Shows dates (UTC) if `unix_start` (Unix time of trace time 0) is known.
    """

    start: int
    end: int
    unix_start: int | None

    @property
    def _dated(self) -> bool:
        if self.unix_start is None:
            return False
        return self.start + self.unix_start >= _YEAR_1 and self.end + self.unix_start < _YEAR_9999

    @property
    def _unit(self) -> tuple[float, str]:
        span = self.end - self.start
        if span >= 3 * 86400:
            return 86400.0, "days"
        return (3600.0, "hours") if span >= 2 * 3600 else (60.0, "minutes")

    def place(self, times: Ints | Floats) -> Floats:
        """Axis coordinates of times."""
        if self._dated and self.unix_start is not None:
            return np.asarray((times + self.unix_start) / 86400.0)
        return np.asarray((times - self.start) / self._unit[0])

    def dress(self, axes: Axes) -> None:
        """Set limits, ticks and label."""
        low, high = self.place(np.array([self.start, self.end]))
        axes.set_xlim(low, high if high > low else low + 1)
        if not self._dated:
            axes.set_xlabel(f"{self._unit[1]} since the first submission")
        else:
            locator = dates.AutoDateLocator(tz="UTC")  # type: ignore[no-untyped-call]
            axes.xaxis.set_major_locator(locator)
            formatter = dates.ConciseDateFormatter(locator, tz="UTC")  # type: ignore[no-untyped-call]
            axes.xaxis.set_major_formatter(formatter)
            axes.set_xlabel("date (UTC)")


class ChartFormat(StrEnum):
    """File format of charts."""

    PDF = "pdf"
    SVG = "svg"


def write_charts(folder: Path, charts: Mapping[str, Sequence[Chart]], form: ChartFormat) -> None:
    """Write charts into `folder/charts`, named by group (or "") and title.

    Duplicates are numbered, old files removed. Write pages first: drawing changes charts slightly. Raises OSError.
    """
    target = folder / CHARTS
    target.mkdir(exist_ok=True)
    for old in target.glob(f"*.{form}"):
        old.unlink()
    for path, chart in charts_by_name(charts, form).items():
        chart.write(target / path)


def charts_by_name(charts: Mapping[str, Sequence[Chart]], form: ChartFormat) -> dict[str, Chart]:
    """Charts by file name."""
    found: dict[str, Chart] = {}
    for group, of_group in charts.items():
        for chart in of_group:
            stem = "-".join(filter(None, map(_plain, (group, chart.title)))) or "chart"
            names = (f"{stem}{'' if count == 1 else f'-{count}'}.{form}" for count in range(1, len(found) + 2))
            found[next(name for name in names if name not in found)] = chart
    return found


def _plain(text: str) -> str:
    return re.sub(r"[^\w.]+", "-", text).strip("-.")[:80].lower()
