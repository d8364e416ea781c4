"""Runs side by side: bounded in number, each on its own when one fails, and none left behind when we are stopped."""

import json
import sys
from functools import partial

import pytest
from kit import tasks

from dardis.comparison import processes
from dardis.comparison.comparison_folder import ComparisonState
from dardis.comparison.planned_runs import plan
from dardis.comparison.processes import run_all
from dardis.comparison.task_pool import RepeatingPool
from dardis.comparison.workers import Workers
from dardis.config.comparison_spec import ComparisonOptions, ComparisonRequest, Contender, TraceSpec
from dardis.model.errors import InputError
from dardis.model.files import InputFiles
from dardis.runs import run_objects as request

MACHINE = 'prices = "prices.csv"\nname = "p"\n[[nodes]]\ncount = 1\nprefix = "n"\nresources = { cores = 8 }\n'


@pytest.fixture
def comparison(tmp_path):
    (tmp_path / "t.swf").write_text("a trace")
    (tmp_path / "p.toml").write_text(MACHINE)
    (tmp_path / "prices.csv").write_text("0.1")
    workload = TraceSpec(
        name="t", trace=tmp_path / "t.swf", platform=tmp_path / "p.toml", trim=(1, 2), deadlines="factor:2", strict=True
    )
    return ComparisonRequest(
        "here", (workload,), tuple(Contender(name, name, ("x=1",)) for name in "abc"), ComparisonOptions(seeds=(1, 2))
    )


WRITES = """
import pathlib, sys
out = pathlib.Path(sys.argv[1]); out.mkdir(parents=True, exist_ok=True)
(out / 'jobs.csv').write_text('')
(out / 'run.json').write_text('{"deadlines": "factor:2", "request": %s}' % sys.argv[3])
(out / 'metrics.json').write_text('{"jobs": 7}')
(out / 'metrics_by.csv').write_text('')
(out / 'profile.csv').write_text('')
"""
FAILS = "import sys; print('dardis: warning: w', file=sys.stderr); sys.exit('dardis: no room for ' + sys.argv[2])"
TRIED = ", in each of 3 attempts"
DIES = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"


def begin_state(out):
    out.mkdir()
    state = ComparisonState(out, InputFiles())
    state.begin()
    return state


@pytest.fixture
def scripted_comparison(comparison, tmp_path, monkeypatch):
    """A comparison whose runs are the Python scripts that labels name, not simulations: its state, and its runs."""

    def call(scripts):
        monkeypatch.setattr(processes, "do_run", partial(tasks.script, scripts))
        return begin_state(tmp_path / "o"), plan(comparison, tmp_path / "o")

    return call


def quietly(*_):
    """Whoever looks on sees nothing."""


def test_failed_run_does_not_stop_others(scripted_comparison, tmp_path):
    state, runs = scripted_comparison({"a": FAILS, "b": WRITES, "c": DIES})
    ended = {}

    def watch(_children, run, error):
        if run is not None:
            ended[run.key] = error

    run_all(runs, state, RepeatingPool(Workers(2)), watch)
    assert ended == {
        "t/a/1": "no room for 1", "t/a/2": "no room for 2", "t/b/1": "", "t/b/2": "",
        "t/c/1": f"killed by SIGKILL{TRIED}", "t/c/2": f"killed by SIGKILL{TRIED}",
    }  # fmt: skip
    results = [state.result(run) for run in runs]
    assert [result.metrics for result in results] == [None, None, {"jobs": 7}, {"jobs": 7}, None, None]
    assert results[0].error == "no room for 1"
    assert results[2].deadlines == "factor:2"
    later = ComparisonState(tmp_path / "o", InputFiles())
    assert [later.is_done(run, force=False) for run in runs] == [False, False, True, True, False, False]
    told = json.loads((tmp_path / "o" / "compare.json").read_text())["runs"]["t/b/1"]
    assert told == {"status": "done", "error": ""}


def test_parallel_runs_are_limited_and_report_progress(scripted_comparison, tmp_path):
    go = tmp_path / "go"
    # None ends before all that may run at once have been started and counted.
    told = "import pathlib, sys, time; pathlib.Path(sys.argv[4]).write_text('3 9')\n"
    waits = f"while not pathlib.Path({str(go)!r}).exists(): time.sleep(0.01)"
    state, runs = scripted_comparison(dict.fromkeys("abc", told + waits))
    seen, progress = [], set()

    def watch(children, *_):
        seen.append(len(children))
        progress.update(child.job_counts for child in children)
        if len(children) == 3 and (3, 9) in progress:
            go.touch()

    run_all(runs, state, Workers(3), watch)
    assert max(seen) == 3
    assert (3, 9) in progress


def test_interrupt_ends_all_runs_and_keeps_finished_ones(scripted_comparison, tmp_path):
    waits = """
import pathlib, sys, time
me = pathlib.Path(sys.argv[1]).parent.parent / f"{sys.argv[2]}.state"
me.parent.mkdir(parents=True, exist_ok=True)
try:
    me.write_text("waits"); time.sleep(60)
except KeyboardInterrupt:
    me.write_text("interrupted"); sys.exit(130)
"""
    state, (a1, a2, b1, _, c1, _) = scripted_comparison({"b": WRITES, "a": waits, "c": waits})
    folder = tmp_path / "o" / "runs" / "t"

    def stop(children, _run, _error):
        if len(children) == 2 and all((folder / f"{n}.state").exists() for n in (1, 2)):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_all([b1, a1, a2, c1], state, Workers(2), stop)
    assert [(folder / f"{n}.state").read_text() for n in (1, 2)] == ["interrupted"] * 2
    later = ComparisonState(tmp_path / "o", InputFiles())
    assert [later.is_done(run, force=False) for run in (a1, a2, b1, c1)] == [False, False, True, False]


@pytest.fixture
def one_done(scripted_comparison, monkeypatch):
    """A run that has been done, which needs no process here."""
    state, (run, *_) = scripted_comparison({"a": WRITES})
    state.begin(run)
    monkeypatch.setattr(sys, "argv", [""])
    tasks.script({"a": WRITES}, run.request(), None)
    state.settle(run, "")
    return run


def state_of(run):
    """What a later comparison reads."""
    return ComparisonState(run.out.parents[3], InputFiles())


DAMAGE = [("metrics.json", text) for text in ("", "[]", '{"jobs": ', "\x00")]
DAMAGE += [("metrics.json", f'{{"jobs": 7, "mean_wait_s": {figure}}}') for figure in ('"a"', "NaN", "true", "9" * 5000)]
DAMAGE += [("run.json", text) for text in ("", "[]", "{}", '{"deadlines": 5}')]


@pytest.mark.parametrize(("name", "text"), DAMAGE)
def test_unreadable_run_counts_as_missing(one_done, name, text):
    (one_done.out / name).write_text(text)
    state = state_of(one_done)
    assert not state.is_done(one_done, force=False)
    assert "left no readable" in state.result(one_done).error


ENTRIES = [
    5, None, {}, {"status": "done"}, {"error": ""}, {"status": "well", "error": ""}, {"status": [], "error": ""},
    {"status": "done", "error": None},
]  # fmt: skip


@pytest.mark.parametrize("entry", ENTRIES)
def test_invalid_run_record_counts_as_missing(one_done, entry):
    out = one_done.out.parents[3]
    (out / "compare.json").write_text(json.dumps({"runs": {one_done.key: entry, "t/x/1": entry}}))
    state = ComparisonState(out, InputFiles())
    assert state.count_other_runs([]) == 0
    assert state.is_done(one_done, force=False), "its folder says what it holds"
    assert state.count_other_runs([]) == 1


@pytest.mark.parametrize(
    ("name", "said"), [("t.swf", "trace"), ("p.toml", "platform"), ("prices.csv", "file that the platform names")]
)
def test_changed_input_file_is_reported_and_rerun_with_force(one_done, tmp_path, name, said):
    assert state_of(one_done).is_done(one_done, force=False)
    path = tmp_path / name
    path.write_text(path.read_text() + "\n")
    with pytest.raises(InputError, match=f"run t/a/1 with another {said}; .*--force"):
        state_of(one_done).is_done(one_done, force=False)
    assert not state_of(one_done).is_done(one_done, force=True)


def test_another_version_may_give_another_schedule(one_done, monkeypatch):
    whole = (one_done.out / "run.json").read_text()
    (one_done.out / "run.json").write_text('{"deadlines": "factor:2"}')
    with pytest.raises(InputError, match=r"with another version of dardis; .*--force"):
        state_of(one_done).is_done(one_done, force=False)
    (one_done.out / "run.json").write_text(whole)
    monkeypatch.setattr(request, "__version__", "9.9")
    with pytest.raises(InputError, match="version of dardis"):
        state_of(one_done).is_done(one_done, force=False)
