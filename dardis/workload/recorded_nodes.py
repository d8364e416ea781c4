"""Reads recorded nodes from sacct's NodeList."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from dardis.model.files import read_text
from dardis.model.hostlist import names_of
from dardis.workload.slurm_cells import REQUIRED, first_cell, is_job_table, slurm_lines
from dardis.workload.slurm_texts import UNSTATED, job_name

NODE_LIST = "NodeList"
NO_NODES = frozenset({*UNSTATED, "None assigned"})


def read_places(path: Path) -> dict[int, list[str]]:
    """Node names by job number, without jobs that lack nodes or number.

    Ignores malformed lines. A job's last line counts.
    """
    return places_of(path, read_text(path))


def places_of(path: Path, text: str) -> dict[int, list[str]]:
    """`read_places` of a text; `path`: for messages."""
    if not is_job_table(text):
        return {}
    places = {}
    for _, cells_of in slurm_lines(path, text).lines:
        with suppress(ValueError):
            cells = cells_of()
            job = job_name(first_cell(cells, REQUIRED[0]))
            nodes = cells.get(NODE_LIST, "")
            if job.number is not None and not job.is_step and nodes not in NO_NODES:
                places[job.number] = names_of(nodes)
    return places
