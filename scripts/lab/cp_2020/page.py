"""Writes tables 1 and 2 and the services of figures 4 and 5, ours beside the paper's, and the instances of 6 and 7."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dardis.model.arrays import Bools, Floats
from scripts.lab.cp_2020.instances import Instances
from scripts.lab.cp_2020.paper import EURORA_CLAIMS, KIT_CLAIMS, PBS, TABLE_1, TABLE_2, TIME_RATIOS, VARIABLE_RATIO
from scripts.lab.kit.claims import Claim
from scripts.lab.kit.page import markdown, table
from scripts.lab.kit.service import Outcome, Service, figures_of
from scripts.lab.kit.told import DECISIONS_HEAD, NOTHING, claim_table, decision_cells, service_table

Printed = Mapping[str, tuple[int, int] | None]
_QUANTILES = (0.05, 0.5, 0.95)


def page(
    lead: str,
    kit: Mapping[str, Outcome],
    eurora: Mapping[str, Outcome],
    log: Mapping[str, Service],
    instances: Mapping[str, Instances],
) -> str:
    """The whole page as Markdown."""
    return markdown([
        ["# PCP'20 on KIT's machine and on Eurora", "", lead],
        *_system("Table 1, figure 4: KIT's machine", kit, TABLE_1, {}, KIT_CLAIMS),
        *_system("Table 2, figure 5: Eurora", eurora, TABLE_2, log, EURORA_CLAIMS),
        ["## Figures 6 and 7: single instances", "", *_instances(instances), "", _RATIOS],
    ])  # fmt: skip


_RATIOS = (
    "PCP'20 over PCP'19, on the same instance, of a run that PCP'19 decides: 5 %, median and 95 % of the ratios. "
    "Solved: both asked the solver. Time is CPU of the whole decision, our own first answer included."
)


def _system(
    title: str, found: Mapping[str, Outcome], printed: Printed, log: Mapping[str, Service], claims: Sequence[Claim]
) -> list[list[str]]:
    services = {label: one.service for label, one in found.items()} | ({PBS: log} if log else {})
    rows = [[label, *_theirs(printed, label), *decision_cells(one)] for label, one in found.items()]
    return [
        [f"## {title}", "", *table(["", "theirs: ms a decision", "whole simulation, s", *DECISIONS_HEAD], rows)],
        service_table(services),
        claim_table(claims, figures_of(found, log, PBS)),
    ]


def _theirs(printed: Printed, label: str) -> list[str]:
    if label not in printed:
        return [NOTHING] * 2
    row = printed[label]
    return ["did not end"] * 2 if row is None else [f"{value:,}" for value in row]


def _instances(found: Mapping[str, Instances]) -> list[str]:
    rows = []
    for expected, of in found.items():
        every = np.ones(len(of.asked), dtype=bool)
        variables, solved, alike = of.variable_ratio, of.cpu_ratio(of.solved), of.objective_ratio(every)
        low, high = TIME_RATIOS
        rows.append([
            expected, f"{len(of.asked):,}", f"{of.solved.sum():,}", _spread(variables),
            _share(variables < VARIABLE_RATIO), _spread(of.cpu_ratio(every)), _spread(solved),
            _share((low <= solved) & (solved <= high)), _share(np.isclose(alike, 1)), _share(alike > 1 + 1e-9),
        ])  # fmt: skip
    head = ["", "instances", "solved", "variables", f"below {VARIABLE_RATIO}", "time", "time, solved",
            f"of these {TIME_RATIOS[0]} to {TIME_RATIOS[1]:g}", "same objective", "poorer"]  # fmt: skip
    return table(head, rows)


def _spread(values: Floats) -> str:
    return ", ".join(f"{one:.2g}" for one in np.quantile(values, _QUANTILES)) if len(values) else NOTHING


def _share(values: Bools) -> str:
    return f"{np.mean(values):.1%}" if len(values) else NOTHING
