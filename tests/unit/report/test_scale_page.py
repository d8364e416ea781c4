"""Which rows make a line, what damaged files say, and which charts a report has."""

import csv
import json
from dataclasses import fields

import pytest
from kit.scale_folder import ONE, RECORD

from dardis.model.errors import InputError
from dardis.report.scale_page import draw_scale_report
from dardis.report.scale_rows import lines_over, medians, read_rows
from dardis.report.words import number
from dardis.scale.row import ExperimentRow

NETWORK = {
    "ranks": 4, "latency_ns": 1500.0, "send_overhead_ns": 400.0, "receive_overhead_ns": 300.0, "gap_ns": 500.0,
    "gap_per_byte_ns": 0.07,
}  # fmt: skip
PREDICTED = (
    "scaling", "nodes", "ranks", "task_managers", "arity", "window_s", "reservations", "predicted_s_per_job",
    "measured_nodes", "measured_ranks", "network_ranks",
)  # fmt: skip
OF_RANKS = {
    "mpi_share": 0.4, "collective_s_per_round": 1e-5, "predicted_s_per_round": 9e-4, "node_ns": 80.0,
    "message_ns": 11000.0, "select_ns": 300.0,
}  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    """Write a folder of experiments: what differs from one row, and whether a network was measured."""

    def write(*different, network=False, predicted=()):
        names = [field.name for field in fields(ExperimentRow)]
        assert set(names) == set(ONE), "the report knows all columns"
        with (tmp_path / "scale.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, names)
            writer.writeheader()
            writer.writerows(ONE | more for more in different)
        record = RECORD | {"networks": {"4": NETWORK} if network else {}}
        (tmp_path / "scale.json").write_text(json.dumps(record))
        if predicted:
            lines = [",".join(map(str, line)) for line in (PREDICTED, *predicted)]
            (tmp_path / "predictions.csv").write_text("\n".join(lines))
        return tmp_path

    return write


def drawn(folder):
    page = draw_scale_report(folder).read_text()
    titles = (
        "Work per node", "Work of a sampled job", "Strong scaling", "Weak scaling", "Messages",
        "One machine on more ranks", "Machines that grow with their ranks", "Sampled nodes", "Many task managers",
        "Task managers beyond this machine",
    )  # fmt: skip
    return page, [title for title in titles if f"<h2>{title}</h2>" in page]


@pytest.mark.parametrize(
    ("different", "titles"),
    [
        ([{}, {"nodes": 2000, "hosts": 32}], ["Work per node", "Messages"]),
        ([{"sample": 2}, {"sample": 2, "nodes": 2000}], ["Work of a sampled job"]),
        ([{"sample": 2}, {"sample": 4}, {}], ["Sampled nodes"]),
        ([{}, {"task_managers": 2}], ["Many task managers"]),
        ([{}, {"ranks": 2, "hosts": 2}], ["Strong scaling"]),
        ([{}, {"nodes": 2000, "ranks": 2, "hosts": 2}], ["Weak scaling"]),
        ([{"nodes": 1000 * n, "ranks": n, "hosts": n} for n in (2, 4)], ["Weak scaling", "Messages"]),
        ([{"ranks": ranks, "hosts": ranks} | OF_RANKS for ranks in (2, 4)], ["Strong scaling", "Messages"]),
    ],
)
def test_charts_require_their_rows(folder, different, titles):
    _, found = drawn(folder(*different, network=True))
    assert found == titles


def test_many_lines_and_all_charts(folder):
    different = [
        {"nodes": nodes, "ranks": ranks, "hosts": ranks, "arity": arity, "sample": sample, "task_managers": managers}
        | OF_RANKS
        for nodes in (1000, 2000, 4000) for ranks in (2, 4) for arity in ("flat", 2, 8) for sample in (2, "all")
        for managers in (1, 2)
    ]  # fmt: skip
    page, titles = drawn(folder(*different, network=True))
    assert len(titles) == 7, "all but what needs jobs in flight, and predictions"
    assert "more lines are in the table only" in page
    assert "The same jobs on the same machine have the same schedule" in page
    assert "Up to 4 ranks shared 2 cores here" in page
    assert "latency 1.5 µs" in page


def test_predictions_are_drawn_and_listed(folder):
    predicted = [
        (scaling, 1000 if scaling == "strong" else 500 * ranks, ranks, 1, arity, 100, 4, 0.25 / ranks, 1000, 2, 2)
        for scaling in ("strong", "weak") for ranks in (5, 10, 100) for arity in ("flat", 16, 2)
    ]  # fmt: skip
    path = folder({"ranks": 2, "hosts": 2} | OF_RANKS, predicted=predicted)
    page, titles = drawn(path)
    assert titles == ["One machine on more ranks", "Machines that grow with their ranks"]
    assert "Predicted for 1,000 nodes, ms a job" in page
    assert "<th>Ranks</th><th>flat</th><th>arity 2</th><th>arity 16</th>" in page
    assert "<td>10</td><td>25</td><td>25</td><td>25</td>" in page
    assert "<td>100</td><td>2.5" in page
    assert "<td>5</td>" not in page
    told = (path / "predictions.csv").read_text().splitlines()
    (path / "predictions.csv").write_text("\n".join(told[:9]))
    assert "<td>100</td><td>2.5" in drawn(path)[0]
    assert "<td>–</td>" in drawn(path)[0].partition("Predicted for")[2].partition("</table>")[0]
    assert drawn(path)[1] == ["One machine on more ranks"]


def test_charts_show_medians_of_repeats_and_the_table_each(folder):
    figures = {1000: (30.0, 10.0, 20.0), 2000: (5.0, 7.0, 6.0)}
    different = [
        {"nodes": nodes, "repeat": repeat, "cpu_ns_per_node_job": figures[nodes][repeat - 1]}
        for repeat in (1, 2, 3) for nodes in figures
    ]  # fmt: skip
    path = folder(*different)
    rows = medians(read_rows(path / "scale.csv"))
    assert [(row.values["nodes"], row.values["cpu_ns_per_node_job"]) for row in rows] == [(1000, 20.0), (2000, 6.0)]
    assert [row.values["mpi_share"] for row in rows] == [None, None]
    page, _ = drawn(path)
    assert "2 experiments of 9 jobs" in page
    assert "Each experiment ran 3 times" in page
    assert all(f"<td>{number(figure)}</td>" in page for each in figures.values() for figure in each)


def test_lines_are_alike_but_for_the_axis(folder):
    different = [{"nodes": n, "arity": a, "task_managers": 3} for n in (2000, 1000) for a in ("flat", 4)]
    rows = read_rows(folder(*different, {"nodes": 500, "seed": 2}) / "scale.csv")
    lines = lines_over(rows, "nodes", "chain")
    assert [line.label for line in lines] == ["flat", "arity 4"]
    assert [row.values["nodes"] for row in lines[0].rows] == [1000, 2000]
    assert lines_over(rows, "nodes", "mpi_share") == []
    assert lines_over(rows, "nodes", "chain", least=3) == []
    in_flight = [{"task_managers": m, "overlap": o} for m in (1, 2) for o in (1, 64)]
    lines = lines_over(read_rows(folder(*in_flight) / "scale.csv"), "task_managers", "jobs_per_s")
    assert [(line.label, len(line.rows)) for line in lines] == [("1 job in flight", 2), ("64 jobs in flight", 2)]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("scale.csv", "nodes,ranks\n1,1\n", "not exactly one column hosts"),
        ("scale.csv", ",".join(ONE) + "\n", "has no rows"),
        ("scale.csv", ",".join(ONE) + "\n1\n", "1 fields"),
        ("scale.csv", ",".join(ONE) + "\n" + ",".join(map(str, (ONE | {"rounds": 0}).values())), ":2: rounds '0'"),
        ("scale.csv", ",".join(ONE) + "\n" + ",".join(map(str, (ONE | {"chain": "a"}).values())), ":2: chain 'a'"),
        ("scale.json", "{", "is not JSON"),
        ("scale.json", "[" * 100_000, "is not JSON"),
        ("scale.json", "[]", "expected a table"),
        ("scale.json", "{}", "arguments: missing key"),
        ("scale.json", json.dumps(RECORD | {"cores": "2"}), "cores: '2'; expected a valid integer"),
    ],
)
def test_damaged_files_are_reported(folder, name, text, message):
    path = folder({})
    (path / name).write_text(text)
    with pytest.raises(InputError, match=message):
        draw_scale_report(path)
