"""What a trace recorded of its own time, beside figures by hand and the audit."""

from pathlib import Path

import pytest

from dardis.comparison.recorded import recorded_of
from dardis.config.comparison import Comparison, Contender, Workload
from dardis.metrics.table import read_jobs

MACHINE = 'name = "p"\n[[nodes]]\ncount = 2\nprefix = "n"\nresources = { cores = 4 }\n'


@pytest.fixture
def recorded(tmp_path):
    """What is made of jobs of (submit, wait, runtime, processors)."""
    (tmp_path / "p.toml").write_text(MACHINE)

    def of(jobs):
        rows = [
            f"{n} {submit} {wait} {run} {procs} -1 -1 {procs} 100 -1 1 1 1 -1 1 1 -1 -1"
            for n, (submit, wait, run, procs) in enumerate(jobs, 1)
        ]
        (tmp_path / "t.swf").write_text("\n".join(rows))
        workload = Workload("t", tmp_path / "t.swf", tmp_path / "p.toml")
        return recorded_of(Comparison("here", (workload,), (Contender("easy", "easy"),)), workload, tmp_path)

    return of


def test_figures_are_those_of_the_recorded_starts(recorded):
    found = recorded([(0, 0, 100, 8), (10, 90, 50, 4), (20, 80, 300, 4)])
    assert found.note == "The recorded starts of t, put on nodes by best fit, pass the audit on this platform."
    metrics = found.result.metrics
    assert (metrics["mean_wait_s"], metrics["max_wait_s"], metrics["makespan_s"]) == (170 / 3, 90, 400)
    assert metrics["utilisation"] == (800 + 200 + 1200) / (400 * 8)
    schedule = read_jobs(found.result.folder / "jobs.csv")
    assert schedule.start.tolist() == [0, 100, 100]
    assert schedule.placed.units_of_jobs.tolist() == schedule.units.tolist()


def test_what_the_machine_has_no_room_for_is_counted(recorded):
    found = recorded([(0, 0, 100, 8), (10, 0, 50, 4), (20, 0, 50, 4), (30, 70, 9, 8), (31, 0, 9, 9)])
    assert "2 of 4 find no room at their starts, the first of them job 2 at 10 s (1 jobs that" in found.note
    counts = read_jobs(Path(found.result.folder) / "jobs.csv").placed.units_of_jobs.tolist()
    assert [count > 0 for count in counts] == [True, False, False, True]


def test_a_trace_without_waits_has_none_and_a_gap_is_left_out(recorded):
    assert recorded([(0, 0, 10, 1), (5, -1, 10, 1)]) is None
    assert recorded([(0, -1, 10, 1)]) is None
    found = recorded([(n, 0, 1, 1) for n in range(100)] + [(50, -1, 1, 1)])
    assert found.result.metrics["jobs"] == 100
    assert "pass the audit on this platform (1 jobs" in found.note
