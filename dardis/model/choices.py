"""Settings of dispatchers and resampling."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Self

from dardis.model.numbers import whole_number


class Choice(StrEnum):
    """Value of a setting with a meaning: `FIRST = "first", "All feasible starts."`."""

    about: str
    """Meaning for the docs; empty if obvious."""

    def __new__(cls, word: str, about: str = "") -> Self:
        """Create a member."""
        member = str.__new__(cls, word)
        member._value_ = word
        member.about = about
        return member


class NodeChoice(Choice):
    """Which nodes a job takes, of those that can hold it at its start."""

    BEST_FIT = (
        "best-fit",
        (
            "Nodes that fit the fewest units first, then those with the least idle time around the run, then the lowest"
            " number."
        ),
    )
    WORST_FIT = "worst-fit", "Nodes with the most free capacity first."
    RANDOM = "random", "Random order for each job."
    FIRST_FIT = "first-fit", "Lowest number first."
    CONTIGUOUS = (
        "contiguous",
        "The shortest block of adjacent nodes that fits the job, else the blocks that fit the most units.",
    )


class UnitsPerNode(Choice):
    """Whether a node may take several units of a job."""

    DISTINCT = "distinct", "At most one unit of a job."
    PACK = "pack", "Several units of a job."


class ProfileRule(Choice):
    """What the desired profile means."""

    SOFT = (
        "soft",
        (
            "A job follows the profile if a start in its window does. Otherwise it exceeds the profile to keep its"
            " deadline. Without deadlines, a job exceeds the profile only if no start follows it."
        ),
    )
    HARD = (
        "hard",
        (
            "The profile is never exceeded; `profile_check=instant` checks only starts. A job without a start"
            " waits, asks again after an early end or a change, and is rejected when no change can follow."
        ),
    )
    OFF = "off", "The scheduler ignores the profile. It is still measured."


class EventOrder(Choice):
    """Order of the events of one instant."""

    BATCHED = "batched", "All ends, then jobs that ask again, then arrivals."
    PER_EVENT = "per-event", "Arrivals, then each end with the jobs that ask again after it."


class OnOff(Choice):
    """On or off."""

    ON = "on"
    OFF = "off"


class Expecting(Choice):
    """Source of the expected durations of jobs.

    Used by reservations and the orders by walltime (`wt`, `sjbf`, `ljf`, `small`, `large`).
    """

    WALLTIME = "walltime", "The job's walltime."
    LAST_TWO = (
        "last-two",
        (
            "The mean runtime of the user's last two ended jobs, or the runtime of the only one. Without any:"
            " the walltime times the used share of all walltimes (Tsafrir, Etsion and Feitelson 2007)."
        ),
    )
    DATA_DRIVEN = (
        "data-driven",
        (
            "The runtime of the most similar job among those that have ended. First with the same user, name, queue,"
            " walltime and request; then with a name that differs only in its final number (a rule with `stem`); then"
            " with any request; then with the same user and name. Without any: the walltime (Galleguillos et al. 2017,"
            " used by PCP'19)."
        ),
    )
    USED_SHARE = (
        "used-share",
        (
            "The walltime times the mean share of walltimes that similar ended jobs used. Kinds from coarse to fine:"
            " all jobs; the same user; also the same walltime; also the same request; also the same name, without its"
            " final number. In each kind an ended job has 0.6 times the weight of the next one, and the coarser mean"
            " counts as 0.7 jobs."
        ),
    )
    LEARNED = (
        "learned",
        (
            "A random forest of 20 trees (scikit-learn) over the same data, sizes and the hour. It is trained on the"
            " last 10,000 jobs, again after a fifth more ends. Before 100 ends: as `data-driven`."
        ),
    )
    REAL = "real", "The real runtime, which is unknown in practice, for comparison with the other predictions."


class Correction(Choice):
    """How the prediction of a running job is raised when the job outlives it."""

    STEPS = (
        "steps",
        (
            "By 1, 5, 15, 30 min, 1, 2, 5, 10, 20, 50 and 100 h, at most to the walltime, each when the last"
            " prediction expires (Tsafrir, Etsion and Feitelson 2007)."
        ),
    )
    SECOND = "second", "By one second at every decision (PCP'19, section 4)."


class Overrun(StrEnum):
    """Jobs beyond the walltime are killed, or extended."""

    KILL = "kill"
    EXTEND = "extend"


class Resources(StrEnum):
    """Unit of `allocated_resources` in jobs.csv."""

    NODES = "nodes"
    CORES = "cores"


class Scaling(StrEnum):
    """Constant as ranks grow: the machine, or the part per rank."""

    STRONG = "strong"
    WEAK = "weak"


WIDTH_S: Final = 86_400
LARGEST_WIDTH_S: Final = 366 * 86_400


class ResamplingMethod(StrEnum):
    """Draw weeks, or move (shake) session starts."""

    WEEKS = "weeks"
    SHAKE = "shake"


@dataclass(frozen=True, slots=True)
class Resampling:
    """Resampling method; `shake` moves sessions by up to `width_s` seconds."""

    method: ResamplingMethod = ResamplingMethod.WEEKS
    width_s: int = WIDTH_S

    def __str__(self) -> str:
        return self.method if self.method is ResamplingMethod.WEEKS else f"{self.method}:{self.width_s}"


WEEKS: Final = Resampling()


def resampling_of(text: str) -> Resampling:
    """Read `weeks`, `shake` or `shake:WIDTH_S`. Raises ValueError."""
    name, colon, width = text.partition(":")
    if text == ResamplingMethod.WEEKS:
        return WEEKS
    wrong = ValueError(f"{text!r}; expected weeks, shake, or shake:WIDTH_S of 1 to {LARGEST_WIDTH_S} s")
    if name != ResamplingMethod.SHAKE:
        raise wrong
    try:
        return Resampling(ResamplingMethod.SHAKE, whole_number(width, 1, LARGEST_WIDTH_S) if colon else WIDTH_S)
    except ValueError:
        raise wrong from None


class WorkerKind(StrEnum):
    """Where runs happen."""

    PROCESSES = "processes"
    MPI = "mpi"
    SLURM = "slurm"
    DASK = "dask"


@dataclass(frozen=True, slots=True)
class WorkerChoice:
    """Workers, and Dask's address."""

    kind: WorkerKind = WorkerKind.PROCESSES
    address: str = ""

    def __str__(self) -> str:
        return f"{self.kind}:{self.address}" if self.address else self.kind


PROCESSES: Final = WorkerChoice()
_DASK: Final = re.compile(r"dask:((?:\w+://)?[^\s/:]+:\d{1,5})")


def worker_choice(text: str) -> WorkerChoice:
    """Read `processes`, `mpi`, `slurm` or `dask:ADDRESS`. Raises ValueError."""
    if text in set(WorkerKind) - {WorkerKind.DASK}:
        return WorkerChoice(WorkerKind(text))
    if match := _DASK.fullmatch(text):
        return WorkerChoice(WorkerKind.DASK, match[1])
    raise ValueError(f"{text!r}; expected processes, mpi, slurm, or dask:ADDRESS as in dask:tcp://host:8786")
