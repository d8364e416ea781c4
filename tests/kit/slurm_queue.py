"""A queue of Slurm over time, as `squeue --json` shows it at any moment."""

from __future__ import annotations

from dataclasses import dataclass

from kit.slurm_json import document, queue_job

SHOWN_S = 300
"""How long Slurm shows jobs that have ended (MinJobAge)."""


@dataclass(frozen=True)
class LivedJob:
    """A job that is submitted, starts (None: is cancelled at `end`, which Slurm shows as its start) and ends."""

    number: int
    submit: int
    start: int | None
    end: int
    cores: int = 4
    limit_min: int = 60
    user: str = "ann"
    priority: int = 1000
    reason: str = "Resources"
    restarts: int = 0

    def cells(self, now: int) -> dict[str, str] | None:
        """Its cells at a moment; None: not shown."""
        if not self.submit <= now < self.end + SHOWN_S:
            return None
        started = self.start is not None and self.start <= now
        state = "COMPLETED" if started else "CANCELLED"
        if now < self.end:
            state = "RUNNING" if started else "PENDING"
        start = self.start if started else self.end if now >= self.end else 0
        tres = f"cpu={self.cores},mem=1G,node=1,billing={self.cores}"
        return {
            "JobIDRaw": str(self.number), "User": self.user, "Account": "phys", "Partition": "batch", "QOS": "normal",
            "JobName": "a|job", "Submit": str(self.submit), "Eligible": str(self.submit),
            "Start": str(start), "End": str(self.end) if state[0] == "C" else "0",
            "TimelimitRaw": str(self.limit_min), "NNodes": "1", "NCPUS": str(self.cores), "ReqTRES": tres,
            "AllocTRES": tres if started else "", "State": state, "NodeList": "n1" if started else "",
        }  # fmt: skip


def squeue_text(jobs: list[LivedJob], now: int, version: int = 43) -> str:
    """What squeue shows at a moment."""
    shown = []
    for job in jobs:
        if (cells := job.cells(now)) is not None:
            record = queue_job(cells, version)
            record["restart_cnt"] = job.restarts
            record |= {"priority": {"set": True, "infinite": False, "number": job.priority}, "state_reason": job.reason}
            shown.append(record)
    return document("jobs", shown, version)
