"""Runs dispatchers side by side by `dardis compare`, whose folder keeps the runs that have ended."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripts.lab.kit.command import DARDIS, ROOT

Dispatchers = Mapping[str, Sequence[str]]
"""By label a dispatcher and what is set, `KEY=VALUE` each."""


def read_spec(module: str, name: str = "spec") -> dict[str, Any]:
    """The specification, or the claims, that stand beside a module's file."""
    return tomllib.loads(Path(module).with_name(f"{name}.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Comparison:
    """Traces, each with its options, and who dispatches them; `path` is that of its file and folder, without ending."""

    path: Path
    traces: Sequence[Mapping[str, object]]
    """As [[traces]] of a comparison's file; what is None is left out."""
    dispatchers: Dispatchers
    seeds: str = "1"

    def spec(self) -> str:
        """Its file."""
        lines = [f"seeds = [{self.seeds}]"]
        for trace in self.traces:
            lines += ["", "[[traces]]"]
            lines += [f"{key} = {_toml(value)}" for key, value in trace.items() if value is not None]
        for label, (name, *settings) in self.dispatchers.items():
            pairs = (setting.split("=", 1) for setting in settings)
            stated = ", ".join(f"{key} = {_toml(value)}" for key, value in pairs)
            lines += ["", "[[dispatchers]]", f'name = "{name}"', f'label = "{label}"', f"settings = {{ {stated} }}"]
        return "\n".join(lines) + "\n"

    def run(self, processes: int | None, limit: float | None = None) -> int | None:
        """Do the runs that are missing; return 0, 1 where one failed, or None when the time (s) was up.

        Exits where no comparison is possible.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        spec = self.path.with_name(f"{self.path.name}.toml")
        spec.write_text(self.spec(), encoding="utf-8")
        command = [*DARDIS, "compare", str(spec), "--out", str(self.path)]
        if processes is not None:
            command += ["--processes", str(processes)]
        process = subprocess.Popen(command, cwd=ROOT, stdout=sys.stderr)
        try:
            status = process.wait(limit)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            process.wait()
            return None
        if status not in {0, 1}:
            sys.exit(status)
        return status

    def done(self, trace: str) -> dict[str, list[Path]]:
        """The folders of a trace's runs that ended well, by label, in the order of their seeds' names."""
        told = self.path / "compare.json"  # not there if the comparison was stopped early
        runs = json.loads(told.read_text(encoding="utf-8"))["runs"] if told.exists() else {}
        folders: dict[str, list[Path]] = {label: [] for label in self.dispatchers}
        for key, run in sorted(runs.items()):
            name, label, _ = key.split("/")
            if name == trace and run["status"] == "done" and label in folders:
                folders[label].append(self.path / "runs" / key)
        return {label: of for label, of in folders.items() if of}


def _toml(value: object) -> str:
    return json.dumps(str(value) if isinstance(value, Path) else value, ensure_ascii=False)
