"""Live service: real jobs on real nodes. `Client` and `Executor` are for Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dardis.live.executor import Executor as Executor
    from dardis.live.job_client import Client as Client


def __getattr__(name: str) -> object:
    if name == "Client":
        from dardis.live.job_client import Client

        return Client
    if name == "Executor":
        from dardis.live.executor import Executor

        return Executor
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
