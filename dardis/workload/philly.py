"""Reads Microsoft's Philly table (short form). Rules: docs/formats.md."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dardis.model.files import by_name, csv_table
from dardis.model.numbers import decimal_number, whole_number
from dardis.workload.slurm_texts import utc_seconds, whole_seconds
from dardis.workload.trace import LARGEST, Skipped, Trace, build_trace

COLUMNS = ("timestamp", "duration", "num_gpus", "cluster")


def parse_philly(path: Path, text: str, *, strict: bool) -> Trace:
    """Read a table; `path`: for messages. Invalid rows are skipped."""
    header, table = csv_table(path, text, COLUMNS)
    lines: list[int] = []
    rows: list[tuple[int, int, int, int]] = []
    queues: list[str] = []
    problems: list[Skipped] = []
    for number, (line_number, fields) in enumerate(table, 1):
        try:
            row = by_name(header, fields)
            seconds = whole_seconds(min(max(decimal_number(row["duration"]), -LARGEST), LARGEST + 1))
            gpus = whole_number(row["num_gpus"], -LARGEST, LARGEST)
            rows.append((number, utc_seconds(row["timestamp"]), seconds, gpus))
        except (ValueError, OverflowError) as error:
            problems.append(Skipped(line_number, f"not a job of this format ({error})", malformed=True))
        else:
            lines.append(line_number)
            queues.append(row["cluster"])
    names = ("number", "submit", "runtime", "procs")
    columns = dict(zip(names, np.array(rows, dtype=np.int64).reshape(-1, len(names)).T, strict=True))
    queue = np.array(queues, dtype=object)
    header_lines = ("; Version: 2.2", "; UnixStartTime: 0")
    return build_trace(path, lines, columns | {"queue": queue}, problems, strict=strict, comments=header_lines)
