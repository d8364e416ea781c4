"""The command behind scripts/lab/run cp_2020: does the runs that are missing, and prints the page."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from scripts.lab.cp_2020.cases import CURIE, EURORA_EXPECTED, LOAD, Cut, eurora_contenders, kit, shown
from scripts.lab.cp_2020.instances import instances
from scripts.lab.cp_2020.page import page
from scripts.lab.cp_2020.paper import PBS
from scripts.lab.cp_2020.plots import draw_ratios
from scripts.lab.kit.bars import draw_services
from scripts.lab.kit.constraint import EASY, EURORA, REPLAN, checked, eurora, parser_of
from scripts.lab.kit.page import publish
from scripts.lab.kit.service import ALL, Outcome, Service, of_log, outcome_of


def lead(cut: Cut, jobs: int | None, missing: int) -> str:
    """What was run, in a paragraph."""
    first = "" if jobs is None else f" Of each trace the first {jobs:,} jobs."
    some = f" {missing} runs have not come to their end." if missing else ""
    return (
        f"KIT's machine under {cut.jobs:,} jobs of Curie, the middle ones of those that fit its {cut.cores:,} cores; "
        f"they ask for {cut.load:.2f} times what it has, so the times between submissions are {cut.load / LOAD:.2f} "
        f"times as long (load {LOAD:g}). Eurora with its own jobs. D: expected to run as the last job that is alike, "
        f"L2: as the user's last two, R: as long as they do.{first}{some}"
    )


def options_of() -> argparse.Namespace:
    """Read the command line."""
    parser = parser_of("cp_2020", __doc__, EURORA, CURIE)
    parser.add_argument("--no-instances", action="store_true", help="leave out figures 6 and 7")
    return checked(parser, EURORA, CURIE)


def _outcomes(folders: dict[str, Path]) -> dict[str, Outcome]:
    return {shown(label): outcome_of(folder) for label, folder in folders.items()}


def main() -> int:
    """Print the page, and write it beside the figures; 1 where a run has not ended well."""
    options = options_of()
    traces, out, jobs = options.traces, options.out, options.jobs
    cut, on_kit = kit(traces, out, jobs)
    on_eurora = eurora(traces, jobs, eurora_contenders())
    folders = [one.run(options.runs, options.processes, options.limit) for one in (on_kit, on_eurora)]
    found = [_outcomes(of) for of in folders]
    log = of_log(traces / EURORA, jobs)
    wanted = () if options.no_instances else EURORA_EXPECTED
    both = {expected: instances(traces / EURORA, expected, jobs, options.runs) for expected in wanted}
    logged: dict[str, Service] = {PBS: log[ALL]}
    for name, outcomes, more in (("figure_4", found[0], {}), ("figure_5", found[1], logged)):
        services = {label: one.service[ALL] for label, one in outcomes.items()} | more
        ours = [label for label in outcomes if label.startswith((EASY, REPLAN))]
        draw_services(out / name, {"all jobs": services}, ours)
    if both:
        draw_ratios(out / "figures_6_7", both)
    asked = len(on_kit.contenders) + len(on_eurora.contenders)
    missing = asked - sum(map(len, found))
    publish(out / "cp_2020.md", page(lead(cut, jobs, missing), found[0], found[1], log, both))
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
