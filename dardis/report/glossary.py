"""Definitions of report terms."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from markupsafe import Markup, escape


class GlossaryEntry(NamedTuple):
    """Term's definition."""

    text: str
    section: str
    """Anchor in docs/metrics.md."""


_JOBS, _MACHINE, _SCHEDULER = "of-the-jobs", "of-the-machine", "of-the-scheduler"
GLOSSARY: Final[dict[str, GlossaryEntry]] = {
    "killed": GlossaryEntry("stopped before its end: at its walltime, or because a node failed", _JOBS),
    "rejected": GlossaryEntry("never started: too large for the machine, or against a rule of the site", _JOBS),
    "makespan": GlossaryEntry("from the first submission to the last end", _JOBS),
    "wait": GlossaryEntry("from submission to start", _JOBS),
    "bounded slowdown": GlossaryEntry("(wait + run) / run, at least 1, where runs under 10 s count as 10 s", _JOBS),
    "slowdown": GlossaryEntry("(wait + run) / run", _JOBS),
    "late jobs": GlossaryEntry("jobs that started after their latest start", _JOBS),
    "weighted tardiness": GlossaryEntry(
        "tardiness in windows: each job's over the time between its earliest and latest start", _JOBS
    ),
    "tardiness": GlossaryEntry("sum over jobs of the time from the deadline (latest start) to a later start", _JOBS),
    "weighted queue time": GlossaryEntry(
        "waits in windows: each job's over the time between its earliest and latest start", _JOBS
    ),
    "fragmentation": GlossaryEntry("blocks of neighbouring nodes of a job", _JOBS),
    "spread": GlossaryEntry("number of nodes from a job's first to its last node, over the nodes of the job", _JOBS),
    "overutilisation": GlossaryEntry(
        "core-seconds used above the desired profile, or above the capacity without one", _MACHINE
    ),
    "utilisation": GlossaryEntry("core-seconds of all runs over those of the machine in the makespan", _MACHINE),
    "dissimilarity": GlossaryEntry("distance between use and desired profile up to the last deadline", "dissimilarity"),
    "decisions": GlossaryEntry("number of times that the scheduler decided", _SCHEDULER),
    "renegotiations": GlossaryEntry(
        "requests and claims after a job's first: doubled windows, and asking again for earlier starts", _SCHEDULER
    ),
    "messages": GlossaryEntry("messages between task managers and node managers", _SCHEDULER),
    "overhead": GlossaryEntry(
        "CPU time of decisions over the time from the first submission to the last end", _SCHEDULER
    ),
    "clairvoyant": GlossaryEntry("with knowledge of all jobs and runtimes in advance", "clairvoyance"),
    "pue": GlossaryEntry("power usage effectiveness: energy of IT and cooling over that of IT", "power-and-money"),
    "cycles": GlossaryEntry(
        "shut-downs of a node, each followed by a boot before it is used again", "of-nodes-that-are-switched"
    ),
    "schedule digest": GlossaryEntry("fingerprint of the schedule: equal schedules have equal digests", "the-digest"),
}
"""Longer terms come first."""


_INFLECTED: Final = {"waits": "wait", "slowdowns": "slowdown", "bounded slowdowns": "bounded slowdown",
                     "decision": "decisions", "renegotiations per job": "renegotiations"}  # fmt: skip
_FOUND: Final = re.compile(
    r"\b(" + "|".join(re.escape(word) for word in sorted([*GLOSSARY, *_INFLECTED], key=len, reverse=True)) + r")\b",
    re.IGNORECASE,
)


class TermLinker:
    """Terms used in a page."""

    def __init__(self) -> None:
        self._used: set[str] = set()

    def link_terms(self, text: str) -> Markup:
        """Link terms in a text."""
        pieces = _FOUND.split(str(text))
        return Markup("").join(self._link(piece) if place % 2 else piece for place, piece in enumerate(pieces))

    def _link(self, said: str) -> Markup:
        word = _INFLECTED.get(said.lower(), said.lower())
        self._used.add(word)
        return Markup('<a class="word" href="#{}">{}</a>').format(anchor(word), said)

    def used_terms(self) -> list[tuple[str, str, str]]:
        """Anchor, term and meaning of linked terms."""
        return [(anchor(word), word, GLOSSARY[word].text) for word in sorted(self._used)]


def anchor(word: str) -> str:
    """Definition's anchor."""
    return "def-" + str(escape(word.lower().replace(" ", "-")))
