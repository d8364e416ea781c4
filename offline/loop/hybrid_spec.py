"""Options of `dardis hybrid`."""

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

    days: Annotated[tuple[int, int], Reader(days_of), Option("First and last UTC day, from 0.", "A-B")]
    out: Annotated[Path, FILE, Option(option_texts.RESULTS, "DIR")]
    dispatcher: Annotated[
        str, Option(f"Dispatcher that switches nodes ({DISPATCHER} has {', '.join(SETTINGS)} here).", "NAME")
    ] = DISPATCHER
    settings: Annotated[tuple[str, ...], Option(option_texts.SETTINGS, "KEY=VALUE", name="--set")] = ()
    switching: Annotated[str, Option("spare, algorithm8, off, or reactive:SECONDS[,SPARES].", "RULE")] = "spare"
    cap: Annotated[
        ProfileRule,
        enum_reader(ProfileRule),
        Option("Use of the target of cores by the dispatcher.", "soft|hard|off"),
    ] = ProfileRule.OFF
    deadlines: Annotated[str | None, Option("Latest starts of jobs, as in dardis simulate.", "RULE")] = None
    shift_hours: Annotated[
        float, Field(ge=0, le=48), Option("Largest delay of jobs until energy is cheap, h.", "N")
    ] = 0.0
    plan_at: Annotated[str, Option("UTC time of planning; if not midnight, on the previous day.", "HH:MM")] = "00:00"
    force: Annotated[bool, Option("Replace the content of DIR.")] = False
    no_report: Annotated[bool, Option(option_texts.NO_REPORT)] = False
