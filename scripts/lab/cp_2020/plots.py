"""Draws the ratios of figures 6 and 7: PCP'20 over PCP'19, instance by instance."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from dardis.report import chart
from scripts.lab.cp_2020.instances import Instances
from scripts.lab.kit.drawing import save, sheet


def draw_ratios(out: Path, found: Mapping[str, Instances]) -> None:
    """Write how many instances have at most so large a ratio, of variables and of time, by what is expected."""
    with chart.style():
        drawing, ((left, right),) = sheet(3.4, 1, 2)
        for place, (expected, of) in enumerate(found.items()):
            every = np.ones(len(of.asked), dtype=bool)
            curves = ((left, of.variable_ratio, f"{expected}"), (right, of.cpu_ratio(every), f"{expected}, all"),
                      (right, of.cpu_ratio(of.solved), f"{expected}, both asked the solver"))  # fmt: skip
            for turn, (axes, values, label) in enumerate(curves):
                look = chart.line_look(place + (2 if turn == 2 else 0)) | {"linewidth": 1.8}
                axes.step(
                    np.sort(values),
                    np.arange(1, len(values) + 1) / max(1, len(values)),
                    where="post",
                    label=label,
                    **look,
                )
        for axes, what in ((left, "variables"), (right, "CPU of the decision")):
            axes.set_xscale("log")
            axes.set_ylim(0, 1.01)
            axes.axvline(1, color=chart.GREY, linewidth=0.8)
            axes.set_xlabel(f"{what}: PCP'20 over PCP'19")
            axes.legend(loc="best")
        left.set_ylabel("share of instances, cumulative")
        save(drawing, out)
