"""Folder of a shadow: the record of jobs, and their expected starts.

`ended-MONTH.txt` and `current.txt` are sacct's text, which `dardis trace`, `compare`, `plan` and `energy` read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from os import SEEK_END
from pathlib import Path
from typing import Final

from dardis.config.site_file import import_platform
from dardis.model.csv_table import REAL, TEXT, WHOLE, WORD, Column, CsvTable
from dardis.model.errors import InputError
from dardis.model.files import read_text, write_text
from dardis.model.moments import utc_text
from dardis.slurm.job_record import HEADER, record_line
from dardis.slurm.slurm_job import SlurmJob
from dardis.slurm.textfile_metrics import write_gauges
from dardis.workload.slurm_texts import JobPhase, is_task_of

EXPECTED: Final = CsvTable(
    "expected.csv",
    Column("job", WORD, "waiting job, or waiting tasks of an array"),
    Column("user", TEXT, "user"),
    Column("partition", TEXT, "partition"),
    Column("submit_utc", WORD, "submission"),
    Column("expected_utc", WORD, "expected start; empty for held jobs"),
    Column("from_utc", WORD, "start of the range that holds the real start in 80 % of cases"),
    Column("to_utc", WORD, "end of this range"),
    Column("slurm_utc", WORD, "Slurm's own expectation, if any"),
    Column("reason", TEXT, "why the job waits, in Slurm's words"),
)
LOGGED: Final = CsvTable(
    "expectations-DATE.csv",
    Column("job_number", WHOLE, "Slurm's number of the job, or of the array for its next task"),
    Column("at_s", WHOLE, "time of the expectation, Unix s"),
    Column("expected_s", REAL, "expected start, Unix s", form=".0f"),
    Column("from_s", REAL, "start of the 80 % range, Unix s", form=".0f"),
    Column("to_s", REAL, "end of the range, Unix s", form=".0f"),
    Column("slurm_s", REAL, "Slurm's own expectation, Unix s; empty if none", form=".0f"),
)


@dataclass(frozen=True, slots=True)
class ExpectedStart:
    """Expected start of a job and its 80 % range, Unix s."""

    expected: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class LoggedExpectation:
    """An expectation of `LOGGED`."""

    job: int
    at: int
    start: ExpectedStart
    slurm: float | None


class ShadowFolder:
    """Files of a shadow."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.current, self.nodes = path / "current.txt", path / "nodes.txt"
        self.expected = path / EXPECTED.name
        self.platform, self.names = path / "platform.toml", path / "names"

    def prepare(self) -> None:
        """Create the folder, and complete a line that a crash cut short. Raises InputError."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            for path in self._months(0):
                with path.open("rb+") as file:
                    file.seek(-1, SEEK_END)
                    if file.read(1) != b"\n":
                        file.write(b"\n")
        except OSError as error:
            raise InputError(self.path, error.strerror or "cannot be written", "a folder to write to") from None

    def add_ended(self, jobs: Iterable[Mapping[str, str]]) -> None:
        """Append jobs that ended to the files of their months. Raises OSError."""
        of_months: dict[Path, list[str]] = {}
        for cells in jobs:
            of_months.setdefault(self.ended_in(int(cells["End"])), []).append(record_line(cells))
        for path, lines in of_months.items():
            begin = [] if path.exists() else [HEADER]
            with path.open("a", encoding="utf-8") as file:
                file.write("\n".join([*begin, *lines, ""]))

    def ended_in(self, moment: int) -> Path:
        """File of jobs that ended in a UTC month."""
        return self.path / f"ended-{utc_text(moment)[:7]}.txt"

    def _months(self, since: int) -> list[Path]:
        return [path for path in sorted(self.path.glob("ended-*.txt")) if path.name >= self.ended_in(since).name]

    def write_current(self, jobs: Iterable[SlurmJob], now: int) -> None:
        """Replace the running and waiting jobs. Raises OSError."""
        lines = (
            record_line({**job.cells, "ElapsedRaw": "" if job.start is None else str(max(now - job.start, 0))})
            for job in jobs
        )
        write_text(self.current, "\n".join([HEADER, *lines, ""]))

    def write_expected(self, jobs: Sequence[SlurmJob], starts: Mapping[int, ExpectedStart]) -> None:
        """Replace the expected starts of waiting jobs. Raises OSError."""
        rows = [_expected_row(job, starts.get(job.number)) for job in jobs if job.phase is JobPhase.WAITS]
        EXPECTED.write(self.expected, rows)

    def log_expected(self, entries: Iterable[LoggedExpectation], now: int) -> None:
        """Append expectations to the file of the day. Raises OSError."""
        path = self.log_of(now)
        rows = [(one.job, one.at, one.start.expected, one.start.low, one.start.high, one.slurm) for one in entries]
        text = LOGGED.text(rows)
        with path.open("a", encoding="utf-8") as file:
            file.write(text.partition("\n")[2] if file.tell() else text)

    def log_of(self, moment: int) -> Path:
        """File of logged expectations of a UTC day."""
        return self.path / f"expectations-{utc_text(moment)[:10]}.csv"

    def logged(self, day: int) -> list[LoggedExpectation]:
        """Expectations of the UTC day that begins at `day`; empty without any. Raises InputError if unreadable."""
        path = self.log_of(day)
        if not path.exists():
            return []
        found = []
        for line in read_text(path).splitlines()[1:]:
            with suppress(ValueError):  # a line that a crash cut short
                number, at, expected, low, high, slurm = line.split(",")
                start = ExpectedStart(float(expected), float(low), float(high))
                found.append(LoggedExpectation(int(number), int(at), start, float(slurm) if slurm else None))
        return found

    def expected_row(self, job: str) -> dict[str, str]:
        """Row in `expected.csv` of a waiting job, or of the tasks with the task `ARRAY_TASK`. Raises InputError."""
        if not self.expected.exists():
            raise InputError(self.path, "has no expected starts yet", "the folder of a running dardis shadow")
        array, _, task = job.partition("_")
        for _, row in EXPECTED.read(self.expected).rows():
            cells = dict(zip(EXPECTED.names, row, strict=True))
            name, _, tasks = cells["job"].partition("_[")
            if job in {cells["job"], cells["job"].partition("+")[0]} or (
                tasks and name == array and (not task or is_task_of(tasks[:-1], task))
            ):
                return cells
        raise InputError(f"--start {job}", "is no waiting job", f"a job of {self.expected}")

    def expected_age(self, now: float) -> float:
        """Seconds since expected starts were written."""
        return now - self.expected.stat().st_mtime

    def write_nodes(self, text: str) -> None:
        """Keep the nodes as Slurm shows them, and once a platform with their names. Raises OSError."""
        write_text(self.nodes, text)
        if not self.platform.exists():
            made = import_platform(self.nodes)
            write_text(self.names, "".join(f"{name}\n" for name in made.names))
            write_text(self.platform, made.text)

    def write_metrics(self, figures: Mapping[str, float]) -> None:
        """Write `shadow.prom`. Raises OSError."""
        write_gauges(self.path / "shadow.prom", figures)

    def record_text(self, since: int) -> str:
        """Jobs that ended since the month of `since` (Unix s), run or wait, as sacct's text. Raises InputError.

        Lines of ended jobs come last: they replace others of the same job.
        """
        paths = [*([self.current] if self.current.exists() else []), *self._months(since)]
        return "".join([f"{HEADER}\n", *(read_text(path).partition("\n")[2] for path in paths)])


def _expected_row(job: SlurmJob, start: ExpectedStart | None) -> tuple[object, ...]:
    moments = ("", "", "") if start is None else tuple(map(_moment, (start.expected, start.low, start.high)))
    slurm = "" if job.slurm_start is None else utc_text(job.slurm_start, seconds=True)
    return job.job, job.user, job.partition, utc_text(job.submit, seconds=True), *moments, slurm, job.reason


def _moment(seconds: float) -> str:
    return utc_text(round(seconds), seconds=True)
