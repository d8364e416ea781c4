"""Charts as files: named by what they show, the same bytes every time, and gone when the folder gets other work."""

import re

import pytest
from kit.written_run import SMALL, one_node_jobs, write_run

from dardis.cli.main import run
from dardis.model.errors import InputError
from dardis.model.out_folder import RUN_FOLDER
from dardis.report import chart
from dardis.report.chart import ChartFormat, charts_by_name


def drawn(title):
    with chart.style():
        return chart.finish(chart.figure(chart.HALF, 2.0)[0], title, "")


def test_files_are_named_by_group_and_title():
    charts = {"": [drawn("Breakdown by width"), drawn("Waits"), drawn("Waits")], "HPC2N-2002": [drawn("Waits")]}
    names = ["breakdown-by-width.pdf", "waits.pdf", "waits-2.pdf", "hpc2n-2002-waits.pdf"]
    assert list(charts_by_name(charts, ChartFormat.PDF)) == names
    assert list(charts_by_name({"..": [drawn("/")]}, ChartFormat.SVG)) == ["chart.svg"]


def test_every_chart_of_a_run_is_a_file_the_same_bytes_each_time(tmp_path, capsys):
    write_run(tmp_path, one_node_jobs(9, SMALL), SMALL)
    found = []
    for form in ("pdf", "pdf"):
        assert run(["report", str(tmp_path), "--charts", form, "--gantt", "0, 40"]) == 0
        found.append({path.name: path.read_bytes() for path in (tmp_path / "charts").glob(f"*.{form}")})
    assert found[0] == found[1]
    names = {"use-of-the-machine", "the-queue", "nodes-over-time", "jobs-over-nodes", "waits", "bounded-slowdowns"}
    assert set(found[0]) == {f"{name}.pdf" for name in names | {"waits-by-width", "decision-times"}}
    assert all(content.startswith(b"%PDF-") for content in found[0].values())
    assert f"charts: {tmp_path / 'charts'}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("5", "5"), ("9,9", "from 9 s"), ("7,3", "from 7 s"), ("a,b", "'a'"), ("0," + "9" * 19, "9999"),
        ("9000,9001", "no job ran"), ("0,2012-02-03", "does not state"),
    ],
)  # fmt: skip
def test_invalid_span_is_reported(said, found, tmp_path, capsys):
    write_run(tmp_path, one_node_jobs(9, SMALL), SMALL)
    assert run(["report", str(tmp_path), "--gantt", said]) == 2
    assert re.match(rf"dardis: --gantt.*: .*{found}.*expected", capsys.readouterr().err)


def test_new_work_removes_charts_of_old_work_and_nothing_else(tmp_path):
    def work(force):
        with RUN_FOLDER.lock(tmp_path, force=force), RUN_FOLDER.replace_files(tmp_path) as part:
            write_run(part, one_node_jobs(9, SMALL), SMALL)

    work(force=False)
    assert run(["report", str(tmp_path), "--charts", "svg"]) == 0
    assert all(path.read_bytes().startswith(b"<?xml") for path in (tmp_path / "charts").glob("*.svg"))
    work(force=True)
    assert not (tmp_path / "charts").exists()
    (tmp_path / "charts").mkdir()
    (tmp_path / "charts" / "thesis.docx").touch()
    with pytest.raises(InputError, match="has other content than a run"):
        work(force=True)
