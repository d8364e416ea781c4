"""The kit of paper 002 (PCP'19, HCP'19): does the runs that are missing, and writes the page and its figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from scripts.lab.cp_2019.request_sums import request_table
from scripts.lab.kit.command import EURORA
from scripts.lab.kit.compared import read_spec
from scripts.lab.kit.constraint import (
    ALL,
    LONG,
    MEDIUM,
    PBS,
    PRINTED_COLUMNS,
    FigureGroup,
    Outcome,
    Service,
    claim_table,
    constraint_parser,
    decision_table,
    draw_services,
    figure_table,
    figures_of,
    of_log,
    outcomes_of,
    service_table,
)
from scripts.lab.kit.options import prepared
from scripts.lab.kit.page import NOTHING, markdown, publish, table

PRINTED: Final = ("mean_ms", "total_s", "predicting_s", "intervals")


def page(lead: str, found: Mapping[str, Outcome], log: Mapping[str, Service]) -> str:
    """The whole page as Markdown: table 2, the services of figures 2 to 4, and what the claims come to here."""
    paper = read_spec(__file__, "claims")
    services = {label: one.service for label, one in found.items()} | {PBS: log}
    head = ["theirs: ms a decision", "whole simulation, s", "predicting, s", "intervals"]
    printed = {label: _printed(row) for label, row in paper["printed"].items()}
    errors = ["", "mean error, min: theirs", "ours"]
    for title in ("ran longer", "ran shorter", "within a quarter"):
        errors += [f"{title}: theirs", "ours"]
    claims = claim_table(paper["claims"], figures_of(found, log, PBS))
    return markdown([
        ["# PCP'19 and HCP'19 on Eurora", "", lead],
        ["## Table 2: times and problem sizes", "", *decision_table(found, head, printed), "", _SIZES],
        ["## Figures 2 to 4: slowdowns and waits, mean ± standard deviation", "", *service_table(services)],
        ["## Figure 1: what jobs are expected to run", "", *table(errors, _errors(found, paper["predictors"]))],
        ["## What the paper says, and what these figures say", "", *claims],
    ])  # fmt: skip


_SIZES: Final = (
    "The paper's figures are beside ours where it has any. Ours are CPU time of deciding and predicting on one core, "
    "the paper's total is the time of the whole simulation. Its intervals are those of its solver's model, ours "
    "variables as PCP'20 counts them, on the mean of all decisions that were put as a problem."
)


def _printed(row: Mapping[str, float] | bool) -> list[str]:
    """A row of table 2; False for what did not end."""
    if isinstance(row, bool):
        return ["did not end", *[NOTHING] * 3]
    return [f"{row[name]:,.0f}" if name in row else NOTHING for name in PRINTED]


def _errors(found: Mapping[str, Outcome], predictors: Mapping[str, Any]) -> Iterator[list[str]]:
    """The errors of the newest versions' predictors."""
    for expected, printed in predictors.items():
        label = next((name for name in found if name.endswith(f"3-{expected}")), None)
        if label is not None:
            metrics = found[label].metrics
            ours = (
                metrics["expected_mae_s"] / 60, metrics["expected_under_share"], metrics["expected_over_share"],
                found[label].accurate,
            )  # fmt: skip
            cells = [label]
            for place, (theirs, here) in enumerate(zip(printed, ours, strict=True)):
                cells += [f"{value:.0f}" if place == 0 else f"{value:.1%}" for value in (theirs, here)]
            yield cells


def draw(out: Path, found: Mapping[str, Outcome], log: Mapping[str, Service]) -> None:
    """Write the counterparts of figures 2 to 4."""
    services = {label: one.service for label, one in found.items()} | {PBS: log}
    ours = [label for label in found if label.startswith("EASY")]
    panels = {}
    for name in ("PCP", "HCP"):
        shown = [label for label in services if label.startswith((name, "EASY", PBS))]
        panels[f"{name}, all jobs"] = {label: services[label][ALL] for label in shown}
    draw_services(out / "figures_2_3", panels, ours)
    panels = {
        f"{of} jobs": {label: one[of] for label, one in services.items() if of in one} for of in (MEDIUM, LONG)
    }  # fmt: skip
    draw_services(out / "figure_4", panels, ours)


def main() -> int:
    """Print the page, and write it beside the figures; 1 where a run has not ended well."""
    parser = constraint_parser("cp_2019", __doc__, EURORA)
    parser.add_argument(
        "--requested",
        action="store_true",
        help="only what the jobs of the problems of HCP and HCP1-W request (table 2)",
    )
    options = prepared(parser, parser.parse_args())
    spec, trace = read_spec(__file__), options.traces / EURORA
    if options.requested:
        rows = request_table(trace, options.jobs, spec["deadlines"])
        publish(options.out / "requested.md", markdown([["# Table 2: requested resources of a problem", "", *rows]]))
        return 0
    found = outcomes_of("Eurora", spec, options, trace)
    log = of_log(trace, options.jobs)
    asked = len(spec["dispatchers"])
    missing = "" if len(found) == asked else f" Of {asked} runs {len(found)} came to their end."
    lead = (
        f"{log[ALL].jobs:,} jobs of CINECA's Eurora on its 64 nodes. W: jobs are expected to run for their walltime, "
        "D: as long as the last one that is alike, R: as long as they do. Expected waits of queues are their means in "
        f"the log.{missing}"
    )
    draw(options.out, found, log)
    printed = {
        label: [f"{row[key]}" for key in ("mean_ms", "total_s", "intervals")] if row else ["∞", "∞", NOTHING]
        for label, row in read_spec(__file__, "claims")["printed"].items()
    }
    groups = {f"{log[ALL].jobs}": FigureGroup(found, log, printed)}
    figure_table("cp_2019", "jobs", groups, PRINTED_COLUMNS).write(options.out)
    publish(options.out / "cp_2019.md", page(lead, found, log))
    return int(len(found) < asked)
