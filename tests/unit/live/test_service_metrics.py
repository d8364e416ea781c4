"""Metrics of a live service: agreement with jobs and nodes, valid formats, and a port that only a token opens."""

import json
import os
import re
import shutil
import socket
import subprocess
import time
from contextlib import ExitStack, closing, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import pytest
from kit.error_lines import line_of
from kit.live import Live
from kit.waiting import until
from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client.parser import text_string_to_metric_families

from dardis.config.platform_file import load_platform
from dardis.live.energy_prices import EnergyPrices
from dardis.live.metrics_endpoint import TOKEN_FILE, read_token
from dardis.model.moments import parse_utc

DASHBOARD = Path(__file__).parents[3] / "launch/grafana-dashboard.json"
POWER = "power = { idle_w = 100, core_w = 10, off_w = 5 }\n"
NODES = f'[[nodes]]\ncount = 4\nprefix = "n"\nresources = {{ cores = 4, memory = "4GiB" }}\n{POWER}'
PLATFORM = f'name = "m"\nprices = 0.25\n{NODES}'


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="module")
def port():
    return free_port()


@pytest.fixture(scope="module")
def live(tmp_path_factory, port):
    with Live(tmp_path_factory.mktemp("metrics"), PLATFORM) as live:
        yield live.start("--metrics", str(port))


def told(live, port, accepts="text/plain"):
    token = (live.folder / TOKEN_FILE).read_text().strip()
    status, text = asked(port, {"Authorization": f"bearer {token}", "Accept": accepts})
    assert status == 200
    return text


def asked(port, headers):
    with closing(HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        connection.request("GET", "/metrics", headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


def figures(live, port):
    """Value of each sample, by its name and labels."""
    families = text_string_to_metric_families(told(live, port))
    return {
        (sample.name.removeprefix("dardis_"), *sorted(sample.labels.values())): sample.value
        for family in families
        for sample in family.samples
    }


def test_figures_agree_with_jobs_and_nodes(live, port):
    before = figures(live, port)
    live.client.change_node("n3", "drain", {"why": "test"})
    quick = live.submit("exit 3", walltime_s=60)
    live.ended(quick[0])
    begun = time.time()
    running = live.submit("sleep 600", array="0-4", cpus=3)
    until(lambda: figures(live, port)["jobs", "running"] == 3)
    found = figures(live, port)
    assert {state: found["jobs", state] for state in ("held", "waiting", "running")} == {
        "held": 0, "waiting": 2, "running": 3,
    }  # fmt: skip
    assert [found["nodes", state] for state in ("up", "drained", "draining", "unreachable")] == [3, 1, 0, 0]
    assert [found["cores", state] for state in ("used", "free", "closed")] == [9, 3, 4]
    assert (found["power_watts", "idle"], found["power_watts", "jobs"]) == (400, 90)
    growth = {name: found[name] - before.get(name, 0) for name in found}
    assert (growth["jobs_submitted_total",], growth["jobs_started_total",]) == (6, 4)
    assert growth["jobs_ended_total", "failed"] == 1
    assert growth["job_wait_seconds_count",] == 4
    assert growth["journal_write_seconds_count",] > 0
    assert growth["requests_total", "200", "POST"] >= 3
    user = live.job(running[0])["user"]
    time.sleep(1)
    later, most_s = figures(live, port), time.time() - begun
    used_s = later["core_seconds_total", user] - found["core_seconds_total", user]
    assert 9 <= used_s <= 9 * most_s
    joules = later["energy_joules_total", user] - found["energy_joules_total", user]
    assert joules == pytest.approx(10 * used_s)
    cost = later["energy_cost_total", user] - found["energy_cost_total", user]
    assert cost == pytest.approx(0.25 * joules / 3.6e6)
    assert found["energy_price",] == 0.25
    assert found["oldest_wait_seconds",] <= most_s
    for number in running:
        live.client.change_job(number, "cancel")
    live.all_over()
    until(lambda: figures(live, port)["jobs_ended_total", "cancelled"] == 5)
    assert figures(live, port)["power_watts", "jobs"] == 0
    live.client.change_node("n3", "resume")


def test_use_of_running_jobs_is_counted_on_after_a_restart(live, port):
    (number,) = live.submit("sleep 600", cpus=2)
    until(lambda: live.job(number)["state"] == "running")
    epoch = figures(live, port)["epoch",]
    live.kill("service")
    live.service.wait()
    live.start("--metrics", str(port))
    found = figures(live, port)
    assert found["epoch",] == epoch + 1
    assert found["power_watts", "jobs"] == 20
    assert found["core_seconds_total", live.job(number)["user"]] >= 0
    live.client.change_job(number, "cancel")
    live.all_over()


def test_cap_use_and_excess_are_figures(live, port):
    assert ("cap_used_watts",) not in figures(live, port)
    (number,) = live.submit("sleep 600", cpus=2, watts=70)
    until(lambda: live.job(number)["state"] == "running")
    live.client.post("/cap", {"kind": "power", "hard": True, "steps": [[0, 440]]})
    found = figures(live, port)
    assert [found[f"cap_{what}watts",] for what in ("", "used_", "excess_")] == [440, 470, 30]
    live.client.change_job(number, "cancel")
    live.all_over()


def test_both_formats_are_valid_and_the_dashboard_uses_known_figures(live, port):
    live.client.post("/cap", {"kind": "power", "hard": True, "steps": [[0, 440]]})
    families = [*openmetrics.text_string_to_metric_families(told(live, port, "application/openmetrics-text"))]
    names = {sample.name for family in families for sample in family.samples}
    assert all(family.documentation.endswith(".") for family in families)
    panels = json.loads(DASHBOARD.read_text())["panels"]
    used = {name for panel in panels for one in panel["targets"] for name in re.findall(r"dardis_\w+", one["expr"])}
    assert len({panel["title"] for panel in panels}) == len(panels)
    assert used <= names
    live.client.post("/cap", {"off": True})


def test_prices_of_a_file_hold_for_their_hour_and_may_be_missing(tmp_path):
    (tmp_path / "pr.csv").write_text("start_utc,price_eur_per_kwh\n2026-01-01T00:00Z,0.1\n2026-01-01T01:00Z,0.3\n")
    (tmp_path / "p.toml").write_text(PLATFORM.replace("0.25", '"pr.csv"'))
    prices = EnergyPrices(load_platform(tmp_path / "p.toml"))
    begin = parse_utc("2026-01-01T00:00Z")
    assert [prices.at(begin + 1800 * half + 0.5) for half in range(4)] == [0.1, 0.1, 0.3, 0.3]
    assert prices.at(begin - 1) is None
    assert prices.at(begin + 90_000) is None


@pytest.mark.skipif(shutil.which("promtool") is None, reason="needs promtool")
def test_promtool_has_no_complaints(live, port):
    words = ["promtool", "check", "metrics"]
    done = subprocess.run(words, input=told(live, port), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_port_has_few_connections_and_bears_odd_requests(live, port):
    with ExitStack() as stack:
        for _ in range(40):
            stack.enter_context(socket.create_connection(("127.0.0.1", port)))
        with pytest.raises((ConnectionError, HTTPException)):
            told(live, port)

    def answers():
        with suppress(ConnectionError, HTTPException):
            return told(live, port, "application/openmetrics-text; version=abc")

    until(answers)


@pytest.mark.parametrize("header", [{}, {"Authorization": "Bearer x"}, {"Authorization": "Basic x"}])
def test_port_is_closed_without_the_token(live, port, header):
    assert asked(port, header)[0] == 401


def test_wrong_tokens_and_taken_ports_are_one_line(live, port, tmp_path):
    path = tmp_path / TOKEN_FILE
    first = read_token(tmp_path)
    assert read_token(tmp_path) == first
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o640)
    assert line_of(read_token, tmp_path) == f"{path}: has mode 0640; expected a file of your own with mode 0600"
    path.chmod(0o600)
    path.write_text("two words\n")
    assert line_of(read_token, tmp_path) == f"{path}: has no token; expected one word, or no file: it is made then"
    words = [*Live.program, "--folder", tmp_path / "s", "--platform", live.platform, "--metrics", str(port)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=os.environ)
    expected = f"dardis: --metrics: port {port}: Address already in use; expected a free port\n"
    assert (done.returncode, done.stderr) == (2, expected)
