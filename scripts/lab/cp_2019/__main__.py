"""The command behind scripts/lab/run cp_2019: does the runs that are missing, and prints the page."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path

from scripts.lab.cp_2019.cases import contenders
from scripts.lab.cp_2019.page import page
from scripts.lab.cp_2019.paper import PBS
from scripts.lab.kit.bars import draw_services
from scripts.lab.kit.constraint import EASY, EURORA, checked, eurora, parser_of
from scripts.lab.kit.page import publish
from scripts.lab.kit.service import ALL, LONG, MEDIUM, Outcome, Service, of_log, outcome_of


def lead(jobs: int, found: int, asked: int) -> str:
    """What was run, in a paragraph."""
    missing = "" if found == asked else f" Of {asked} runs {found} came to their end."
    return (
        f"{jobs:,} jobs of CINECA's Eurora on its 64 nodes. W: jobs are expected to run for their walltime, D: as long "
        f"as the last one that is alike, R: as long as they do. Expected waits of queues are their means in the log."
        f"{missing}"
    )


def draw(out: Path, found: Mapping[str, Outcome], log: Mapping[str, Service]) -> None:
    """Write the counterparts of figures 2 to 4."""
    services = {label: one.service for label, one in found.items()} | {PBS: log}
    ours = [label for label in found if label.startswith(EASY)]
    panels = {}
    for name in ("PCP", "HCP"):
        shown = [label for label in services if label.startswith((name, EASY, PBS))]
        panels[f"{name}, all jobs"] = {label: services[label][ALL] for label in shown}
    draw_services(out / "figures_2_3", panels, ours)
    panels = {
        f"{of} jobs": {label: one[of] for label, one in services.items() if of in one} for of in (MEDIUM, LONG)
    }  # fmt: skip
    draw_services(out / "figure_4", panels, ours)


def options_of() -> argparse.Namespace:
    """Read the command line."""
    return checked(parser_of("cp_2019", __doc__, EURORA), EURORA)


def main() -> int:
    """Print the page, and write it beside the figures; 1 where a run has not ended well."""
    options = options_of()
    asked = contenders()
    folders = eurora(options.traces, options.jobs, asked).run(options.runs, options.processes, options.limit)
    found = {label: outcome_of(folder) for label, folder in folders.items()}
    log = of_log(options.traces / EURORA, options.jobs)
    draw(options.out, found, log)
    publish(options.out / "cp_2019.md", page(lead(log[ALL].jobs, len(found), len(asked)), found, log))
    return 0 if len(found) == len(asked) else 1


if __name__ == "__main__":
    sys.exit(main())
