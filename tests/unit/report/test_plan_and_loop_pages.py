"""The pages of a plan and of the loop: every chart in one file, also on days on which there is little to draw."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from dardis.cli.main import run
from dardis.model.branch import Branch
from dardis.model.step_function import StepFunction
from dardis.report import chart, plan_charts
from dardis.report.chart import TimeAxis
from dardis.report.loop_page import LoopPage, LoopPicture, draw_loop
from dardis.report.pictures import write_picture
from dardis.report.plan_charts import PlannedDay
from dardis.report.plan_page import PlanPage, draw_plan

DAY = 86_400
FOR_EVER = 1 << 62
START = 1_688_342_400


def planned(*, co2=0.0, price=0.1, load=40, down=0):
    edges = 3600 * np.arange(25)
    flat = np.ones(24)
    columns = {
        "cores_target": 60 * flat, "power_cap_w": 1500.0 * flat, "it_w": 20.0 * load * flat,
        "cooling_w": 5.0 * load * flat, "pue": (1.25 if load else np.nan) * flat, "price_eur_per_kwh": price * flat,
        "gco2_per_kwh": co2 * flat, "temp_c": 20 * flat,
    }  # fmt: skip
    energy = price * columns["it_w"] / 1000
    money = {"income": 0.013 * load * flat, "energy": energy, "cooling": energy / 4, "co2": 1e-4 * co2 * energy}
    on = StepFunction.from_steps(10, [(7200, 10 - down), (FOR_EVER, 10)])
    busy = StepFunction.from_steps(load // 8, [])
    powered = StepFunction.from_steps(80, [(7200, 80 - 8 * down)])
    used = StepFunction.from_steps(load, [])
    return PlannedDay(TimeAxis(0, DAY, START), edges, columns, money, used, powered, on, busy, 80, 10, "EUR")


DAYS = {"usual": planned(co2=350.0, down=4), "negative prices": planned(price=-0.05), "no job": planned(load=0)}
PROFITS = {
    "usual": ([("best rule", 1.0), ("multi-search", 2.0), ("ours", 2.5)], 3.0),
    "no bound": ([("best rule", 1.0), ("ours", 2.5)], None),
    "all the same": ([("best rule", 2.0), ("ours", 2.0)], 2.0),
    "losses": ([("best rule", -12.0), ("ours", -3.0)], 1.0),
    "nothing": ([("best rule", 0.0), ("ours", 0.0)], None),
}


def plan_page(day, trees=()):
    profits, bound = PROFITS["usual"]
    return PlanPage(
        title="A <plan>", lead="10 nodes", first=["Do this."], notes=["told & sold", "told & sold"],
        headlines=[("profit", "1 EUR")], day=day, profits=profits, bound=bound, trees=trees, figures=[("jobs", "3")],
        rules=[("Spare nodes", ["always → 3"]), ("No", [])],
    )  # fmt: skip


@pytest.fixture
def kept_drawings(monkeypatch):
    """The drawings that would have been finished."""
    drawings = []
    monkeypatch.setattr(chart, "finish", lambda drawing, *_: drawings.append(drawing))
    return drawings


@pytest.mark.parametrize("name", DAYS)
def test_plan_page_has_all_charts_on_any_day(tmp_path, name):
    path = tmp_path / "report.html"
    draw_plan(path, plan_page(DAYS[name]))
    page = path.read_text()
    texts = ["A &lt;plan&gt;", "told &amp; sold", "<li>Do this.</li>", "Spare nodes", "always → 3"]
    for text in (*texts, "Load against the target", "Searches"):
        assert text in page
    assert page.count("<svg ") == 6
    assert not re.search(r'(src|href)="http', page)
    assert "<h2>No</h2>" not in page
    assert page.count("told &amp; sold") == 1


@pytest.mark.parametrize(("profits", "bound"), PROFITS.values(), ids=PROFITS)
def test_every_profit_and_its_bound_are_within_the_picture(kept_drawings, profits, bound):
    with chart.style():
        plan_charts.searches(profits, bound, "EUR")
        (axes,) = kept_drawings[0].axes
        low, high = axes.get_xlim()
        for value in [value for _, value in profits] + ([] if bound is None else [bound]):
            assert low < value < high
        drawn = [text.get_text() for text in axes.texts]
        assert drawn == [f"{value:,.2f}" for _, value in profits]
        kept_drawings[0].canvas.draw()
        frame = axes.get_window_extent()
        assert all(text.get_window_extent().x0 >= frame.x0 - 1 for text in axes.texts)


def picture(waits, capped):
    days, edges = 3, 3600 * np.arange(73)
    profit = {"all nodes on": np.zeros(days), "switched": np.array([1.0, -2.0, 0.0]), "clairvoyant": np.ones(days)}
    on = StepFunction.from_steps(10, [(7200, 4)])
    return LoopPicture(
        TimeAxis(0, days * DAY, START), on, 10, None if len(waits) == 0 else on,
        80, on, on if capped else None,
        ["2023-07-03", "2023-07-04", "2023-07-05"], profit, np.array(waits, dtype=np.int64),
        {"idle_power": 3.0, "price": -0.4}, "EUR", edges, np.full(72, 20.0), np.linspace(-0.1, 0.2, 72),
        [("reactive:337", 57.6, 3.0), ("reactive:337,3", 33.9, 2.5), ("spare", 17.3, 2.6), ("clairvoyant", 0.0, 4.0)]
        if len(waits)
        else [],
        [(1.0, 0.8, 0.2, 1.9), None, (0.0, 0.5, 0.1, 0.9)] if len(waits) else [],
    )  # fmt: skip


def loop_page(waits, *, capped=False):
    summary = {"profit_eur": 1.25, "gain_eur": None, "share_of_bound": None if not waits else 0.5,
               "mean_boot_delay_s": None, "delayed_share": None if not waits else 0.1, "cycles_per_node_day": 0.0,
               "notes": "told"}  # fmt: skip
    rows = [{"day": 1, "profit_eur": 12345.678, "wait": None}, {"day": 2, "profit_eur": 1.0, "wait": 12.345}]
    return LoopPage(
        title="Loop", lead="10 nodes", first=["So it was."], notes=["one", "two"], picture=picture(waits, capped),
        summary=summary, days=(["day", "profit_eur", "wait"], rows), rules=[],
        beside=(["switching"], [{"switching": "reactive:337"}] if waits else []),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("waits", "capped"), [([], False), ([], True), ([0, 0], True), ([0, 0, 240, 100_000], False), ([60], False)]
)
def test_loop_page_is_drawn_without_waits(tmp_path, waits, capped):
    path = tmp_path / "report.html"
    draw_loop(path, loop_page(waits, capped=capped))
    page = path.read_text()
    assert page.count("<svg ") == 5 + capped + 2 * bool(waits)
    assert ("Gain against waits for boots" in page) == ("Comparison with other rules" in page) == bool(waits)
    assert ("Cores in use" in page) == capped
    for text in ("<li>one</li>", "<li>So it was.</li>", "<td>12,346</td>", "<td>–</td>", "<td>12.3</td>", "1.25 EUR"):
        assert text in page
    assert "nan" not in re.sub(r"data:image/[^\"]*", "", page)


TREE = Branch("hour < 8?", Branch("3 nodes"), Branch("weekday?", Branch("5 nodes"), Branch("1 node")))


@pytest.mark.parametrize(
    ("draw", "page", "table", "count"),
    [
        (draw_plan, plan_page(DAYS["no job"], trees=[("Spares", TREE)]), "onoff.csv", 7),
        (draw_loop, loop_page([], capped=True), "days.csv", 6),
        (draw_loop, loop_page([0, 0, 240, 100_000], capped=True), "days.csv", 8),
    ],
    ids=["plan", "days", "days with waits"],
)
def test_a_page_is_drawn_again_from_its_picture(tmp_path, draw, page, table, count):
    draw(tmp_path / "report.html", page)
    first = (tmp_path / "report.html").read_bytes()
    write_picture(tmp_path, vars(page))
    (tmp_path / table).touch()
    (tmp_path / "run.json").touch()
    assert run(["report", str(tmp_path), "--charts", "svg"]) == 0
    assert (tmp_path / "report.html").read_bytes() == first
    assert len(list((tmp_path / "charts").glob("*.svg"))) == count


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"edges": [0, 1]}, "segment"), ({"edges": 25 * [0]}, "ascend"), ({"columns": {}}, "missing"),
        ({"used": {"times": [0], "values": [1]}}, "step function"), ({"used": {"times": [], "values": []}}, "day.used"),
        ({"money": {"income": [1e300]}}, "income"),
    ],
)  # fmt: skip
def test_damaged_chart_data_is_reported(tmp_path, capsys, change, said):
    (tmp_path / "onoff.csv").touch()
    (tmp_path / "run.json").touch()
    assert run(["report", str(tmp_path)]) == 2
    assert "has no picture.json" in capsys.readouterr().err
    page = vars(plan_page(DAYS["usual"]))
    write_picture(tmp_path, page)
    told = json.loads((tmp_path / "picture.json").read_text())
    told["day"] |= change
    (tmp_path / "picture.json").write_text(json.dumps(told))
    assert run(["report", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert "picture.json" in error
    assert said in error
    assert error.count("\n") == 1
