"""What a run is made of, as objects: read from the files that a request names, or handed in by who has made them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from dardis.config.platform import load_platform
from dardis.config.run import RunSpec
from dardis.engine.clock import utc_now
from dardis.model.input_files import InputFiles
from dardis.model.platform import Platform
from dardis.registry import Dispatcher, find_dispatcher
from dardis.runs.request import record_of
from dardis.workload.read import read_trace
from dardis.workload.trace import Trace


@dataclass(frozen=True)
class Objects:
    """Objects that stand for what a request names; None: it is read, or looked up."""

    trace: Trace | None = None
    platform: Platform | None = None
    dispatcher: Dispatcher | None = None
    digests: Mapping[str, str | None] = field(default_factory=dict)
    """Of those of `trace` and `platform` that are objects: of the files that they were read from; None: made."""


NOTHING: Final = Objects()


@dataclass(frozen=True)
class Given:
    """A dispatcher with its settings, a whole trace and a platform as it is stated."""

    dispatcher: Dispatcher
    trace: Trace
    platform: Platform
    started_utc: str
    """When the run began."""
    files: InputFiles
    digests: Mapping[str, str | None]
    """Of trace and platform where they were handed in; see `Objects`."""
    trace_file: Path | None
    platform_file: Path | None
    """Where they were read; None: nowhere."""

    def record(self, request: RunSpec) -> dict[str, Any]:
        """The request's, of its files as they were when they were read; None for what came from none."""
        record = record_of(request, self.files, self.platform, self.digests)
        return record | ({"dispatcher_of": self.dispatcher.origin} if self.dispatcher.origin else {})


def read_given(request: RunSpec, files: InputFiles, have: Objects = NOTHING) -> Given:
    """Read what the request names, but for the objects that stand for it. Raises InputError."""
    started = utc_now()
    dispatcher = have.dispatcher or find_dispatcher(request.dispatcher, request.settings)
    platform = have.platform if have.platform is not None else files.once(load_platform, request.platform)
    trace = have.trace
    if trace is None:
        trace = files.once(read_trace, request.trace, strict=request.strict, flop_per_s=platform.flop_per_s)
    made = {name for name, digest in have.digests.items() if digest is None}
    return Given(
        dispatcher,
        trace,
        platform,
        started,
        files,
        have.digests,
        None if "trace" in made else request.trace,
        None if "platform" in made else request.platform,
    )
