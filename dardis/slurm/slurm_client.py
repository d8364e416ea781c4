"""Slurm's client programs, with time limits."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from shutil import which
from typing import Final, NamedTuple, Protocol

from dardis.engine.clock import monotonic_s
from dardis.model.errors import DardisError, InputError, one_line

PROGRAMS: Final = ("squeue", "scontrol")
QUEUE: Final = ("squeue", "--all", "--json", "--states=all")
TIME_LIMIT_S: Final = 60
"""Longest call; a busy slurmctld answers within its MessageTimeout, usually 10 s."""


class SlurmError(DardisError):
    """A call failed, or took too long."""


class SlurmReply(NamedTuple):
    """Output of a call, and its duration."""

    text: str
    seconds: float


class SlurmPrograms(Protocol):
    """Runs Slurm's programs."""

    def call(self, *words: str) -> SlurmReply:
        """Run a program. Raises SlurmError."""
        ...


class InstalledPrograms:
    """Slurm's programs on PATH."""

    def __init__(self, needed: Sequence[str], time_limit_s: float = TIME_LIMIT_S) -> None:
        missing = [name for name in needed if which(name) is None]
        if missing:
            raise InputError(missing[0], "no such program", "Slurm's client programs on PATH")
        self._time_limit_s = time_limit_s

    def call(self, *words: str) -> SlurmReply:
        """Run a program. Raises SlurmError."""
        begun = monotonic_s()
        try:
            done = subprocess.run(
                words, capture_output=True, stdin=subprocess.DEVNULL, timeout=self._time_limit_s, check=False,
                env=_environment(),
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise SlurmError(f"{words[0]} gave no answer within {self._time_limit_s:g} s") from None
        except OSError as error:
            raise SlurmError(f"{words[0]} cannot be started ({error.strerror})") from None
        text = done.stdout.decode(errors="replace")
        if done.returncode != 0:
            said = done.stderr.decode(errors="replace").strip() or text.strip() or f"status {done.returncode}"
            raise SlurmError(one_line(f"{words[0]}: {said.splitlines()[-1]}", 200))
        return SlurmReply(text, monotonic_s() - begun)


def _environment() -> dict[str, str]:
    """Variables without options of users, with complete lists of tasks and Unix times."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SQUEUE_", "SLURM_CLUSTERS"))}
    return kept | {"SLURM_BITSTR_LEN": "0", "SLURM_TIME_FORMAT": "%s"}


SLOW_S: Final = 5.0
"""A slower answer doubles the time between rounds."""
LONGEST_WAIT_S: Final = 600.0


class PollPace:
    """Time between rounds: the usual one, doubled after each slow or failed round."""

    def __init__(self, usual_s: float) -> None:
        self._usual_s, self.wait_s = usual_s, usual_s

    def on_round(self, seconds: float | None) -> None:
        """Note the duration of a round's calls; None: a call failed."""
        if seconds is None or seconds > SLOW_S:
            self.wait_s = min(2 * self.wait_s, max(LONGEST_WAIT_S, self._usual_s))
        else:
            self.wait_s = self._usual_s
