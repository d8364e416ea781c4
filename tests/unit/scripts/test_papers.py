"""Claims of the papers, and scripts/reproduce, which runs their commands (none is run here)."""

import shlex
from itertools import groupby
from types import SimpleNamespace

import pytest

from scripts.lab.__main__ import experiments
from scripts.lab.cp_2019 import __main__ as kit_2019
from scripts.lab.cp_2020 import __main__ as kit_2020
from scripts.lab.kit import constraint
from scripts.lab.kit.claims import UNKNOWN, Judge
from scripts.lab.kit.compared import read_spec
from scripts.lab.kit.page import read_csv
from scripts.lab.thesis_5 import page as thesis_5
from scripts.papers import __main__ as reproduce
from scripts.papers.catalogue import CLAIMS, ROOT, VERDICTS, read_claims, read_papers

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


def constraint_verdicts(name, claims, machine=""):
    """On our figures in docs/reproduction, in groups by their first column, which begins with a machine."""
    judges = []
    for group, rows in groupby(read_csv(CLAIMS.with_name(f"{name}.csv")), lambda row: next(iter(row.values()))):
        cells = {row["version"]: [(key, row[of]) for key, of in constraint.COLUMNS.items()] for row in rows}
        judge = Judge({of: {key: float(cell) for key, cell in row if cell} for of, row in cells.items()})
        judges += [judge] * group.startswith(machine)
    found = {text: [one(claim) for one in judges] for text, claim in claims.items()}
    return {text: next((one for one in of if one != UNKNOWN), UNKNOWN) for text, of in found.items()}


def test_published_figures_give_the_published_verdicts():
    figures = {
        row["dispatcher"]: {key: float(row[title].split()[0]) for key, (title, _) in thesis_5.OF_DRAWS.items()}
        for row in read_csv(CLAIMS.with_name("thesis_5_seeds.csv")) if row["source"] == "5 draws"
    }  # fmt: skip
    of_2019, of_2020 = (read_spec(kit.__file__, "claims") for kit in (kit_2019, kit_2020))
    for paper, judged in {
        "thesis-5": thesis_5.judged(figures, thesis_5.RULES),
        "pcp19": constraint_verdicts("cp_2019", of_2019["claims"]),
        "pcp20": constraint_verdicts("cp_2020", of_2020["kit"]["claims"], "KIT")
        | constraint_verdicts("cp_2020", of_2020["eurora"]["claims"], "Eurora"),
    }.items():
        stated = {one.claim: one.verdict for one in read_claims() if one.paper == paper and one.claim in judged}
        unknown = {text: stated.get(text) for text, one in judged.items() if one == UNKNOWN}
        assert stated == {text: one.verdict for text, one in judged.items()} | unknown
        assert len(unknown) <= 2  # the tables have no decisions, and no medium and long jobs


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
