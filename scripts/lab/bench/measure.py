"""Runs programs and says what they cost: CPU seconds of the whole process tree, start-up included, and peak memory.

Promises that what is compared runs in turns (A B A B …), so that a busy machine slows all alike.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

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


def in_turns(commands: Mapping[str, Sequence[str]], repeats: int) -> dict[str, list[Cost]]:
    """Run all commands `repeats` times, in turns, and return every run's cost by the command's name."""
    costs: dict[str, list[Cost]] = {name: [] for name in commands}
    for turn in range(repeats):
        for name, command in commands.items():
            costs[name].append(run_once(command))
            sys.stderr.write(f"turn {turn + 1}/{repeats}  {name}: {costs[name][-1].cpu_s:.2f} CPU s\n")
    return costs
