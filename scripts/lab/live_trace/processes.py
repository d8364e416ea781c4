"""The processes of a service over several hosts of one machine, and what may befall them."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from random import Random


class Processes:
    """Those that name a folder: `mpirun`, ranks and keepers."""

    def __init__(self, folder: Path) -> None:
        """Look at nothing yet."""
        self._folder = str(folder)

    def by_kind(self) -> dict[str, list[int]]:
        """Their process numbers, by what they are."""
        found: dict[str, list[int]] = {"mpirun": [], "rank": [], "keeper": []}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with suppress(OSError):
                    words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
                    if kind := self._kind(words):
                        found[kind].append(int(entry.name))
        return found

    def _kind(self, words: list[str]) -> str:
        if not any(word == self._folder or word.startswith(self._folder + "/") for word in words):
            return ""
        if "dardis.live.keeper" in words:
            return "keeper"
        program = Path(words[0]).name
        if program in {"mpirun", "prterun", "mpiexec"}:
            return "mpirun"
        return "rank" if "serve" in words and program.startswith("python") else ""

    def disturb_one(self, rng: Random) -> str:
        """Kill one of them, or stop it for up to some seconds; which kind, and how."""
        kinds = {kind: numbers for kind, numbers in self.by_kind().items() if numbers}
        if not kinds:
            return "nothing there"
        kind = rng.choice(sorted(kinds))
        number = rng.choice(sorted(kinds[kind]))
        stops = rng.random() < 0.3
        with suppress(ProcessLookupError):
            os.kill(number, signal.SIGSTOP if stops else signal.SIGKILL)
            if stops:
                time.sleep(rng.uniform(0.1, 8.0))
                os.kill(number, signal.SIGCONT)
        return f"{kind} {'stopped' if stops else 'killed'}"
