"""Replays an SWF trace in AccaSim under FCFS or EASY and first fit, without a schedule file: the peer at its quickest.

Runs in an environment of its own that holds AccaSim 1.1.3, and imports nothing of the project.
"""

from __future__ import annotations

import collections
import collections.abc
import json
import sys
import tempfile
from pathlib import Path


def main(policy: str, trace: str, nodes: str, cores: str) -> None:
    """Replay the plain SWF file `trace` on `nodes` nodes of `cores` cores under `policy`: fcfs or easy."""
    # AccaSim asks for the name that Python 3.10 took away.
    collections.Mapping = collections.abc.Mapping  # type: ignore[attr-defined]
    from accasim.base.allocator_class import FirstFit
    from accasim.base.scheduler_class import EASYBackfilling, FirstInFirstOut
    from accasim.base.simulator_class import Simulator

    scheduler = {"fcfs": FirstInFirstOut, "easy": EASYBackfilling}[policy]
    system = {
        "system_name": "bench",
        "start_time": 1000000,
        "equivalence": {"processor": {"core": 1}},
        "groups": {"g0": {"core": int(cores)}},
        "resources": {"g0": int(nodes)},
    }
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder, "system.json")
        config.write_text(json.dumps(system))
        Simulator(
            trace,
            str(config),
            scheduler(FirstFit()),
            RESULTS_FOLDER_PATH=folder,
            scheduling_output=False,
            statistics_output=True,
            show_statistics=False,
        ).start_simulation()


if __name__ == "__main__":
    main(*sys.argv[1:])
