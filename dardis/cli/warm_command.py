"""The `dardis warm` command."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from dardis.model.errors import InputError

if TYPE_CHECKING:
    from multiprocessing.synchronize import Lock

_PLATFORM: Final = """
name = "tiny"
prices = 0.1
weather = 20.0
cooling = "air"
[[nodes]]
count = 4
prefix = "n"
resources = { cores = 2 }
power = { idle_w = 100, core_w = 10, off_w = 5, boot_s = 60, boot_w = 100, shutdown_s = 30, shutdown_w = 90 }
"""
_DAY_S: Final = 86_400


def _write_inputs(folder: Path) -> tuple[Path, Path]:
    trace, machine = folder / "t.swf", folder / "p.toml"
    machine.write_text(_PLATFORM)
    with trace.open("w") as file:
        print("; UnixStartTime: 1704067200", file=file)
        for hour in range(72):
            cores = 1 + hour % 8
            print(hour + 1, hour * 3600, 0, 5400, cores, -1, -1, cores, 7200, -1, 1, 1, *[-1] * 6, file=file)
    return trace, machine


def _warm_dispatchers(*names: str) -> None:
    from dardis.registry import find_dispatcher
    from dardis.runs.kernel_warmup import warm_kernels

    for name in names:
        dispatcher, *settings = name.split(":")
        found = find_dispatcher(dispatcher, settings)
        for wished in (False, True):
            for hosts in (1, 2):
                warm_kernels(found, wished=wished, hosts=hosts)


def _warm_reach() -> None:
    from dardis.registry import find_dispatcher
    from dardis.runs.kernel_warmup import warm_reach

    warm_reach(find_dispatcher("dardis-throughput"))


def _warm_planner() -> None:
    from offline.day.plan_run import run_plan
    from offline.day.plan_spec import PlanSpec

    with tempfile.TemporaryDirectory(prefix="dardis-") as folder:
        trace, machine = _write_inputs(Path(folder))
        request = PlanSpec(
            history=trace, platform=machine, out=Path(folder) / "plan", day=2,
            time_limit=1, accept_stale=True, no_report=True,
        )  # fmt: skip
        run_plan(request, None)


def _warm_clairvoyance() -> None:
    from dardis.comparison.clairvoyant_gap import clairvoyant_result
    from dardis.config.comparison_spec import ComparisonOptions, ComparisonRequest, TraceSpec
    from dardis.model.files import InputFiles

    with tempfile.TemporaryDirectory(prefix="dardis-") as folder:
        trace, machine = _write_inputs(Path(folder))
        workload = TraceSpec(name="tiny", trace=trace, platform=machine)
        comparison = ComparisonRequest("tiny", (workload,), (), ComparisonOptions())
        clairvoyant_result(comparison, workload, (), Path(folder), InputFiles(), None)


ROOTS: Final[Mapping[str, Callable[[], None]]] = {
    "past": partial(_warm_dispatchers, "easy"),
    "plan": _warm_planner,
    "late": partial(_warm_dispatchers, "dardis-late", "dardis-late:profile_split=shared"),
    "planned": partial(_warm_dispatchers, "dardis-throughput", "dardis-profile"),
    "reach": _warm_reach,
    "queue": partial(_warm_dispatchers, "easy"),
    "replan": partial(_warm_dispatchers, "replan", "replan:solver=on:exchanges=0"),
    "asking": partial(_warm_dispatchers, "pcp14", "pcp19", "hcp19", "pcp20", "cp-eurora", "portfolio", "aucsched"),
    "known": _warm_clairvoyance,
}
"""Kernels of day plans (`past`, `plan`), task managers, central dispatchers by queue algorithm, and clairvoyance."""


def _share_locks(turns: Mapping[str, Lock]) -> None:
    from dardis.kernels.jit import COMPILE_LISTENER

    COMPILE_LISTENER.turns = turns


def _compile(name: str) -> None:
    ROOTS[name]()


def warm(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[KERNELS]...", help=f"{', '.join(ROOTS)} [all].", show_default=False)
    ] = None,
) -> None:
    """Compile kernels in advance, in two processes, by tiny simulations and plans. Compiled kernels are kept."""
    import multiprocessing  # every command loads this module, and these two are slow to load
    from concurrent.futures import ProcessPoolExecutor

    from dardis.kernels.jit import COMPILE_LISTENER, compiles

    if unknown := [name for name in names or () if name not in ROOTS]:
        raise InputError("dardis warm", repr(unknown[0]), f"some of {', '.join(ROOTS)}")
    roots = dict.fromkeys(names or ROOTS)
    if len(roots) == 1 or len(os.sched_getaffinity(0)) == 1 or not compiles():
        for root in roots:
            _compile(root)
        return
    spawning = multiprocessing.get_context("spawn")
    turns = {line: spawning.Lock() for line in COMPILE_LISTENER.turns}
    with ProcessPoolExecutor(2, spawning, _share_locks, (turns,)) as processes:
        list(processes.map(_compile, roots))  # raises the first error
