"""Calls the `dardis` of this tree, as every kit does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[3]
SHARED: Final = ROOT.parent / "shared"
"""Where traces, weather and prices lie unless somebody says otherwise."""
DARDIS: Final = (sys.executable, "-m", "dardis")


def convert(trace: Path, cut: Path, *options: str) -> None:
    """Cut a trace by `dardis trace convert`."""
    run_quietly(*DARDIS, "trace", "convert", str(trace), str(cut), *options, "--force")


def run_quietly(*command: str) -> None:
    """Run it in the root of this tree, and say nothing unless it fails."""
    subprocess.run(command, check=True, cwd=ROOT, capture_output=True)
