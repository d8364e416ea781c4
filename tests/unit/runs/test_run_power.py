"""A run on a platform that says what power costs: the same schedule, and what it costs in its files and report."""

import json

import pytest

from dardis.config.run_spec import RunSpec
from dardis.report.run_page import draw_report
from dardis.runs.run import run

PLATFORM = '{top}name = "p"\n[[nodes]]\ncount = 2\nprefix = "n"\nresources = {{ cores = 4 }}\n{power}'
POWER = "power = { idle_w = 100, core_w = 6 }\n"
MONEY = 'cooling = "air"\nweather = 20\nprices = 0.13\ncurrency = "CHF"\n'
HEADER = "job_id,submit_s,runtime_s,walltime_s,units,req_cores,queue\n"
ROWS = [f"{n},{100 * n},900,1000,2,{1 + n % 4},q{n % 2}" for n in range(1, 30)]


@pytest.fixture
def run_on(tmp_path):
    (tmp_path / "t.csv").write_text(HEADER + "\n".join(ROWS) + "\n")

    def start(top, power):
        (tmp_path / "p.toml").write_text(PLATFORM.format(top=top, power=power))
        out = tmp_path / "out"
        run(RunSpec(trace=tmp_path / "t.csv", platform=tmp_path / "p.toml", dispatcher="easy", out=out, force=True))
        draw_report(out)
        record = json.loads((out / "run.json").read_text())
        metrics = json.loads((out / "metrics.json").read_text())
        return out, metrics, record["warnings"], (out / "report.html").read_text()

    return start


def test_power_changes_figures_and_nothing_else(run_on):
    out, plain, warnings, page = run_on("", "")
    assert "profit_eur" not in plain
    assert not (out / "power.csv").exists()
    assert warnings == []
    assert "Power and money" not in page

    out, told, warnings, page = run_on(MONEY, POWER)
    assert told["schedule_digest"] == plain["schedule_digest"]
    assert told["profit_eur"] == pytest.approx(told["income_eur"] - told["energy_eur"] - told["cooling_eur"])
    assert 1.4 < told["pue"] < 1.45
    assert warnings == []
    assert "Power and money" in page
    assert f"{told['profit_eur']:,.2f} CHF" in page
    assert (out / "power.csv").read_text().startswith("time_s,until_s,temp_c,price_eur_per_kwh")
