"""The compiled simulation of a queue, beside the simulation by events of the same jobs."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from unittest.mock import patch

from dardis.config.run_spec import RunSpec
from dardis.model.files import InputFiles
from dardis.runs.inputs import load_inputs
from dardis.runs.play import play
from dardis.runs.queue_runs import QueueRuns
from dardis.sim import compiled_simulation
from scripts.lab.bench.measure import Row, cpu_of
from scripts.lab.kit.spread import Spread

DISPATCHERS = ("easy", "rules-fcfs", "conservative")


def queue_loop(name: str, trace: Path, platform: Path, repeats: int, goal: str) -> list[Row]:
    """Rows of each dispatcher: loop alone, and its speed-up over the events of the first tenth of the jobs."""
    rows = []
    for dispatcher in DISPATCHERS:
        request = RunSpec(trace=trace, platform=platform, dispatcher=dispatcher, out=Path("unused"))
        inputs = load_inputs(request, InputFiles())
        jobs, some = inputs.jobs, inputs.jobs[: len(inputs.jobs) // 10]
        runs = QueueRuns(name, jobs, inputs.platform)
        run = runs.run_of(dispatcher, dispatcher, dispatcher)
        costs, ratios = [], []
        for _ in range(repeats):
            simulation = run.queue.simulation(run.rules, run.keys)
            costs.append(cpu_of(partial(simulation.run, lambda *_: None))[1])
            shorter = partial(play, inputs.platform, some, inputs.dispatcher, inputs.target, 1)
            fast = cpu_of(shorter)[1]
            with patch.object(compiled_simulation, "may_compile", return_value=False):
                ratios.append(cpu_of(shorter)[1] / fast)
        rows.append(
            Row(
                name,
                f"{dispatcher}, compiled",
                len(jobs),
                Spread.of(costs),
                ratio=Spread.of(ratios),
                ratio_of="CPU time by events / compiled",
                goal=goal if dispatcher == "easy" else "",
            )
        )  # fmt: skip
    return rows
