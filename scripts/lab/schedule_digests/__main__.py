"""Sees whether every dispatcher still makes the schedules that it made, and tells what has changed."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from scripts.lab.kit.command import SHARED
from scripts.lab.schedule_digests.cases import Case, all_cases
from scripts.lab.schedule_digests.play import KEPT, DigestResult, case_result, dardis, difference, read_kept, write_kept
from scripts.lab.schedule_digests.sites import GENERATED, RECORDED, prepare


def chosen(texts: Sequence[str], *, recorded: bool) -> list[Case]:
    """The cases whose title has one of the texts in it (all without any), and the plans that they play."""
    sites = (GENERATED, *RECORDED) if recorded else (GENERATED,)
    cases = all_cases(sites)
    found = [case for case in cases if not texts or any(text in case.title for text in texts)]
    plans = {case.target for case in found}
    return [case for case in cases if case in found or case.name in plans]


def run_all(cases: Sequence[Case], folder: Path, traces: Path, jobs: int) -> dict[str, DigestResult | str]:
    """What came of the cases, or why nothing did, by title; so many run at a time."""
    for site in dict.fromkeys(case.site for case in cases):
        prepare(site, folder, traces, dardis)
    console, came = Console(stderr=True), {}
    columns = (TextColumn("{task.description}"), MofNCompleteColumn(), TimeElapsedColumn())
    # Fresh processes, a few cases each: what one leaves behind is no other's.
    with (
        get_context("spawn").Pool(jobs, maxtasksperchild=8) as pool,
        Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar,
    ):
        task = bar.add_task("cases", total=len(cases))
        for part in ([case for case in cases if case.plans], [case for case in cases if not case.plans]):
            for title, one in pool.imap_unordered(partial(case_result, folder, traces), part):
                came[title] = one
                bar.advance(task)
    return came


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 1 if anything has changed or failed."""
    parser = argparse.ArgumentParser(
        prog="scripts/lab/run schedule_digests",
        description="See whether every dispatcher still makes the schedules it made.",
    )
    parser.add_argument("--traces", type=Path, default=SHARED / "traces", help="folder of the traces")
    parser.add_argument("--only", nargs="+", default=[], metavar="TEXT", help="cases with a text in their name")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="cases at a time (as many as cores)")
    parser.add_argument("--keep", action="store_true", help="write what is found to kept.csv instead of comparing")
    parser.add_argument("--list", action="store_true", help="name the cases and run none")
    asked = parser.parse_args(arguments)
    recorded = asked.traces.is_dir()
    cases = chosen(asked.only, recorded=recorded)
    if asked.list:
        sys.stdout.write("".join(f"{case.title}\n" for case in cases))
        return 0
    if not recorded:
        sys.stderr.write(f"no traces in {asked.traces}: only generated ones are run\n")
    with tempfile.TemporaryDirectory(prefix="dardis-digests-") as folder:
        came = run_all(cases, Path(folder), asked.traces.resolve(), asked.jobs)
    kept = read_kept() if KEPT.exists() else {}
    wrong = {title: one for title, one in came.items() if isinstance(one, str)}
    if asked.keep:
        found = {
            case.name: one for case in cases if isinstance(one := came[case.title], DigestResult) and not case.ranks
        }
        kept |= found
        kept = {case.name: kept[case.name] for case in all_cases() if case.name in kept}
        write_kept(kept)
    for case in cases:
        of_case = came[case.title]
        if isinstance(of_case, DigestResult) and (changed := difference(of_case, kept.get(case.name))):
            wrong[case.title] = changed
    lines = [*(f"{title}: {what}" for title, what in wrong.items()), f"{len(cases)} cases, {len(wrong)} changed"]
    sys.stdout.write("\n".join(lines) + "\n")
    return 1 if wrong else 0
