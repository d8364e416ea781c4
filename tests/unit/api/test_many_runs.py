"""`dardis.simulate_many`: the figures of each run are those of `dardis.simulate`, in any workers."""

from __future__ import annotations

import numpy as np
import pytest

import dardis

RNG = np.random.default_rng(5)
COUNT = 60
JOBS = {
    "job_id": range(1, COUNT + 1), "submit_s": np.sort(RNG.integers(0, 900, COUNT)).tolist(),
    "runtime_s": RNG.integers(1, 300, COUNT).tolist(), "units": RNG.integers(1, 9, COUNT).tolist(),
    "req_cores": [1] * COUNT, "walltime_s": [300] * COUNT, "user": [f"u{place % 3}" for place in range(COUNT)],
}  # fmt: skip
WITH_DEADLINES = JOBS | {"est_s": [5000] * COUNT}
MACHINE = dardis.Platform(dardis.nodes(4, cores=2), name="small")


def widest_first(jobs):
    return -jobs.units


@pytest.fixture(scope="module")
def trace():
    return dardis.Trace(JOBS, name="some")


def test_figures_are_those_of_single_runs(trace):
    orders = ["easy", "conservative:rule=f1", "rules-wt", "easy:rule=wfp3"]
    table = dardis.simulate_many(trace, orders, MACHINE, processes=1)
    assert table["order"].tolist() == orders
    assert table["trace"].tolist() == ["some"] * 4
    for row, order in zip(table.to_dict("records"), orders, strict=True):
        name, *settings = order.split(":")
        alone = dardis.simulate(trace, MACHINE, name, settings=dict(one.split("=") for one in settings)).metrics
        assert {key: alone[key] for key in row if key not in ("trace", "order")} == pytest.approx(
            {key: value for key, value in row.items() if key not in ("trace", "order")}
        )


def test_keys_and_functions_order_the_queue_in_any_process(trace):
    class Widest(dardis.Rule):
        backfill = "conservative"

        def keys(self, jobs, _now):
            return widest_first(jobs)

    orders = {"widest": widest_first, "array": -np.array(JOBS["units"]), "random": RNG.random(COUNT)}
    here = dardis.simulate_many([trace], orders, MACHINE, backfill="conservative", processes=1)
    there = dardis.simulate_many([trace], orders, MACHINE, backfill="conservative", processes=2)
    assert here.equals(there)
    assert here["order"].tolist() == ["widest", "array", "random"]
    assert here["mean_wait_s"][0] == here["mean_wait_s"][1] != here["mean_wait_s"][2]
    rule = dardis.simulate(trace, MACHINE, Widest, event_order="batched").metrics
    assert rule["mean_wait_s"] == here["mean_wait_s"][0]


def test_functions_cannot_change_the_arrays_of_later_orders(trace):
    def changing(jobs):
        jobs.submit[:] = 0

    with pytest.raises(dardis.InputError, match="orders: changing: ValueError: assignment destination is read-only"):
        dardis.simulate_many(trace, [changing], MACHINE, processes=1)


def test_list_of_numbers_is_one_order_and_equal_labels_are_numbered(trace):
    table = dardis.simulate_many(trace, list(range(COUNT)), MACHINE, processes=1)
    assert table["total_wait_s"].tolist() == dardis.simulate_many(trace, "easy", MACHINE)["total_wait_s"].tolist()
    twice = dardis.simulate_many(trace, ["easy:rule=most:cores", "easy", "easy"], MACHINE, processes=1)
    assert twice["order"].tolist() == ["easy:rule=most:cores", "easy 1", "easy 2"]


def test_rows_of_an_array_are_orders(trace):
    several = RNG.random((3, COUNT))
    table = dardis.simulate_many(trace, several, MACHINE, backfill=None, processes=1)
    single = [dardis.simulate_many(trace, keys, MACHINE, backfill=None, processes=1) for keys in several]
    assert table["total_wait_s"].tolist() == [one["total_wait_s"][0] for one in single]


@pytest.mark.parametrize(
    ("orders", "options", "message"),
    [
        (["dardis-late"], {}, "orders: dardis-late: is no compiled order of a queue on nodes of small"),
        (["easy:order=multifactor"], {}, "orders: easy:order=multifactor: is no compiled order"),
        ([np.zeros(3)], {}, r"orders: order 0: keys gives an array of shape \(3,\) for 60 jobs; expected a key for"),
        ([lambda jobs: jobs.age], {}, "orders: <lambda>: reads the age, which changes during a run"),
        ([lambda _jobs: 5], {}, "orders: <lambda>: keys gives a int, not an array or a list"),
        ([dardis.Rule], {}, "orders: Rule is a type; expected names, arrays or functions"),
        ([], {}, "orders: none; expected names, arrays or functions"),
        ([np.full(COUNT, np.nan)], {}, r"orders: order 0: key\(job 1\) gives .*nan.*, which has no order"),
        (5, {}, "orders: is a int; expected names, arrays or functions"),
        ("easy", {"backfill": "eazy"}, "backfill: 'eazy'; expected 'easy', 'conservative' or None"),
        ("easy", {"workers": "grid"}, "workers: 'grid'; expected processes, mpi, slurm"),
        ("easy", {"processes": 0}, "processes: 0; expected a number from 1 on"),
        ("easy", {"trim": 3}, "trim: is no keyword; expected jobs, from_"),
    ],
)
def test_bad_input_is_one_line(trace, orders, options, message):
    with pytest.raises(dardis.InputError, match=message):
        dardis.simulate_many(trace, orders, MACHINE, **options)


def test_jobs_that_need_more_than_a_queue_are_refused():
    with pytest.raises(dardis.InputError, match="some: has parts, think times, start windows or reservations"):
        dardis.simulate_many(dardis.Trace(WITH_DEADLINES, name="some"), "easy", MACHINE)
