"""Tables that the pages of papers 002 and 003 have alike: services, decisions, and claims."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from scripts.lab.kit.claims import Claim, Figures, judged
from scripts.lab.kit.page import table
from scripts.lab.kit.service import ALL, LONG, MEDIUM, Outcome, Service

NOTHING = "–"
DECISIONS_HEAD = (
    "decisions", "CPU a decision, ms", "CPU of all, s", "of it predicting, s", "put as a problem", "solver asked",
    "proven", "too large", "jobs in the answer", "variables",
)  # fmt: skip


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


def decision_cells(outcome: Outcome) -> list[str]:
    """The cells of a row under DECISIONS_HEAD."""
    of = outcome.decisions
    solver = [f"{of.problems:,}", f"{of.asked:,}", f"{of.proven:,}", f"{of.too_large:,}"]
    sizes = [f"{of.planned:.1f}", f"{of.variables:.0f}"]
    known = [*solver, *sizes] if of.problems else [NOTHING] * (len(solver) + len(sizes))
    return [f"{of.count:,}", f"{of.mean_ms:.3g}", f"{of.total_s:.1f}", f"{of.predicting_s:.2f}", *known]


def claim_table(claims: Iterable[Claim], figures: Figures) -> list[str]:
    """What a paper says, what our figures say to it, and whether it holds."""
    rows = []
    for claim in claims:
        finding = judged(claim, figures)
        rows.append([claim.text, finding.shown, finding.verdict])
    return table(["the paper's text", "ours", "holds"], rows, left=3)
