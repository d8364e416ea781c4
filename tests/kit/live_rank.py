"""A rank of a live service without a launcher: `python -m kit.live_rank RANK RANKS MEETING FOLDER PLATFORM ADDRESS`.

MPI doesn't bring up ranks of one machine that can't reach each other by the loopback.
"""

import os
import sys
import time
from pathlib import Path

import numpy as np

from dardis.live import ranks
from dardis.live.job_option_texts import UNLIMITED_S
from dardis.live.switch_programs import NO_SWITCHING, switch_programs
from dardis.live.user_limits import DEFAULT_JOBS


class Meeting:
    """Ranks that gather and broadcast by files of a folder, as far as those who serve ask a communicator for it."""

    def __init__(self, folder, rank, size):
        self.folder, self.rank, self.size = Path(folder), rank, size
        self._number = 0

    def _give(self, payload):
        self._number += 1
        place = self.folder / f"{self._number}-{self.rank}"
        place.with_suffix(".part").write_bytes(payload)
        place.with_suffix(".part").rename(place)

    def _of(self, rank):
        place = self.folder / f"{self._number}-{rank}"
        while not place.exists():
            time.sleep(0.01)
        return place.read_bytes()

    def Bcast(self, buffer, root):  # noqa: N802 (as MPI has it)
        self._give(bytes(buffer))
        buffer[:] = self._of(root)

    def Gather(self, sent, got):  # noqa: N802
        self._give(sent.tobytes())
        if got is not None:
            got[:] = [np.frombuffer(self._of(rank), sent.dtype)[0] for rank in range(self.size)]

    def Gatherv(self, sent, got):  # noqa: N802
        self._give(bytes(sent))
        if got is not None:
            buffer, _ = got
            buffer[:] = b"".join(self._of(rank) for rank in range(self.size))


def switching():
    """Programs that the environment names, or none."""
    if "OFF_PROGRAM" not in os.environ:
        return NO_SWITCHING
    off, on, idle, limit = (os.environ[name] for name in ("OFF_PROGRAM", "ON_PROGRAM", "IDLE_S", "LIMIT_S"))
    return switch_programs(Path(off), Path(on), 0, f"{idle}s", f"{limit}s")


def main():
    rank, size, meeting, folder, platform, address = sys.argv[1:]
    ranks.finish = lambda: None  # there is no MPI to be over
    asked = ranks.ServiceSettings(
        Path(folder), Path(platform), None, False, DEFAULT_JOBS, UNLIMITED_S, None, 1, False, None, False, None, None,
        switching(), address, lambda _: None,
    )  # fmt: skip
    return ranks.serve_ranks(Meeting(meeting, int(rank), int(size)), asked)


if __name__ == "__main__":
    sys.exit(main())
