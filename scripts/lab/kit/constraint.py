"""What the kits of papers 002 (PCP'19, HCP'19) and 003 (PCP'20) share: Eurora, and names of dispatchers."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from scripts.lab.kit.command import ROOT, SHARED
from scripts.lab.kit.compared import Contender, Experiment, Settings

EURORA: Final = "Eurora-2014.csv.gz"
EURORA_PLATFORM: Final = ROOT / "launch" / "platforms" / "eurora-2014.toml"
EURORA_DEADLINES: Final = "mean-wait:queue"
"""The expected wait of a queue (002, section 2.2): its mean wait in the log."""
EXPECTED: Final = {"W": "walltime", "D": "data-driven", "L2": "last-two", "R": "real"}
"""How the papers call what says how long a job will run, and how we do."""
EASY, REPLAN = "EASY-SJBF", "replan"
_OURS: Final[dict[str, tuple[str, Settings]]] = {
    EASY: ("easy", {"order": "sjbf", "correction": "second"}),
    REPLAN: ("replan", {"correction": "second"}),
}
"""Their predictions are raised as those of PCP'19 are."""
_THEIRS: Final = {"PCP'19": "pcp19", "HCP'19": "hcp19", "PCP'20": "pcp20"}


def versioned(name: str, version: int, expected: str) -> Contender:
    """A version of PCP or HCP as 002 calls it: `PCP-W` is the original, `HCP3-D` the third with predictions."""
    settings: Settings = {"version": version, "expected": EXPECTED[expected]}
    return Contender(f"{name}{version or ''}-{expected}", f"{name.lower()}19", settings)


def newest(name: str, expected: str) -> Contender:
    """A dispatcher as 003 calls it, or one of ours beside it, with what it goes by: `PCP'20-L2`, `replan-R`."""
    if name in _THEIRS:
        # What labels folders may be called has no apostrophe.
        return Contender(f"{name.replace(chr(39), '')}-{expected}", _THEIRS[name], {"expected": EXPECTED[expected]})
    dispatcher, settings = _OURS[name]
    return Contender(f"{name}-{expected}", dispatcher, {**settings, "expected": EXPECTED[expected]})


def named(name: str, jobs: int | None) -> str:
    """What an experiment is called that has all jobs, or the first."""
    return name if jobs is None else f"{name} first {jobs}"


def eurora(traces: Path, jobs: int | None, contenders: Sequence[Contender]) -> Experiment:
    """Eurora-2014, all of it or its first jobs: both kits keep the runs of the other."""
    trace = traces / EURORA
    return Experiment(named("Eurora", jobs), trace, EURORA_PLATFORM, contenders, EURORA_DEADLINES, jobs)


def parser_of(name: str, about: str | None, *traces: str) -> argparse.ArgumentParser:
    """The options that both kits have."""
    parser = argparse.ArgumentParser(prog=f"scripts/lab/run {name}", description=about)
    parser.add_argument("--traces", type=Path, default=SHARED / "traces", help=f"folder of {' and '.join(traces)}")
    parser.add_argument("--out", type=Path, default=ROOT / "out" / name, help=f"folder for the page (out/{name})")
    parser.add_argument("--runs", type=Path, default=ROOT / "out" / "constraint", help="and of runs (out/constraint)")
    parser.add_argument("--jobs", type=int, help="only the first JOBS jobs of each trace")
    parser.add_argument("--processes", type=int, help="runs at once (one a core)")
    parser.add_argument("--limit", type=float, metavar="S", help="stop runs after S seconds; the same command goes on")
    return parser


def checked(parser: argparse.ArgumentParser, *traces: str) -> argparse.Namespace:
    """Read the command line; a trace that is missing is told in one line."""
    options = parser.parse_args()
    if options.jobs is not None and options.jobs < 1:
        parser.error("--jobs must be at least 1")
    for name in traces:
        if not (options.traces / name).is_file():
            parser.error(f"{options.traces}: holds no {name}; --traces names the folder that does")
    options.traces, options.out, options.runs = (
        path.resolve() for path in (options.traces, options.out, options.runs)
    )  # fmt: skip
    options.out.mkdir(parents=True, exist_ok=True)
    return options
