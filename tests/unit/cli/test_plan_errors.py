"""What is wrong with the input of `dardis plan` and `hybrid`: one line that says where, exit 2, nothing written."""

from __future__ import annotations

import pytest
from kit.small_site import PLATFORM, POWER, called, prices, simulated, summary_of, weather, write_site

from dardis.runs import play

MIDNIGHT = 1 + 24 * (8 + 1)
"""Line of the files with the first hour of day 8 (their first line is the header, their first day the one before)."""


WHEN = {"plan": {"day": 8}, "hybrid": {"days": "8-9"}}


@pytest.fixture
def site(tmp_path):
    return write_site(tmp_path)


@pytest.fixture
def no_search(monkeypatch):
    """Whoever begins to plan or to simulate fails."""

    def begun(*_, **__):
        raise AssertionError("began")

    monkeypatch.setattr("offline.day.day.plan", begun)
    monkeypatch.setattr("offline.loop.loop.play", begun)
    monkeypatch.setattr("offline.day.plan_run.past_of", begun)


def without(text, first, last):
    rows = text.splitlines(keepends=True)
    return "".join(rows[:first] + rows[last:])


TABLES = {
    "prices with a gap": ("prices", without(prices(), MIDNIGHT + 5, MIDNIGHT + 9), "2023-07-11T05:00Z"),
    "weather that ends in the day": ("weather", without(weather(), MIDNIGHT + 9, 9999), "2023-07-11T09:00Z"),
    "a price that is none": ("prices", prices().replace(",0.24\n", ",dear\n"), "prices.csv:"),
    "an unknown column": ("prices", prices().replace("price_eur_per_kwh", "cost"), "price_eur_per_kwh"),
    "an hour twice": ("weather", weather().replace("-11T01:", "-11T00:"), "csv:"),
    "a PUE table that ends below the load": ("cooling", "temp_c,500,1000\n5,1.2,1.2\n40,1.3,1.3\n", "0 to 1000 W"),
    "a PUE table that is too cold": ("cooling", "temp_c,500,9000\n0,1.2,1.2\n5,1.3,1.3\n", "-2.5 to 7.5 °C"),
    "a trace without jobs": ("history", "; nothing\n", "history.csv"),
    "jobs of nodes": ("history", "job_id,submit_s,runtime_s,units,nodes,req_cores\n1,0,5,2,2,1\n", "jobs with parts"),
    "a platform with an unknown key": ("platform", "colour = 'red'\n" + PLATFORM, "colour"),
}


@pytest.mark.parametrize(("option", "text", "said"), TABLES.values(), ids=TABLES)
def test_errors_in_input_files_are_reported(site, capsys, no_search, option, text, said):
    (site / f"{option}.csv").write_text(text)
    for command, when in WHEN.items():
        refused(site, capsys, said, command=command, **when, **{option: site / f"{option}.csv"})


OF_BOTH = [
    ({"switching": "maybe"}, "--switching: 'maybe'; expected spare|algorithm8|off"),
    *(({"switching": rule}, f"'{rule}'; expected") for rule in ("reactive:", "reactive:-1", "react:3")),
    ({"offset": 101}, "--offset"),
    ({"forecast_method": "oracle"}, "seasonal"),
    ({"calendar_start": None}, "--calendar-start: not given"),
    ({"weather": None}, "--weather: not given"),
    ({"prices": None}, "--prices: not given"),
    ({"cooling": "water"}, "'water'"),
    ({"history": "none.swf"}, "none.swf"),
    ({"prices": "."}, ".: "),
]
WITHOUT = {"platform": "flat.toml", "calendar_start": None, "weather": None, "prices": None}
OF_PLAN = [
    ({"day": 0}, "--day: no job was submitted before day 0"),
    ({"day": -1}, "--day"),
    ({"day": 8, "hours": 36}, "--hours: '36'; expected 24 or 48"),
    ({"day": 400}, "weather.csv"),
    ({"day": 1, "calendar_start": "2023-07-03T18:00Z"}, "one complete day"),
    ({}, "dardis plan: neither --day nor --date; expected one of the two"),
    ({"day": 8, "date": "2023-07-11"}, "--date: beside --day 8; expected one of the two"),
    ({"date": "11.7.2023"}, "--date: '11.7.2023'; expected a UTC day such as 2023-07-15"),
    ({"date": "2023-07-01"}, "--date: no job was submitted before day -2 (2023-07-01T00:00:00Z)"),
    ({"date": "2023-07-11"} | WITHOUT, "--date: the trace states no start date; expected --calendar-start, or"),
]
AT_NOW = [
    (
        {"now": "2023-07-11T00:01Z"},
        "--now: 2023-07-11T00:01:00Z; expected 2023-07-10T00:00:00Z to 2023-07-11T00:00:00Z",
    ),
    (
        {"now": "2023-07-09T23:59Z"},
        "--now: 2023-07-09T23:59:00Z; expected 2023-07-10T00:00:00Z to 2023-07-11T00:00:00Z",
    ),
    ({"now": "yesterday"}, "--now: 'yesterday'; expected a moment since 1970"),
    ({"now": "2023-07-03T00:00Z", "calendar_start": None}, "--now: the trace states no start date"),
    ({"state": "odd.csv"}, "odd.csv:2: 'cn1' is not a node of platform small; expected a name such as n0"),
    ({"state": "empty.csv"}, "is empty; expected the output of scontrol show node -o, or a CSV of node,state"),
    ({"after": "."}, "has no plan"),
    *(
        ({"what_if": text}, "expected a limit of IT and cooling")
        for text in ("80kW", "8kW 19-17", "kW 1-2", "8kW 7:60-9")
    ),
    ({"what_if": "0.01kW 8-16"}, "--what-if '0.01kW 8-16'"),
]
OF_HYBRID = [
    ({"plan_at": "25:00"}, "--plan-at: '25:00'; expected a UTC time of day such as 15:00"),
    ({"days": "5-3"}, "--days: '5-3'; expected A-B"),
    ({"days": "0-1"}, "--days 0-1: 0 jobs before"),
    ({"days": "11-12"}, "and 0 in them"),
    ({"days": "8-30"}, "weather.csv: covers"),
    ({"dispatcher": "replan"}, "replan: switches no nodes; expected one of dardis-throughput, "),
    ({"dispatcher": "none"}, "dardis-throughput"),
    ({"set": "a=b"}, "--set a=b"),
    ({"shift_hours": 49}, "--shift-hours"),
    ({"cap": "firm"}, "--cap: 'firm'; expected soft|hard|off"),
    ({"cap": "hard", "set": "profile=soft"}, "--set profile=soft: --cap hard sets"),
    ({"cap": "soft", "deadlines": "sometimes"}, "--deadlines: 'sometimes'"),
]
OPTIONS = [
    *((command, when | options, said) for command, when in WHEN.items() for options, said in OF_BOTH),
    *(("plan", options, said) for options, said in OF_PLAN),
    *(("plan", WHEN["plan"] | options, said) for options, said in AT_NOW),
    *(("hybrid", WHEN["hybrid"] | options, said) for options, said in OF_HYBRID),
]


@pytest.mark.parametrize(("command", "options", "said"), OPTIONS)
def test_errors_in_options_are_reported(site, capsys, monkeypatch, command, options, said):
    monkeypatch.chdir(site)
    (site / "odd.csv").write_text("node,state\ncn1,off\n")
    (site / "empty.csv").write_text("")
    (site / "flat.toml").write_text("weather = 12\nprices = 0.1\n" + PLATFORM + POWER)
    refused(site, capsys, said, command=command, **options)


LIMITS = {
    "contract": "[tariff]\ncontracted_kw = 0.2\n",
    "window": "[[tariff.limits]]\nstart_utc = 2023-07-11T10:00:00Z\nend_utc = 2023-07-11T11:00:00Z\nmost_kw = 0.1\n",
}


@pytest.mark.parametrize(("limits", "command"), [("contract", "plan"), ("window", "hybrid")])
def test_unreachable_power_cap_is_refused(site, capsys, limits, command):
    (site / "capped.toml").write_text(PLATFORM + POWER + LIMITS[limits])
    refused(site, capsys, "platform: tariff", command=command, platform=site / "capped.toml", **WHEN[command])


def refused(site, capsys, said, *, command="plan", **options):
    """The command ends with one line that says so, and leaves no folder, not even a parent."""
    out = site / "new" / "out"
    assert called(command, site, out, **options) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1, captured.err
    assert captured.err.startswith("dardis: ")
    assert "; expected " in captured.err or "Invalid value" in captured.err
    assert said in captured.err
    assert not (site / "new").exists()


def test_weather_and_prices_that_begin_after_the_history_are_enough(site, capsys):
    around = {"weather": weather(), "prices": prices()}
    for name, text in around.items():
        (site / f"late-{name}.csv").write_text(without(text, 1, MIDNIGHT - 26))
    late = {name: site / f"late-{name}.csv" for name in around}
    assert called("plan", site, site / "out", day=8, no_report=True, **late) == 0
    said = capsys.readouterr().err
    assert "the temperature, since it is unknown for some past days" in said
    assert "the price, since it is unknown for some past days" in said
    assert "too few days" in said


@pytest.mark.parametrize(("day", "note"), [(1, "too few days"), (12, "before the forecast")])
def test_short_or_stale_history_is_reported(site, capsys, day, note):
    assert called("plan", site, site / "out", day=day) == 0
    assert note in capsys.readouterr().err
    assert note in summary_of(site / "out")["notes"]
    assert note in (site / "out" / "report.html").read_text()


def test_replan_refuses_a_target_that_switches_nodes(small_site, small_plan, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(play, "play_over", None)
    asked = ("--dispatcher", "replan", "--profile", small_plan / "target.json")
    assert simulated(small_site, tmp_path / "run", *asked) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "target.json" in said
    assert "replan" in said
    assert not (tmp_path / "run").exists()
