"""`dardis cap` and `dardis switching`: what is sent, what is shown, and what is refused."""

import json

import pytest
from kit.live_service import served

from dardis.cli.main import run
from dardis.live.cap_account import CapAccount
from dardis.live.gateway import Gateway
from dardis.live.machine import HostFacts, machine_of, machine_of_platform
from dardis.live.power_cap import Cap
from dardis.model.errors import InputError
from dardis.model.platform import NodeGroup, NodePower, Platform, platform_to_dict

PLATFORM = Platform("m", (NodeGroup("n", 4, {"cores": 4}, NodePower(idle_w=100, core_w=10, boot_s=60)),))
MACHINE = machine_of_platform(PLATFORM)
PROFILE = "time_s,node,kind,value\n"
PLAN = (
    "time_s,time_utc,cores_target,power_cap_w,it_w,cooling_w,pue,price_eur_per_kwh,gco2_per_kwh,temp_c,nodes_on,end_s\n"
)


@pytest.fixture
def fake(tmp_path, monkeypatch):
    folder = tmp_path / "service"
    folder.mkdir()
    monkeypatch.setenv("DARDIS_FOLDER", str(folder))
    monkeypatch.chdir(tmp_path)
    with served(folder) as one:
        one.platform = platform_to_dict(MACHINE.platform)
        yield one


def sent(fake):
    method, path, body = fake.asked[-1]
    assert method == "POST"
    return path, body


@pytest.mark.parametrize(("words", "kind", "value", "hard"), [
    (["12kW"], "power", 12_000, True), (["1.5 MW", "--hard"], "power", 1_500_000, True),
    (["900W", "--soft"], "power", 900, False), (["480cores"], "cores", 480, True),
])  # fmt: skip
def test_amount_is_sent(fake, words, kind, value, hard):
    assert run(["cap", *words]) == 0
    body = {"kind": kind, "steps": [[0, value]], "source": words[0], "hard": hard, "measured": False}
    assert sent(fake) == ("/cap", body)
    assert Cap.from_dict(body).at(5) == value


def test_cap_is_removed_and_shown(fake, capsys):
    assert run(["cap", "off"]) == 0
    assert sent(fake) == ("/cap", {"off": True})
    fake.cap = {
        "cap": {"kind": "power", "hard": True, "steps": [[0, 700]], "source": "700W"}, "measured_w": None,
        "now": {"limit": 700, "used": 740.5, "excess": 40.5}, "next": [1795910400, 900], "trouble": "p: prints no node",
    }  # fmt: skip
    assert run(["cap"]) == 0
    assert capsys.readouterr().out == (
        "no cap\nhard cap of 700 W: 740.5 W are used, 40.5 W too many: nothing starts; "
        "900 W from 2026-11-29T00:00:00Z on\npower is not measured: p: prints no node\n"
    )


def test_profile_with_utc_times_is_sent(fake, tmp_path):
    rows = "2026-11-29T00:00Z,*,power,700\n2026-11-29T08:00Z,*,power,500\n"
    (tmp_path / "c.csv").write_text(PROFILE + rows)
    assert run(["cap", "c.csv"]) == 0
    body = sent(fake)[1]
    assert (body["kind"], body["steps"]) == ("power", [[1795910400, 700], [1795939200, 500]])


def plan_row(begin, end, watts):
    return f"{begin},2026-11-29T0{begin // 3600}:00:00Z,4,{watts},1,1,1,0.1,1,1,4,{end}\n"


def test_plan_is_sent(fake, tmp_path):
    (tmp_path / "profile.csv").write_text(PLAN + plan_row(0, 3600, 700.9) + plan_row(3600, 7200, ""))
    assert run(["cap", "profile.csv"]) == 0
    body = sent(fake)[1]
    assert (body["kind"], body["steps"]) == ("power", [[1795910400, 700], [1795914000, 1 << 40]])


def target(**more):
    return {
        "format": "dardis-target", "version": 1, "platform": "m", "nodes": 4, "unix_start": 1000,
        "profile": {"kind": "cores", "split": "open-nodes", "steps": [[0, 8], [50, 4]]},
        "switching": {"idle_s": 60, "most_cycles_per_day": 24.0, "groups": {"n": {"spares": [[0, 1], [90, 2]]}}},
        "source": {"made": "by a plan"},
    } | more  # fmt: skip


def test_target_is_a_cap_of_cores_and_a_rule_of_switching(fake, tmp_path):
    (tmp_path / "target.json").write_text(json.dumps(target()))
    assert run(["cap", "target.json"]) == 0
    body = sent(fake)[1]
    assert (body["kind"], body["steps"]) == ("cores", [[1000, 8], [1050, 4]])
    assert run(["switching", "target.json"]) == 0
    path, body = sent(fake)
    assert path == "/switching"
    assert body["table"]["groups"]["n"]["spares"] == [[1000, 1], [1090, 2]]


@pytest.mark.parametrize(("words", "line"), [
    (["cap", "12"], "cap: '12'; expected an amount with a unit: 12kW, 9600W, 1.2MW or 480cores"),
    (["cap", "1.0005kW"], "cap: '1.0005kW'; expected whole W or cores, at most"),
    (["cap", "480.5cores"], "cap: '480.5cores'; expected whole W or cores, at most"),
    (["cap", "9" * 29 + "MW"], "cap: '99999"),
    (["cap", "12 kilowatts"], "cap: '12 kilowatts'; expected an amount with a unit"),
    (["cap", "9kW", "--soft", "--hard"], "--soft, --hard: both; expected one of them"),
    (["cap", "off", "--soft"], "--soft, --hard, --measured: no cap; expected an amount or a file"),
    (
        ["cap", "none.csv"],
        "cap: 'none.csv'; expected an amount such as 12kW or 480cores, off, or a file that exists",
    ),
    (["cap", "1,2kW"], "cap: '1,2kW'; expected an amount such as"),
    (["cap", "x" * 9000], "cap: 'xxx"),
    (["cap", "other.json"], "other.json: target for 'other' of 4 nodes; expected a target for 'm' of 4"),
    (["switching", "other.json"], "other.json: target for 'other' of 4 nodes; expected a target for 'm' of 4"),
    (["cap", "gap.csv"], "gap.csv:3: time_s is not the end_s of the row before"),
    (["cap", "empty.csv"], "empty.csv: no power_cap_w; expected a plan with --cap"),
    (["cap", "undated.json"], "undated.json: no unix_start; expected a plan with dates"),
    (["switching", "undated.json"], "undated.json: no unix_start; expected a plan with dates"),
    (["switching", "unswitched.json"], "unswitched.json: no switching; expected a target of dardis plan"),
    (["cap", "unswitched.json"], "unswitched.json: no profile; expected a target of dardis plan --cap"),
    (["cap", "both.csv"], "both.csv: other kinds, or both; expected rows of the machine (*) of one kind"),
    (["cap", "node.csv"], "node.csv:2: node 0; expected node *, as nodes share the profile"),
    (["cap", "trace.csv"], "trace.csv:2: time_s '0'; expected a UTC moment such as 2026-12-24T16:00Z"),
])  # fmt: skip
def test_mistake_is_one_line_and_sends_nothing(fake, tmp_path, capsys, words, line):
    (tmp_path / "other.json").write_text(json.dumps(target(platform="other")))
    (tmp_path / "undated.json").write_text(json.dumps(target(unix_start=None)))
    (tmp_path / "unswitched.json").write_text(json.dumps(target(switching=None, profile=None)))
    (tmp_path / "gap.csv").write_text(PLAN + plan_row(0, 3600, 700) + plan_row(7200, 10800, 700))
    (tmp_path / "empty.csv").write_text(PLAN + plan_row(0, 3600, ""))
    at = "2026-11-29T00:00Z"
    (tmp_path / "both.csv").write_text(f"{PROFILE}{at},*,power,700\n{at},*,cores,7\n")
    (tmp_path / "node.csv").write_text(f"{PROFILE}{at},0,cores,4\n")
    (tmp_path / "trace.csv").write_text(f"{PROFILE}0,*,cores,4\n")
    assert run(words) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"dardis: {line}")
    assert error.count("\n") == 1
    assert not [one for one in fake.asked if one[0] == "POST"]


@pytest.mark.parametrize(("options", "line"), [
    (["--power-program", "none"], "--power-program: none is no file; expected a program"),
    (["--power-program", "plain"], "--power-program: plain is not executable; expected a program that may be"),
    (["--off-program", "sh"], "--off-program, --on-program: only one; expected both, or neither"),
    (["--spares", "2"], "--spares: no programs; expected --off-program and --on-program"),
    (["--idle", "5m"], "--idle: no programs; expected --off-program and --on-program"),
    (["--off-program", "plain", "--on-program", "sh"], "--off-program: plain is not executable"),
    (["--off-program", "sh", "--on-program", "sh", "--idle", "soon"], "--idle: 'soon'"),
])  # fmt: skip
def test_wrong_programs_are_one_line(tmp_path, monkeypatch, capsys, options, line):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plain").write_text("")
    (tmp_path / "sh").write_text("#!/bin/sh\n")
    (tmp_path / "sh").chmod(0o755)
    assert run(["serve", "--folder", str(tmp_path / "s"), *options]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"dardis: {line}")
    assert error.count("\n") == 1


def cap(watts, **more):
    return Cap("power", is_hard=True, steps=((0, watts),), **more)


def test_cap_below_the_idle_power_is_refused_unless_nodes_may_be_off():
    with pytest.raises(InputError, match=r"cap: 399 W is below the power of the idle nodes that cannot be off; .* 400"):
        Gateway(MACHINE).set_cap(cap(399))
    cap(100).check(MACHINE, ["n1", "n2", "n3"])
    with pytest.raises(InputError, match="at least 100 W"):
        cap(99).check(MACHINE, ["n1", "n2", "n3"])


def test_cap_of_power_needs_power_figures():
    host = machine_of([HostFacts("h", (0, 1), 1000, 0)])
    with pytest.raises(InputError, match="the service knows no power of its nodes"):
        Gateway(host).set_cap(cap(9000))
    Gateway(host).set_cap(Cap("cores", is_hard=True, steps=((0, 1),)))


def test_new_cap_begins_after_the_present_one():
    gateway = Gateway(MACHINE)
    gateway.set_cap(cap(700))
    gateway.set_cap(Cap("power", is_hard=True, steps=((50, 800),)))
    assert gateway.account.cap.steps == ((0, 700), (50, 800))
    assert Cap.from_text(gateway.take_output().batch.settings["cap"]) == gateway.account.cap
    with pytest.raises(InputError, match="the present cap has another kind or rule"):
        gateway.set_cap(Cap("cores", is_hard=True, steps=((50, 8),)))
    gateway.set_cap(None)
    assert gateway.take_output().batch.settings == {"cap": ""}


def test_measured_cap_counts_what_is_measured_beyond_the_expected_power():
    account = CapAccount(MACHINE, cap(700, is_measured=True))
    assert account.others((), ())[-1] == 0
    account.on_power({"n0": 150.0, "n1": 90.0}, {}, 60_000)
    assert account.others((), ())[-1] == 40_000
    assert account.use(0) == (700, 440.0, 0.0)
    account.on_power({}, {}, 70_000)
    assert account.others((), ())[-1] == 0
