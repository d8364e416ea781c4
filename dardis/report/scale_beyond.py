"""Chart and table of predictions.csv."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from matplotlib.lines import Line2D

from dardis.model.choices import Scaling
from dardis.model.errors import InputError
from dardis.model.files import csv_rows, read_text
from dardis.model.numbers import decimal_number, whole_number
from dardis.report import chart, scale_charts
from dardis.report.chart import Chart
from dardis.report.scale_rows import ALL, FLAT, ScaleRow, setting_label
from dardis.report.words import NOTHING, number

_TABLED: Final = tuple(10**power for power in range(1, 7))
"""Ranks in the table."""
_LINE_COLUMNS: Final = ("task_managers", "arity", "window_s", "reservations")
"""Columns that distinguish lines."""
_ARITY: Final = _LINE_COLUMNS.index("arity")
Key = tuple[str, ...]


@dataclass(frozen=True)
class ScalePrediction:
    """Row of predictions.csv; `key`: columns `_LINE_COLUMNS`."""

    scaling: Scaling
    nodes: int
    ranks: int
    key: Key
    seconds: float
    network_ranks: int


def read_predictions(path: Path) -> list[ScalePrediction]:
    """Read predictions.csv, if present. Raises InputError."""
    if not path.exists():
        return []
    lines = csv_rows(path, read_text(path))
    header = next(lines, (1, []))[1]
    found = []
    for line, cells in lines:
        try:
            found.append(_prediction(dict(zip(header, cells, strict=True))))
        except (KeyError, ValueError):
            raise InputError(f"{path}:{line}", "is not a prediction", "a predictions.csv of `dardis scale`") from None
    return found


def _prediction(named: dict[str, str]) -> ScalePrediction:
    one = ScalePrediction(
        Scaling(named["scaling"]), whole_number(named["nodes"]), whole_number(named["ranks"]),
        tuple(named[name] for name in _LINE_COLUMNS), decimal_number(named["predicted_s_per_job"]),
        whole_number(named["network_ranks"]),
    )  # fmt: skip
    for place, text in enumerate(one.key):
        if not (text == FLAT and place == _ARITY):
            whole_number(text, 0)
    if not (1 <= one.ranks <= one.nodes and one.seconds > 0):
        raise ValueError(one)
    return one


def beyond_charts(rows: Sequence[ScaleRow], predictions: Sequence[ScalePrediction]) -> list[Chart]:
    """Strong and weak scaling."""
    with chart.style():
        drawn = [
            _scaling_chart(rows, [one for one in predictions if one.scaling is scaling], scaling) for scaling in Scaling
        ]
    return [one for one in drawn if one is not None]


def _scaling_chart(rows: Sequence[ScaleRow], predictions: Sequence[ScalePrediction], scaling: Scaling) -> Chart | None:
    if not predictions:
        return None
    strong, first = scaling is Scaling.STRONG, predictions[0]
    size = first.nodes if strong else first.nodes // first.ranks
    drawing, (axes,) = chart.figure(chart.HALF, 3.2)
    lines = _lines(predictions)
    for place, (key, label) in enumerate(list(lines.items())[: scale_charts.MOST_LINES]):
        look = scale_charts.looks(place)
        mine = [one for one in predictions if one.key == key]
        axes.plot([one.ranks for one in mine], [one.seconds for one in mine], color=look["color"],
                  linestyle=scale_charts.PREDICTED, linewidth=1.6)  # fmt: skip
        here = [row for row in rows if _is_of(row, key)
                and (row.number("nodes") if strong else row.number("nodes_per_rank") // 1) == size]  # fmt: skip
        axes.plot([row.number("ranks") for row in here], [1 / row.number("jobs_per_s") for row in here],
                  label=label, **look | {"linestyle": ""})  # fmt: skip
    axes.set_xscale("log")
    scale_charts.plain(axes.xaxis, chart.amounts())
    scale_charts.seconds(axes)
    axes.set_xlabel(f"ranks, {number(size)} nodes " + ("in all" if strong else "each"))
    axes.set_ylabel("time a job")
    scale_charts.legend(
        axes,
        [Line2D([], [], color=chart.GREY, linestyle=scale_charts.PREDICTED, label="predicted, a core for each rank")],
    )
    caption = (
        f"Lines: predicted by LogGP from measurements between {first.network_ranks} ranks. Markers: measured on the "
        "available cores."
    )
    more = len(lines) - scale_charts.MOST_LINES
    caption += f" {more} more lines are in predictions.csv only." if more > 0 else ""
    title = "One machine on more ranks" if strong else "Machines that grow with their ranks"
    return chart.finish(drawing, title, caption)


def _is_of(row: ScaleRow, key: Key) -> bool:
    asked_all = row.values["sample"] == ALL and row.values["overlap"] == 1
    several = row.number("ranks") > 1 and row.has("jobs_per_s")
    return asked_all and several and tuple(str(row.values[name]) for name in _LINE_COLUMNS) == key


def _lines(predictions: Sequence[ScalePrediction]) -> dict[Key, str]:
    keys = sorted({one.key for one in predictions}, key=lambda key: [int(x) if x.isdigit() else 0 for x in key])
    varying = [place for place in range(len(_LINE_COLUMNS)) if len({key[place] for key in keys}) > 1] or [_ARITY]
    return {
        key: ", ".join(setting_label(_LINE_COLUMNS[place], _value(key[place])) for place in varying) for key in keys
    }


def _value(text: str) -> int | str:
    return int(text) if text.isdigit() else text


def predicted_table(predictions: Sequence[ScalePrediction]) -> tuple[str, list[str], list[list[str]]] | None:
    """Strong scaling: heading, columns, cells; or None."""
    strong = [one for one in predictions if one.scaling is Scaling.STRONG and one.ranks in _TABLED]
    if not strong:
        return None
    lines, seconds = _lines(strong), {(one.ranks, one.key): one.seconds for one in strong}
    cells = [
        [number(ranks), *(number(1e3 * seconds[ranks, key]) if (ranks, key) in seconds else NOTHING for key in lines)]
        for ranks in sorted({one.ranks for one in strong})
    ]
    return f"Predicted for {number(strong[0].nodes)} nodes, ms a job", ["Ranks", *lines.values()], cells
