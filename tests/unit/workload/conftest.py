"""What tests of traces share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from kit.sacct_text import sacct

from dardis.workload.trace import Trace
from dardis.workload.trace_reader import read_trace


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Trace]:
    """Reads a text, or jobs as sacct has them."""

    def read_text(*jobs: str | dict[str, str], **asked: bool) -> Trace:
        text = jobs[0] if isinstance(jobs[0], str) else sacct(*jobs)  # type: ignore[arg-type]
        (tmp_path / "jobs.txt").write_bytes(text.encode())
        return read_trace(tmp_path / "jobs.txt", **asked)

    return read_text
