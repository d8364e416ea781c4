"""The table of loads of late binding: which cases there are, how they are made, and what is said of ratios."""

from dataclasses import replace

import numpy as np
import pytest

from dardis.workload.generate import generate
from dardis.workload.read import read_trace
from dardis.workload.table import write_table
from scripts.late.cases import WALLTIMES, Case, with_walltimes
from scripts.late.loads import ratios, run


@pytest.fixture
def trace():
    return generate("rivals", 300, 3)


def test_walltimes_change_and_what_runs_does_not(trace):
    ran = np.minimum(trace.runtime, trace.walltime)
    for how in WALLTIMES[1:]:
        other = with_walltimes(trace, how)
        assert other.runtime.tolist() == ran.tolist()
        assert (other.walltime >= ran).all()
    assert with_walltimes(trace, "exact").walltime.tolist() == ran.tolist()
    assert with_walltimes(trace, "five times").walltime.tolist() == (5 * trace.walltime).tolist()
    assert len(set(with_walltimes(trace, "equal").walltime.tolist())) == 1


def test_other_walltimes_are_written_where_nobody_states_any(trace, tmp_path):
    silent = replace(trace, walltime=trace.runtime, no_walltime=np.ones(len(trace), dtype=bool))
    write_table(with_walltimes(silent, "doubled"), tmp_path / "t.csv")
    assert read_trace(tmp_path / "t.csv").walltime.tolist() == (2 * trace.runtime).tolist()


def test_a_case_is_run_and_its_wide_jobs_wait_apart(tmp_path):
    case = Case("rivals 1", 0.9)
    (tmp_path / "traces").mkdir()
    write_table(generate("rivals", 300, 3), tmp_path / "traces" / "rivals-1-10k-cut.csv")
    easy = run(case, ("easy",), tmp_path, tmp_path)
    assert case.load_there(tmp_path, tmp_path) == pytest.approx(0.9, abs=1e-3)
    (wide, wait), (others, short) = easy["wide"], easy["others"]
    assert wide + others == easy["jobs"] == 300
    assert (wide * wait + others * short) / 300 == pytest.approx(easy["mean_wait_s"])
    same = ratios(0.9, easy, easy, easy)
    assert (same.wait, same.slowdown, same.longest) == (1, 1, 1)
    assert same.wide is None  # six of them are too few
