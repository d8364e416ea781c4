"""Does the comparison of a file into a folder as `dardis compare` does it, but for its report and tables.

Its own process, so that all CPU of the comparison is its own or its children's.
"""

from __future__ import annotations

import sys
from pathlib import Path

from dardis.cli.comparison_progress import shown
from dardis.cli.progress import bar
from dardis.comparison.whole import Shown, compare
from dardis.config.comparison_file import load_comparison


def main(spec: str, out: str) -> None:
    """Compare what the file says."""
    comparison = load_comparison(Path(spec))
    first = comparison.contenders[0].label
    who = Shown(lambda line: sys.stderr.write(f"{line}\n") and None, shown, bar)
    done = compare(comparison, Path(out), (first, first), lambda *_: None, who, force=True)
    if done.failed:
        raise SystemExit(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
