"""Reads recorded nodes from sacct's NodeList."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from dardis.model.files import read_text
from dardis.model.hostlist import names_of
from dardis.workload.sacct import is_sacct
from dardis.workload.slurm_texts import UNSTATED, job_name

NODE_LIST = "NodeList"


def read_places(path: Path) -> dict[int, list[str]]:
    """Node names by job number; jobs without nodes or own number are omitted.

    Ignores malformed lines: the trace reader has reported them. A job's last line counts.
    """
    lines = [line.strip() for line in read_text(path).split("\n")]
    lines = [line for line in lines if line and not line.startswith(";")]
    names = [name.strip() for name in lines[0].split("|")] if lines else []
    ids = [names.index(name) for name in ("JobIDRaw", "JobID") if name in names]
    if not lines or not is_sacct(lines[0]) or NODE_LIST not in names or not ids:
        return {}
    places = {}
    for line in lines[1:]:
        fields = line.split("|")
        with suppress(ValueError, IndexError):
            job, text = job_name(fields[ids[0]].strip()), fields[names.index(NODE_LIST)].strip()
            if job.number is not None and not job.is_step and text not in {*UNSTATED, "None assigned"}:
                places[job.number] = names_of(text)
    return places
