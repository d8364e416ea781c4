"""The kit of paper 003 (PCP'20): does the runs that are missing, and writes the page and its figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from dardis.config.platform_file import load_platform
from dardis.model.arrays import Bools, Floats
from dardis.report import chart
from dardis.workload.trace import Trace
from dardis.workload.trace_reader import read_trace
from scripts.lab.cp_2020 import machine_sizes
from scripts.lab.cp_2020.instances import Instances, instances
from scripts.lab.kit.command import EURORA, PLATFORMS, convert
from scripts.lab.kit.compared import read_spec
from scripts.lab.kit.constraint import (
    ALL,
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
from scripts.lab.kit.drawing import save, sheet
from scripts.lab.kit.options import prepared
from scripts.lab.kit.page import NOTHING, markdown, publish, table


def draw_ratios(out: Path, found: Mapping[str, Instances]) -> None:
    """Write how many instances have at most so large a ratio, of variables and of time, by what is expected."""
    with chart.style():
        drawing, ((left, right),) = sheet(3.4, 1, 2)
        for place, (expected, of) in enumerate(found.items()):
            every = np.ones(len(of.asked), dtype=bool)
            curves = ((left, of.variable_ratio, f"{expected}"), (right, of.cpu_ratio(every), f"{expected}, all"),
                      (right, of.cpu_ratio(of.solved), f"{expected}, both asked the solver"))  # fmt: skip
            for turn, (axes, values, label) in enumerate(curves):
                look = chart.line_look(place + (2 if turn == 2 else 0)) | {"linewidth": 1.8}
                shares = np.arange(1, len(values) + 1) / max(1, len(values))
                axes.step(np.sort(values), shares, where="post", label=label, **look)
        for axes, what in ((left, "variables"), (right, "CPU of the decision")):
            axes.set_xscale("log")
            axes.set_ylim(0, 1.01)
            axes.axvline(1, color=chart.GREY, linewidth=0.8)
            axes.set_xlabel(f"{what}: PCP'20 over PCP'19")
            axes.legend(loc="best")
        left.set_ylabel("share of instances, cumulative")
        save(drawing, out)


@dataclass(frozen=True)
class Cut:
    """So many jobs of a trace that fit a machine of so many cores, from the time of the first of them on."""

    cores: int
    since: int
    """Of the first submission, s."""
    jobs: int
    load: float
    """What they ask for over what the machine has, from the first to the last submission."""

    def options(self, load: float) -> tuple[str, ...]:
        """How `dardis trace convert` makes it, brought to another load."""
        return (
            f"--max-width={self.cores}", f"--from={self.since}", f"--jobs={self.jobs}", f"--load={load / self.load:.6f}"
        )  # fmt: skip


def middle(trace: Trace, cores: int, jobs: int) -> Cut:
    """The middle jobs of those that fit; all that were submitted with the first of them as well."""
    fits = np.flatnonzero(trace.procs <= cores)
    first = int(trace.submit[fits[max(0, (len(fits) - jobs) // 2)]])
    chosen = fits[trace.submit[fits] >= first][:jobs]
    area = int((trace.procs[chosen] * trace.runtime[chosen]).sum())
    span = int(trace.submit[chosen[-1]]) - first
    return Cut(cores, first, len(chosen), area / (cores * span))


EXPECTED: Final = ("D", "R")
"""What is expected of the jobs of the instances of figures 6 and 7."""
VARIABLE_RATIO: Final = 0.1
"""All of the paper's ratios of variables, PCP'20 over PCP'19, are below this (figure 6)."""
TIME_RATIOS: Final = (0.01, 1.0)
"""Almost all of its ratios of time lie between these (figure 7)."""
_QUANTILES: Final = (0.05, 0.5, 0.95)
_RATIOS: Final = (
    "PCP'20 over PCP'19, on the same instance, of a run that PCP'19 decides: 5 %, median and 95 % of the ratios. "
    "Solved: both asked the solver. Time is CPU of the whole decision, our own first answer included."
)


def lead_of(cut: Cut, load: float, jobs: int | None, missing: int) -> str:
    """What was run, in a paragraph."""
    first = "" if jobs is None else f" Of each trace the first {jobs:,} jobs."
    some = f" {missing} runs have not come to their end." if missing else ""
    return (
        f"KIT's machine under {cut.jobs:,} jobs of Curie, the middle ones of those that fit its {cut.cores:,} cores; "
        f"they ask for {cut.load:.2f} times what it has, so the times between submissions are {cut.load / load:.2f} "
        f"times as long (load {load:g}). Eurora with its own jobs. D: expected to run as the last job that is alike, "
        f"L2: as the user's last two, R: as long as they do.{first}{some}"
    )


def shown(label: str, names: Mapping[str, str]) -> str:
    """What paper 003 calls a dispatcher."""
    name, dash, expected = label.rpartition("-")
    return names.get(name, name) + dash + expected


def page(
    lead: str,
    kit: Mapping[str, Outcome],
    eurora: Mapping[str, Outcome],
    log: Mapping[str, Service],
    both: Mapping[str, Instances],
) -> str:
    """The whole page as Markdown: tables 1 and 2, the services of figures 4 and 5, and the instances of 6 and 7."""
    paper = read_spec(__file__, "claims")
    return markdown([
        ["# PCP'20 on KIT's machine and on Eurora", "", lead],
        *_system("Table 1, figure 4: KIT's machine", kit, {}, paper["kit"]),
        *_system("Table 2, figure 5: Eurora", eurora, log, paper["eurora"]),
        ["## Figures 6 and 7: single instances", "", *_instances(both), "", _RATIOS],
    ])  # fmt: skip


def _system(
    title: str, found: Mapping[str, Outcome], log: Mapping[str, Service], paper: Mapping[str, Any]
) -> list[list[str]]:
    services = {label: one.service for label, one in found.items()} | ({PBS: log} if log else {})
    printed = {
        label: [f"{value:,}" for value in row] if row else ["did not end"] * 2
        for label, row in paper["printed"].items()
    }
    times = decision_table(found, ["theirs: ms a decision", "whole simulation, s"], printed)
    claims = claim_table(paper["claims"], figures_of(found, log, PBS))
    return [[f"## {title}", "", *times], service_table(services), claims]


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


def main() -> int:
    """Print the page, and write it beside the figures; 1 where a run has not ended well."""
    spec = read_spec(__file__)
    kit, eurora = spec["kit"], spec["eurora"]
    parser = constraint_parser("cp_2020", __doc__, EURORA, kit["trace"])
    parser.add_argument("--no-instances", action="store_true", help="leave out figures 6 and 7")
    parser.add_argument(
        "--machine-sizes", action="store_true", help="only decisions on machines of 64 to 16,384 nodes, with curves"
    )
    options = prepared(parser, parser.parse_args())
    if options.machine_sizes:
        machine_sizes.write(options.out, machine_sizes.costs())
        return 0
    out, trace, runs = options.out, options.traces / EURORA, options.runs.resolve()
    platform = load_platform(PLATFORMS / kit["platform"])
    cores = int(platform.capacity[:, platform.kinds.index("cores")].sum())
    cut = middle(read_trace(options.traces / kit["trace"]), cores, kit["first"])
    curie = convert(options.traces / kit["trace"], out / "curie.swf", *cut.options(kit["load"]))
    found = [
        {shown(label, spec["shown"]): one for label, one in outcomes_of(name, of, options, path).items()}
        for name, of, path in (("KIT", kit, curie), ("Eurora", eurora, trace))
    ]
    log = of_log(trace, options.jobs)
    wanted = () if options.no_instances else EXPECTED
    both = {expected: instances(trace, expected, options.jobs, runs) for expected in wanted}
    logged: dict[str, Service] = {PBS: log[ALL]}
    for name, outcomes, more in (("figure_4", found[0], {}), ("figure_5", found[1], logged)):
        services = {label: one.service[ALL] for label, one in outcomes.items()} | more
        ours = [label for label in outcomes if label.startswith(("EASY", "replan"))]
        draw_services(out / name, {"all jobs": services}, ours)
    if both:
        draw_ratios(out / "figures_6_7", both)
    missing = len(kit["dispatchers"]) + len(eurora["dispatchers"]) - sum(map(len, found))
    lead = lead_of(cut, kit["load"], options.jobs, missing)
    paper = read_spec(__file__, "claims")
    cells = {
        name: {label: [*map(str, row)] if row else ["∞"] * 2 for label, row in paper[name]["printed"].items()}
        for name in ("kit", "eurora")
    }
    groups = {"KIT": FigureGroup(found[0], {}, cells["kit"]), "Eurora": FigureGroup(found[1], log, cells["eurora"])}
    figure_table("cp_2020", "machine", groups, PRINTED_COLUMNS[:2]).write(out)
    publish(out / "cp_2020.md", page(lead, found[0], found[1], log, both))
    return int(missing > 0)
