"""Complete plan, and its folder."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from dardis.config.json_records import Figures, PlanHead
from dardis.config.target_file import load_target
from dardis.config.toml_file import read_json
from dardis.model.csv_table import CsvCells
from dardis.model.errors import InputError
from dardis.model.files import write_json
from dardis.model.out_folder import PLAN_FOLDER
from dardis.model.platform import Platform, platform_to_dict
from dardis.model.target import Switching
from offline.folder.tables import (
    ONOFF,
    PROFILE,
    SCHEDULE,
    OnOffTable,
    ProfileTable,
    ScheduleTable,
    onoff_columns,
    onoff_of,
    profile_columns,
    profile_of,
    schedule_columns,
    schedule_of,
)

SUMMARY_FILE, RUN_FILE, TARGET_FILE = "summary.json", "run.json", "target.json"
FORMAT: Final = "dardis-plan"
VERSION: Final = 1

Figure = str | int | float | None


@dataclass(frozen=True)
class PlanFolder:
    """Content of a plan folder. `offset`: Unix time minus the trace's; `summary`: flat keys with units.

    `settings`: options of `dardis plan`. `switching`: rule in `target.json`, if any.
    """

    platform: Platform
    offset: int
    profile: ProfileTable
    onoff: OnOffTable
    schedule: ScheduleTable
    summary: dict[str, Figure]
    settings: dict[str, Any] = field(default_factory=dict)
    switching: Switching | None = None

    @property
    def wait_price(self) -> float:
        """Price of a job's wait hour."""
        price = self.settings.get("wait_price", 0.0)
        return float(price) if isinstance(price, (int, float)) else 0.0

    @property
    def stale(self) -> str:
        """Reason to consider the history stale."""
        return str(self.settings.get("stale", ""))


def write_plan(folder: Path, plan: PlanFolder) -> None:
    """Write all files except target.json, each atomically. Raises OSError."""
    for table, columns in (
        (PROFILE, profile_columns(plan.profile, plan.offset)),
        (ONOFF, onoff_columns(plan.onoff, plan.platform, plan.offset)),
        (SCHEDULE, schedule_columns(plan.schedule)),
    ):
        table.write(folder / table.name, zip(*columns.values(), strict=True))
    write_json(folder / SUMMARY_FILE, plan.summary)
    write_json(folder / RUN_FILE, head(plan) | {"settings": plan.settings})


def read_plan(folder: Path) -> PlanFolder:
    """Read a plan folder. InputError names missing or damaged files."""
    PLAN_FOLDER.check_finished(folder)
    if not (folder / RUN_FILE).is_file():
        raise InputError(folder, "has no plan (no run.json)", "a folder of dardis plan")
    run = read_json(folder / RUN_FILE, PlanHead)
    platform = run.machine(folder / RUN_FILE)
    profile, offset = profile_of(CsvCells.of_csv(folder / PROFILE.name))
    return PlanFolder(
        platform,
        offset,
        profile,
        onoff_of(CsvCells.of_csv(folder / ONOFF.name), platform),
        schedule_of(CsvCells.of_csv(folder / SCHEDULE.name), platform),
        read_json(folder / SUMMARY_FILE, Figures).model_dump(),
        run.settings,
        load_target(folder / TARGET_FILE, platform).switching if (folder / TARGET_FILE).is_file() else None,
    )


def head(plan: PlanFolder) -> dict[str, Any]:
    """Head of every JSON form of a plan."""
    return {"format": FORMAT, "version": VERSION, "platform": platform_to_dict(plan.platform)}
