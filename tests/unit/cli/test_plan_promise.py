"""What `dardis plan` promises of switching, and what it says that a limit on power would cost."""

from __future__ import annotations

import pytest
from kit.small_site import called, search_less, summary_of


@pytest.fixture(autouse=True)
def _short_search(monkeypatch):
    search_less(monkeypatch)


def test_a_plan_promises_a_gain_with_a_range(small_plan):
    found = summary_of(small_plan)
    for name, unit in (("gain", "_eur"), ("gain_over_suspend", "_eur")):
        assert found[f"{name}_p10{unit}"] <= found[f"{name}{unit}"] <= found[f"{name}_p90{unit}"]
    assert 0 < found["peak_p10_kw"] <= found["peak_p90_kw"]
    assert found["jobs_p10"] <= found["jobs_p90"]
    assert found["gain_eur"] > 0
    assert found["gain_days"] >= 5
    assert found["boot_delay_s"] <= found["suspend_boot_delay_s"]
    page = (small_plan / "report.html").read_text()
    assert f"Expect {found['gain_eur']:,.2f} EUR more than with all nodes on" in page
    assert page.index("Expect ") < page.index("Notes")
    for words in ("<summary>All figures</summary>", "Profit</td>", "Peak (a tenth of the days: less)"):
        assert words in page


def test_without_switching_nothing_is_promised(small_site, tmp_path):
    out = tmp_path / "out"
    assert called("plan", small_site, out, day=8, switching="off") == 0
    found = summary_of(out)
    assert (found["gain_eur"], found["gain_p10_eur"], found["gain_days"]) == (None, None, 0)
    page = (out / "report.html").read_text()
    for words in ("Leave all nodes on", "So switching saves nothing"):
        assert words in page


def test_what_a_limit_would_cost(small_site, small_plan, tmp_path, capsys):
    out = tmp_path / "out"
    assert called("plan", small_site, out, day=8, what_if="2.0kW 8-16", no_report=True) == 0
    found, before = summary_of(out), summary_of(small_plan)
    assert found["profit_eur"] == before["profit_eur"], "what is written is the plan without the limit"
    assert found["what_if_cost_eur"] == pytest.approx(found["profit_eur"] - found["what_if_profit_eur"])
    assert found["what_if_cost_eur"] > 0
    assert found["what_if_later_jobs"] > 0
    assert "what if 2.0kW 8-16" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["80", "80kW", "80kW 19-17", "80kW 17-25", "kW 1-2", "80kW 17:60-19"])
def test_limits_that_nobody_understands(small_site, tmp_path, capsys, text):
    assert called("plan", small_site, tmp_path / "out", day=8, what_if=text) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "expected at most how many kW" in told
    assert not (tmp_path / "out").exists()


def test_a_limit_that_nothing_keeps(small_site, tmp_path, capsys):
    assert called("plan", small_site, tmp_path / "out", day=8, what_if="0.01kW 8-16") == 2
    told = capsys.readouterr().err
    assert "--what-if '0.01kW 8-16'" in told
    assert "above a limit on power" in told
    assert not (tmp_path / "out").exists()
