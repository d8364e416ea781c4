"""`dardis compare --clairvoyant`: what is written, what is kept, and what is refused."""

import json

import pytest
from kit.few_nodes import PLATFORM
from kit.small_site import rows_of

from dardis.cli.main import run

WIDTHS = (9, 30, 3, 17, 40, 8)  # one of them is wider than the machine


def swf(count):
    return "".join(
        f"{n} {n * 7} 0 {40 + n * 13 % 97} {WIDTHS[n % 6]} -1 -1 {WIDTHS[n % 6]} 200 -1 1 1 1 -1 1 1 -1 -1\n"
        for n in range(1, count + 1)
    )


@pytest.fixture
def compare(tmp_path, capsys):
    (tmp_path / "p.toml").write_text(PLATFORM)
    (tmp_path / "t.swf").write_text(swf(40))

    def call(*more, dispatchers="easy,easy:order=sjbf,rules-fcfs"):
        status = run(["compare", str(tmp_path / "t.swf"), "--platform", str(tmp_path / "p.toml"), "--dispatchers",
                      dispatchers, "--out", str(tmp_path / "o"), "--clairvoyant", *more])  # fmt: skip
        said = capsys.readouterr()
        return status, said.err, said.out

    return call


def rows(folder):
    return rows_of(folder / "o/clairvoyant.csv")


def test_results_are_above_the_best_known_and_that_above_the_bound(compare, tmp_path):
    status, errors, said = compare("--seeds", "1,2")
    assert (status, errors) == (0, "")
    assert "with all jobs known" in said
    told = rows(tmp_path)
    assert [row["dispatcher"] for row in told] == ["easy", "easy order=sjbf", "rules-fcfs"]
    for row in told:
        wait, best, bound = (float(row[key]) for key in ("mean_wait_s", "best_found_s", "bound_s"))
        assert wait >= best >= bound > 0
        assert float(row["above_best"]) == pytest.approx(wait / best)
        assert float(row["above_bound"]) == pytest.approx(wait / bound)
    assert int(told[0]["jobs"]) == sum(WIDTHS[n % 6] <= 32 for n in range(1, 41))
    assert f"waits {float(told[0]['best_found_s']):,.0f} s on average" in (tmp_path / "o/table.md").read_text()
    assert "Mean waits and clairvoyance" in (tmp_path / "o/report.html").read_text()
    kept = [row for row in rows_of(tmp_path / "o/clairvoyant/t/jobs.csv") if row["status"] != "rejected"]
    assert sum(float(row["waiting_time"]) for row in kept) / len(kept) == pytest.approx(float(told[0]["best_found_s"]))
    assert run(["audit", str(tmp_path / "o/clairvoyant/t"), "--platform", str(tmp_path / "p.toml")]) == 0
    assert run(["compare", str(tmp_path / "t.swf"), "--platform", str(tmp_path / "p.toml"), "--dispatchers", "easy",
                "--out", str(tmp_path / "o")]) == 0  # fmt: skip
    assert not (tmp_path / "o/clairvoyant.csv").exists(), "nobody asked for it"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--think-times",), "t has think times"),
        (("--profile", "f.csv"), "t has a desired profile"),
        (("--dispatchers", "easy,easy:unit_cores=1"), "unit_cores 0, 1"),
    ],
)
def test_unsupported_clairvoyant_options_are_refused(compare, more, said):
    status, errors, _ = compare(*more)
    assert status == 2
    assert errors.startswith("dardis: --clairvoyant: ")
    assert said in errors
    assert errors.count("\n") == 1


def test_clairvoyant_comparison_refuses_queue_hours(compare, tmp_path):
    queue = '[[queues]]\nname = "1"\nmax_units = 3\n'
    (tmp_path / "p.toml").write_text(f"{PLATFORM}{queue}stopped = [{{ start_s = 5, end_s = 9 }}]\n")
    status, errors, _ = compare(dispatchers="easy")
    assert status == 2
    assert "--clairvoyant: t has queues with hours" in errors
    (tmp_path / "p.toml").write_text(PLATFORM + queue)
    assert compare("--trim", "60,60", dispatchers="easy")[0] == 0
    (row,) = rows(tmp_path)
    assert float(row["mean_wait_s"]) >= float(row["best_found_s"]) >= float(row["bound_s"])
    taken = [n * 7 for n in range(1, 41) if WIDTHS[n % 6] <= 24]
    assert int(row["jobs"]) < len(taken), "jobs that count alone are bounded"


def test_result_is_kept_until_the_list_of_queues_changes(compare, tmp_path):
    assert compare("--trim", "60,60")[0] == 0
    path = tmp_path / "o/clairvoyant/t/clairvoyant.json"
    record = json.loads(path.read_text())
    best = record["known"]["best_s"]
    path.write_text(json.dumps(record | {"known": record["known"] | {"best_s": 2 * best}}))
    assert compare("--trim", "60,60")[0] == 0
    assert float(rows(tmp_path)[0]["best_found_s"]) == 2 * best
    record["key"]["queues"].pop()
    path.write_text(json.dumps(record))
    assert compare("--trim", "60,60")[0] == 0
    assert float(rows(tmp_path)[0]["best_found_s"]) == pytest.approx(best)
