"""Runs dispatchers side by side by `dardis compare`, whose folder keeps the runs that have ended."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scripts.lab.kit.command import DARDIS, ROOT

Settings = Mapping[str, str | int]


@dataclass(frozen=True)
class Contender:
    """A dispatcher with its settings, and what it is called."""

    label: str
    dispatcher: str
    settings: Settings = field(default_factory=dict)

    def lines(self) -> list[str]:
        """What says so in the file of a comparison."""
        stated = ", ".join(f'{key} = "{value}"' for key, value in self.settings.items())
        return [
            "",
            "[[dispatchers]]",
            f'name = "{self.dispatcher}"',
            f'label = "{self.label}"',
            f"settings = {{ {stated} }}",
        ]


@dataclass(frozen=True)
class Experiment:
    """A part of a trace on a machine, and who dispatches it; its name is the folder of its runs."""

    name: str
    trace: Path
    platform: Path
    contenders: Sequence[Contender]
    deadlines: str | None = None
    jobs: int | None = None
    """Only the first so many."""

    def spec(self) -> str:
        """The file of its comparison."""
        lines = ["[[traces]]", f'trace = "{self.trace}"', f'platform = "{self.platform}"', f'name = "{self.name}"']
        lines += [f'deadlines = "{self.deadlines}"'] if self.deadlines else []
        lines += [f"jobs = {self.jobs}"] if self.jobs is not None else []
        return "\n".join([*lines, *(line for one in self.contenders for line in one.lines())]) + "\n"

    def run(self, runs: Path, processes: int | None, limit: float | None = None) -> dict[str, Path]:
        """Do the runs that are missing; return the folders of those that have ended well, by label."""
        runs.mkdir(parents=True, exist_ok=True)
        spec, out = runs / f"{self.name}.toml", runs / self.name
        spec.write_text(self.spec(), encoding="utf-8")
        status = compare(spec, out, processes, limit)
        if status not in {None, 0, 1}:
            sys.exit(status)
        found = done(out, self.name)
        return {one.label: found[one.label][0] for one in self.contenders if one.label in found}


def compare(spec: Path, out: Path, processes: int | None, limit: float | None) -> int | None:
    """Do the runs of a comparison that are missing; return the exit status, None when the time (s) was up."""
    command = [*DARDIS, "compare", str(spec), "--out", str(out)]
    if processes is not None:
        command += ["--processes", str(processes)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=sys.stderr)
    try:
        return process.wait(limit)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        process.wait()
        return None


def done(folder: Path, trace: str) -> dict[str, list[Path]]:
    """The folders of the runs of a trace that ended well, by label, in the order of their seeds' names."""
    runs = json.loads((folder / "compare.json").read_text(encoding="utf-8"))["runs"]
    folders: dict[str, list[Path]] = {}
    for key, run in sorted(runs.items()):
        name, label, _ = key.split("/")
        if name == trace and run["status"] == "done":
            folders.setdefault(label, []).append(folder / "runs" / key)
    return folders
