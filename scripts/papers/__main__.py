"""The command behind scripts/reproduce: runs the commands of a paper that end within an hour."""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Final, NoReturn

from scripts.papers.catalogue import ROOT, Command, read_papers

THESIS: Final = "thesis"
"""All chapters."""


class OneLineParser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        """Print the message; exit with 2."""
        self.exit(2, f"dardis: {message}\n")


def main(arguments: list[str] | None = None) -> int:
    """Run the commands of a paper; 1 if one fails."""
    papers = read_papers()
    parser = OneLineParser(
        prog="scripts/reproduce",
        description="Run the commands of a paper that end within an hour on two cores, and name the others.",
        allow_abbrev=False,
    )
    parser.add_argument("paper", nargs="?", metavar="PAPER", help=f"{', '.join(papers)}, or {THESIS} (all chapters)")
    parser.add_argument("--list", action="store_true", help="show papers, commands and times; run nothing")
    parser.add_argument(
        "--data", type=Path, default=ROOT.parent / "shared", help="folder of weather and prices (../shared)"
    )
    parser.add_argument("--traces", type=Path, help="folder of the traces (DATA/traces)")
    options = parser.parse_args(arguments)
    name = options.paper
    if name is None and not options.list:
        parser.error(f"no paper; expected one of {', '.join(papers)}, {THESIS}")
    chosen = [one for one in papers if name in (None, one) or (name == THESIS and one.startswith(THESIS))]
    if not chosen:
        parser.error(f"{name!r}: unknown paper; expected one of {', '.join(papers)}, {THESIS}")
    commands = [command for one in chosen for command in papers[one].commands]
    if options.list:
        for one in chosen:
            sys.stdout.write(f"{one}: {papers[one].title}\n{_listed(papers[one].commands)}")
        return 0
    folders = {"traces": options.traces or options.data / "traces", "data": options.data}
    for kind in {one.folder for one in commands if one.within_hour and one.folder}:
        if not folders[kind].is_dir():
            parser.error(f"{folders[kind]}: no such folder; --{kind} names the folder")
    failed = [one for one in commands if one.within_hour and not _succeeds(one, folders)]
    if longer := [one for one in commands if not one.within_hour]:
        sys.stdout.write(f"== not run: longer than an hour, or not measured ==\n{_listed(longer)}")
    sys.stdout.write("Results: out/. Claims and our values: docs/reproduction.md\n")
    for command in failed:
        sys.stderr.write(f"FAILED: {command.line}\n")
    return 1 if failed else 0


def _listed(commands: list[Command]) -> str:
    return "".join(f"  {one.line}\n      {one.covers}; {one.time}\n" for one in commands)


def _succeeds(command: Command, folders: dict[str, Path]) -> bool:
    """Run a command at the root of the repository."""
    words = shlex.split(command.line)
    if command.folder:
        words += [f"--{command.folder}", str(folders[command.folder].resolve())]
    sys.stdout.write(f"== {command.line} ({command.time}) ==\n")
    sys.stdout.flush()
    return subprocess.run(words, cwd=ROOT, check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
