"""Runs a `dardis` command in this process and prints which share of its CPU went into writing its outputs, as JSON.

That is all after the simulation's end: the schedule that the record makes, its figures, and the files.
"""

from __future__ import annotations

import json
import sys
import time

from dardis.cli.main import run
from dardis.sim.simulation import Progress, Simulation


def main(arguments: list[str]) -> None:
    """Run the command of a central dispatcher with these arguments; its own output goes to standard error."""
    simulate, ended = Simulation.run, []

    def watched(simulation: Simulation, progress: Progress | None = None) -> None:
        simulate(simulation, progress)
        ended.append(time.process_time())

    Simulation.run = watched  # type: ignore[method-assign, assignment]
    answers, sys.stdout = sys.stdout, sys.stderr
    if run(arguments) != 0:
        raise SystemExit(1)
    total = time.process_time()
    answers.write(json.dumps({"outputs_cpu_s": total - ended[0], "share": (total - ended[0]) / total}))


if __name__ == "__main__":
    main(sys.argv[1:])
