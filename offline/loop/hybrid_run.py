"""Runs `dardis hybrid`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from dardis.model.out_folder import LOOP_FOLDER
from dardis.registry import dispatcher_origin
from dardis.runs.run_objects import NO_OBJECTS, Objects
from offline.day.plan_spec import DayRule, DaySpec, loop_switching
from offline.folder.plan_folder import Figure
from offline.loop.hybrid_spec import DISPATCHER, SETTINGS, HybridSpec
from offline.loop.loop import Loop, LoopOptions, lead_of, run_loop
from offline.loop.loop_files import LoopTables, write_loop
from offline.planner.budget import SearchProgress, ignore_progress
from offline.site.site_inputs import load_site


def _loop_options(spec: HybridSpec) -> LoopOptions:
    planned, reactive = loop_switching(spec.switching)
    rule = {name: getattr(spec, name) for name in DayRule.model_fields}
    day = DaySpec.model_construct(switching=planned, **rule)
    chosen = (*(SETTINGS if spec.dispatcher == DISPATCHER else ()), *spec.settings)
    return LoopOptions(
        spec.days, day, spec.dispatcher, chosen, spec.shift_hours, spec.cap, spec.deadlines,
        lead_of(spec.plan_at), reactive,
    )  # fmt: skip


def run_hybrid(
    request: HybridSpec, progress: SearchProgress | None, have: Objects = NO_OBJECTS
) -> tuple[Loop, LoopTables]:
    """Run the days and write the folder; objects may replace files. Raises InputError, OSError."""
    options = _loop_options(request)
    with LOOP_FOLDER.lock(request.out, force=request.force):
        site = load_site(request, have=have)
        settings = request.record() | asdict(options) | {"day": options.day.model_dump(mode="json", by_alias=True)}
        settings |= dispatcher_origin(options.dispatcher)
        loop = run_loop(site, options, progress or ignore_progress)
        with LOOP_FOLDER.replace_files(request.out) as part:
            return loop, write_loop(part, loop, settings, report=not request.no_report)


def figures_for_people(summary: Mapping[str, Figure]) -> list[tuple[str, Figure]]:
    """Main figures of summary.json, with names."""
    currency = summary["currency"]

    def told(key: str, form: str, unit: str = "") -> str:
        value = summary[key]
        return "-" if value is None else f"{value:{form}} {unit}".rstrip()

    return [
        ("days", summary["days"]),
        ("jobs", summary["jobs"]),
        ("profit", told("profit_eur", ".2f", str(currency))),
        ("  all nodes on", told("always_on_profit_eur", ".2f", str(currency))),
        ("  clairvoyant", told("clairvoyant_profit_eur", ".2f", str(currency))),
        ("gain", f"{told('gain_percent', '.2f', '%')} (clairvoyant: {told('clairvoyant_percent', '.2f', '%')})"),
        ("share of that gain", told("share_of_bound", ".3f")),
        ("mean wait for boots", told("mean_boot_delay_s", ".1f", "s")),
        ("jobs delayed", told("delayed_share", ".3f")),
        ("cycles per node and day", told("cycles_per_node_day", ".2f")),
        ("above the cap", told("overutilisation_core_s", ",d", "core-seconds")),
        ("mean wait", f"{told('mean_wait_s', '.0f')} s ({told('always_on_mean_wait_s', '.0f')} s all nodes on)"),
    ]
