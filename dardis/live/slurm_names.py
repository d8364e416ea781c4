"""Names that Slurm's programs and jobs see."""

from __future__ import annotations

from typing import Final

CLUSTER: Final = "dardis"
PARTITION: Final = "dardis"
"""Partition of a job that states none."""
PROGRAMS: Final = "bin"
"""Folder of Slurm's programs in each host's folder."""
