import hashlib
from dataclasses import replace

import numpy as np

from dardis.model import schedule
from dardis.model.job import NO_TIME, Status
from dardis.model.placements import Placements
from dardis.model.schedule import Schedule


def column(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


TWO = Schedule(
    kinds=("cores",), number=column(10, 9, 8), submit=column(0, 0, 0), earliest=column(0, 0, 0),
    latest=column(NO_TIME, NO_TIME, NO_TIME), walltime=column(5, 5, 5), units=column(3, 1, 9),
    request=column(1, 1, 1).reshape(3, 1), status=np.array([Status.COMPLETED, Status.KILLED, Status.REJECTED], np.int8),
    start=column(0, 5, NO_TIME), finish=column(4, 10, NO_TIME), attempts=column(1, 1, 5),
    placed=Placements(column(0, 2, 3, 3), column(0, 7, 1), column(1, 2, 1)), queue=["", "", ""], user=["", "", ""],
)  # fmt: skip


def test_what_ran():
    assert TWO.ran.tolist() == [True, True, False]


def test_the_digest_is_of_the_sorted_lines():
    lines = b"10,0,4,0:1 7:2\n8,,,\n9,5,10,1:1\n"
    assert TWO.digest() == hashlib.sha256(lines).hexdigest()


def test_the_digest_does_not_depend_on_how_many_jobs_are_made_text_at_a_time(monkeypatch):
    whole = TWO.digest()
    monkeypatch.setattr(schedule, "_BLOCK", 2)
    assert TWO.digest() == whole


def test_the_digest_forgets_the_order_of_jobs_but_no_start_end_or_node():
    swapped = replace(
        TWO, number=TWO.number[::-1].copy(), status=TWO.status[::-1].copy(), start=TWO.start[::-1].copy(),
        finish=TWO.finish[::-1].copy(),
        placed=Placements(column(0, 0, 1, 3), column(1, 0, 7), column(1, 1, 2)),
    )  # fmt: skip
    assert swapped.digest() == TWO.digest()
    first = column(1, 0, 0)
    for field in ("start", "finish", "number"):
        assert replace(TWO, **{field: getattr(TWO, field) + first}).digest() != TWO.digest()
    for field in ("nodes", "units"):
        moved = replace(TWO.placed, **{field: getattr(TWO.placed, field) + first})
        assert replace(TWO, placed=moved).digest() != TWO.digest()
