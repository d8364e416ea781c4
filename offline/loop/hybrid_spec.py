"""The options of `dardis hybrid`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

from pydantic import Field

from dardis.config import option_texts
from dardis.config.option import FILE, Option, Reader, enum_reader
from dardis.config.option_texts import days_of
from dardis.model.choices import ProfileRule
from offline.day.plan_spec import DayRule
from offline.site.site_spec import SiteSpec

DISPATCHER: Final = "dardis-throughput"
SETTINGS: Final = ("backfill_scope=all-nodes",)
"""The thesis's same-nodes delays more jobs for boots."""


class HybridSpec(DayRule, SiteSpec):
    """Options of `dardis hybrid`."""

    days: Annotated[tuple[int, int], Reader(days_of), Option("UTC days, from 0, both included.", "A-B")]
    out: Annotated[Path, FILE, Option(option_texts.RESULTS, "DIR")]
    dispatcher: Annotated[
        str, Option(f"One that switches nodes ({DISPATCHER} has {', '.join(SETTINGS)} here).", "NAME")
    ] = DISPATCHER
    settings: Annotated[tuple[str, ...], Option(option_texts.SETTINGS, "KEY=VALUE", name="--set")] = ()
    switching: Annotated[str, Option("spare, algorithm8, off, or reactive:SECONDS[,SPARES].", "RULE")] = "spare"
    cap: Annotated[
        ProfileRule,
        enum_reader(ProfileRule),
        Option("What the cores to aim at mean to the dispatcher.", "soft|hard|off"),
    ] = ProfileRule.OFF
    deadlines: Annotated[str | None, Option("Latest starts of jobs, as in dardis simulate.", "RULE")] = None
    shift_hours: Annotated[
        float, Field(ge=0, le=48), Option("Hold jobs for so many hours at most until energy is cheap.", "N")
    ] = 0.0
    plan_at: Annotated[str, Option("UTC time at which a day is planned; not midnight: on the day before.", "HH:MM")] = (
        "00:00"
    )
    force: Annotated[bool, Option("Replace what DIR holds.")] = False
    no_report: Annotated[bool, Option(option_texts.NO_REPORT)] = False
