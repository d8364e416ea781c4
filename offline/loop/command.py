"""`dardis hybrid` from its request to its folder."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from dardis.model.folders import LOOP_FOLDER
from dardis.registry import dispatcher_origin
from offline.folder.plan import Figure
from offline.loop.files import write_loop
from offline.loop.loop import LoopOptions, run_loop
from offline.planner.budget import SearchProgress, tell_nobody
from offline.site.site import SiteRequest, load_site


@dataclass(frozen=True)
class LoopRequest:
    """The arguments of `dardis hybrid`."""

    site: SiteRequest
    out: Path
    options: LoopOptions
    force: bool = False
    report: bool = True


def run_hybrid(
    request: LoopRequest, progress: SearchProgress | None
) -> tuple[dict[str, Figure], list[dict[str, Figure]]]:
    """Live through the days and write the folder; return the summary, and the same days under other rules.

    Raises InputError, OSError.
    """
    with LOOP_FOLDER.held(request.out, force=request.force):
        site = load_site(request.site)
        settings = request.site.settings() | asdict(request.options) | dispatcher_origin(request.options.dispatcher)
        loop = run_loop(site, request.options, progress or tell_nobody)
        with LOOP_FOLDER.written_together(request.out) as part:
            return write_loop(part, loop, settings, report=request.report)
