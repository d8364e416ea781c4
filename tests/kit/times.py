"""How many tests of each group passed, failed and were skipped, and their seconds: kept by pytest, shown at the end.

Each part of `./scripts/test` writes a file (`--times-to`); `python -m kit.times` makes one table of them.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path

OUTCOMES = ("passed", "failed", "skipped")


def group_of(test: str) -> str:
    """The folder of a test that its seconds are counted for: below `tests/unit` the package, else the first."""
    folders = test.partition("::")[0].split("/")[:-1]
    return "/".join(folders[: 3 if folders[1:2] == ["unit"] else 2])


class Times:
    """A plugin of pytest: counts what it reports, and writes it at the end."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._began = time.monotonic()
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._outcomes: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def pytest_runtest_logreport(self, report) -> None:
        """Count a set-up, call or tear-down; a test that fails in two of them counts once."""
        group = group_of(report.nodeid)
        self._seconds[group] += report.duration
        if report.when == "call" or report.outcome != "passed":
            self._outcomes[group][report.outcome] += 1

    def pytest_sessionfinish(self) -> None:
        """Write the part's file."""
        groups = {name: {"seconds": s, **self._outcomes[name]} for name, s in self._seconds.items()}
        self._file.write_text(json.dumps({"seconds": time.monotonic() - self._began, "groups": groups}))


def table(parts: dict[str, dict]) -> str:
    """Lines of a table, its groups with the most seconds first; `parts` holds what each part has written."""
    groups = [
        (name if part == "without MPI" else f"{name}, {part}", found)
        for part, written in parts.items()
        for name, found in written["groups"].items()
    ]
    groups.sort(key=lambda group: -group[1]["seconds"])
    lines = [f"{'group':32}{'seconds':>9}" + "".join(f"{outcome:>9}" for outcome in OUTCOMES)]
    total = {key: sum(found.get(key, 0) for _, found in groups) for key in ("seconds", *OUTCOMES)}
    lines += [
        f"{name:32}{found['seconds']:9.1f}" + "".join(f"{found.get(outcome, 0):9}" for outcome in OUTCOMES)
        for name, found in [*groups, ("all, summed over processes", total)]
    ]
    return "\n".join(lines + [f"{part}: {written['seconds']:.0f} s by the clock" for part, written in parts.items()])


if __name__ == "__main__":
    found = sorted(Path(sys.argv[1]).iterdir(), key=lambda file: file.stat().st_mtime_ns)
    print(table({file.name: json.loads(file.read_text()) for file in found}))
