"""Settings that distributed and central dispatchers share, by the names that people give them."""

from __future__ import annotations

from enum import StrEnum


class NodeChoice(StrEnum):
    """Which of the nodes that can hold a job at its start it takes."""

    BEST_FIT = "best-fit"
    WORST_FIT = "worst-fit"
    RANDOM = "random"
    FIRST_FIT = "first-fit"
    CONTIGUOUS = "contiguous"


class UnitsPerNode(StrEnum):
    """Whether a node may take several units of a job."""

    DISTINCT = "distinct"
    PACK = "pack"


class ProfileRule(StrEnum):
    """What the desired profile means."""

    SOFT = "soft"
    HARD = "hard"
    OFF = "off"


class EventOrder(StrEnum):
    """At one instant: all ends, then arrivals; or arrivals, then each end by itself."""

    BATCHED = "batched"
    PER_EVENT = "per-event"


class OnOff(StrEnum):
    """On or off."""

    ON = "on"
    OFF = "off"


class Expecting(StrEnum):
    """Where a job's expected duration comes from: its walltime, jobs that have ended, or the truth."""

    WALLTIME = "walltime"
    LAST_TWO = "last-two"
    DATA_DRIVEN = "data-driven"
    LEARNED = "learned"
    REAL = "real"


class Correction(StrEnum):
    """How the prediction of a job is raised that runs longer than predicted: by growing steps, or by one second."""

    STEPS = "steps"
    SECOND = "second"


class Overrun(StrEnum):
    """What becomes of a job that runs longer than its walltime: it is killed then, or its walltime is its runtime."""

    KILL = "kill"
    EXTEND = "extend"


class Resources(StrEnum):
    """What a resource is to those who read `allocated_resources` of jobs.csv."""

    NODES = "nodes"
    CORES = "cores"


class Scaling(StrEnum):
    """What stays the same on more ranks: the machine, or each rank's part of it."""

    STRONG = "strong"
    WEAK = "weak"
