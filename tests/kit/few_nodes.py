"""Four nodes and a trace of alike jobs: the files that tests of `dardis simulate` and `compare` read, and processes."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path

from kit.waiting import until

from dardis.cli.main import run

PLATFORM = 'name = "small"\n[[nodes]]\ncount = 4\nprefix = "n"\nresources = { cores = 8 }\n'


def swf(count: int, procs: int = 9, runtime: int = 50, wait: int = 0) -> str:
    """So many jobs, one a second, which need longer than that."""
    return "".join(
        f"{n} {n} {wait} {runtime + n % 97} {procs} -1 -1 {procs} 200 -1 1 1 1 -1 1 1 -1 -1\n"
        for n in range(1, count + 1)
    )


def write_files(folder: Path) -> Path:
    """Write p.toml and t.swf with 40 jobs."""
    (folder / "p.toml").write_text(PLATFORM)
    (folder / "t.swf").write_text(swf(40))
    return folder


def compared(folder: Path) -> Path:
    """The same and what `dardis compare` makes of two dispatchers and two seeds, in o."""
    write_files(folder)
    files = [str(folder / "t.swf"), "--platform", str(folder / "p.toml"), "--out", str(folder / "o")]
    assert run(["compare", *files, "--dispatchers", "dardis-throughput,dardis-balance", "--seeds", "1,2"]) == 0
    return folder


def started(arguments: list[str]) -> subprocess.Popen[str]:
    """`dardis` in a process of its own."""
    return subprocess.Popen([sys.executable, "-m", "dardis", *arguments], stderr=subprocess.PIPE, text=True)


waited = partial(until, patience_s=60.0)
"""Wait until something holds."""
