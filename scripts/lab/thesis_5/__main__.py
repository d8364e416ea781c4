"""The command behind scripts/lab/run thesis_5: runs the comparison that is missing, and prints the page."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from offline.site.calendar import DAY_S
from scripts.lab.kit.command import DARDIS, ROOT, SHARED, convert
from scripts.lab.kit.compared import Contender, Settings, compare
from scripts.lab.kit.page import publish, write_csv
from scripts.lab.kit.thesis import CORES_A_NODE, DAY_H, NODES, PARTITION, TRACE, UNIT_CORES
from scripts.lab.thesis_5.page import page
from scripts.lab.thesis_5.paper import RULES, SET_UPS, THROUGHPUT, WITH_BACKFILLING
from scripts.lab.thesis_5.results import outcomes

PLATFORM: Final = ROOT / "launch" / "platforms" / "curie-fat.toml"
CORES: Final = NODES * CORES_A_NODE


@dataclass(frozen=True)
class Case:
    """What is run: the whole slice or a partition of it."""

    name: str
    partition: str | None
    title: str


FITTING: Final = Case(
    f"partition {PARTITION}", PARTITION, "Thesis 5.5 on the Curie slice, partition 4, on 300 nodes of 32 cores"
)
STRESS: Final = Case("whole slice", None, "Thesis 5.5 on the whole Curie slice, five times too much for 300 nodes")


def contenders() -> Iterator[Contender]:
    """The thesis's six, the rules with backfilling, and what came later."""
    known = subprocess.run([*DARDIS, "dispatchers"], check=True, capture_output=True, text=True, cwd=ROOT).stdout
    unit: Settings = {"unit_cores": UNIT_CORES}
    # The charts of a comparison have room for the first eight.
    late = ["dardis-late"] if "dardis-late" in known.splitlines() else []
    for name in (*SET_UPS, *RULES, "easy", *late, "conservative"):
        yield Contender(name, name, unit)
    yield Contender("easy, shortest first", "easy", {**unit, "order": "sjbf"})
    for label, name in zip(WITH_BACKFILLING, RULES, strict=True):
        yield Contender(label, name, {**unit, "backfill": "on"})
    yield Contender(f"{THROUGHPUT}, all nodes", THROUGHPUT, {**unit, "backfill_scope": "all-nodes"})


def write_profile(path: Path, first: int, last: int, share: float) -> None:
    """Write a desired profile: by day so much of the cores, by night all; from the day of `last` on all."""
    steps = [
        (day * DAY_S + hour * 3600, "*", "cores", cores)
        for day in range(first // DAY_S, last // DAY_S)
        for hour, cores in zip(DAY_H, (round(share * CORES), CORES), strict=True)
    ]
    write_csv(path, ("time_s", "node", "kind", "value"), steps)


def write_spec(path: Path, case: Case, trace: Path, options: argparse.Namespace) -> list[str]:
    """Write the comparison's file; return the labels of its dispatchers."""
    lines = [f"seeds = [{options.seeds}]", "", "[[traces]]", f'trace = "{trace}"', f'platform = "{PLATFORM}"']
    lines += [f'name = "{case.name}"', 'profile = "desired.csv"', 'deadlines = "mean-wait:partition"']
    if options.jobs is not None:
        lines.append(f"jobs = {options.jobs}")
    labels = []
    for one in contenders():
        if options.only and one.label not in options.only:
            continue
        lines += one.lines()
        labels.append(one.label)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return labels


def submissions(trace: Path) -> tuple[int, int]:
    """First and last submission of an SWF trace."""
    times = [int(line.split()[1]) for line in trace.read_text().splitlines() if line and not line.startswith(";")]
    return min(times), max(times)


def lead(case: Case, options: argparse.Namespace, labels: list[str], found: int) -> str:
    """What was run, in a paragraph."""
    jobs = "" if options.jobs is None else f", its first {options.jobs} jobs"
    missing = "" if found == len(labels) else f" Of {len(labels)} dispatchers {found} came to their end."
    return (
        f"The 2012 trace of CEA's Curie, {case.name}{jobs}, on {NODES} nodes of {CORES_A_NODE} cores; units of "
        f"{UNIT_CORES} cores (a processor). Deadlines: submission + mean wait of the partition in the trace. Desired: "
        f"from {DAY_H[0]} to {DAY_H[1]} o'clock of the trace's clock {options.day:.0%} of each node's cores, all "
        f"otherwise and from the day of the last submission on. Seeds: {options.seeds}.{missing}"
    )


def options_of() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="scripts/lab/run thesis_5", description=__doc__)
    parser.add_argument("--traces", type=Path, default=SHARED / "traces", help=f"folder of {TRACE}")
    parser.add_argument("--out", type=Path, help="folder (out/thesis_5; with --stress out/thesis_5-stress)")
    parser.add_argument("--stress", action="store_true", help="the whole slice, five times too much for the machine")
    parser.add_argument("--jobs", type=int, help="only the first JOBS jobs")
    parser.add_argument("--seeds", default="1", help="seeds with commas between (1)")
    parser.add_argument("--day", type=float, default=0.75, help="share of the cores that is desired by day (0.75)")
    parser.add_argument("--only", action="append", metavar="LABEL", help="only this dispatcher; repeatable")
    parser.add_argument("--processes", type=int, help="runs at once (one a core)")
    parser.add_argument("--limit", type=float, metavar="S", help="stop after S seconds; the same command goes on")
    options = parser.parse_args()
    if not (options.traces / TRACE).is_file():
        parser.error(f"{options.traces}: holds no {TRACE}; --traces names the folder that does")
    if not 0 < options.day <= 1:
        parser.error("--day must be above 0 and at most 1")
    return options


def main() -> int:
    """Print the page, and write it beside the runs."""
    options = options_of()
    case = STRESS if options.stress else FITTING
    out = (options.out or ROOT / "out" / ("thesis_5-stress" if options.stress else "thesis_5")).resolve()
    out.mkdir(parents=True, exist_ok=True)
    trace = out / "trace.swf"
    convert((options.traces / TRACE).resolve(), trace, *(["--partition", case.partition] if case.partition else []))
    write_profile(out / "desired.csv", *submissions(trace), options.day)
    labels = write_spec(out / "comparison.toml", case, trace, options)
    status = compare(out / "comparison.toml", out / "comparison", options.processes, options.limit)
    if status not in {None, 0, 1}:
        return status or 0
    found = outcomes(out / "comparison", case.name)
    found = {label: found[label] for label in labels if label in found}
    text = page(case.title, lead(case, options, labels, len(found)), found, labels, CORES)
    publish(out / "thesis_5.md", text)
    return 0 if len(found) == len(labels) else 1


if __name__ == "__main__":
    sys.exit(main())
