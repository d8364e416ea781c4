"""Output files of jobs: path and content."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from time import sleep
from typing import Any, BinaryIO, Final

from dardis.live.client import Client, is_over
from dardis.live.job_option_texts import fill_pattern
from dardis.model.errors import DardisError

_BLOCK: Final = 1 << 16
_PAUSE_S: Final = 0.2
_READS_PER_REQUEST: Final = 5
"""Reads between requests to the service."""


def output_path(job: Mapping[str, Any], *, error: bool) -> Path:
    """Path of the output or error file. Raises DardisError if hidden."""
    if not (said := job["error" if error else "output"]):
        raise DardisError(f"job {job['id']} belongs to {job['user']}: its output path is hidden")
    pattern = fill_pattern(
        said, job["id"], job["array"], job["index"], job["name"], job["user"], (job["nodes"] or [""])[0]
    )
    return Path(job.get("cwd") or "/", job["chdir"] or "", pattern)


def read_output(service: Client, job: dict[str, Any], path: Path, *, follow: bool) -> Iterator[bytes]:
    """Yield the content; with `follow`, until the job is over. Raises DardisError without a file."""
    looks = 0
    file: BinaryIO | None = None
    with ExitStack() as stack:
        while True:
            over = is_over(job)
            if file is None:
                try:
                    file = stack.enter_context(path.open("rb"))
                except FileNotFoundError:
                    if over or not follow:
                        raise DardisError(f"{path}: does not exist; job {job['id']} is {job['state']}") from None
            while file is not None and (block := file.read(_BLOCK)):
                yield block
            if over or not follow:
                return
            sleep(_PAUSE_S)
            looks += 1
            if looks % _READS_PER_REQUEST == 0:
                job = service.job(job["id"])
