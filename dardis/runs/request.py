"""The record of a run's request, which decides whether two runs have the same outcome."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from dardis import __version__
from dardis.config.platform import load_platform
from dardis.config.run import ReplaySpec, RunSpec
from dardis.model.files import sha256_of
from dardis.model.platform import Platform
from dardis.registry import dispatcher_origin
from dardis.task_manager.setups import Reach

WITHOUT_EFFECT: Final = frozenset({"out", "force", "save_instances", "no_report"})
"""Fields of a `RunSpec` on which the outcome does not depend."""


def reach_of(request: ReplaySpec) -> Reach:
    """How task managers reach nodes."""
    return Reach(request.arity, request.sample)


def record_of(
    request: RunSpec, digest: Callable[[Path | None], str | None] = sha256_of, platform: Platform | None = None
) -> dict[str, Any]:
    """All that the outcome depends on, as plain JSON: files by their content, and the version of DARDIS.

    Two requests with the same record have the same outcome. `platform` is the content of the platform file, if it has
    been read. Raises InputError for a file that is no platform.
    """
    platform = platform or load_platform(request.platform)
    return (
        request.model_dump(mode="json", by_alias=True, exclude={*WITHOUT_EFFECT})
        | {
            "trace": digest(request.trace),
            "platform": digest(request.platform),
            "platform_files": [digest(Path(file)) for file in platform.facility.files],
            "profile": digest(request.profile),
            "events": digest(request.events),
            "deadlines": request.deadlines and (digest(Path(request.deadlines)) or request.deadlines),
            "dardis_version": __version__,
        }
        | dispatcher_origin(request.dispatcher)
    )
