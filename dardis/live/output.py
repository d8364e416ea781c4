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


def output_path(job: Mapping[str, Any], *, error: bool) -> Path:
    """Path of the output or error file. Raises DardisError if hidden."""
    if not (said := job["error" if error else "output"]):
        raise DardisError(f"job {job['id']} belongs to {job['user']}: its output path is hidden")
    pattern = fill_pattern(
        said, job["id"], job["array"], job["index"], job["name"], job["user"], (job["nodes"] or [""])[0]
    )
    return Path(job.get("cwd") or "/", job["chdir"] or "", pattern)


def read_output(service: Client, job: dict[str, Any], path: Path, *, follow: bool) -> Iterator[bytes]:
    """Yield content; with `follow`, until the job is over. Raises DardisError without a file."""
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


def follow_array(service: Client, first: dict[str, Any], *, error: bool) -> Iterator[bytes]:
    """Yield output of an array in whole lines, with index ahead, until all jobs are over."""
    numbers = range(first["id"], first["id"] + first["array_size"])
    offsets = dict.fromkeys(numbers, 0)
    left: dict[int, dict[str, Any]] = {}
    unseen = set(numbers)
    while unseen or left:
        opened = {job["id"]: job for job in service.get("/jobs", state="open")["jobs"] if job["array"] == first["id"]}
        for number in sorted(unseen):
            job = opened.get(number) or service.job(number)
            if job["state"] == "running" or is_over(job):
                left[number] = job
                unseen.discard(number)
        for number, job in list(left.items()):
            over = number not in opened
            yield from _new_lines(job, output_path(job, error=error), offsets, last=over)
            if over:
                del left[number]
        if unseen or left:
            sleep(_PAUSE_S * _READS_PER_REQUEST)


def _new_lines(job: Mapping[str, Any], path: Path, offsets: dict[int, int], *, last: bool) -> Iterator[bytes]:
    number = job["id"]
    try:
        with path.open("rb") as file:
            file.seek(offsets[number])
            data = file.read()
    except FileNotFoundError:
        return
    lines = data.splitlines(keepends=True)
    if lines and not last and not lines[-1].endswith(b"\n"):
        lines.pop()
    offsets[number] += sum(map(len, lines))
    label = f"{job['index']}: ".encode()
    yield from (label + line.removesuffix(b"\n") + b"\n" for line in lines)
