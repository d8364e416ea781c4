"""Measures how CPU time grows with nodes, reservations and waiting jobs, and fits exponents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from scripts.lab.growth.plots import draw
from scripts.lab.growth.points import KEPT, Point, curves_of, law_of, read, upper, write
from scripts.lab.growth.queues import over_nodes, over_reservations, over_waiting
from scripts.lab.kit import busy_pool
from scripts.lab.kit.command import ROOT
from scripts.lab.kit.options import parser_of, prepared
from scripts.lab.kit.page import markdown, publish, table
from scripts.lab.kit.spread import Spread

PICTURE: Final = ROOT / "docs" / "images" / "growth"
HEAD: Final = (
    "CPU µs a job over", "of", "first", "last", "exponent", "in the upper two decades", "farthest off the line",
)  # fmt: skip


class Sizes(NamedTuple):
    """What is measured."""

    nodes: Sequence[int]
    reservations: Sequence[int]
    waiting: Sequence[int]
    turns: int
    ends: int


ALL: Final = Sizes(
    (100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000), (0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512),
    (10, 30, 100, 300, 1_000, 3_000, 10_000), 3, 500,
)  # fmt: skip
QUICK: Final = Sizes((100, 1_000), (0, 1, 8), (10, 30), 1, 30)


def measured(sizes: Sizes) -> list[Point]:
    """All points; the largest pool last, when nothing else is in memory."""
    busy_pool.warm()
    waiting = over_waiting(sizes.waiting, sizes.turns, sizes.ends)
    reservations = over_reservations(sizes.reservations, sizes.turns)
    return [*over_nodes(sizes.nodes, sizes.turns), *reservations, *waiting]


def page(points: Sequence[Point]) -> str:
    """A table with a row for each curve."""
    rows = []
    for over, curves in curves_of(points).items():
        for what, curve in curves.items():
            whole, last = law_of(curve), law_of(upper(curve))
            ends = [f"{spread_text(one.cost_us)} at {one.size:,.0f}" for one in (curve[0], curve[-1])]
            laws = [str(whole or ""), str(last or ""), f"× {whole.off:.2g}" if whole else ""]
            rows.append([over, what, *ends, *laws])
    return markdown([table(HEAD, rows, left=len(HEAD), blank=" ")])


def spread_text(cost: Spread) -> str:
    """Median and range, three digits each, thousands apart."""
    median, least, most = (f"{float(f'{value:.3g}'):,.7g}" for value in (cost.median, cost.least, cost.most))
    return f"{median} ({least}–{most})"


def main() -> int:
    """Print the table, and write it beside points and picture."""
    parser = parser_of("growth", __doc__, processes=0)
    parser.add_argument("--quick", action="store_true", help="small sizes, once: to see that it works")
    parser.add_argument("--keep", action="store_true", help="put points and picture where the docs have them, too")
    parser.add_argument("--kept", action="store_true", help="measure nothing: take the points that were kept")
    options = prepared(parser, parser.parse_args())
    out = options.out
    points = read(KEPT) if options.kept else measured(QUICK if options.quick else ALL)
    write(out / "growth.csv", points)
    draw(out / "growth", points)
    if options.keep:
        write(KEPT, points)
        PICTURE.with_suffix(".png").write_bytes((out / "growth.png").read_bytes())
    publish(out / "growth.md", page(points))
    return 0
