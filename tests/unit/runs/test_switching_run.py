"""A run with a plan's target from its request to its folder, and who must not have one."""

import json
import re

import pytest
from typer.testing import CliRunner

from dardis.cli.main import app_of
from dardis.config.run_spec import RunSpec
from dardis.metrics.system import read_downtime
from dardis.report.run_page import draw_report
from dardis.runs.run import run
from dardis.workload.csv_trace import write_table
from dardis.workload.generate import generate

PLATFORM = """
name = "eurora"
[[nodes]]
count = 64
prefix = "n"
resources = { cores = 16, memory = "16GiB", gpu = 2, mic = 2 }
power = { idle_w = 100, off_w = 10, boot_s = 240, boot_w = 125, shutdown_s = 30, shutdown_w = 100 }
"""
TARGET = {
    "format": "dardis-target", "version": 1, "platform": "eurora", "nodes": 64,
    "switching": {"groups": {"n": {"spares": [[0, 3]]}}},
}  # fmt: skip


@pytest.fixture
def request_of(tmp_path):
    (tmp_path / "platform.toml").write_text(PLATFORM)
    (tmp_path / "target.json").write_text(json.dumps(TARGET))
    write_table(generate("eurora", 60, 3), tmp_path / "trace.csv")

    def made(dispatcher: str, *settings: str) -> RunSpec:
        return RunSpec(
            trace=tmp_path / "trace.csv", platform=tmp_path / "platform.toml", dispatcher=dispatcher,
            out=tmp_path / "run", profile=tmp_path / "target.json", settings=settings, force=True,
        )  # fmt: skip

    return made


@pytest.mark.parametrize("dispatcher", ["dardis-throughput", "easy"])
def test_run_folder_lists_downtime_and_boot_waits(request_of, dispatcher):
    outcome = run(request_of(dispatcher))
    downtime = read_downtime(outcome.out / "switching.csv")
    assert outcome.metrics["node_switches"] == len(downtime.node) > 20
    assert 0.1 < outcome.metrics["off_share"] < 1
    assert 0 <= outcome.metrics["mean_boot_delay_s"] <= 270
    assert (outcome.metrics["delayed_share"] > 0) == (outcome.metrics["mean_boot_delay_s"] > 0)
    assert CliRunner().invoke(app_of(), ["audit", str(outcome.out)]).exit_code == 0
    page = draw_report(outcome.out).read_text()
    assert "Nodes on" in page
    assert "Mean wait for boots" in re.sub(r"<[^>]*>", "", page)
    start = (outcome.out / "jobs.csv").read_text().splitlines()[1].split(",")[6]
    rows = [f"{node},{start},\n" for node in range(64)]
    (outcome.out / "switching.csv").write_text("node,down_s,up_s\n" + "".join(rows))
    result = CliRunner().invoke(app_of(), ["audit", str(outcome.out)])
    assert result.exit_code == 1
    assert "is down from" in result.output


def test_drawn_starts_have_no_boot_delay(request_of):
    metrics = run(request_of("dardis-balance")).metrics
    assert metrics["node_switches"] > 0
    assert metrics["mean_boot_delay_s"] is metrics["delayed_share"] is None
