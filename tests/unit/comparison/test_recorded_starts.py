"""What a trace recorded of its own time, beside figures by hand and the audit."""

import pytest

from dardis.comparison.comparison_folder import write_draws
from dardis.comparison.recorded_starts import recorded_result
from dardis.config.comparison_spec import ComparisonOptions, ComparisonRequest, Contender, TraceSpec
from dardis.metrics.jobs_csv import read_jobs
from dardis.model.choices import resampling_of
from dardis.model.errors import InputError
from dardis.model.files import InputFiles

MACHINE = 'name = "p"\n[[nodes]]\ncount = 2\nprefix = "n"\nresources = {{ cores = {cores} }}\n'


@pytest.fixture
def recorded(tmp_path):
    """What is made of jobs of (submit, wait, runtime, processors)."""

    def of(jobs, cores=4):
        (tmp_path / "p.toml").write_text(MACHINE.format(cores=cores))
        rows = [
            f"{n} {submit} {wait} {run} {procs} -1 -1 {procs} 100 -1 1 1 1 -1 1 1 -1 -1"
            for n, (submit, wait, run, procs) in enumerate(jobs, 1)
        ]
        (tmp_path / "t.swf").write_text("\n".join(rows))
        workload = TraceSpec(name="t", trace=tmp_path / "t.swf", platform=tmp_path / "p.toml")
        asked = ComparisonRequest("here", (workload,), (Contender("easy", "easy"),))
        return recorded_result(asked, workload, tmp_path, InputFiles())

    return of


def test_figures_are_those_of_the_recorded_starts(recorded):
    found = recorded([(0, 0, 100, 8), (10, 90, 50, 4), (20, 80, 300, 4)])
    assert (
        "The recorded starts of t, put on nodes by best fit, pass the audit on this platform (1 job ran" in found.note
    )
    metrics = found.result.metrics
    assert (metrics["mean_wait_s"], metrics["max_wait_s"], metrics["makespan_s"]) == (170 / 3, 90, 400)
    assert metrics["utilisation"] == (800 + 200 + 1200) / (400 * 8)
    schedule = read_jobs(found.result.folder / "jobs.csv")
    assert schedule.start.tolist() == [0, 100, 100]
    assert schedule.placed.units_of_jobs.tolist() == schedule.units.tolist()


@pytest.mark.parametrize(
    ("jobs", "said"),
    [
        ([(0, 0, 101, 8), (200, 0, 100, 8)], "(1 job ran beyond their walltimes, at which dispatchers kill them)"),
        (
            [(0, 0, 100, 2), (0, 0, 10, 2), (0, 0, 100, 2), (0, 0, 10, 2), (20, 0, 50, 4)],
            "best fit found no place for 1 of 5 on this platform",
        ),
    ],
)
def test_recorded_overruns_and_missing_nodes_are_reported(recorded, jobs, said):
    note = recorded(jobs).note
    assert said in note
    assert "do not pass" not in note


def test_different_draws_are_refused_before_existing_runs_change(tmp_path):
    (tmp_path / "p.toml").write_text(MACHINE.format(cores=4))
    (tmp_path / "t.swf").write_text(
        "\n".join(f"{n} {n * 40} 0 9 1 -1 -1 1 9 -1 1 {n} 1 -1 1 1 -1 -1" for n in range(1, 9))
    )
    workload = TraceSpec(name="t", trace=tmp_path / "t.swf", platform=tmp_path / "p.toml")

    def write(width, *, force=False):
        options = ComparisonOptions(replicates=2, resample=resampling_of(f"shake:{width}"))
        one = ComparisonRequest("here", (workload,), (Contender("easy", "easy"),), options)
        found = write_draws(one, tmp_path / "o", InputFiles(), lambda: None, force=force)["t"]
        assert found.weeks == 0
        return {path.name: path.read_text() for path in (tmp_path / "o/draws/t").iterdir()}

    before = write(600)
    assert sorted(before) == ["1.swf", "2.swf"]
    assert write(600) == before
    with pytest.raises(InputError, match="holds other draws of t; expected the same request, another folder, or --for"):
        write(900)
    assert {path.name: path.read_text() for path in (tmp_path / "o/draws/t").iterdir()} == before
    assert write(900, force=True) != before
