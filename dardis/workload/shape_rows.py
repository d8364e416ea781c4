"""Multi-row jobs of a job table: parts, alternatives, node counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from dardis.model.csv_table import WHOLE, Column
from dardis.model.errors import InputError
from dardis.model.numbers import whole_number
from dardis.workload.trace import LARGEST, StatedPart, StatedRequest

PART, ALTERNATIVE, NODES, CONTIGUOUS = NAMES = ("part", "alternative", "nodes", "contiguous")
COLUMNS: Final = (
    Column(PART, WHOLE, "number of the part in its alternative, from 1 (below)", detail="default: 1"),
    Column(ALTERNATIVE, WHOLE, "number of the alternative, from 1 (below)", detail="default: 1"),
    Column(NODES, WHOLE, "exact number of different nodes, at least one unit on each", detail="default: any number"),
    Column(CONTIGUOUS, WHOLE, "1 if the nodes must be adjacent", detail="default: 0"),
)
REQUEST: Final = "req_"
_OWN: Final = {PART, ALTERNATIVE, NODES, CONTIGUOUS, "units", "partition", "walltime_s", "runtime_s"}
"""Columns in which further rows may differ."""


_EXPECTED: Final = {
    PART: "the number of the part, from 1",
    ALTERNATIVE: "the number of the alternative, from 1",
    NODES: "a number of nodes from 1, or empty",
    CONTIGUOUS: "0 or 1",
}


class WrongShapeError(ValueError):
    """Invalid cell of a shape column."""

    def __init__(self, column: str, found: ValueError) -> None:
        super().__init__(f"{column}: {found}")
        self.expected = _EXPECTED[column]


Cells = dict[str, Any]
"""Cells by column; None if empty in further rows."""


def converter(name: str) -> Callable[[str], Any]:
    """Parser of a shape column; may raise ValueError."""
    if name == CONTIGUOUS:
        return lambda text: whole_number(text, 0, 1) if text else 0
    if name == NODES:
        return lambda text: whole_number(text, 1, LARGEST) if text else 0
    return lambda text: whole_number(text, 1, LARGEST) if text else 1


def is_further(header: Sequence[str], fields: Sequence[str]) -> bool:
    """Whether a row is a further part or alternative."""
    cells = dict(zip(header, fields, strict=False))
    return any(cells.get(name, "") not in {"", "1"} for name in (PART, ALTERNATIVE))


class ShapeRows:
    """Collects shape requests, row by row."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rows: list[tuple[int, Cells]] = []
        self.requests: dict[int, tuple[StatedRequest, ...]] = {}
        """By job number."""
        self._seen: set[int] = set()

    def begin(self, line: int, cells: Cells) -> None:
        """Start a job with its first row."""
        self.end()
        self._rows = [(line, cells)]

    def skip_job(self) -> None:
        """Skip a job with an invalid first row."""
        self.end()
        self._rows = []

    def add_row(self, line: int, cells: Cells) -> None:
        """Add a further row. Raises InputError."""
        part, alternative = cells.get(PART) or 1, cells.get(ALTERNATIVE) or 1
        first = self._rows[0][1] if self._rows else {}
        if not self._rows or cells["job_id"] != first["job_id"]:
            what = f"part {part} of alternative {alternative} of job {cells['job_id']} without a row before it"
            raise self._wrong(line, what, "consecutive rows of a job, the first with part 1")
        last = self._rows[-1][1]
        at = last.get(PART) or 1, last.get(ALTERNATIVE) or 1
        if (part, alternative) not in {(at[0] + 1, at[1]), (1, at[1] + 1)}:
            what = f"part {part} of alternative {alternative} after part {at[0]} of alternative {at[1]}"
            raise self._wrong(line, what, "the next part, or part 1 of the next alternative")
        for name, value in cells.items():
            if name not in _OWN and not name.startswith(REQUEST) and value not in {None, first[name]}:
                raise self._wrong(line, f"{name} differs from the job's first row", "the same value, or empty")
        self._rows.append((line, cells))

    def end(self) -> None:
        """Finish the current job. Raises InputError."""
        if not self._rows:
            return
        line, first = self._rows[0]
        numbers = range(first["job_id"], first["job_id"] + first.get("array", 1))
        again = not self._seen.isdisjoint(numbers)
        self._seen.update(numbers)
        plain = len(self._rows) == 1 and not first.get(NODES) and not first.get(CONTIGUOUS)
        if plain or first["runtime_s"] <= 0 or first["units"] <= 0:
            return
        if again:
            raise self._wrong(line, f"job number {first['job_id']} again", "each job number once")
        by_alternative: dict[int, list[tuple[int, Cells]]] = {}
        for row in self._rows:
            by_alternative.setdefault(row[1].get(ALTERNATIVE) or 1, []).append(row)
        requests = tuple(self._request(first, rows) for rows in by_alternative.values())
        self.requests |= dict.fromkeys(numbers, requests)

    def _request(self, first: Cells, rows: list[tuple[int, Cells]]) -> StatedRequest:
        head = rows[0][1]
        runtime = first["runtime_s"] if head["runtime_s"] is None else head["runtime_s"]
        stated = max(head.get("walltime_s") or 0, 0) or max(first.get("walltime_s") or 0, 0)
        walltime = stated or runtime
        for line, cells in rows:
            if min(runtime, walltime) < 1:
                raise self._wrong(line, "a time below 1 s", "a runtime and a walltime from 1 s")
            for name, own in (("walltime_s", walltime), ("runtime_s", runtime), (CONTIGUOUS, head.get(CONTIGUOUS))):
                if cells is not head and cells.get(name) not in {None, own}:
                    what = f"{name} is {cells[name]}, but {own} in part 1"
                    raise self._wrong(line, what, "parts that start and end together")
        parts = tuple(self._part(first, line, cells) for line, cells in rows)
        return StatedRequest(parts, walltime, runtime, bool(head.get(CONTIGUOUS)))

    def _part(self, first: Cells, line: int, cells: Cells) -> StatedPart:
        request = {name.removeprefix(REQUEST): cells[name] or 0 for name in cells if name.startswith(REQUEST)}
        units, nodes = cells["units"] or 0, cells.get(NODES) or 0
        if not any(request.values()) or units < 1:
            what = "has an empty request" if units > 0 else "has no units"
            raise self._wrong(line, what, "a part of at least one unit with a request")
        if max(units, *request.values()) > LARGEST:
            raise self._wrong(line, "a number out of range", f"amounts up to {LARGEST}")
        if nodes > units:
            raise self._wrong(line, f"nodes is {nodes}, but units is {units}", "at least one unit on each node")
        partition = cells.get("partition")
        return StatedPart(units, request, first.get("partition", "") if partition is None else partition, nodes)

    def _wrong(self, line: int, found: str, expected: str) -> InputError:
        return InputError(f"{self._path}:{line}", found, expected)


def job_rows(row: Cells, requests: Sequence[StatedRequest]) -> list[Cells]:
    """Table rows of a job: one per part of each request, at least one."""
    rows: list[Cells] = []
    for alternative, request in enumerate(requests, 1):
        for place, part in enumerate(request.parts, 1):
            asked = {name: part.request.get(name.removeprefix(REQUEST), 0) for name in row if name.startswith(REQUEST)}
            cells = {
                **asked, "units": part.units, "partition": part.partition, NODES: part.nodes or "",
                CONTIGUOUS: int(request.contiguous), PART: place, ALTERNATIVE: alternative,
                "walltime_s": request.walltime, "runtime_s": request.runtime,
            }  # fmt: skip
            rows.append((row if not rows else {"job_id": row["job_id"], "submit_s": row["submit_s"]}) | cells)
    return rows or [row]
