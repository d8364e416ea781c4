"""Calls the `dardis` of this tree, as every experiment does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[3]
SHARED: Final = ROOT.parent / "shared"
"""Where traces, weather and prices lie unless somebody says otherwise."""
PLATFORMS: Final = ROOT / "launch" / "platforms"
EURORA: Final = "Eurora-2014.csv.gz"
EURORA_PLATFORM: Final = PLATFORMS / "eurora-2014.toml"
DARDIS: Final = (sys.executable, "-m", "dardis")


def convert(trace: Path, cut: Path, *options: str) -> Path:
    """Cut a trace by `dardis trace convert`; return where it is."""
    run_quietly(*DARDIS, "trace", "convert", str(trace), str(cut), *options, "--force")
    return cut


def run_quietly(*command: str) -> None:
    """Run it in the root of this tree, and say nothing unless it fails."""
    subprocess.run(command, check=True, cwd=ROOT, capture_output=True)


def equal_nodes(folder: Path, nodes: int, cores: int) -> Path:
    """The file of a machine of equal nodes, which is written to a folder."""
    path = folder / f"{nodes}x{cores}.toml"
    resources = f"resources = {{ cores = {cores} }}"
    path.write_text(f'name = "{path.stem}"\n[[nodes]]\ncount = {nodes}\nprefix = "n"\n{resources}\n', encoding="utf-8")
    return path
