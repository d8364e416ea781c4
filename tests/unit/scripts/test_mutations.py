"""The mutations are true to the code, and a run tells those that tests notice from those that they don't."""

import ast
from pathlib import Path

import pytest

from scripts.lab.mutate import __main__ as command
from scripts.lab.mutate.mutation import MUTATIONS, Mutation, MutationError
from scripts.lab.mutate.trial import Verdict, try_all

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_every_mutation_matches_the_code(mutation):
    before = ast.parse((ROOT / mutation.file).read_text(encoding="utf-8"))
    after = ast.parse(mutation.source(ROOT))
    assert ast.dump(before) != ast.dump(after)
    assert mutation.tests
    assert all((ROOT / path).exists() for path in mutation.tests)


@pytest.fixture
def tree(tmp_path, monkeypatch) -> Path:
    """A program of one module whose tests do not look at what lies on the edge."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # they need none, and loading takes a second
    path = tmp_path / "tree"
    path.mkdir()
    (path / "span.py").write_text("def holds(time, start, end):\n    return start <= time and time < end\n")
    (path / "test_span.py").write_text(
        "from pathlib import Path\n\nimport span\n\n\ndef test_holds():\n"
        "    assert Path(span.__file__).parent == Path(__file__).parent\n"
        "    assert span.holds(2, 1, 3) and not span.holds(4, 1, 3) and not span.holds(0, 1, 3)\n"
    )
    return path


def fault(name: str, old: str, new: str, **more) -> Mutation:
    return Mutation(name, "span.py", old, new, ("test_span.py",), **more)


FOUND = fault("always before the end", " and time < end", "")
MISSED = fault("the end counts", "time < end", "time <= end")


@pytest.mark.parametrize("jobs", [1, 2])
def test_detected_and_undetected_mutations_are_distinguished(tree, tmp_path, jobs):
    told, before = [], (tree / "span.py").read_text()
    found, missed = try_all(tree, [FOUND, MISSED], tmp_path, jobs, told.append)
    assert (found.verdict, found.by) == (Verdict.NOTICED, "test_span.py::test_holds")
    assert (missed.verdict, missed.by) == (Verdict.SURVIVED, "")
    assert sorted(outcome.mutation.name for outcome in told) == [FOUND.name, MISSED.name]
    assert (tree / "span.py").read_text() == before
    assert (tmp_path / "copy0" / "span.py").read_text() == before


def test_mutation_detected_only_by_slow_tests_is_listed_separately(tree, tmp_path):
    (tree / "test_edge.py").write_text(
        "import pytest\nimport span\n\n\n@pytest.mark.slow\ndef test_end():\n    assert not span.holds(3, 1, 3)\n"
    )
    (tree / "pytest.ini").write_text("[pytest]\nmarkers = slow\naddopts = -m 'not slow'\n")
    tests = ("test_span.py", "test_edge.py")
    faults = [
        Mutation("early", "span.py", " and time < end", "", tests),
        Mutation("the end counts", "span.py", "time < end", "time <= end", tests),
        Mutation("the end counts, too", "span.py", "time < end", "time <= end", tests[1:]),
        Mutation("the same", "span.py", "time < end", "end > time", tests),
    ]
    outcomes = try_all(tree, faults, tmp_path, 1, lambda _: None, slow=("-m", ""))
    verdicts = [Verdict.NOTICED, Verdict.LATER, Verdict.LATER, Verdict.SURVIVED]
    assert [outcome.verdict for outcome in outcomes] == verdicts
    assert outcomes[1].by == "test_edge.py::test_end"


ENDLESS = fault("for ever", "    return", "    while time > 3:\n        pass\n    return")
KILLED = fault("killed", "    return", "    __import__('os').kill(__import__('os').getpid(), 9)\n    return")
NO_PROGRAM = fault("no program", "return", "retrun")
NO_TEST = fault("no test", "time < end", "time <= end", only="nothing")


def test_endless_mutation_is_detected_by_its_cpu_time(tree, tmp_path, monkeypatch):
    monkeypatch.setattr("scripts.lab.mutate.trial.LEAST_S", 2)
    monkeypatch.setattr("scripts.lab.mutate.trial.LIMIT", 0)
    (outcome,) = try_all(tree, [ENDLESS], tmp_path, 1, lambda _: None)
    assert (outcome.verdict, outcome.by) == (Verdict.ENDLESS, "")


@pytest.mark.parametrize(
    ("wrong", "why", "output"),
    [
        (KILLED, "ended by SIGKILL", ""),
        (NO_PROGRAM, "pytest's status 2", "SyntaxError"),
        (NO_TEST, "pytest's status 5", "1 deselected"),
    ],
)
def test_trial_without_output_does_not_stop_others(tree, tmp_path, wrong, why, output):
    unknown, found = try_all(tree, [wrong, FOUND], tmp_path, 1, lambda _: None)
    assert (unknown.verdict, unknown.by) == (Verdict.UNKNOWN, f"its tests did not run: {why}")
    assert output in unknown.output
    assert found.verdict is Verdict.NOTICED


def test_tests_that_fail_without_mutation_are_an_error(tree, tmp_path):
    (tree / "span.py").write_text("def holds(time, start, end):\n    return start <= time and not end <= time - 3\n")
    broken = fault("anything", "time - 3", "time - 2")
    with pytest.raises(MutationError, match="fail without any mutation"):
        try_all(tree, [broken], tmp_path, 1, lambda _: None)


@pytest.mark.parametrize(
    ("chosen", "status"),
    [(["always"], 0), (["end counts"], 1), (["span.py: the end", "always"], 1), (["span.py"], 2), (["other"], 2)],
)
def test_command_lists_survivors_and_unknown_results(tree, monkeypatch, capsys, chosen, status):
    monkeypatch.setattr(command, "ROOT", tree)
    monkeypatch.setattr(command, "GATE", ())
    monkeypatch.setattr(command, "SLOW", ())
    monkeypatch.setattr(command, "MUTATIONS", (FOUND, MISSED, NO_PROGRAM))
    assert command.main(["--jobs", "1", "--only", *chosen]) == status
    out, err = capsys.readouterr()
    assert ("SURVIVED: span.py: the end counts" in out) == (chosen not in (["always"], ["other"]))
    assert ("NOT KNOWN: span.py: no program" in out) == ("SyntaxError" in err) == (chosen == ["span.py"])
    assert ("| noticed | test_span.py::test_holds |" in out) == (chosen not in (["end counts"], ["other"]))
    assert ("--list names them" in err) == (chosen == ["other"])
