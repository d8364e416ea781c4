"""Runs a constraint dispatcher on Eurora within this process, so that its model can keep what it is asked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from dardis.config.platform_file import load_platform
from dardis.config.run_spec import JobsSpec
from dardis.dispatch.cp.setups import CpSetUp
from dardis.model.platform import Platform
from dardis.model.target import Target
from dardis.registry import Dispatcher, find_dispatcher
from dardis.registry.builders import CENTRAL
from dardis.runs.kernel_warmup import warm_kernels
from dardis.runs.play import play
from dardis.runs.run_workload import TraceSelection, read_selected_jobs
from dardis.workload.deadlines import with_deadlines
from dardis.workload.trace_reader import read_trace
from scripts.lab.kit.command import EURORA_PLATFORM

SEED: Final = 1


def run_on_eurora(
    trace: Path, jobs: int | None, setup: CpSetUp, warm: Sequence[str], deadlines: str = "none"
) -> Platform:
    """Run the first jobs of a trace, after the kernels of these dispatchers; returns the machine."""
    platform = load_platform(EURORA_PLATFORM)
    selection = TraceSelection(None, None, JobsSpec(jobs=jobs))
    chosen = read_selected_jobs(trace, platform, None, selection, think_times=False, strict=False).jobs
    for name in warm:
        warm_kernels(find_dispatcher(name))
    due = with_deadlines(chosen, read_trace(trace, strict=False), deadlines, keep_stated=deadlines == "none")
    play(platform, due, Dispatcher(" and ".join(warm), setup, CENTRAL), Target(), SEED)
    return platform
