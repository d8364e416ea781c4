"""Traces for forecasts, made of a few columns; what is not said is unknown."""

import numpy as np
from hypothesis import strategies as st

from dardis.model.job import NO_TIME
from dardis.workload.trace import UNKNOWN, Trace

DAY = 86400
HOUR = 3600


def trace_of(submit, run, procs, walltime=None, wait=None, user=None, number=None) -> Trace:
    """A trace in the order of submission."""
    order = np.argsort(np.asarray(submit, dtype=np.int64), kind="stable")
    count = len(order)

    def column(values, otherwise):
        cells = np.full(count, otherwise) if values is None else np.asarray(values)
        return cells[order].astype(np.int64)

    submit, run = column(submit, 0), column(run, 1)
    texts = np.full(count, "", dtype=object)
    users = texts if user is None else np.asarray(user, dtype=object)[order]
    unknown = np.full(count, UNKNOWN, dtype=np.int64)
    return Trace(
        number=np.arange(1, count + 1) if number is None else column(number, 0), submit=submit,
        wait=column(wait, UNKNOWN), runtime=run, procs=column(procs, 1),
        walltime=run.copy() if walltime is None else column(walltime, 1), memory_kb=unknown, user=users, group=texts,
        name=texts, queue=texts, partition=texts, after=unknown, think=unknown, est=submit,
        lst=np.full(count, NO_TIME, dtype=np.int64), units=np.zeros(count, dtype=np.int64),
        no_walltime=np.full(count, walltime is None),
    )  # fmt: skip


@st.composite
def traces(draw, days=9, most=60):
    """A trace of some days from time 0 on, with a job at 0 and waits known or not."""
    count = draw(st.integers(2, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    submit = rng.integers(0, days * DAY, count)
    submit[0] = 0
    run = np.ceil(np.exp(rng.uniform(0, np.log(2 * DAY), count))).astype(np.int64)
    walltime = np.ceil(run * rng.uniform(0.8, 4, count)).astype(np.int64)
    wait = rng.integers(0, DAY, count) if draw(st.booleans()) else None
    user = [f"u{u}" for u in rng.integers(0, 4, count)] if draw(st.booleans()) else None
    return trace_of(submit, run, rng.integers(1, 33, count), walltime, wait, user)
