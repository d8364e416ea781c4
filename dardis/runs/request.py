"""The record of a run's request, which decides whether two runs have the same outcome."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from dardis import __version__
from dardis.config.platform import load_platform
from dardis.config.run import ReplaySpec, RunSpec
from dardis.model.input_files import InputFiles
from dardis.model.platform import Platform
from dardis.registry import dispatcher_origin
from dardis.task_manager.setups import Reach

WITHOUT_EFFECT: Final = frozenset({"out", "force", "save_instances", "no_report"})
"""Fields of a `RunSpec` on which the outcome does not depend."""


NO_DIGESTS: Final[Mapping[str, str | None]] = MappingProxyType({})


def reach_of(request: ReplaySpec) -> Reach:
    """How task managers reach nodes."""
    return Reach(request.arity, request.sample)


def record_of(
    request: RunSpec, files: InputFiles, platform: Platform | None = None,
    known: Mapping[str, str | None] = NO_DIGESTS,
) -> dict[str, Any]:  # fmt: skip
    """All that the outcome depends on, as plain JSON: files by their content, and the version of DARDIS.

    Two requests with the same record have the same outcome. `platform` is an object in place of its file, `known` has
    the digests of such objects. Raises InputError for a file that is no platform.
    """
    digest, platform = files.digest, platform or files.once(load_platform, request.platform)
    named = {"trace": request.trace, "platform": request.platform}
    return (
        request.model_dump(mode="json", by_alias=True, exclude={*WITHOUT_EFFECT})
        | {
            **{name: known[name] if name in known else digest(path) for name, path in named.items()},
            "platform_files": [digest(Path(file)) for file in platform.facility.files],
            "profile": digest(request.profile),
            "events": digest(request.events),
            "deadlines": request.deadlines and (digest(Path(request.deadlines)) or request.deadlines),
            "dardis_version": __version__,
        }
        | dispatcher_origin(request.dispatcher)
    )
