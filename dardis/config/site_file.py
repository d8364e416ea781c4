"""Import of a site's file."""

from __future__ import annotations

from pathlib import Path

from dardis.config.platform_text import Imported
from dardis.config.simgrid import is_simgrid, simgrid_platform
from dardis.config.slurm.slurm_platform import platform_of
from dardis.config.slurm.slurm_reader import parse_slurm
from dardis.model.files import read_text


def import_platform(path: Path, merge_memory: float = 0.0) -> Imported:
    """Import a Slurm file or SimGrid platform. Raises InputError."""
    text = read_text(path)
    return (
        simgrid_platform(path, text) if is_simgrid(text) else platform_of(path, parse_slurm(path, text), merge_memory)
    )
