"""`dardis hybrid` from its options to its folder."""

from __future__ import annotations

from dataclasses import asdict

from dardis.model.out_folder import LOOP_FOLDER
from dardis.registry import dispatcher_origin
from dardis.runs.given import NOTHING, Objects
from offline.day.options import DayRule, DaySpec, loop_switching
from offline.loop.files import LoopTables, write_loop
from offline.loop.loop import Loop, LoopOptions, lead_of, run_loop
from offline.loop.spec import DISPATCHER, SETTINGS, HybridSpec
from offline.planner.budget import SearchProgress, tell_nobody
from offline.site.site import load_site


def loop_options(spec: HybridSpec) -> LoopOptions:
    """What the loop does. Raises InputError."""
    planned, reactive = loop_switching(spec.switching)
    rule = {name: getattr(spec, name) for name in DayRule.model_fields}
    day = DaySpec.model_construct(switching=planned, **rule)
    chosen = (*(SETTINGS if spec.dispatcher == DISPATCHER else ()), *spec.settings)
    return LoopOptions(
        spec.days, day, spec.dispatcher, chosen, spec.shift_hours, spec.cap, spec.deadlines,
        lead_of(spec.plan_at), reactive,
    )  # fmt: skip


def run_hybrid(
    request: HybridSpec, progress: SearchProgress | None, have: Objects = NOTHING
) -> tuple[Loop, LoopTables]:
    """Live through the days and write the folder. Objects may stand for files. Raises InputError, OSError."""
    options = loop_options(request)
    with LOOP_FOLDER.held(request.out, force=request.force):
        site = load_site(request, have=have)
        settings = request.record() | asdict(options) | {"day": options.day.model_dump(mode="json", by_alias=True)}
        settings |= dispatcher_origin(options.dispatcher)
        loop = run_loop(site, options, progress or tell_nobody)
        with LOOP_FOLDER.written_together(request.out) as part:
            return loop, write_loop(part, loop, settings, report=not request.no_report)
