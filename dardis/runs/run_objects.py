"""Run's objects, and its request record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from dardis import __version__
from dardis.config.platform_file import load_platform
from dardis.config.run_spec import ReplaySpec, RunSpec
from dardis.engine.clock import utc_now
from dardis.model.errors import InputError
from dardis.model.files import InputFiles
from dardis.model.platform import Platform
from dardis.registry import Dispatcher, dispatcher_origin, find_dispatcher
from dardis.registry.batsim_dispatcher import batsim_dispatcher
from dardis.task_manager.setups import Reach
from dardis.workload.trace import Trace
from dardis.workload.trace_reader import read_trace


@dataclass(frozen=True)
class Objects:
    """Objects in place of files and names; None: read or look up."""

    trace: Trace | None = None
    platform: Platform | None = None
    dispatcher: Dispatcher | None = None
    digests: Mapping[str, str | None] = field(default_factory=dict)
    """SHA-256 by object; None without a file."""


NO_OBJECTS: Final = Objects()


@dataclass(frozen=True)
class RunSources:
    """Dispatcher with settings, complete trace and original platform."""

    dispatcher: Dispatcher
    trace: Trace
    platform: Platform
    started_utc: str
    files: InputFiles
    digests: Mapping[str, str | None]
    folder: Path
    """Relative paths start here."""
    trace_file: Path | None
    platform_file: Path | None

    def absolute_text(self, file: Path | None) -> str | None:
        """Absolute path of a file of the request."""
        return None if file is None else str((self.folder / file).resolve())

    def record(self, request: RunSpec) -> dict[str, Any]:
        """Request record; digests are None without a file."""
        record = record_of(request, self.files, self.platform, self.digests)
        return record | ({"dispatcher_of": self.dispatcher.origin} if self.dispatcher.origin else {})


def read_sources(request: RunSpec, files: InputFiles, have: Objects = NO_OBJECTS) -> RunSources:
    """Read the request's files, unless replaced by objects. Raises InputError."""
    started = utc_now()
    dispatcher = have.dispatcher or _dispatcher_of(request)
    platform = have.platform if have.platform is not None else files.once(load_platform, request.platform)
    trace = have.trace
    if trace is None:
        trace = files.once(read_trace, request.trace, strict=request.strict, flop_per_s=platform.flop_per_s)
    made = {name for name, digest in have.digests.items() if digest is None}
    return RunSources(
        dispatcher,
        trace,
        platform,
        started,
        files,
        have.digests,
        Path.cwd(),
        None if "trace" in made else request.trace,
        None if "platform" in made else request.platform,
    )


def _dispatcher_of(request: RunSpec) -> Dispatcher:
    if request.batsim is None:
        if request.batsim_dynamic:
            raise InputError("--batsim-dynamic", "has no effect without --batsim", "--batsim ENDPOINT")
        return find_dispatcher(request.dispatcher, request.settings)
    if request.events is not None:
        found = "does not work with --batsim, since its schedulers do not know such events"
        raise InputError(f"--events {request.events}", found, "one of the two")
    return batsim_dispatcher(
        request.batsim, request.settings, timeout_s=request.batsim_timeout, trace=str(request.trace),
        dynamic=request.batsim_dynamic,
    )  # fmt: skip


WITHOUT_EFFECT: Final = frozenset({"out", "force", "save_instances", "no_report", "batsim_timeout"})


NO_DIGESTS: Final[Mapping[str, str | None]] = MappingProxyType({})


def reach_of(request: ReplaySpec) -> Reach:
    """Reach of task managers."""
    return Reach(request.arity, request.sample)


def record_of(
    request: RunSpec, files: InputFiles, platform: Platform | None = None,
    known: Mapping[str, str | None] = NO_DIGESTS,
) -> dict[str, Any]:  # fmt: skip
    """Everything that affects the outcome, as JSON with file digests.

    `platform` replaces its file; `known`: digests of objects. Raises InputError.
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
