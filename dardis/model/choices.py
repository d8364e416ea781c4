"""Settings of dispatchers and resampling."""

from __future__ import annotations

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
    RANDOM = "random", "An order that is drawn for each job."
    FIRST_FIT = "first-fit", "Lowest number first."
    CONTIGUOUS = (
        "contiguous",
        "The shortest run of adjacent nodes that holds the job. If no run holds it, the runs that hold most.",
    )


class UnitsPerNode(Choice):
    """Whether a node may take several units of a job."""

    DISTINCT = "distinct", "One unit of a job at most."
    PACK = "pack", "Several units of a job."


class ProfileRule(Choice):
    """What the desired profile means."""

    SOFT = (
        "soft",
        (
            "A job keeps the profile if it finds a start in its window that does. Otherwise it exceeds the profile to"
            " keep its deadline. Without deadlines, only a job that fits at no time exceeds it."
        ),
    )
    HARD = (
        "hard",
        (
            "The profile is never exceeded; `profile_check=instant` checks starts alone. A job that finds no start"
            " waits, asks again when something ends early or changes, and is rejected when nothing can change any more."
        ),
    )
    OFF = "off", "The scheduler ignores the profile. It is still measured."


class EventOrder(Choice):
    """Order of the events of one instant."""

    BATCHED = "batched", "All ends, then the jobs that ask again, then arrivals."
    PER_EVENT = "per-event", "Arrivals, then each end with the jobs that ask again for it."


class OnOff(Choice):
    """On or off."""

    ON = "on"
    OFF = "off"


class Expecting(Choice):
    """Source of the expected durations of jobs.

    Reservations, and the orders by walltime (`wt`, `sjbf`, `ljf`, `small`, `large`), go by them.
    """

    WALLTIME = "walltime", "The job's walltime."
    LAST_TWO = (
        "last-two",
        (
            "The mean of the last two jobs of the user that have ended, or the duration of the only one. Without any:"
            " the walltime times the share of all walltimes that has been used (Tsafrir, Etsion and Feitelson 2007)."
        ),
    )
    DATA_DRIVEN = (
        "data-driven",
        (
            "The duration of the last job that has ended and is most alike. First the same user, name, queue, walltime"
            " and request; then a name that differs in the number at its end only (a rule with `stem`); then any"
            " request; then the same user and name alone. Without any: the walltime (Galleguillos et al. 2017, which"
            " PCP'19 uses)."
        ),
    )
    LEARNED = (
        "learned",
        (
            "The answer of a forest of 20 trees (scikit-learn) to all this, the sizes and the hour. The forest is grown"
            " anew whenever a fifth more jobs have ended, from the last 10,000. As `data-driven` before 100 have ended."
        ),
    )
    REAL = "real", "The real duration, which nothing can know: it shows what the other predictions lack."


class Correction(Choice):
    """How the prediction of a running job is raised when the job outlives it."""

    STEPS = (
        "steps",
        (
            "By 1, 5, 15, 30 min, 1, 2, 5, 10, 20, 50 and 100 h, at most to the walltime, each at the instant at which"
            " the last one expired (Tsafrir, Etsion and Feitelson 2007)."
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
