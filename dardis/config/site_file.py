"""Decides by its content which tool a site's file is from, so that nobody has to name the form."""

from __future__ import annotations

from pathlib import Path

from dardis.config.platform_text import Imported
from dardis.config.simgrid import is_simgrid, simgrid_platform
from dardis.config.slurm.slurm_platform import platform_of
from dardis.config.slurm.slurm_reader import parse_slurm
from dardis.model.files import read_text


def import_platform(path: Path, merge_memory: float = 0.0) -> Imported:
    """The machine of a Slurm site's file or a SimGrid platform, plain or gzipped. InputError as these have it."""
    text = read_text(path)
    return (
        simgrid_platform(path, text) if is_simgrid(text) else platform_of(path, parse_slurm(path, text), merge_memory)
    )
