"""Every kind of folder that a command writes: its files, and its seal (see `OutFolder`)."""

from __future__ import annotations

from typing import Final

from dardis.model.out_folder import OutFolder

RUN_FOLDER: Final = OutFolder(
    "a run",
    ("jobs.csv", "metrics.json", "metrics_by.csv", "profile.csv", "power.csv", "switching.csv", "decisions.csv",
     "expectations.csv", "solver.csv", "report.html", "run.json"),
    seal="run.json",
)  # fmt: skip
SCALE_FOLDER: Final = OutFolder(
    "scale experiments", ("scale.csv", "predictions.csv", "report.html", "scale.json"), seal="scale.json"
)
COMPARISON_FOLDER: Final = OutFolder(
    "a comparison",
    (
        "table.csv",
        "table.md",
        "table.tex",
        "differences.csv",
        "sweep.csv",
        "who_pays.csv",
        "clairvoyant.csv",
        "found.json",
        "report.html",
        "compare.csv",
    ),
    seal="compare.csv",
    mark="compare.json",
)
PLAN_FOLDER: Final = OutFolder(
    "a plan",
    (
        "profile.csv",
        "target.json",
        "onoff.csv",
        "schedule.csv",
        "summary.json",
        "picture.json",
        "report.html",
        "run.json",
    ),
    seal="run.json",
)
LOOP_FOLDER: Final = OutFolder(
    "days under the loop",
    (
        "summary.json",
        "days.csv",
        "beside.csv",
        "jobs.csv",
        "always_on_jobs.csv",
        "switching.csv",
        "target.json",
        "picture.json",
        "report.html",
        "run.json",
    ),
    seal="run.json",
)
