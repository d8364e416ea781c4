"""Writes table 2 and the services of figures 2 to 4, ours beside the paper's, and what its claims come to here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from scripts.lab.cp_2019.paper import CLAIMS, NOT_ENDED, PBS, PREDICTORS, TABLE_2
from scripts.lab.kit.page import markdown, table
from scripts.lab.kit.service import Outcome, Service, figures_of
from scripts.lab.kit.told import DECISIONS_HEAD, NOTHING, claim_table, decision_cells, service_table


def page(lead: str, found: Mapping[str, Outcome], log: Mapping[str, Service]) -> str:
    """The whole page as Markdown."""
    services = {label: one.service for label, one in found.items()} | {PBS: log}
    parts = [
        ["# PCP'19 and HCP'19 on Eurora", "", lead],
        ["## Table 2: times and problem sizes", "", *_table_2(found), "", _SIZES],
        ["## Figures 2 to 4: slowdowns and waits, mean ± standard deviation", "", *service_table(services)],
        ["## Figure 1: what jobs are expected to run", "", *_expected(found)],
        ["## What the paper says, and what these figures say", "", *claim_table(CLAIMS, figures_of(found, log, PBS))],
    ]
    return markdown(parts)


_SIZES = (
    "The paper's figures are beside ours where it has any. Ours are CPU time on one core, its total is the time of the "
    "whole simulation. Its intervals are those of its solver's model, ours variables as its text counts them, on the "
    "mean of all decisions that were put as a problem."
)


def _table_2(found: Mapping[str, Outcome]) -> list[str]:
    rows = [[label, *_printed(label), *decision_cells(outcome)] for label, outcome in found.items()]
    head = ["", "theirs: ms a decision", "whole simulation, s", "predicting, s", "intervals", *DECISIONS_HEAD]
    return table(head, rows)


def _printed(label: str) -> list[str]:
    if label not in TABLE_2:
        return ["did not end", *[NOTHING] * 3] if label in NOT_ENDED else [NOTHING] * 4
    row = TABLE_2[label]
    if not row.ended:
        return ["did not end", *[NOTHING] * 3]
    values = (row.mean_ms, row.total_s, row.predicting_s, row.intervals)
    return [NOTHING if value is None else f"{value:,.0f}" for value in values]


def _expected(found: Mapping[str, Outcome]) -> list[str]:
    return table(
        ["", "mean error, min: theirs", "ours", "ran longer: theirs", "ours", "ran shorter: theirs", "ours"],
        _errors(found),
    )


def _errors(found: Mapping[str, Outcome]) -> Iterator[list[str]]:
    """The errors of the newest versions' predictors."""
    for expected, printed in PREDICTORS.items():
        label = next((name for name in found if name.endswith(f"3-{expected}")), None)
        if label is not None:
            metrics = found[label].metrics
            ours = (
                metrics["expected_mae_s"] / 60, metrics["expected_under_share"], metrics["expected_over_share"]
            )  # fmt: skip
            cells = [label]
            for place, (theirs, here) in enumerate(zip(printed, ours, strict=True)):
                cells += [f"{value:.0f}" if place == 0 else f"{value:.1%}" for value in (theirs, here)]
            yield cells
