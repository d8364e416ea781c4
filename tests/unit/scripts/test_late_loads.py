"""The tables of late binding: how cases are made, what is said of ratios, and the pictures."""

import importlib
import sys

import numpy as np
import pytest

from dardis.workload.generate import generate
from scripts.lab.kit.cache import Run
from scripts.lab.kit.command import equal_nodes
from scripts.lab.late import frontier
from scripts.lab.late.cases import WALLTIMES, Case, with_walltimes
from scripts.lab.late.table import Means, Ratios, draw_who_pays, excess, geometric, summary, table, waits_by_class

command = importlib.import_module("scripts.lab.late.__main__")


def test_modified_walltimes_keep_runtimes():
    trace = generate("rivals", 300, 3)
    ran = np.minimum(trace.runtime, trace.walltime)
    for how in WALLTIMES[1:]:
        other = with_walltimes(trace, how)
        assert (other.runtime.tolist(), (other.walltime >= ran).all()) == (ran.tolist(), True)
    assert with_walltimes(trace, "exact").walltime.tolist() == ran.tolist()
    assert with_walltimes(trace, "five times").walltime.tolist() == (5 * trace.walltime).tolist()
    assert len(set(with_walltimes(trace, "equal").walltime.tolist())) == 1


FOUND = {
    Case("KTH", 0.9): [Ratios(0.9, 0.5, 0.5, 1.0, 1.2, 0.4)],
    Case("KTH", 1.3): [Ratios(1.3, 2.0, 0.5, 3.0, None, 2.0)],
    Case("Eurora", 0.7): [Ratios(0.7, 1.0, 1.1, 1.5, None, 1.0)],
}


def test_ratio_summaries_by_hand():
    every = [one for (one,) in FOUND.values()]
    assert [*geometric(every[:2]), excess(every)] == pytest.approx([1.0, 0.5, 3**0.5, 2.0 / 1.05])
    chosen, worst, judged, *_ = summary(FOUND)
    assert chosen == "chosen on: 1.00/0.50/1.73 (aim 0.80/0.72/1.35), 2 cases"
    assert "wait 2.00 (1.05), slowdown 0.50 (1.05), longest 3.00 (1.80); 1.90 times a limit" in worst
    assert "judged on" in judged
    assert "| KTH, 10k, 1.3 | 1.30 | 2.00 | 0.50 | 3.00 | – | 2.00 | chosen on |" in table(FOUND)


def _metrics(wait, longest):
    return {"mean_wait_s": wait, "mean_bounded_slowdown": wait / 10, "max_wait_s": longest}


def test_frontier_by_hand(tmp_path):
    first, second = Case("KTH", 0.9, 5000), Case("Eurora", None, 5000)
    found = frontier.means_of(
        {
            (first, "easy"): _metrics(100, 1000), (first, "easy sjbf"): _metrics(50, 2000),
            (first, "late 1.5"): _metrics(40, 1500), (first, "late 2"): _metrics(120, 3000),
            (second, "easy"): _metrics(10, 10), (second, "late 1.5"): _metrics(10, 10),
        },
        "easy sjbf", "easy",
    )  # fmt: skip
    assert found[first, "late 2"] == pytest.approx(Means(2.4, 2.4, 3.0))
    assert {case for case, _ in found} == {first}
    waits = {(first, "late 1.5"): dict.fromkeys((*frontier.WIDTHS, *frontier.HOURS), (30, 6.0))}
    waits[first, "easy"] = waits[first, "late 1.5"] | {"wide": (30, 4.0), "narrow": (30, 0.0)}
    waits[first, "late 1.5"]["medium"] = (29, 6.0)
    classes = frontier.ratios_of_classes(waits, "late 1.5", "easy")
    assert classes == {first: {"wide": 1.5} | dict.fromkeys(frontier.HOURS, 1.0)}
    told = frontier.text(found, classes, "easy")
    assert "| late 2 | 1 | 2.40 | 2.40 | 3.00 | 2.40 | 2.40 | 3.00 | 2 | 1 |" in told
    assert "| wide | 1 | 1.50 | 1.50 | KTH, 5k, 0.9 |" in told
    frontier.write(tmp_path, found, classes)
    assert 'KTH, 5k, 0.9",late 1.5,0.800,0.800,1.500\n' in (tmp_path / "frontier.csv").read_text()
    assert 'KTH, 5k, 0.9",1.50,–,–,1.00,1.00,1.00,1.00,1.50\n' in (tmp_path / "classes.csv").read_text()
    frontier.draw(tmp_path / "frontier", found, "easy sjbf")
    draw_who_pays(tmp_path / "who_pays", FOUND)
    for name in ("who_pays", "frontier"):
        assert (tmp_path / f"{name}.png").stat().st_size > 10_000
        assert b"mean wait" in (tmp_path / f"{name}.svg").read_bytes()


def test_waits_by_class_of_a_run(tmp_path):
    one = Run(("easy",), tmp_path / "t.csv", equal_nodes(tmp_path, 16, 1))
    one.folder(tmp_path).mkdir(parents=True)
    head = "requested_number_of_resources,requested_time,waiting_time,starting_time\n"
    rows = ("4,3600,10,5", "5,3601,30,5", "1,14400,50,5", "1,99999,70,5", "16,60,99,-1")
    (one.folder(tmp_path) / "jobs.csv").write_text(head + "\n".join(rows) + "\n")
    found = waits_by_class(one, tmp_path)
    assert found["others"] == (3, pytest.approx(130 / 3))
    assert (found["wide"], found["medium"], found["narrow"]) == ((1, 30.0), (1, 10.0), (2, 60.0))
    assert [found[name] for name in frontier.HOURS] == [(1, 10.0), (2, 40.0), (0, 0.0), (1, 70.0)]


@pytest.mark.parametrize(("arguments", "told"), [
    ("--part chosen", "--part is for --loads"), ("--frontier --loads", "not allowed with argument"),
    ("--frontier --only KTH", "--frontier has cases of its own"),
])  # fmt: skip
def test_incompatible_options_are_refused(arguments, told, tmp_path, monkeypatch, capsys):
    out = tmp_path / "out"
    monkeypatch.setattr(sys, "argv", ["late", "--traces", str(tmp_path), "--out", str(out), *arguments.split()])
    with pytest.raises(SystemExit, match="2"):
        command.main()
    assert told in capsys.readouterr().err
    assert not out.exists()
