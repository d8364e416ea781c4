"""Start requests for jobs and job steps. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import Any, Final

from dardis.live.job_files import REMOTE_SHELL, SmallFile, host_file, launcher_file, local_host_file, script_file
from dardis.live.job_items import filled_words
from dardis.live.job_option_texts import UNLIMITED_S
from dardis.live.job_request import job_paths
from dardis.live.job_steps import StepCommand, step_files, step_output_path
from dardis.live.live_jobs import LiveJob, NodeShare
from dardis.live.machine import LiveMachine
from dardis.live.slurm_environment import slurm_environment
from dardis.live.slurm_names import PROGRAMS
from dardis.live.slurm_programs.__main__ import PROGRAMS as NAMES

_LOGIN_BASH: Final = re.compile(r"#![ \t]*\S*\bbash[ \t]+(?:\S+[ \t]+)*?(?:-[a-z]*l[a-z]*|--login)\b")
BASE_PATH = "/usr/local/bin:/usr/bin:/bin"


def files_of(job: LiveJob) -> list[SmallFile]:
    """Job's files."""
    script = job.submission.script
    return [*_host_files(job), *([script_file(script, job.submission.user)] if script else [])]


def step_files_of(run: str, job: LiveJob) -> list[SmallFile]:
    """Files of a job step."""
    return [*_host_files(job), *step_files(run, job.submission.user)]


def _host_files(job: LiveJob) -> list[SmallFile]:
    if len(job.shares) > 1:
        return [host_file(job), launcher_file(job)]
    return [host_file(job), *(local_host_file(job, for_hydra=hydra) for hydra in (False, True))]


def start_request(job: LiveJob, machine: LiveMachine, folder: Path, now_ms: int, *, as_root: bool) -> dict[str, Any]:
    """Start request for the first host of a job, with the host's folder. `now_ms`: Unix ms."""
    submission, asked = job.submission, job.submission.request
    asker = submission.user
    script = [str(folder / script_file(submission.script, asker).path)] if submission.script else []
    array = None if job.index is None else submission.first
    chdir, output, error = job_paths(
        asked, job.number, array, job.index, asker.name, submission.cwd, job.shares[0].node
    )
    environment = {"PATH": BASE_PATH, **_for_mpi(job, folder), **submission.environment}
    environment["PATH"] = f"{folder / PROGRAMS}:{environment['PATH']}"
    if _LOGIN_BASH.match(submission.script):  # whose profile may replace PATH
        functions = {f"BASH_FUNC_{name}%%": f'() {{ {quote(str(folder / PROGRAMS / name))} "$@"\n}}' for name in NAMES}
        environment |= functions
    return {
        "run": job.run, "files": [file.path for file in files_of(job)], "argv": [*script, *_job_words(job)],
        "env": environment | _job_environment(job, job.shares[0], folder, now_ms), "chdir": chdir,
        "input": None if asked.stdin is None else str(Path(chdir, asked.stdin)), "output": output, "error": error,
        "append": asked.append or job.attempt > 1, "lease": job.leased, "tmp": True,
        "signal": _signal(job, None), **_limits(job, job.shares[0], machine, as_root=as_root),
    }  # fmt: skip


def _job_words(job: LiveJob) -> Sequence[str]:
    argv, item = job.submission.request.argv, job.submission.item(job.number)
    return argv if item is None else filled_words(argv, item, is_json=job.submission.has_json_items)


def step_start_request(
    run: str, job: LiveJob, node: str, asked: StepCommand, machine: LiveMachine, folder: Path, now_ms: int,
    *, as_root: bool,
) -> dict[str, Any]:  # fmt: skip
    """Start request for a job step on `node`, with its host's folder.

    Time limit and end: those of the job.
    """
    share = next(share for share in job.shares if share.node == node)
    output, error = (str(folder / step_output_path(run, stream)) for stream in ("out", "err"))
    return {
        "run": run, "files": [file.path for file in step_files_of(run, job)], "argv": list(asked.argv),
        "env": {**asked.environment, **_job_environment(job, share, folder, now_ms), **asked.variables},
        "chdir": asked.cwd,
        "input": asked.stdin, "output": output, "error": error, "append": True, "tmp": machine.host(node) != job.host,
        "signal": _signal(job, now_ms),
        **_limits(job, replace(share, cores=tuple(asked.cores) or share.cores), machine, as_root=as_root),
    }  # fmt: skip


def _limits(job: LiveJob, share: NodeShare, machine: LiveMachine, *, as_root: bool) -> dict[str, Any]:
    asker, asked = job.submission.user, job.submission.request
    mib = asked.memory_mib
    if asked.memory_per_cpu_mib is not None:
        mib = asked.memory_per_cpu_mib * len(next(one.cores for one in job.shares if one.node == share.node))
    return {
        "cores": _bound_cores(share, machine),
        "memory_bytes": mib << 20 if mib else None,
        "walltime_ms": None if asked.walltime_s == UNLIMITED_S else asked.walltime_s * 1000,
        "grace_ms": asked.grace * 1000,
        "user": {"uid": asker.uid, "gid": asker.gid, "groups": list(asker.groups)} if as_root else None,
    }  # fmt: skip


def _signal(job: LiveJob, now_ms: int | None) -> dict[str, Any] | None:
    asked, warning = job.submission.request, job.submission.request.signal
    if warning is None or asked.walltime_s == UNLIMITED_S or warning.batch == (now_ms is not None):
        return None
    elapsed_ms = 0 if now_ms is None or job.started_ms is None else now_ms - job.started_ms
    after_ms = (asked.walltime_s - warning.before_s) * 1000 - elapsed_ms
    if after_ms < 0 and now_ms is not None:  # the signal was sent before the step began
        return None
    return {"number": warning.number, "after_ms": max(after_ms, 0), "first_only": warning.batch}


def _bound_cores(share: NodeShare, machine: LiveMachine) -> Iterable[int] | None:
    return share.cores if machine.cores else None


def _job_environment(job: LiveJob, share: NodeShare, folder: Path, now_ms: int) -> dict[str, str]:
    environment = slurm_environment(job, share, now_ms // 1000) | {
        "DARDIS_JOB_ID": str(job.number),
        "DARDIS_JOB_NAME": job.submission.request.name,
        "DARDIS_FOLDER": str(folder),
        "DARDIS_NODES": ",".join(share.node for share in job.shares),
        "DARDIS_CPUS": str(len(share.cores)),
        "DARDIS_HOSTFILE": str(folder / host_file(job).path),
    }
    if (item := job.submission.item(job.number)) is not None:
        environment["DARDIS_ITEM"] = item
    if job.index is not None:
        environment["DARDIS_ARRAY_JOB_ID"] = str(job.submission.first)
        environment["DARDIS_ARRAY_INDEX"] = str(job.index)
    if share.gpus:
        environment["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, share.gpus))
    return environment


def _for_mpi(job: LiveJob, folder: Path) -> Mapping[str, str]:
    if len(job.shares) == 1:  # without these, SLURM_* makes launchers use srun
        return {
            "PRTE_MCA_ras": "^slurm,pbs", "PRTE_MCA_plm": "^slurm", "OMPI_MCA_ras": "^slurm", "OMPI_MCA_plm": "^slurm",
            "HYDRA_RMK": "user", "HYDRA_LAUNCHER": "fork",
            "PRTE_MCA_prte_default_hostfile": str(folder / local_host_file(job, for_hydra=False).path),
            "OMPI_MCA_orte_default_hostfile": str(folder / local_host_file(job, for_hydra=False).path),
            "HYDRA_HOST_FILE": str(folder / local_host_file(job, for_hydra=True).path),
        }  # fmt: skip
    shell, hosts = str(folder / REMOTE_SHELL), str(folder / host_file(job).path)
    return {
        # Open MPI 5
        "PRTE_MCA_plm": "ssh", "PRTE_MCA_plm_ssh_agent": shell, "PRTE_MCA_prte_default_hostfile": hosts,
        "PRTE_MCA_ras": "^slurm,pbs",
        # Open MPI 4
        "OMPI_MCA_ras": "^slurm", "OMPI_MCA_plm": "rsh", "OMPI_MCA_plm_rsh_agent": shell,
        "OMPI_MCA_orte_default_hostfile": hosts,
        # MPICH
        "HYDRA_LAUNCHER": "ssh", "HYDRA_LAUNCHER_EXEC": shell, "HYDRA_RMK": "user",
        "HYDRA_HOST_FILE": str(folder / launcher_file(job).path),
    }  # fmt: skip
