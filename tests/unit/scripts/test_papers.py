"""Claims of the papers, and scripts/reproduce, which runs their commands (none is run here)."""

import shlex
from types import SimpleNamespace

import pytest

from scripts.lab.__main__ import experiments
from scripts.papers import __main__ as reproduce
from scripts.papers.catalogue import ROOT, VERDICTS, read_claims, read_papers

PAPERS = read_papers()
LINES = [one.line for paper in PAPERS.values() for one in paper.commands]


@pytest.mark.parametrize("line", sorted({*LINES, *(one.command for one in read_claims())}))
def test_commands_exist(line):
    script, *words = shlex.split(line)
    assert script in ("scripts/lab/run", "scripts/test")
    assert words
    if script == "scripts/lab/run":
        assert words[0] in experiments()
    else:
        assert all((ROOT / path).is_file() for path in words)


def test_claims_are_complete():
    claims = read_claims()
    assert list(dict.fromkeys(one.paper for one in claims)) == list(PAPERS)
    assert len({one[:3] for one in claims}) == len(claims)
    for one in claims:
        assert one.verdict in VERDICTS
        assert one.place
        assert one.claim
        assert one.value
        assert one.remark if one.verdict == "not testable" else one.ours


def test_list_shows_all_commands_and_runs_none(capsys, monkeypatch):
    monkeypatch.setattr(reproduce.subprocess, "run", lambda *_, **__: pytest.fail("run"))
    assert reproduce.main(["--list"]) == 0
    shown = capsys.readouterr().out
    assert not [line for line in [*PAPERS, *LINES] if line not in shown]


@pytest.mark.parametrize(
    "arguments", [[], ["thesis-2"], ["aucsched", "pcp20"], ["pcp19", "--fast"], ["pcp19", "--traces", "/nowhere"]]
)
def test_bad_arguments_are_one_line(arguments, capsys):
    with pytest.raises(SystemExit, match="2"):
        reproduce.main(arguments)
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize(("paper", "status"), [("thesis", 0), ("thesis-6", 3)])
def test_commands_within_an_hour_run_and_others_are_named(paper, status, tmp_path, capsys, monkeypatch):
    ran = []
    monkeypatch.setattr(
        reproduce.subprocess, "run", lambda words, **_: ran.append(words) or SimpleNamespace(returncode=status)
    )
    (tmp_path / "traces").mkdir()
    assert reproduce.main([paper, "--data", str(tmp_path)]) == (status > 0)
    every = [one for name, of in PAPERS.items() if name.startswith(paper) for one in of.commands]
    folders = {"": [], "traces": ["--traces", str(tmp_path / "traces")], "data": ["--data", str(tmp_path)]}
    assert ran == [[*shlex.split(one.line), *folders[one.folder]] for one in every if one.within_hour]
    told = capsys.readouterr()
    named = told.out.partition("not run")[2]
    assert [one.line for one in every if f"  {one.line}\n" in named] == [o.line for o in every if not o.within_hour]
    assert told.err.count("FAILED") == len(ran) * (status > 0)
