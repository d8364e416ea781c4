"""The kit of the thesis's section 5.5: runs the comparison that is missing, and prints the page."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, Final

from dardis.config.platform_file import load_platform
from dardis.config.target_file import parse_profile
from dardis.model.target import DesiredProfile, Split
from dardis.workload.swf import write_swf
from dardis.workload.trace_reader import read_trace
from offline.site.calendar import DAY_S
from scripts.lab.kit.command import PLATFORMS, ROOT, convert
from scripts.lab.kit.compared import Comparison, Dispatchers, read_spec
from scripts.lab.kit.options import count, counts, decimal, parser_of, prepared
from scripts.lab.kit.page import publish, write_csv
from scripts.lab.kit.thesis import CORES_A_NODE, DAY_H, NODES, PARTITION, TRACE, UNIT_CORES
from scripts.lab.thesis_5.drawn_days import draw_days, narrow
from scripts.lab.thesis_5.page import JOBS, RULES, SET_UPS, SPAN_D, drawn_page, outcome_of, page

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
        f"{UNIT_CORES} cores (a processor). Deadlines: "
        f"{options.deadlines or 'submission + mean wait of the partition in the trace'}. Desired: "
        f"from {DAY_H[0]} to {DAY_H[1]} o'clock of the trace's clock {options.day:.0%} of each node's cores, all "
        f"otherwise and from the day of the last submission on. Seeds: {options.seeds}.{missing}"
    )


def main() -> int:
    """Print the page, and write it beside the runs."""
    parser = parser_of("thesis_5", __doc__, TRACE, processes=None, limit="stop")
    parser.set_defaults(out=None)
    parser.add_argument("--stress", action="store_true", help="the whole slice, five times too much for the machine")
    parser.add_argument("--jobs", type=count, help="only the first JOBS jobs")
    parser.add_argument("--seeds", default="1", help="seeds of the dispatchers with commas between (1)")
    parser.add_argument(
        "--draws",
        type=counts,
        metavar="SEEDS",
        help=f"workloads of the thesis's size: {JOBS} jobs of days of the whole slice, which these seeds draw",
    )
    load = decimal(lambda load: 0 < load <= 5, "above 0 and at most 5")
    parser.add_argument("--load", type=load, default=0.8, help="offered load with --draws: widths are scaled (0.8)")
    share = decimal(lambda share: 0 < share <= 1, "above 0 and at most 1")
    parser.add_argument("--day", type=share, help="share of the cores that is desired by day (0.75; with --draws 0.5)")
    parser.add_argument("--deadlines", help="rule of deadlines (mean-wait:partition)")
    parser.add_argument("--only", action="append", metavar="LABEL", help="only this dispatcher; repeatable")
    parser.add_argument(
        "--windows",
        action="append",
        type=int,
        choices=range(21),
        metavar="N",
        help="each set-up with N further windows; repeatable",
    )
    options = parser.parse_args()
    kind = "-draws" if options.draws else "-stress" if options.stress else ""
    kind += "-windows" * bool(options.windows) + (f"-day{options.day:g}" if options.draws and options.day else "")
    options.out = options.out or ROOT / "out" / f"thesis_5{kind}"
    options.day = options.day or (0.5 if options.draws else 0.75)
    options, spec = prepared(parser, options), read_spec(__file__)
    known = spec["dispatchers"]
    if options.draws:
        known = {label: known[label] for label in (*SET_UPS, *RULES)}
    known = {label: of for label, of in known.items() if not options.windows or label in SET_UPS}
    for label in options.only or ():
        if label not in known:
            parser.error(f"--only {label!r}: expected one of {'; '.join(known)}")
    for option in ("stress", "seeds") if options.draws else ("load",):
        if getattr(options, option) != parser.get_default(option):
            parser.error(f"--{option}: expected {'no' if options.draws else 'also'} --draws")
    asked = {label: of for label, of in known.items() if not options.only or label in options.only}
    if options.windows:
        asked = {
            f"{label}, {windows} further windows": [*of, f"further_windows={windows}"]
            for label, of in asked.items()
            for windows in options.windows
        }
    return (run_draws if options.draws else run_trace)(options, spec, asked)


def desired_of(path: Path, first: int, last: int, options: argparse.Namespace, platform: Path) -> DesiredProfile:
    """The desired profile, which is written to a file, too."""
    write_profile(path, first, last, options.day)
    return parse_profile(path, path.read_text(encoding="utf-8"), load_platform(platform), Split.PROPORTIONAL)


def run_trace(options: argparse.Namespace, spec: dict[str, Any], asked: Dispatchers) -> int:
    """Run a partition, or the whole slice."""
    case, out = STRESS if options.stress else FITTING, options.out
    cut = () if options.stress else ("--partition", PARTITION)
    trace, platform = convert(options.traces / TRACE, out / "trace.swf", *cut), PLATFORMS / spec["platform"]
    desired = desired_of(out / spec["profile"], *submissions(trace), options, platform)
    row = {"trace": trace, "platform": platform, "name": case, "profile": spec["profile"],
           "deadlines": options.deadlines or spec["deadlines"], "jobs": options.jobs}  # fmt: skip
    comparison = Comparison(out / "comparison", [row], asked, options.seeds)
    comparison.run(options.processes, options.limit)
    found = {label: outcome_of(folders, desired) for label, folders in comparison.done(case).items()}
    lead = lead_of(case, options, len(asked), len(found))
    publish(out / "thesis_5.md", page(TITLES[case], lead, found, list(asked), CORES))
    return int(len(found) < len(asked))


def run_draws(options: argparse.Namespace, spec: dict[str, Any], asked: Dispatchers) -> int:
    """Run workloads of the thesis's size."""
    out, platform = options.out, PLATFORMS / spec["platform"]
    everything, machine = read_trace(options.traces / TRACE, strict=False), load_platform(platform)
    rows, desired = {}, {}
    for seed in options.draws:
        trace = narrow(draw_days(everything, JOBS, SPAN_D, seed), machine, options.load)
        path, name = out / f"draw_{seed}.swf", f"draw {seed}"
        write_swf(trace, path)
        profile = f"desired_{seed}.csv"
        first, last = int(trace.submit.min()), int(trace.submit.max())
        desired[name] = desired_of(out / profile, first, last, options, platform)
        rows[name] = {"trace": path, "platform": platform, "name": name, "profile": profile,
                      "deadlines": options.deadlines or spec["deadlines"], "jobs": options.jobs}  # fmt: skip
    comparison = Comparison(out / "comparison", list(rows.values()), asked, options.seeds)
    comparison.run(options.processes, options.limit)
    draws = {
        name: {label: outcome_of(folders, desired[name]) for label, folders in comparison.done(name).items()}
        for name in rows
    }
    lead = (
        f"{JOBS:,} jobs of whole days of the Curie slice, drawn with replacement to {SPAN_D} days, with widths scaled "
        f"to the load {options.load} on {NODES} nodes of {CORES_A_NODE} cores. Desired by day: {options.day:.0%} of "
        f"each node's cores. Deadlines: {options.deadlines or spec['deadlines']}. Seeds of the draws: "
        f"{', '.join(map(str, options.draws))}."
    )
    text, figures = drawn_page("Thesis 5.5 at its size", lead, draws, list(asked))
    figures.write(out)
    publish(out / "thesis_5.md", text)
    return int(any(len(found) < len(asked) for found in draws.values()))
