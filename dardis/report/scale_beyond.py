"""What predictions.csv says of ranks beyond those at hand: charts, and a table of one machine on ever more ranks."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from matplotlib.lines import Line2D

from dardis.model.errors import InputError
from dardis.model.files import read_text
from dardis.report import chart, scale_axes
from dardis.report.chart import Chart
from dardis.report.scale_rows import ALL, FLAT, ScaleRow
from dardis.report.words import number

STRONG, WEAK = "strong", "weak"
_DECADES: Final = tuple(10**power for power in range(1, 7))


@dataclass(frozen=True)
class Prediction:
    """One line of predictions.csv, as far as it is drawn."""

    scaling: str
    nodes: int
    ranks: int
    arity: str
    seconds: float
    network_ranks: int


def read_predictions(path: Path) -> list[Prediction]:
    """Read predictions.csv; none where there is no such file. Raises InputError."""
    if not path.exists():
        return []
    found = []
    for line, named in enumerate(csv.DictReader(read_text(path).splitlines()), start=2):
        try:
            found.append(
                Prediction(
                    named["scaling"], int(named["nodes"]), int(named["ranks"]), named["arity"],
                    float(named["predicted_s_per_job"]), int(named["network_ranks"]),
                )
            )  # fmt: skip
        except (KeyError, TypeError, ValueError):
            raise InputError(f"{path}:{line}", "is no prediction", "a predictions.csv of `dardis scale`") from None
    return found


def beyond_charts(rows: Sequence[ScaleRow], predictions: Sequence[Prediction]) -> list[Chart]:
    """One machine on ever more ranks, and machines that grow with them; none without predictions."""
    with chart.style():
        return [_drawn(rows, [one for one in predictions if one.scaling == how], how) for how in (STRONG, WEAK)
                if any(one.scaling == how for one in predictions)]  # fmt: skip


def _drawn(rows: Sequence[ScaleRow], predictions: Sequence[Prediction], scaling: str) -> Chart:
    first = predictions[0]
    column, value = ("nodes", first.nodes) if scaling == STRONG else ("nodes_per_rank", first.nodes // first.ranks)
    drawing, (axes,) = chart.figure(chart.HALF, 3.2)
    for place, arity in enumerate(_arities(predictions)[: scale_axes.MOST_LINES]):
        look = scale_axes.looks(place)
        mine = [one for one in predictions if one.arity == arity]
        axes.plot([one.ranks for one in mine], [one.seconds for one in mine], color=look["color"],
                  linestyle=scale_axes.PREDICTED, linewidth=1.6)  # fmt: skip
        here = [
            row for row in rows
            if str(row.values["arity"]) == arity and row.values["sample"] == ALL and row.number(column) == value
            and row.number("ranks") > 1 and row.values["overlap"] == 1 and row.has("jobs_per_s")
        ]  # fmt: skip
        axes.plot([row.number("ranks") for row in here], [1 / row.number("jobs_per_s") for row in here],
                  label=_said(arity), **look | {"linestyle": ""})  # fmt: skip
    axes.set_xscale("log")
    scale_axes.plain(axes.xaxis, chart.amounts())
    scale_axes.seconds(axes)
    axes.set_xlabel(f"ranks, {number(value)} nodes " + ("in all" if scaling == STRONG else "each"))
    axes.set_ylabel("time a job")
    scale_axes.legend(
        axes,
        [Line2D([], [], color=chart.GREY, linestyle=scale_axes.PREDICTED, label="predicted, a core for each rank")],
    )
    caption = (
        f"Prediction, not measurement, beyond the markers: LogGP with what was measured between {first.network_ranks} "
        "ranks here. Markers: measured, on the cores at hand."
    )
    title = "One machine on more ranks" if scaling == STRONG else "Machines that grow with their ranks"
    return chart.finish(drawing, title, caption)


def predicted_table(predictions: Sequence[Prediction]) -> tuple[str, list[str], list[list[str]]] | None:
    """One machine on ever more ranks in figures: heading, names of the columns, cells; None without predictions."""
    strong = [one for one in predictions if one.scaling == STRONG and one.ranks in _DECADES]
    if not strong:
        return None
    seconds = {(one.ranks, one.arity): one.seconds for one in strong}
    arities = _arities(strong)
    cells = [
        [number(ranks), *(number(1e3 * seconds[ranks, arity]) for arity in arities)]
        for ranks in sorted({one.ranks for one in strong})
    ]
    heading = f"Predicted for {number(strong[0].nodes)} nodes, ms a job"
    return heading, ["Ranks", *map(_said, arities)], cells


def _arities(predictions: Sequence[Prediction]) -> list[str]:
    """Flat first, then trees by arity."""
    return sorted({one.arity for one in predictions}, key=lambda arity: 0 if arity == FLAT else int(arity))


def _said(arity: str) -> str:
    return FLAT if arity == FLAT else f"arity {arity}"
