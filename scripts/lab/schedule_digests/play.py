"""Runs cases: a `dardis` command each, in this process or over ranks, in a folder that sites have prepared."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

from dardis.cli.main import run
from scripts.lab.kit.command import DARDIS, ROOT
from scripts.lab.schedule_digests.cases import PLAN_FILES, Case
from scripts.lab.schedule_digests.kept import Found


class CommandError(Exception):
    """A command that ended otherwise than with 0, in its own words."""


def dardis(arguments: Sequence[str]) -> None:
    """Run a command in this process, without a word. Raises CommandError."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        status = run(list(arguments))
    if status != 0:
        raise CommandError(f"dardis {' '.join(arguments)}: {said.getvalue().strip()}")


def _over_ranks(ranks: int, arguments: Sequence[str]) -> None:
    launcher = [str(ROOT / "launch" / "mpirun"), "-n", str(ranks), *DARDIS]
    done = subprocess.run([*launcher, *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CommandError(f"{' '.join([*launcher, *arguments])}: {done.stderr.strip()}")


def play(case: Case, folder: Path, traces: Path) -> Found:
    """Run a case whose site is prepared in `folder`, and the plan that it plays. Raises CommandError."""
    out = folder / f"{case.site.name}-plan" if case.plans else folder / "out" / case.title.replace("/", "-")
    arguments = [part.format(folder=folder, traces=traces) for part in case.arguments]
    arguments += ["--out", str(out), "--no-report", "--force"]
    if case.ranks:
        _over_ranks(case.ranks, arguments)
    else:
        dardis(arguments)
    if case.plans:
        digest = hashlib.sha256(b"".join((out / name).read_bytes() for name in PLAN_FILES))
        return Found(digest.hexdigest())
    metrics = json.loads((out / "metrics.json").read_text())
    return Found(metrics["schedule_digest"], metrics["messages"], metrics["renegotiations"])


def told(folder: Path, traces: Path, case: Case) -> tuple[str, Found | str]:
    """What came of a case, or why nothing did, with its title; for a process of its own."""
    try:
        return case.title, play(case, folder, traces)
    except CommandError as error:
        return case.title, str(error)
