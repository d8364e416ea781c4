"""Runs cases, a `dardis` command each, in this process or over ranks; and tells how they differ from what is kept."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

from dardis.cli.main import run
from scripts.lab.kit.command import DARDIS, ROOT
from scripts.lab.kit.page import read_csv, write_csv
from scripts.lab.schedule_digests.cases import PLAN_FILES, Case

KEPT = Path(__file__).with_name("kept.csv")
COLUMNS = ("case", "digest", "messages", "renegotiations")


@dataclass(frozen=True, slots=True)
class DigestResult:
    """The digest of a schedule, or of a plan's files (which have no messages)."""

    digest: str
    messages: int = 0
    renegotiations: int = 0


def read_kept(path: Path = KEPT) -> dict[str, DigestResult]:
    """What is kept, by the names of the cases."""
    return {
        row["case"]: DigestResult(row["digest"], int(row["messages"]), int(row["renegotiations"]))
        for row in read_csv(path)
    }


def write_kept(kept: Mapping[str, DigestResult], path: Path = KEPT) -> None:
    """Write what is to be kept."""
    write_csv(path, COLUMNS, ((name, *astuple(one)) for name, one in kept.items()))


def difference(found: DigestResult, kept: DigestResult | None) -> str | None:
    """In words what has changed; None if nothing has."""
    if kept is None:
        return "is not kept"
    if found.digest != kept.digest:
        return f"digest {found.digest[:16]}, kept is {kept.digest[:16]}"
    changed = [
        f"{name} {getattr(found, name):,}, kept is {getattr(kept, name):,}"
        for name in COLUMNS[2:]
        if getattr(found, name) != getattr(kept, name)
    ]
    return "; ".join(changed) or None


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


def play(case: Case, folder: Path, traces: Path) -> DigestResult:
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
        return DigestResult(digest.hexdigest())
    metrics = json.loads((out / "metrics.json").read_text())
    return DigestResult(metrics["schedule_digest"], metrics["messages"], metrics["renegotiations"])


def case_result(folder: Path, traces: Path, case: Case) -> tuple[str, DigestResult | str]:
    """What came of a case, or why nothing did, with its title; for a process of its own."""
    try:
        return case.title, play(case, folder, traces)
    except CommandError as error:
        return case.title, str(error)
