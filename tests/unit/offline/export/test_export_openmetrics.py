"""OpenMetrics text, as Prometheus's own client and promtool read it."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace

import pytest
from kit.plan_folder import OFFSET, PLATFORM, plan

from offline.export.openmetrics import export_openmetrics

NAMES = [PLATFORM.node_name(node) for node in range(PLATFORM.node_count)]


def families(text):
    parser = pytest.importorskip("prometheus_client.openmetrics.parser")
    return {family.name: family for family in parser.text_string_to_metric_families(text)}


def test_prometheus_reads_every_value():
    silent = families(export_openmetrics(plan(), NAMES).text)
    stated = replace(plan(), summary=plan().summary | {"co2_kg": 3.5})
    found = families(export_openmetrics(stated, NAMES).text)
    assert len(found) == 9
    assert {*found} - {*silent} == {"dardis_plan_co2_grams_per_kwh"}, "nobody has said anything of CO2"
    for family in found.values():
        assert family.type == "gauge"
        assert family.name.startswith("dardis_plan_")
        assert family.name.endswith(family.unit)
        assert family.documentation
    cap = {int(float(s.timestamp)) - OFFSET - 5_000: s.value for s in found["dardis_plan_power_cap_watts"].samples}
    assert set(cap) == {*range(0, 3_600, 60), *range(7_200, 14_400, 60)}  # the second hour has no cap
    assert cap[0] == cap[3_540] == 2_000.0
    assert cap[7_200] == 2_100.0
    price = found["dardis_plan_price_eur_per_kwh"].samples
    assert price[0].labels == {"platform": "grid"}
    assert [s.value for s in price[::60]] == plan().profile.price_per_kwh.tolist()
    assert found["dardis_plan_target_cores"].samples[0].value == 200


def test_a_name_may_hold_anything():
    name = 'a "big" \\ machine\n'
    odd = replace(plan(), platform=replace(PLATFORM, name=name))
    found = families(export_openmetrics(odd, NAMES).text)
    assert found["dardis_plan_on_nodes"].samples[0].labels == {"platform": name}


def test_promtool_makes_a_block_of_it(tmp_path):
    if shutil.which("promtool") is None:
        pytest.skip("needs promtool (Debian's package prometheus)")
    (tmp_path / "plan.om").write_text(export_openmetrics(plan(), NAMES).text)
    made = subprocess.run(
        ["promtool", "tsdb", "create-blocks-from", "openmetrics", "plan.om", "data"],
        cwd=tmp_path, text=True, capture_output=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    assert list((tmp_path / "data").iterdir())
