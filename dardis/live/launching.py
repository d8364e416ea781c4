"""What a keeper is told to start: a job's words, environment, files and limits. Pure, but for the script's file."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from dardis.live.asked import paths_of
from dardis.live.jobs import Asker, LiveJob
from dardis.live.machine import Machine

BASE_PATH = "/usr/local/bin:/usr/bin:/bin"


def script_place(folder: Path, script: str, asker: Asker) -> Path:
    """Where a job's script is while jobs run it; named by its content."""
    return folder / "scripts" / str(asker.uid) / hashlib.sha256(script.encode()).hexdigest()[:32]


def put_script(folder: Path, script: str, asker: Asker) -> Path:
    """Let a script be there, for its asker alone to read and run; nobody else may put anything into its folder."""
    path, text = script_place(folder, script, asker), script.encode()
    with suppress(FileNotFoundError):
        if path.stat().st_size == len(text):  # a power failure may have left less
            return path
    for place in (path.parent.parent, path.parent):
        place.mkdir(exist_ok=True)
        place.chmod(0o711)  # whatever the umask
    part = path.with_suffix(".part")
    part.unlink(missing_ok=True)
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o500), "wb") as file:
        file.write(text)
        if os.geteuid() == 0:
            os.fchown(file.fileno(), asker.uid, asker.gid)
    part.replace(path)
    return path


def host_file(folder: Path, machine: Machine, job: LiveJob) -> Path:
    """A file with a line for each node of a job, as mpirun takes it; the same for jobs with the same nodes."""
    lines = [f"{machine.names[share.node]} slots={len(share.cores)}\n" for share in job.shares]
    text = "".join(lines)
    path = folder / "hosts" / hashlib.sha256(text.encode()).hexdigest()[:32]
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        path.parent.chmod(0o755)  # whatever the umask
        part = path.with_suffix(".part")
        part.write_bytes(text.encode())
        part.chmod(0o644)
        part.replace(path)
    return path


def run_of(job: LiveJob, machine: Machine, folder: Path, *, as_root: bool) -> dict[str, Any]:
    """What the keeper of the job's first node is told."""
    submission, asked = job.of, job.of.asked
    asker = submission.asker
    words = list(asked.argv)
    if submission.script:
        words = [str(put_script(folder, submission.script, asker)), *words]
    array = None if job.index is None else submission.first
    chdir, output, error = paths_of(asked, job.number, array, job.index, asker.name, submission.cwd)
    return {
        "run": job.run, "argv": words, "env": _environment(job, machine, folder),
        "chdir": chdir, "output": output, "error": error, "append": job.attempt > 1,
        "cores": _bound(job, machine), "memory_bytes": None if asked.memory_mib is None else asked.memory_mib << 20,
        "walltime_ms": asked.walltime_s * 1000, "grace_ms": asked.grace * 1000,
        "user": {"uid": asker.uid, "gid": asker.gid, "groups": list(asker.groups)} if as_root else None,
    }  # fmt: skip


def _bound(job: LiveJob, machine: Machine) -> Iterable[int] | None:
    """The processors that it may use; None: any."""
    return job.shares[0].cores if machine.cores else None


def _environment(job: LiveJob, machine: Machine, folder: Path) -> dict[str, str]:
    environment = {"PATH": BASE_PATH, **job.of.environment}
    environment["DARDIS_JOB_ID"] = str(job.number)
    environment["DARDIS_JOB_NAME"] = job.of.asked.name
    environment["DARDIS_FOLDER"] = str(folder)
    environment["DARDIS_NODES"] = ",".join(machine.names[share.node] for share in job.shares)
    environment["DARDIS_CPUS"] = str(job.of.asked.cpus)
    environment["DARDIS_HOSTFILE"] = str(host_file(folder, machine, job))
    if job.index is not None:
        environment["DARDIS_ARRAY_JOB_ID"] = str(job.of.first)
        environment["DARDIS_ARRAY_INDEX"] = str(job.index)
    if job.shares[0].gpus:
        environment["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, job.shares[0].gpus))
    return environment
