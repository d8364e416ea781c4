"""Runs the scaling experiments of docs/performance.md on this machine: some ten minutes, best with nothing beside."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pandas as pd

from dardis.model.errors import InputError
from dardis.report import chart
from scripts.lab.kit.command import DARDIS, ROOT
from scripts.lab.kit.drawing import save, sheet

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ARITIES: Final = {"flat": "flat", "8": "arity 8"}
WHEN: Final = {"before": {"linestyle": ":"}, "now": {"linestyle": "-"}}


class Panel(NamedTuple):
    """A folder's rows over one column."""

    folder: str
    over: str
    cost: str
    factor: float
    title: str
    xlabel: str
    ylabel: str
    nodes: int | None = None
    """Of the rows that are drawn; None: of all."""


PANELS: Final = (
    Panel("nodes", "nodes", "cpu_ns_per_node_job", 1, "one process, all nodes asked by messages", "nodes",
          "CPU time a node and job, ns"),
    Panel("strong", "ranks", "wall_s_per_round", 1e3, "6,400 nodes over ranks on two cores", "ranks",
          "clock time a round, ms", 6_400),
)  # fmt: skip


def draw(old: Path, new: Path, picture: Path) -> None:
    """Write the figure as PNG and SVG; medians of the repeats, and bars from least to most."""
    with chart.style():
        drawing, (row,) = sheet(4.6, 1, len(PANELS))
        for axes, panel in zip(row, PANELS, strict=True):
            sizes: set[int] = set()
            for when, folder in (("before", old), ("now", new)):
                rows = _rows(folder / panel.folder / "scale.csv", panel)
                _curves(axes, panel, rows, when)
                sizes.update(rows[panel.over].tolist())
            axes.set(xscale="log", yscale="log", title=panel.title, xlabel=panel.xlabel, ylabel=panel.ylabel)
            axes.set_xticks(sorted(sizes), [f"{size:,}" for size in sorted(sizes)])
            axes.minorticks_off()
            low, high = axes.get_ylim()
            ticks = [digit * 10.0**power for power in range(-1, 5) for digit in (1, 2, 5)]
            shown = [tick for tick in ticks if low <= tick <= high]
            axes.set_yticks(shown, [f"{tick:g}" for tick in shown])
            axes.legend()
        save(drawing, picture)


def _rows(path: Path, panel: Panel) -> pd.DataFrame:
    """What a run has written. Raises InputError."""
    if not path.is_file():
        raise InputError(path, "is not there", "a folder that scripts/lab/run scale has written")
    rows = pd.read_csv(path, dtype={"arity": str})
    return rows if panel.nodes is None else rows[rows["nodes"] == panel.nodes]


def _curves(axes: Axes, panel: Panel, rows: pd.DataFrame, when: str) -> None:
    for place, (arity, name) in enumerate(ARITIES.items()):
        costs = rows[rows["arity"] == arity].groupby(panel.over)[panel.cost]
        middle, least, most = (getattr(costs, what)() * panel.factor for what in ("median", "min", "max"))
        look: dict[str, Any] = chart.line_look(place, marked=True) | {"linewidth": 1.6} | WHEN[when]
        bars = (middle - least, most - middle)
        axes.errorbar(middle.index, middle, yerr=bars, label=f"{name}, {when}", capsize=2, elinewidth=1, **look)


def experiments(ranks: int) -> dict[str, list[str]]:
    """The commands of the experiments, by the name of the folder that each writes; `ranks` are the most."""
    some = [2**power for power in range(1, ranks.bit_length()) if 2**power < ranks]
    known = {"ranks": ranks, "list": ",".join(map(str, [*some, ranks]))}
    commands = {}
    for one in tomllib.loads(Path(__file__).with_name("spec.toml").read_text(encoding="utf-8"))["experiments"]:
        launcher = [str(ROOT / "launch" / "mpirun"), "-n", one["launched"].format(**known)] if "launched" in one else []
        commands[one["name"]] = [*launcher, *DARDIS, "scale", *one["options"].format(**known).split()]
    return commands


def main() -> int:
    """Run all, and draw them beside earlier ones."""
    parser = argparse.ArgumentParser(prog="scripts/lab/run scale", description=__doc__)
    parser.add_argument("out", type=Path, nargs="?", default=ROOT / "out" / "scale", help="folder (out/scale)")
    parser.add_argument("--ranks", type=int, default=64, help="the most, on however few cores (64)")
    parser.add_argument("--beside", type=Path, metavar="OLD", help="an earlier folder: the curves of both in a picture")
    parser.add_argument("--only-draw", action="store_true", help="with --beside, run nothing")
    options = parser.parse_args()
    out = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    for name, command in experiments(options.ranks).items() if not options.only_draw else ():
        subprocess.run([*command, "--out", str(out / name), "--force"], check=True, cwd=ROOT)
    if options.beside:
        try:
            draw(options.beside, out, out / "beside")
        except InputError as error:
            sys.stderr.write(f"scale: {error}\n")
            return error.exit_status
    return 0
