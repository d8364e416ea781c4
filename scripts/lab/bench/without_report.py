"""Does the comparison of a file as `dardis compare` does it, into a new folder, with a table of its runs and no report.

Its own process, so that all CPU of the comparison is its own or its children's.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from dardis.cli.progress import bar, run_progress
from dardis.comparison.comparison_run import ComparisonCallbacks, compare
from dardis.comparison.workers import Workers
from dardis.config.comparison_spec import load_comparison
from dardis.metrics.comparison_rows import ComparisonData
from dardis.metrics.comparison_tables import runs_table


def write(part: Path, compared: ComparisonData, _folder: Path) -> None:
    """Write what each run came to."""
    runs_table(compared.results).write(part)


def main(spec: str) -> None:
    """Compare what the file says, and keep nothing of it."""
    comparison = load_comparison(Path(spec))
    label = comparison.contenders[0].label
    who = ComparisonCallbacks(print, print, run_progress, bar)
    with TemporaryDirectory() as out:
        if compare(comparison, Path(out) / "compare", (label, label), write, who, Workers()).failed:
            raise SystemExit(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
