"""Jobs by Batsim's ids (`WORKLOAD!NAME`). Mistakes raise InputError."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum, auto
from typing import Any, Final

from dardis.batsim.batsim_messages import Decision
from dardis.model.addresses import JobId
from dardis.model.job import ActualJob, Job
from dardis.model.platform import Platform
from dardis.model.resources import CORES
from dardis.workload.batsim import Profiles, number
from dardis.workload.slurm_texts import whole_seconds
from dardis.workload.trace import LARGEST

WORKLOAD: Final = "w0"
"""Of the trace."""


class JobState(Enum):
    """Job's state."""

    EXPECTED = auto()
    WAITING = auto()
    RUNNING = auto()
    KILLED = auto()
    OVER = auto()


class BatsimJobs:
    """Jobs of trace and scheduler."""

    def __init__(self, jobs: Sequence[ActualJob], platform: Platform) -> None:
        self._platform = platform
        self.ids = {job.number: f"{WORKLOAD}!{job.number}" for job in jobs}
        self.truth = {job.number: job for job in jobs}
        self.states = dict.fromkeys(self.ids, JobState.EXPECTED)
        self.unsettled: set[JobId] = set()
        """Submitted or registered jobs, not over."""
        self._numbers = {name: job for job, name in self.ids.items()}
        self._profile_of = {job.number: f"delay-{job.runtime}" for job in jobs}
        self.profiles: dict[str, dict[str, Any]] = {
            WORKLOAD: {
                f"delay-{runtime}": {"type": "delay", "delay": runtime}
                for runtime in sorted({job.runtime for job in jobs})
            }
        }
        self._next = max(self.ids, default=0) + 1

    def number_of(self, decision: Decision, name: str) -> JobId:
        """Job's number."""
        found = self._numbers.get(name)
        if found is None:
            raise decision.mistake(f"job {name!r} is unknown")
        return found

    def find(self, decision: Decision, name: str) -> JobId:
        """Submitted job's number."""
        found = self.number_of(decision, name)
        if self.states[found] is JobState.EXPECTED:
            raise decision.mistake(f"job {name!r} is not submitted yet")
        return found

    def find_waiting(self, decision: Decision) -> JobId:
        """Waiting job's number."""
        name = decision.text("job_id")
        found = self.find(decision, name)
        if self.states[found] is not JobState.WAITING:
            state = "runs already" if self.states[found] is JobState.RUNNING else "is over"
            raise decision.mistake(f"job {name!r} {state}", "a job that waits")
        return found

    def settle(self, job: JobId, state: JobState) -> None:
        """Record an end."""
        self.states[job] = state
        self.unsettled.discard(job)

    def description(self, job: Job) -> dict[str, Any]:
        """Data of JOB_SUBMITTED."""
        name = self.ids[job.number]
        said = {
            "id": name,
            "subtime": float(job.submit),
            "res": job.amounts[self._platform.kinds.index(CORES)],
            "walltime": job.walltime,
            "profile": self._profile_of[job.number],
        }
        texts = {key: text for key in ("user", "queue", "name") if (text := getattr(job, key)) and text != name}
        return {"job_id": name, "job": said | texts}

    def progress(self, job: JobId, ran: int) -> dict[str, Any]:
        """Progress after `ran` s."""
        return {"profile": self._profile_of[job], "progress": ran / self.truth[job].runtime}

    def add_profile(self, decision: Decision) -> None:
        """Add a profile, unless known."""
        workload, name, profile = (
            decision.text("workload_name"),
            decision.text("profile_name"),
            decision.object("profile"),
        )
        self.profiles.setdefault(workload, {}).setdefault(name, profile)

    def add_job(self, decision: Decision) -> ActualJob:
        """Job of REGISTER_JOB."""
        name, asked = decision.text("job_id"), decision.object("job")
        workload, mark, _ = name.partition("!")
        if not mark or name in self._numbers:
            found = "is registered already" if mark else "names no workload"
            raise decision.mistake(f"job_id {name!r} {found}", "a new WORKLOAD!NAME")
        units, profile = asked.get("res"), asked.get("profile")
        if type(units) is not int or not 0 < units <= LARGEST:
            raise decision.mistake(f"res is {units!r}", "a number of resources")
        runtime = self._runtime(decision, self.profiles.get(workload, {}), profile, units)
        try:
            walltime = whole_seconds(number(asked, "walltime")) if asked.get("walltime") is not None else -1
        except ValueError as error:
            raise decision.mistake(str(error), "a number of s") from None
        job = JobId(self._next)
        self._next += 1
        request = tuple(int(kind == CORES) for kind in self._platform.kinds)
        wanted = Job(
            job, decision.at, decision.at, None, walltime if walltime > 0 else runtime, units, request,
            self._platform.all_groups, name=name,
        )  # fmt: skip
        self.ids[job], self._numbers[name], self._profile_of[job] = name, job, str(profile)
        self.truth[job] = ActualJob(wanted, runtime)
        self.states[job] = JobState.EXPECTED
        self.unsettled.add(job)
        return self.truth[job]

    def _runtime(self, decision: Decision, profiles: Mapping[str, Any], name: object, hosts: int) -> int:
        try:
            found = Profiles(profiles, self._platform.flop_per_s).seconds(name, hosts)
        except ValueError as error:
            raise decision.mistake(str(error), "a profile registered before") from None
        if isinstance(found, str) or not 0 <= found <= LARGEST:
            raise decision.mistake(found if isinstance(found, str) else f"profile {name!r} takes {found} s")
        return max(whole_seconds(found), 1)
