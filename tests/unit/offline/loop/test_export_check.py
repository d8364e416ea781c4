"""What an export would have brought on the days before: its table, its exit status, and what it refuses."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

from dardis.cli.main import run
from dardis.model.errors import InputError
from dardis.model.target import Switching
from offline.export.formats import load_plan
from offline.export.slurm_export import Mode
from offline.loop.export_check import ALL_ON, Check, RuleOutcome, check_export


@pytest.fixture(scope="module")
def found(small_plan) -> Check:
    return check_export(load_plan(small_plan), None)


def of(check: Check, name: str) -> RuleOutcome:
    return next(outcome for outcome in check.outcomes if outcome.name == name)


def test_seven_days_beside_all_nodes_on_and_plain_suspend_time(found):
    plain = found.of(Mode.SUSPEND_TIME).name
    assert [outcome.name for outcome in found.outcomes] == [ALL_ON, plain, "spares", "windows"]
    assert plain in [f"SuspendTime {idle} s" for idle in (168, 337, 674, 1348)]
    assert found.days == tuple(f"2023-07-{day:02d}" for day in range(4, 11))
    assert not of(found, ALL_ON).boot_delay_s.any()
    assert (of(found, "spares").energy_kwh < of(found, ALL_ON).energy_kwh).all()
    assert (of(found, "spares").boot_delay_s <= found.of(Mode.SUSPEND_TIME).boot_delay_s + 1e-9).all()
    assert found.gain(Mode.SPARES).mean() > 0
    text = "\n".join(found.table)
    for outcome in found.outcomes:
        assert f"{outcome.profit.mean():,.2f}" in text
        assert f"{outcome.wait_s.mean():,.0f} s" in text


def closing(small_plan, folder):
    """The plan with half of the nodes closed all day, on a machine that earns well."""
    shutil.copytree(small_plan, folder)
    rows = (folder / "onoff.csv").read_text().splitlines()
    start = int((folder / "profile.csv").read_text().splitlines()[1].split(",")[0])
    (folder / "onoff.csv").write_text(
        "\n".join([rows[0], *(f"{start},,{node},n{node},off" for node in range(6))]) + "\n"
    )
    told = json.loads((folder / "run.json").read_text())
    told["platform"]["income_per_core_h"] = 1.0
    (folder / "run.json").write_text(json.dumps(told))
    return folder


def test_unprofitable_mode_is_written_only_when_accepted(small_plan, tmp_path, capsys):
    folder = closing(small_plan, tmp_path / "closing")
    words = ["export", str(folder), "--format", "slurm"]
    windows = [*words, "--mode", "windows", "--check", "--out", str(tmp_path / "plan.sh")]
    assert run(windows) == 3
    told = capsys.readouterr()
    assert "windows" in told.out
    assert "mode windows: " in told.out
    assert told.err.splitlines()[-1].startswith("dardis: --mode windows would have lost ")
    assert not (tmp_path / "plan.sh").exists()
    assert run([*windows, "--anyway"]) == 0
    assert "RESERVATIONS=(" in (tmp_path / "plan.sh").read_text()
    capsys.readouterr()
    assert run([*words, "--check"]) == 0  # the other mode gains
    told = capsys.readouterr()
    assert "SPARE_NODES=" in told.out
    assert "simulated under EASY" in told.err
    assert "is not checked" not in told.err
    assert run(words) == 0
    assert "is not checked" in capsys.readouterr().err


def test_a_plan_without_spares_has_windows_only(small_plan):
    plan = replace(load_plan(small_plan), switching=Switching())
    assert [outcome.name for outcome in check_export(plan, None).outcomes][2:] == ["windows"]


def outcome(name: str, mode: Mode | None, *profit: float) -> RuleOutcome:
    nothing = np.zeros(len(profit))
    return RuleOutcome(name, nothing, nothing, nothing, nothing, nothing, np.array(profit), nothing, mode)


def test_the_price_of_waits_decides_between_modes():
    dear = replace(outcome("spares", Mode.SPARES, 9.0, 9.0), wait_cost=np.array([4.0, 6.0]))
    plain = replace(outcome("SuspendTime 321 s", Mode.SUSPEND_TIME, 8.0, 8.0), wait_cost=np.array([1.0, 1.0]))
    check = Check(("a", "b"), (outcome(ALL_ON, None, 1.0, 1.0), plain, dear), "EUR", ())
    assert check.best is Mode.SUSPEND_TIME
    assert check.choice(Mode.SUSPEND_TIME) == "  mode suspend-time: 3.00 EUR a day more than spares"
    assert check.choice(Mode.SPARES) == "  mode spares: 3.00 EUR a day less than suspend-time (SuspendTime 321 s)"
    with pytest.raises(InputError, match="was not simulated"):
        check.of(Mode.WINDOWS)
    assert check.gain(Mode.SPARES).tolist() == [4.0, 2.0]
    assert [line.split()[-3:] for line in check.table[2:5]] == [
        ["0.00", "0.00", "0.00"], ["1.00", "6.00", "6.00"], ["5.00", "3.00", "2.00"],
    ]  # fmt: skip
    assert "waits cost" in check.table[1]


def test_price_of_waits_comes_from_plan_or_option(found, small_plan):
    plan = load_plan(small_plan)
    priced = check_export(plan, None, wait_price=0.6)
    for free, paid in zip(found.outcomes, priced.outcomes, strict=True):
        if free.name == paid.name:  # with another price another idle time may be the best
            assert free.profit.tolist() == paid.profit.tolist()
            assert (free.wait_cost == 0).all()
    seconds = priced.outcomes[0].wait_cost / 0.6 * 3600
    assert (seconds > 0).any() == (priced.outcomes[0].wait_s > 0).any()
    of_plan = check_export(replace(plan, settings=plan.settings | {"wait_price": 1.2}), None)
    np.testing.assert_allclose(of_plan.outcomes[0].wait_cost, 2 * priced.outcomes[0].wait_cost)


def test_plain_suspend_time_keeps_no_node_on(found, small_plan, tmp_path):
    out = tmp_path / "plain.sh"
    words = ["export", str(small_plan), "--format", "slurm", "--mode", "suspend-time", "--out", str(out)]
    assert run(words) == 0
    assert "IDLE_S=337\n" in out.read_text()
    assert run([*words, "--check", "--anyway"]) == 0
    text = out.read_text()
    assert f"IDLE_S={found.of(Mode.SUSPEND_TIME).switching.idle_s}\n" in text
    assert [line.split()[1:] for line in text.split("STEPS=(\n")[1].split(")")[0].splitlines()] == [['0"']]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--format", "csv", "--check"], "--check: --format csv cannot be simulated"),
        (["--format", "slurm", "--accept-loss"], "--anyway: given without --check"),
        (["--format", "slurm", "--history", "x.swf"], "--history: given without --check"),
        (["--check", "--history", "absent.swf"], "absent.swf"),
        (["--format", "csv", "--mode", "spares"], "--mode: --format csv has no modes"),
        ([], "dardis export: no --format"),
    ],
)
def test_export_check_errors_are_one_line(small_plan, capsys, words, said):
    assert run(["export", str(small_plan), *words]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.count("\n") == 1
    assert said in told.err


def test_unusable_histories_are_refused(small_plan, small_site, tmp_path, capsys):
    moved = [line.split() for line in (small_site / "trace.swf").read_text().splitlines()]
    (tmp_path / "later.swf").write_text("\n".join(" ".join([row[0], str(int(row[1]) + 99), *row[2:]]) for row in moved))
    assert run(["export", str(small_plan), "--check", "--history", str(tmp_path / "later.swf")]) == 2
    assert "its clock is -99 s ahead of the plan's" in capsys.readouterr().err
    folder = shutil.copytree(small_plan, tmp_path / "plan")
    told = json.loads((folder / "run.json").read_text())
    told["settings"]["history"] = str(tmp_path / "gone.swf")
    (folder / "run.json").write_text(json.dumps(told))
    assert run(["export", str(folder), "--check"]) == 2
    assert "gone.swf: the plan's history does not exist; expected --history TRACE" in capsys.readouterr().err
    del told["settings"]["history"]
    (folder / "run.json").write_text(json.dumps(told))
    assert run(["export", str(folder), "--check"]) == 2
    assert "the plan names no history; expected --history TRACE" in capsys.readouterr().err
