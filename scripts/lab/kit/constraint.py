"""What the kits of papers 002 (PCP'19, HCP'19) and 003 (PCP'20) share: their options, runs and tables."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from scripts.lab.kit.claims import Claims, Figures, Judge
from scripts.lab.kit.command import PLATFORMS, ROOT
from scripts.lab.kit.compared import Comparison
from scripts.lab.kit.options import count, parser_of
from scripts.lab.kit.page import NOTHING, table
from scripts.lab.kit.service import ALL, LONG, MEDIUM, Outcome, Service, outcome_of

PBS: Final = "PBS (the log)"
DECISIONS_HEAD: Final = (
    "decisions", "CPU a decision, ms", "CPU of all, s", "of it predicting, s", "put as a problem", "solver asked",
    "proven", "too large", "jobs in the answer", "variables",
)  # fmt: skip


def constraint_parser(name: str, about: str | None, *traces: str) -> argparse.ArgumentParser:
    """The options that both kits have."""
    parser = parser_of(name, about, *traces, processes=None, limit="stop runs")
    parser.add_argument("--runs", type=Path, default=ROOT / "out" / "constraint", help="and of runs (out/constraint)")
    parser.add_argument("--jobs", type=count, help="only the first JOBS jobs of each trace")
    return parser


def outcomes_of(name: str, spec: Mapping[str, Any], options: argparse.Namespace, trace: Path) -> dict[str, Outcome]:
    """Do the runs of a system that are missing; return what came of those that ended well, by label.

    The folder of the runs names the system and how many jobs there are, so both kits keep the runs of the other.
    """
    name = name if options.jobs is None else f"{name} first {options.jobs}"
    row = {
        "trace": trace, "platform": PLATFORMS / spec["platform"], "name": name, "deadlines": spec.get("deadlines"),
        "jobs": options.jobs,
    }  # fmt: skip
    comparison = Comparison(options.runs.resolve() / name, [row], spec["dispatchers"])
    comparison.run(options.processes, options.limit)
    return {label: outcome_of(folders[0]) for label, folders in comparison.done(name).items()}


def decision_table(
    found: Mapping[str, Outcome], head: Sequence[str], printed: Mapping[str, Sequence[str]]
) -> list[str]:
    """What deciding took, and how large problems were; before it what is printed of each, under `head`."""
    rows = []
    for label, outcome in found.items():
        of = outcome.decisions
        solver = [f"{of.problems:,}", f"{of.asked:,}", f"{of.proven:,}", f"{of.too_large:,}"]
        sizes = [f"{of.planned:.1f}", f"{of.variables:.0f}"]
        known = [*solver, *sizes] if of.problems else [NOTHING] * (len(solver) + len(sizes))
        spent = [f"{of.count:,}", f"{of.mean_ms:.3g}", f"{of.total_s:.1f}", f"{of.predicting_s:.2f}"]
        rows.append([label, *printed.get(label, [NOTHING] * len(head)), *spent, *known])
    return table(["", *head, *DECISIONS_HEAD], rows)


def service_table(services: Mapping[str, Mapping[str, Service]]) -> list[str]:
    """Slowdowns and waits by label: of all jobs, and of medium and long ones."""
    rows = []
    for label, of in services.items():
        cells = [label]
        for name in (ALL, MEDIUM, LONG):
            one = of.get(name)
            cells += [NOTHING] * 2 if one is None else [str(one.slowdown), str(one.wait)]
        rows.append(cells)
    head = [""]
    for name in ("all jobs", "medium (1–5 h)", "long (> 5 h)"):
        head += [f"slowdown, {name}", f"wait, s, {name}"]
    return table(head, rows)


def claim_table(claims: Claims, figures: Figures) -> list[str]:
    """What a paper says, what our figures say to it, and whether it holds."""
    judge = Judge(figures)
    findings = {text: judge(claim) for text, claim in claims.items()}
    rows = [[text, finding.shown, finding.verdict] for text, finding in findings.items()]
    return table(["the paper's text", "ours", "holds"], rows, left=3)
