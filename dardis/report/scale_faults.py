"""Columns, chart and notes of faults.csv."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from dardis.report import chart, scale_charts
from dardis.report.chart import Chart
from dardis.report.scale_rows import ALL, FLAT, Reader, ScaleRow, lines_over, real_number_reader, whole_number_reader

COLUMNS: Final[tuple[tuple[str, str, str, float], ...]] = (
    ("nodes", "Nodes", "", 1), ("hosts", "Hosts", "", 1), ("task_managers", "Task managers", "", 1),
    ("arity", "Arity", "", 1), ("sample", "Sample", "", 1), ("window_s", "Window", "s", 1),
    ("reservations", "Reservations", "a node", 1), ("jobs", "Jobs", "", 1), ("drop", "Dropped", "%", 1e2),
    ("duplicate", "Doubled", "%", 1e2), ("delay_s", "Longest delay", "s", 1), ("resend_s", "Sent again after", "s", 1),
    ("crashes", "Crashes", "", 1), ("completed", "Com\u00adpleted", "", 1), ("rejected", "Rejected", "", 1),
    ("lost", "Lost", "", 1), ("run_twice", "Run twice", "", 1), ("violations", "Audit", "violations", 1),
    ("claims", "Claims", "", 1), ("refused", "Refused", "", 1), ("cut", "Called off", "attempts", 1),
    ("messages", "Messages", "", 1), ("dropped", "Lost mes\u00adsages", "", 1), ("resent", "Repeated", "", 1),
    ("agree_s_mean", "Agreed after", "s, mean", 1), ("agree_s_most", "Agreed after", "s, longest", 1),
    ("wait_s_mean", "Wait", "s, mean", 1), ("traffic_digest", "Digest", "", 1),
)  # fmt: skip
"""Name, heading, unit, factor."""
ASKED: Final = ("hosts", *(name for name, *_ in COLUMNS[2:13]))
"""Columns omitted if constant."""
READERS: Final[dict[str, Reader]] = {
    **dict.fromkeys(("nodes", "hosts", "task_managers", "jobs", "delay_s", "resend_s"), whole_number_reader(1)),
    "arity": whole_number_reader(2, FLAT),
    "sample": whole_number_reader(1, ALL),
    **dict.fromkeys(("window_s", "reservations", "seed", "crashes", "completed", "rejected", "lost", "run_twice",
                     "violations", "claims", "refused", "cut", "messages", "dropped", "resent"),
                     whole_number_reader(0)),
    **dict.fromkeys(("drop", "duplicate"), real_number_reader(known=True)),
    **dict.fromkeys(("agree_s_mean", "agree_s_most"), real_number_reader(above_zero=True)),
    "wait_s_mean": real_number_reader(),
    **dict.fromkeys(("dispatcher", "traffic_digest"), str),
}  # fmt: skip


def fault_charts(rows: Sequence[ScaleRow]) -> list[Chart]:
    """Messages per job and time until agreement over message loss."""
    lines = lines_over(rows, "drop", "agree_s_mean", asked=("nodes", "dispatcher", "seed", *ASKED))
    if not lines:
        return []
    with chart.style():
        drawing, panels = chart.figure(chart.HALF, 4.4, 2)
        for place, line in enumerate(lines[: scale_charts.MOST_LINES]):
            lost = [1e2 * row.number("drop") for row in line.rows]
            sent = [row.number("messages") / row.number("jobs") or np.nan for row in line.rows]
            agreed = [row.number("agree_s_mean") for row in line.rows]
            panels[0].plot(lost, sent, label=line.label, **scale_charts.looks(place))
            panels[1].plot(lost, agreed, **scale_charts.looks(place))
        scale_charts.amounts(panels[0])
        panels[0].set_ylabel("messages a job")
        scale_charts.seconds(panels[1])
        panels[1].set_ylabel("mean time until\na start is agreed on")
        panels[1].set_xlabel("messages lost (%)")
        scale_charts.legend(panels[0])
        caption = "In virtual time. Lost messages are sent again, and a job with a refused claim asks again."
        return [chart.finish(drawing, "Cost of lost messages", caption + scale_charts.omission_caption(lines))]


def fault_notes(rows: Sequence[ScaleRow]) -> list[str]:
    """Notes for readers."""
    broken = [row for row in rows if row.number("lost") or row.number("violations")]
    if broken or any(row.number("run_twice") and not row.number("crashes") for row in rows):
        return ["Defect: jobs were lost or ran twice, or the audit found violations."]
    again = sum(int(row.number("run_twice")) for row in rows)
    crashed = f" {again} jobs ran twice, since a host failed before it reported their end." if again else ""
    return ["No job was lost, and the audit found no violations." + crashed]
