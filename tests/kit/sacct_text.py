"""Jobs as Slurm's sacct writes them."""

from __future__ import annotations

JOB = {
    "JobIDRaw": "7", "Submit": "1000", "Eligible": "1000", "Start": "1010", "End": "1110", "ElapsedRaw": "100",
    "TimelimitRaw": "5", "NNodes": "2", "NCPUS": "64", "ReqTRES": "billing=64,cpu=64,mem=100G,node=2",
    "AllocTRES": "billing=64,cpu=64,gres/gpu:a100=4,gres/gpu=4,mem=128G,node=2", "NodeList": "n[1-2]",
    "State": "COMPLETED", "ExitCode": "0:0", "UID": "1000", "GID": "100", "Account": "phys", "Partition": "gpu",
    "QOS": "normal", "Priority": "17", "Constraints": "", "Reservation": "", "ConsumedEnergyRaw": "0",
}  # fmt: skip
NEXT = JOB | {"JobIDRaw": "8"}
UNBEGUN = {"Start": "Unknown", "End": "Unknown", "ElapsedRaw": "0", "AllocTRES": ""}


def sacct(*jobs: dict[str, str], without: tuple[str, ...] = (), end: str = "\n") -> str:
    """These jobs as sacct writes them; the first says which columns there are."""
    columns = [name for name in jobs[0] if name not in without]
    return end.join(["|".join(columns), *("|".join(job.get(name, "") for name in columns) for job in jobs), ""])
