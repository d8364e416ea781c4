"""A live service of several hosts on this machine, a rank each under mpirun."""

import os
from contextlib import suppress
from pathlib import Path

from kit.keeper import end_all, keeper_of
from kit.live import Live

ROOT = Path(__file__).resolve().parents[2]
PLATFORM = 'name = "m"\n[[nodes]]\ncount = 6\nprefix = "n"\nresources = { cores = 4, memory = "4GiB" }\n'
PLACES = ["", "host-1", "host-2"]
"""Where in the service's folder the hosts have theirs."""


class Ranks(Live):
    """Three hosts on this machine, started again by `launch/serve` when they die."""

    program = ROOT / "launch" / "serve", "-n", "3"
    environment = {"PYTHONPATH": str(ROOT)}  # noqa: RUF012 (nobody changes it)

    def __init__(self, folder, platform=PLATFORM):
        super().__init__(folder, platform)
        self.place = self.folder  # as its processes have it

    def is_ready(self, status):
        """Whether all hosts are heard, too."""
        return super().is_ready(status) and not status["silent"]

    def silent(self):
        return self.client.get("/status")["silent"]

    def _processes(self, word):
        """Those that have this word in their command line, and the folder."""
        for entry in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                words = (entry / "cmdline").read_bytes().split(b"\0")
                if word in words and any(one.startswith(str(self.place).encode()) for one in words):
                    yield int(entry.name), words

    def ranks(self):
        """The processes of all ranks, by rank."""
        found = {}
        for process, _ in self._processes(b"serve"):
            with suppress(OSError):
                for variable in Path(f"/proc/{process}/environ").read_bytes().split(b"\0"):
                    if variable.startswith(b"OMPI_COMM_WORLD_RANK="):
                        found[int(variable.partition(b"=")[2])] = process
        return found

    def keepers(self):
        """The processes of the keepers, by their hosts' ranks."""
        found = {rank: keeper_of(self.folder / place / "keeper") for rank, place in enumerate(PLACES)}
        return {rank: process for rank, process in found.items() if process is not None}

    def launcher(self):
        """The process of mpirun; None: there is none."""
        for process, words in self._processes(b"serve"):
            if Path(os.fsdecode(words[0])).name in {"mpirun", "prterun"}:
                return process
        return None

    def processes(self):
        """All that may die: `rank 0`, …, `keeper 0`, …, and `mpirun`."""
        found = {f"rank {rank}": process for rank, process in self.ranks().items()}
        found |= {f"keeper {rank}": process for rank, process in self.keepers().items()}
        launcher = self.launcher()
        return found if launcher is None else found | {"mpirun": launcher}

    def hosts(self):
        """Their names, by rank."""
        return list(dict.fromkeys(node["host"] for node in self.client.get("/nodes")["nodes"]))

    def end(self):
        super().end()
        if self.service is not None:
            end_all(self.folder)
