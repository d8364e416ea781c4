"""Writes the charts of a report as files of their own, for papers: `charts/NAME.pdf` or `.svg` beside the report."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path

from dardis.model.out_folder import CHARTS
from dardis.report.chart import Chart


class Form(StrEnum):
    """Of a file with a chart."""

    PDF = "pdf"
    SVG = "svg"


def write_charts(folder: Path, charts: Mapping[str, Sequence[Chart]], form: Form) -> None:
    """Write charts into `folder/charts`, those of each group under its name (empty: none) and their own.

    Charts of the same name are numbered. Files of that form from an earlier call are removed. To be called when the
    page is written, as charts that are drawn twice differ by a hair. Raises OSError.
    """
    target = folder / CHARTS
    target.mkdir(exist_ok=True)
    for old in target.glob(f"*.{form}"):
        old.unlink()
    for path, chart in named(charts, form).items():
        chart.write(target / path)


def named(charts: Mapping[str, Sequence[Chart]], form: Form) -> dict[str, Chart]:
    """Every chart by the name of its file."""
    found: dict[str, Chart] = {}
    for group, of_group in charts.items():
        for chart in of_group:
            stem = "-".join(filter(None, map(_plain, (group, chart.title)))) or "chart"
            names = (f"{stem}{'' if count == 1 else f'-{count}'}.{form}" for count in range(1, len(found) + 2))
            found[next(name for name in names if name not in found)] = chart
    return found


def _plain(text: str) -> str:
    """Text as part of a file's name: letters, digits, dots and underscores, everything else as a single hyphen."""
    return re.sub(r"[^\w.]+", "-", text).strip("-.")[:80].lower()
