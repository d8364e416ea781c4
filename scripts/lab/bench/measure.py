"""Runs programs and says what they cost: CPU seconds of the whole process tree, start-up included, and peak memory.

Promises that what is compared runs in turns (A B A B …), so that a busy machine slows all alike.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from scripts.lab.kit.spread import Spread

T = TypeVar("T")
COST_OF = Path(__file__).with_name("cost_of.py")


class RunError(Exception):
    """A measured program ended with an error; the text names it and shows the end of its output."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one run took: `cpu_s` of all its processes, user and system, `peak_mib` of the largest of them."""

    cpu_s: float
    peak_mib: float


def run_once(command: Sequence[str]) -> Cost:
    """Run a command to its end. Raises RunError unless it ends with 0."""
    watched = [sys.executable, "-I", "-S", str(COST_OF), *command]
    done = subprocess.run(watched, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    cost = json.loads(done.stdout) if done.returncode == 0 else {"status": "not started"}
    if cost.pop("status") != 0:
        raise RunError(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
    return Cost(**cost)


def output_of(command: Sequence[str]) -> str:
    """What a command writes to standard output. Raises RunError unless it ends with 0."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RunError(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
    return done.stdout


def cpu_of(work: Callable[[], T], times: int = 1) -> tuple[T, float]:
    """What comes of some work that is done so often in this process, and the CPU seconds of all."""
    begun = time.process_time()
    for _ in range(times):
        came = work()
    return came, time.process_time() - begun


def in_turns(commands: Mapping[str, Sequence[str]], repeats: int) -> dict[str, list[Cost]]:
    """Run all commands `repeats` times, in turns, and return every run's cost by the command's name."""
    costs: dict[str, list[Cost]] = {name: [] for name in commands}
    for turn in range(repeats):
        for name, command in commands.items():
            costs[name].append(run_once(command))
            sys.stderr.write(f"turn {turn + 1}/{repeats}  {name}: {costs[name][-1].cpu_s:.2f} CPU s\n")
    return costs


def own_peak() -> Spread:
    """The memory of this process at its largest so far, MiB."""
    return Spread.of([resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024])


@dataclass(frozen=True, slots=True)
class Row:
    """One program on one workload. `ratio` is named by `ratio_of`, taken turn by turn; `notes` are further figures."""

    comparison: str
    program: str
    jobs: int
    cpu_s: Spread
    peak_mib: Spread = field(default_factory=own_peak)
    ratio: Spread | None = None
    ratio_of: str = ""
    goal: str = ""
    notes: dict[str, float] | None = None


def row_of(
    comparison: str, program: str, jobs: int, costs: Sequence[Cost], ratio: Spread | None = None, ratio_of: str = "",
    goal: str = "", notes: dict[str, float] | None = None,
) -> Row:  # fmt: skip
    """Sum up the runs of a program."""
    spent, peak = (Spread.of([getattr(cost, what) for cost in costs]) for what in ("cpu_s", "peak_mib"))
    return Row(comparison, program, jobs, spent, peak, ratio, ratio_of, goal, notes)


def cpu_ratio(above: Sequence[Cost], below: Sequence[Cost]) -> Spread:
    """CPU time over CPU time, turn by turn."""
    return Spread.ratio([cost.cpu_s for cost in above], [cost.cpu_s for cost in below])
