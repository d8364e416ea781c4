"""How long jobs were expected to run, by which rule, and how far from it they ran."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from dardis.metrics.jobs import Number
from dardis.model.arrays import Ints
from dardis.model.csv_table import TEXT, WHOLE, Column, CsvTable, from_cell
from dardis.model.errors import InputError
from dardis.model.job import NO_TIME
from dardis.model.numbers import whole_number
from dardis.model.schedule import Schedule

EXPECTATIONS_FILE: Final = "expectations.csv"
EXPECTED: Final = CsvTable(
    EXPECTATIONS_FILE,
    Column("job_id", WHOLE, "number of the job"),
    Column("expected_s", WHOLE, "for how long it was expected to run when it arrived"),
    Column("rule", TEXT, "rule that said so"),
)


class Expectations(NamedTuple):
    """Of every job of a schedule, in its order: how long it was expected to run, in s, and by which rule.

    `NO_TIME` and "" for a job that never arrived.
    """

    duration: Ints
    rule: Sequence[str]

    def rules(self) -> dict[str, int]:
        """Which rule answered for how many jobs, those first that did most often."""
        return dict(Counter(filter(None, self.rule)).most_common())


def expectation_metrics(schedule: Schedule, expected: Ints, counted: Ints) -> dict[str, Number]:
    """Mean absolute error in s, and the shares of jobs that ran longer and shorter than expected, in s.

    Of those among the `counted` jobs, by place, that ran.
    """
    ran = counted[schedule.ran[counted]]
    error = (expected - (schedule.finish - schedule.start))[ran]
    some = len(error) > 0
    return {
        "expected_mae_s": float(np.abs(error).mean()) if some else None,
        "expected_under_share": float((error < 0).mean()) if some else None,
        "expected_over_share": float((error > 0).mean()) if some else None,
    }


def write_expectations(path: Path, schedule: Schedule, expected: Expectations) -> None:
    """Write job, expected duration in s and rule, a row for each job that arrived."""
    rows = zip(schedule.number.tolist(), expected.duration.tolist(), expected.rule, strict=True)
    EXPECTED.write(path, (row for row in rows if row[1] != NO_TIME))


def read_expectations(path: Path, schedule: Schedule) -> Expectations:
    """Read what `write_expectations` wrote of this schedule. InputError: a file that is not of this form."""
    cells = EXPECTED.read(path)
    place = {number: place for place, number in enumerate(schedule.number.tolist())}
    duration, rules = np.full(len(schedule.number), NO_TIME, dtype=np.int64), [""] * len(schedule.number)
    for line, (number, seconds, rule) in cells.rows():
        try:
            row = place.pop(whole_number(number))
            duration[row], rules[row] = whole_number(seconds, 1, int(schedule.walltime[row])), from_cell(rule)
        except (ValueError, KeyError):
            expected = "a job of jobs.csv, once, its expected duration in s, at most its walltime, and a rule"
            raise InputError(f"{path}:{line}", f"{number},{seconds},{rule}"[:60], expected) from None
    if (duration[schedule.ran] == NO_TIME).any():
        raise InputError(path, "does not know all jobs that ran", "the files of one run")
    return Expectations(duration, rules)
