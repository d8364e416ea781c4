"""The runs behind `scripts/reproduce/late --loads`, and what is asked of them."""

from __future__ import annotations

import csv
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from dardis.config.platform import load_platform
from scripts.kit.cache import fingerprint, kept_metrics
from scripts.late.cases import SOURCES, Case

Asked = tuple[str, ...]
"""A dispatcher, and what is set."""
TO_BEAT: Final[Asked] = ("easy", "order=sjbf")
PATIENT: Final[Asked] = ("easy",)
LIGHT: Final = 0.905
"""Up to this load the machine has room: .9, rounded as it is printed."""
LEAST_WIDE: Final = 30
"""Of fewer wide jobs no mean is looked at."""
LIMITS: Final = {"wait": 1.10, "slowdown": 1.10, "longest": 1.5}
MEANS: Final = {"light": (0.80, 0.70), "all": (1.0, 0.95)}
"""Geometric means of wait and slowdown that are aimed at."""


@dataclass(frozen=True, slots=True)
class Ratios:
    """Of a dispatcher in a case: waits and slowdowns over those of the one to beat, the longest wait over EASY's."""

    load: float
    wait: float
    slowdown: float
    longest: float
    wide: float | None
    """Mean wait of jobs wider than a quarter of the machine; None: there are too few, or they do not wait."""
    others: float | None
    """Mean wait of all others."""


def run(case: Case, asked: Asked, traces: Path, out: Path) -> dict[str, Any] | None:
    """Metrics of a run, with mean waits of wide jobs and of the others, which is done if it is not there."""
    trace, platform = case.trace(traces, out), SOURCES[case.source].platform(out)
    folder = out / "runs" / f"{trace.stem}-{asked[0]}-{fingerprint(asked)}"
    settings = (option for setting in asked[1:] for option in ("--set", setting))
    try:
        metrics = kept_metrics(folder, str(trace), "--platform", str(platform), "--dispatcher", asked[0], *settings)
    except subprocess.CalledProcessError:
        # It has said why; the others go on.
        return None
    return metrics | waits_by_width(folder / "jobs.csv", load_platform(platform).cores)


def waits_by_width(jobs: Path, cores: int) -> dict[str, Any]:
    """Mean waits (s) of jobs that ask for more than a quarter of the machine, and of the others."""
    with jobs.open(newline="", encoding="utf-8") as file:
        rows = [
            (4 * int(row["requested_number_of_resources"]) > cores, float(row["waiting_time"]))
            for row in csv.DictReader(file)
            if row["starting_time"] not in {"", "-1"}
        ]
    found: dict[str, Any] = {}
    for name, wide in (("wide", True), ("others", False)):
        waits = [wait for is_wide, wait in rows if is_wide == wide]
        found[name] = (len(waits), float(np.mean(waits)) if waits else 0.0)
    return found


def ratios(case_load: float, mine: dict[str, Any], best: dict[str, Any], patient: dict[str, Any]) -> Ratios:
    """A dispatcher's figures over those of the ones to beat."""
    by_width = {}
    for name, least in (("wide", LEAST_WIDE), ("others", 1)):
        (count, wait), (_, base) = mine[name], best[name]
        by_width[name] = wait / base if count >= least and base > 0 else None
    return Ratios(
        case_load,
        mine["mean_wait_s"] / best["mean_wait_s"],
        mine["mean_bounded_slowdown"] / best["mean_bounded_slowdown"],
        mine["max_wait_s"] / patient["max_wait_s"],
        by_width["wide"],
        by_width["others"],
    )


def excess(found: list[Ratios]) -> float:
    """The largest excess over the limits, as a ratio: at most 1 where no case is above any."""
    return max(float(getattr(one, name)) / limit for one in found for name, limit in LIMITS.items())


def geometric(found: list[Ratios]) -> tuple[float, float]:
    """Geometric means of wait and slowdown."""
    logs = np.log([(one.wait, one.slowdown) for one in found])
    wait, slowdown = np.exp(logs.mean(axis=0)).tolist()
    return wait, slowdown


def summary(found: dict[Case, Ratios]) -> list[str]:
    """What is aimed at beside what is reached, a line each, on those chosen on and those judged on."""
    lines = []
    for told, chosen in (("chosen on", True), ("judged on", False)):
        every = [one for case, one in found.items() if case.chosen_on == chosen]
        light = [one for one in every if one.load <= LIGHT]
        for name, part in (("light", light), ("all", every)):
            if part:
                aim, (wait, slowdown) = MEANS[name], geometric(part)
                what = "up to load 0.9" if name == "light" else "at all loads"
                lines.append(
                    f"{told}, {what}: {wait:.2f}/{slowdown:.2f} (aim {aim[0]:.2f}/{aim[1]:.2f}), {len(part)} cases"
                )
        if every:
            worst = {name: max(getattr(one, name) for one in every) for name in LIMITS}
            told_worst = ", ".join(f"{name} {value:.2f} ({LIMITS[name]:.2f})" for name, value in worst.items())
            lines.append(f"{told}, the worst (limits): {told_worst}; {excess(every):.2f} times a limit")
    return lines


def table(found: dict[Case, Ratios]) -> str:
    """A row a case, those chosen on first."""
    head = ("case", "load", "wait", "slowdown", "longest wait", "wait of wide jobs", "of the others", "")
    lines = ["| " + " | ".join(head) + " |", "| --- " + "| ---: " * 6 + "| --- |"]
    for case, one in found.items():
        figures = (one.load, one.wait, one.slowdown, one.longest, one.wide, one.others)
        cells = " | ".join("–" if figure is None else f"{figure:.2f}" for figure in figures)
        lines.append(f"| {case.name} | {cells} | {'chosen on' if case.chosen_on else 'judged on'} |")
    return "\n".join([*lines, "", *(f"* {line}" for line in summary(found)), ""])
