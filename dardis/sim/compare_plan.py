"""Which runs a comparison needs, which of them an earlier one has left, and what is wrong before any of them starts."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from dardis import __version__
from dardis.config.comparison import Comparison, Contender, Workload
from dardis.config.platform import load_platform
from dardis.dispatch import CentralSetUp
from dardis.metrics.comparison import RunResult
from dardis.model.errors import InputError
from dardis.sim.dispatchers import DISPATCHERS, find_setup
from dardis.sim.outputs import RUN_FILE, sha256_of, write_json
from dardis.sim.request import RunRequest, load_inputs

STATE_FILE: Final = "compare.json"
"""What each run was asked and how it ended; a folder with it is that of a comparison."""
RUNS: Final = "runs"
DONE, FAILED = "done", "failed"
METRICS: Final = "metrics.json"
_NEEDED: Final = ("jobs.csv", METRICS, "metrics_by.csv", "profile.csv", RUN_FILE)
"""The files of a run that tables and report are made of."""


@dataclass(frozen=True)
class PlannedRun:
    """One run of a comparison: a workload under a contender with a seed, and its folder."""

    workload: Workload
    contender: Contender
    seed: int
    out: Path

    @property
    def key(self) -> str:
        """Its name in messages and in the state file, and its place under `runs`."""
        return f"{self.workload.name}/{self.contender.label}/{self.seed}"

    def request(self) -> RunRequest:
        """What the run is asked to be; whatever its folder holds of an earlier run is replaced."""
        w = self.workload
        return RunRequest(
            trace=w.trace, platform=w.platform, dispatcher=self.contender.dispatcher, out=self.out, seed=self.seed,
            jobs=w.jobs, start=w.start, end=w.end, profile=w.profile, deadlines=w.deadlines,
            settings=self.contender.settings, think_times=w.think_times, task_managers=w.task_managers, trim=w.trim,
            strict=w.strict, force=True,
        )  # fmt: skip

    def command(self) -> list[str]:
        """The command of a process that does it."""
        w = self.workload
        stated = {
            "platform": w.platform, "dispatcher": self.contender.dispatcher, "out": self.out, "seed": self.seed,
            "jobs": w.jobs, "from": w.start, "to": w.end, "profile": w.profile, "deadlines": w.deadlines,
            "task-managers": w.task_managers, "trim": f"{w.trim[0]},{w.trim[1]}" if w.trim else None,
        }  # fmt: skip
        flags = ["--think-times"] * w.think_times + ["--strict"] * w.strict
        return [
            sys.executable, "-m", "dardis", "simulate",
            *(f"--{name}={value}" for name, value in stated.items() if value is not None),
            *(f"--set={setting}" for setting in self.contender.settings),
            *flags, "--force", "--no-report", "--", str(w.trace),
        ]  # fmt: skip


class State:
    """What is known of a comparison's runs in a folder; kept in its STATE_FILE, which is whole at any time."""

    def __init__(self, out: Path) -> None:
        """Read what an earlier comparison left in `out`. Raises InputError when that is something else.

        A run of which it says nothing that makes sense counts as one that never was.
        """
        self._out = out
        self._path = out / STATE_FILE
        self._runs: dict[str, dict[str, Any]] = {}
        self._digests: dict[Path, str | None] = {}
        try:
            if self._path.exists():
                known = json.loads(self._path.read_text(encoding="utf-8"))["runs"].items()
                self._runs = {key: entry for key, entry in known if _is_entry(entry)}
            elif out.exists() and any(out.iterdir()):
                raise InputError(f"--out {out}", "holds something else than a comparison", "an empty folder")
        except OSError as error:
            raise InputError(f"--out {out}", error.strerror or "can't be read", "a folder") from None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            expected = "what a comparison wrote; take another --out, or remove this file and runs/ to do all anew"
            raise InputError(self._path, f"is damaged ({error})", expected) from None

    def is_done(self, run: PlannedRun, *, force: bool) -> bool:
        """Whether the folder holds just this run, whole and readable.

        Raises InputError when it holds one of another request, unless that is to be redone by `force`.
        """
        known = self._runs.get(run.key)
        if known is None or known["status"] != DONE:
            return False
        if not all((run.out / name).exists() for name in _NEEDED) or _read_back(run.out) is None:
            return False
        asked = self._asked(run)
        changed = sorted(key for key in asked | known["request"] if asked.get(key) != known["request"].get(key))
        if changed and not force:
            found = f"holds a run {run.key} with another {', '.join(changed)}"
            raise InputError(f"--out {self._out}", found, "the same request, another folder, or --force to redo it")
        return not changed

    def others(self, runs: Sequence[PlannedRun]) -> int:
        """How many runs the folder holds that are none of these."""
        asked = {run.key for run in runs}
        return sum(entry["status"] == DONE and key not in asked for key, entry in self._runs.items())

    def begin(self) -> None:
        """Make the folder. Raises InputError where it can't be written."""
        try:
            self._out.mkdir(parents=True, exist_ok=True)
            self._write()
        except OSError as error:
            raise InputError(f"--out {self._out}", error.strerror or "can't be made", "a writable folder") from None

    def settle(self, run: PlannedRun, error: str = "") -> None:
        """Remember that a run ended well, or why it did not."""
        self._runs[run.key] = {"status": FAILED if error else DONE, "error": error, "request": self._asked(run)}
        self._write()

    def result(self, run: PlannedRun) -> RunResult:
        """What came of a run that has been settled."""
        known, contender = self._runs[run.key], run.contender
        told, error = (None, known["error"]) if known["status"] == FAILED else (_read_back(run.out), "")
        if told is None:
            metrics, deadlines, error = None, "", error or f"left no {METRICS} and {RUN_FILE} that can be read"
        else:
            metrics, deadlines = told
        return RunResult(
            run.workload.name, contender.label, contender.dispatcher, contender.settings, run.seed, run.out, metrics,
            error, deadlines, isinstance(DISPATCHERS.get(contender.dispatcher), CentralSetUp),
        )  # fmt: skip

    def _write(self) -> None:
        write_json(self._path, {"dardis_version": __version__, "runs": self._runs})

    def _asked(self, run: PlannedRun) -> dict[str, Any]:
        """All that a run's outcome depends on, files by their content."""
        w = run.workload
        return {
            "trace": self._digest(w.trace), "platform": self._digest(w.platform), "profile": self._digest(w.profile),
            "deadlines": self._digest(Path(w.deadlines or "")) or w.deadlines,
            "dispatcher": run.contender.dispatcher, "settings": list(run.contender.settings), "jobs": w.jobs,
            "from": w.start, "to": w.end, "trim": list(w.trim) if w.trim else None, "task managers": w.task_managers,
            "file that the platform names": self._platform_files(w.platform),
            "think times": w.think_times, "strict": w.strict, "version of dardis": __version__,
        }  # fmt: skip

    def _platform_files(self, platform: Path) -> list[str | None] | None:
        """Digests of the files (prices, weather) that a platform names; None without any."""
        try:
            files = load_platform(platform).facility.files
        except InputError:  # its runs have failed for the same reason
            return None
        return [self._digest(Path(file)) for file in files] or None

    def _digest(self, path: Path | None) -> str | None:
        """Digest of a file, computed once."""
        if path is None:
            return None
        if path not in self._digests:
            self._digests[path] = sha256_of(path)
        return self._digests[path]


def _is_entry(entry: object) -> bool:
    """Whether this is what `State.settle` remembers of a run."""
    if not isinstance(entry, dict):
        return False
    kinds = {"status": str, "error": str, "request": dict}
    return all(isinstance(entry.get(key), kind) for key, kind in kinds.items()) and entry["status"] in {DONE, FAILED}


def _read_back(folder: Path) -> tuple[dict[str, Any], str] | None:
    """A run's metrics and the rule of its deadlines; None where they can't be read."""
    try:
        metrics = json.loads((folder / METRICS).read_text(encoding="utf-8"))
        deadlines = json.loads((folder / RUN_FILE).read_text(encoding="utf-8"))["deadlines"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return (metrics, deadlines) if isinstance(metrics, dict) and isinstance(deadlines, str) else None


def plan(comparison: Comparison, out: Path) -> list[PlannedRun]:
    """All runs: trace by trace, in each dispatcher by dispatcher, in each seed by seed."""
    return [
        PlannedRun(workload, contender, seed, out / RUNS / workload.name / contender.label / str(seed))
        for workload in comparison.workloads
        for contender in comparison.contenders
        for seed in comparison.seeds
    ]


def check(comparison: Comparison, runs: list[PlannedRun]) -> list[str]:
    """Read what the `runs` will read, and return the warnings. Raises the InputError that a run would end with."""
    for contender in comparison.contenders:
        try:
            find_setup(contender.dispatcher, contender.settings)
        except InputError as error:
            raise InputError(f"dispatcher {contender.label}", str(error)) from None
    first = {run.workload.name: run for run in reversed(runs)}
    return [warning for run in reversed(first.values()) for warning in load_inputs(run.request()).warnings]
