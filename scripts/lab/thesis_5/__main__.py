"""The kit of the thesis's section 5.5: runs the comparison that is missing, and prints the page."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from offline.site.calendar import DAY_S
from scripts.lab.kit.command import PLATFORMS, ROOT, convert
from scripts.lab.kit.compared import Comparison, read_spec
from scripts.lab.kit.options import count, decimal, parser_of, prepared
from scripts.lab.kit.page import publish, write_csv
from scripts.lab.kit.thesis import CORES_A_NODE, DAY_H, NODES, PARTITION, TRACE, UNIT_CORES
from scripts.lab.thesis_5.page import outcome_of, page

CORES: Final = NODES * CORES_A_NODE
FITTING, STRESS = f"partition {PARTITION}", "whole slice"
TITLES: Final = {
    FITTING: "Thesis 5.5 on the Curie slice, partition 4, on 300 nodes of 32 cores",
    STRESS: "Thesis 5.5 on the whole Curie slice, five times too much for 300 nodes",
}


def write_profile(path: Path, first: int, last: int, share: float) -> None:
    """Write a desired profile: by day so much of the cores, by night all; from the day of `last` on all."""
    steps = [
        (day * DAY_S + hour * 3600, "*", "cores", cores)
        for day in range(first // DAY_S, last // DAY_S)
        for hour, cores in zip(DAY_H, (round(share * CORES), CORES), strict=True)
    ]
    write_csv(path, ("time_s", "node", "kind", "value"), steps)


def submissions(trace: Path) -> tuple[int, int]:
    """First and last submission of an SWF trace."""
    times = [int(line.split()[1]) for line in trace.read_text().splitlines() if line and not line.startswith(";")]
    return min(times), max(times)


def lead_of(case: str, options: argparse.Namespace, asked: int, found: int) -> str:
    """What was run, in a paragraph."""
    jobs = "" if options.jobs is None else f", its first {options.jobs} jobs"
    missing = "" if found == asked else f" Of {asked} dispatchers {found} came to their end."
    return (
        f"The 2012 trace of CEA's Curie, {case}{jobs}, on {NODES} nodes of {CORES_A_NODE} cores; units of "
        f"{UNIT_CORES} cores (a processor). Deadlines: submission + mean wait of the partition in the trace. Desired: "
        f"from {DAY_H[0]} to {DAY_H[1]} o'clock of the trace's clock {options.day:.0%} of each node's cores, all "
        f"otherwise and from the day of the last submission on. Seeds: {options.seeds}.{missing}"
    )


def main() -> int:
    """Print the page, and write it beside the runs."""
    parser = parser_of("thesis_5", __doc__, TRACE, processes=None, limit="stop")
    parser.set_defaults(out=None)
    parser.add_argument("--stress", action="store_true", help="the whole slice, five times too much for the machine")
    parser.add_argument("--jobs", type=count, help="only the first JOBS jobs")
    parser.add_argument("--seeds", default="1", help="seeds with commas between (1)")
    share = decimal(lambda share: 0 < share <= 1, "above 0 and at most 1")
    parser.add_argument("--day", type=share, default=0.75, help="share of the cores that is desired by day (0.75)")
    parser.add_argument("--only", action="append", metavar="LABEL", help="only this dispatcher; repeatable")
    options = parser.parse_args()
    options.out = options.out or ROOT / "out" / ("thesis_5-stress" if options.stress else "thesis_5")
    options, spec = prepared(parser, options), read_spec(__file__)
    case, out = STRESS if options.stress else FITTING, options.out
    cut = () if options.stress else ("--partition", PARTITION)
    trace = convert(options.traces / TRACE, out / "trace.swf", *cut)
    write_profile(out / "desired.csv", *submissions(trace), options.day)
    row = {"trace": trace, "platform": PLATFORMS / spec["platform"], "name": case, "profile": spec["profile"],
           "deadlines": spec["deadlines"], "jobs": options.jobs}  # fmt: skip
    asked = {label: of for label, of in spec["dispatchers"].items() if not options.only or label in options.only}
    comparison = Comparison(out / "comparison", [row], asked, options.seeds)
    comparison.run(options.processes, options.limit)
    found = {label: outcome_of(folders) for label, folders in comparison.done(case).items()}
    lead = lead_of(case, options, len(asked), len(found))
    publish(out / "thesis_5.md", page(TITLES[case], lead, found, list(asked), CORES))
    return int(len(found) < len(asked))
