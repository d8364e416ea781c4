"""Slurm's programs `squeue` and `scontrol` as scripts with fixed answers. Everything but `scontrol show` fails."""

from __future__ import annotations

from pathlib import Path

from kit.slurm_queue import LivedJob, squeue_text

from dardis.slurm.slurm_client import SlurmError, SlurmReply

NODES = "".join(
    f"NodeName=n{number} CPUAlloc=0 CPUTot=4 RealMemory=4000 State=IDLE ThreadsPerCore=1 Partitions=batch\n"
    for number in (1, 2)
)
_SCONTROL = """#!/bin/sh
echo "scontrol $*" >> "{folder}/calls"
[ "$1" = show ] || {{ echo "not permitted" >&2; exit 1; }}
cat "{folder}/nodes"
"""
_SQUEUE = """#!/bin/sh
echo "squeue $*" >> "{folder}/calls"
cat "{folder}/queue"
"""


def install(folder: Path, queue: str, nodes: str = NODES) -> Path:
    """Write both scripts and their answers; return the folder for PATH. `calls` has a line for each call."""
    folder.mkdir()
    for name, text in (("scontrol", _SCONTROL), ("squeue", _SQUEUE)):
        (folder / name).write_text(text.format(folder=folder))
        (folder / name).chmod(0o755)
    (folder / "queue").write_text(queue)
    (folder / "nodes").write_text(nodes)
    return folder


class LivedPrograms:
    """Answers of a cluster at the time `now`."""

    def __init__(self, jobs: list[LivedJob]) -> None:
        self.jobs, self.now, self.seconds = jobs, 0, 0.1
        self.calls: list[tuple[str, ...]] = []
        self.failure = ""

    def call(self, *words: str) -> SlurmReply:
        """Answer a call, or fail with `failure`."""
        self.calls.append(words)
        if self.failure:
            raise SlurmError(self.failure)
        return SlurmReply(squeue_text(self.jobs, self.now) if words[0] == "squeue" else NODES, self.seconds)
