"""Reads recorded nodes from sacct's NodeList."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from dardis.model.files import read_text
from dardis.model.hostlist import names_of
from dardis.model.slurm_json import is_slurm_json
from dardis.workload.slurm_cells import REQUIRED, is_sacct, slurm_lines
from dardis.workload.slurm_texts import UNSTATED, job_name

NODE_LIST = "NodeList"
NO_NODES = frozenset({*UNSTATED, "None assigned"})


def read_places(path: Path) -> dict[int, list[str]]:
    """Node names by job number; jobs without nodes or own number are omitted.

    Ignores malformed lines: the trace reader has reported them. A job's last line counts.
    """
    text = read_text(path)
    first = next((line for line in map(str.strip, text.split("\n")) if line and not line.startswith(";")), "")
    if not is_slurm_json(text) and not is_sacct(first):
        return {}
    places = {}
    for _, cells_of in slurm_lines(path, text).lines:
        with suppress(ValueError):
            cells = cells_of()
            job = job_name(next(cells[name] for name in REQUIRED[0] if name in cells))
            nodes = cells.get(NODE_LIST, "")
            if job.number is not None and not job.is_step and nodes not in NO_NODES:
                places[job.number] = names_of(nodes)
    return places
