"""`dardis apply` against controllers on loopback: limits and switches at their times, whatever the controllers do."""

from __future__ import annotations

import json
import logging
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from kit.redfish_emulator import emulator
from kit.redfish_server import PASSWORD, USER, Node, serving

from dardis.cli.main import run
from offline.apply import apply_run

NAMES = [f"n{i}" for i in range(4)]
IDLE = f"{sys.executable} -c pass {{node}}"


def request(at, node, watts=0, reset=None):
    if reset:
        path = f"/redfish/v1/Systems/{node}/Actions/ComputerSystem.Reset"
        return {"time_unix_s": at, "node": node, "method": "POST", "path": path, "body": {"ResetType": reset}}
    body = {"PowerControl": [{"PowerLimit": {"LimitInWatts": watts, "LimitException": "LogEventOnly"}}]}
    path = f"/redfish/v1/Chassis/{node}/Power"
    return {"time_unix_s": at, "node": node, "method": "PATCH", "path": path, "body": body}


class Case:
    """The files of a call, in a folder of their own; times of the requests are s from now."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names = NAMES
        self.now = 1_700_000_000
        self.write([], 1)
        self.put("login.toml", f'user = "{USER}"\npassword = "{PASSWORD}"\n')
        (folder / "login.toml").chmod(0o600)

    def write(self, requests, end, **more) -> None:
        self.now = int(self.now)
        nodes = [{"name": name, "idle_w": 100.0, "most_w": 400.0} for name in self.names]
        told = [request(self.now + at, *rest) for at, *rest in requests]
        content = {"format": "dardis-redfish", "version": 1, "begin_unix_s": self.now - 100, "nodes": nodes,
                   "end_unix_s": self.now + end, "requests": told} | more  # fmt: skip
        self.put("requests.json", json.dumps(content))

    def put(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)

    def reached(self, url: str, more: str = "") -> None:
        plain = "plain_http = true\n" if url.startswith("http:") else ""
        self.put("bmc.toml", f'url = "{url}"\n{plain}{more}')

    def words(self, *options) -> list[str]:
        return ["apply", "requests.json", "--controllers", "bmc.toml", "--credentials", "login.toml", "--log", "log",
                "--poll-s", "1", "--timeout-s", "10", "--give-up-s", "0", *options]  # fmt: skip

    def apply(self, *options) -> int:
        return run(self.words(*options))

    @property
    def log(self) -> str:
        file = self.folder / "log"
        return file.read_text() if file.exists() else ""

    def unix_now(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += max(seconds, 1e-3)


@pytest.fixture
def case(tmp_path, monkeypatch):
    """In whose time nobody waits."""
    made = Case(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(apply_run, "unix_now", made.unix_now)
    monkeypatch.setattr(apply_run, "time", made)
    return made


def nodes(**more):
    return {name: Node(**more) for name in NAMES}


@pytest.mark.parametrize("resource", ["Power", "EnvironmentMetrics"])
def test_limits_at_their_times_and_back_as_they_were(case, resource):
    with serving(nodes(resource=resource, limit_w=390)) as service:
        case.reached(service.url)
        case.write([(-50, "n0", 300), (-20, "n0", 200), (-20, "n1", 250), (1, "n1", 350), (2, "n0", None)], 2)
        assert case.apply("--dry-run") == 0
        assert service.asked == []
        assert case.apply() == 0
        assert [service.nodes[name].limit_w for name in NAMES] == [None, 350, 390, 390]
        # What was past is caught up with, the last of each node alone; and nobody is asked twice.
        changed = [path.split("/")[4] for path in service.changes]
        assert [sorted(changed[:2]), *changed[2:]] == [["n0", "n1"], "n1", "n0"]
        case.write([(0, "n0", None), (0, "n1", 350)], 60)  # nothing lacks
        assert case.apply("--rollback") == 0
        assert [service.nodes[name].limit_w for name in NAMES] == [390] * 4
        assert case.apply("--rollback") == 0
        assert "nothing to undo" in case.log
    assert PASSWORD not in case.log


def test_dry_run_prints_times_and_addresses(case, capsys):
    case.reached("https://{node}-bmc.example.org", '[nodes."n[2-3]"]\nurl = "https://rack7:4430"\n')
    case.write(
        [(0, "n1", 250), (3_600, "n2", 0, "GracefulShutdown"), (7_200, "n2", 0, "On"), (9_000, "n1", None)], 9_000
    )
    assert case.apply("--dry-run", "--idle-check", IDLE) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" ", 1)[1] for line in lines] == [
        "n1 at https://n1-bmc.example.org: limit 250 W",
        "n2 at https://rack7:4430: GracefulShutdown when idle",
        "n2 at https://rack7:4430: On",
        "n1 at https://n1-bmc.example.org: no limit",
    ]
    assert PASSWORD not in "".join(lines)


def test_nodes_go_off_when_they_are_idle_and_come_back(case):
    idle = f"{sys.executable} -c 'import sys,os; sys.exit(not os.path.exists(sys.argv[1]))' {case.folder}/{{node}}.idle"
    (case.folder / "n0.idle").touch()
    with serving(nodes()) as service:
        case.reached(service.url)
        case.write([(-1, "n0", 0, "GracefulShutdown"), (-1, "n1", 0, "GracefulShutdown"), (2, "n0", 0, "On")], 2)
        assert case.apply("--idle-check", idle, "--give-up-s", "3") == 1  # n1 was busy all the time
        assert [path.split("/")[4] for path in service.changes] == ["n0", "n0"]
        assert all(node.on for node in service.nodes.values())
        assert "n1: busy" in case.log
        (case.folder / "n1.idle").touch()
        case.write([(0, "n1", 0, "GracefulShutdown")], 1)
        assert case.apply("--idle-check", idle, "--give-up-s", "9") == 0
        assert not service.nodes["n1"].on
        assert case.apply("--idle-check", idle, "--rollback", "--give-up-s", "9") == 0
        assert service.nodes["n1"].on
        assert case.apply("--idle-check", "no-such-program {node}") in {1, 2}
        assert service.nodes["n1"].on


TROUBLES = {
    "n1": ("PATCH", 500, "answered 500"),
    "n2": ("PATCH", 405, "answered 405"),
    "n3": ("GET", 401, "answered 401"),
    "n4": ("PATCH", "lies", "answered 204, but the limit is none"),
    "n5": ("GET", "hangs", "no answer within 2 s"),
    "n6": ("PATCH", "hangs", "no answer within 2 s"),
    "n7": ("GET", "floods", "the answer does not end"),
    "n8": ("GET", 302, "answered 302"),
}


def test_failed_controllers_are_named_and_do_not_delay_others(case, capsys):
    case.names = ["n0", *TROUBLES, "n9"]
    some = {name: Node() for name in case.names}
    some["n0"].trouble = {"PATCH": "changes"}  # somebody else changes it meanwhile
    for name, (method, what, _) in TROUBLES.items():
        some[name].trouble = {method: what}
    with serving(some) as service:
        case.reached(service.url)
        case.write([(-1, name, 300) for name in case.names], 2)
        assert case.apply("--timeout-s", "2") == 1
        assert [service.nodes[name].limit_w for name in ("n0", "n9")] == [300] * 2
    assert "8 nodes differ from the plan: n[1-8]" in capsys.readouterr().err
    for name, (method, _, told) in TROUBLES.items():
        failed = [line for line in case.log.splitlines() if f"{name}: failed ({method} " in line]
        assert any(told in line for line in failed), name
    assert PASSWORD not in case.log


def certified(folder: Path, name: str) -> tuple[Path, Path]:
    """A certificate of its own for loopback, and its key."""
    certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
    made = subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}", "-addext",
         "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
        capture_output=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    return certificate, key


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl, to make certificates")
def test_certificates_are_checked(case, capsys):
    ours, other = certified(case.folder, "ours"), certified(case.folder, "other")
    known = 'ca = "ours.pem"\n'
    for certificate, more, status in ((ours, known, 0), (other, "", 1), (other, known, 1)):
        with serving(nodes(), certificate) as service:
            case.write([(-1, "n0", 300)], 1)
            case.reached(service.url, more)
            assert case.apply() == status
            assert service.nodes["n0"].limit_w == (300 if status == 0 else None)
            assert bool(service.asked) is (status == 0)
            assert ("CERTIFICATE_VERIFY_FAILED" in case.log) is (status == 1)
    case.reached("https://127.0.0.1:1", 'ca = "ours.key"\n')
    case.write([(-1, "n0", 200)], 60)
    capsys.readouterr()
    assert case.apply() == 2
    assert "has no certificates" in capsys.readouterr().err


def test_second_instance_is_refused_and_a_signal_ends_the_first(case, capsys):
    with serving(nodes()) as service:
        case.reached(service.url)
        case.now = time.time()
        case.write([(-1, "n0", 300), (600, "n0", None)], 600)
        words = [sys.executable, "-m", "dardis", *case.words()]
        running = subprocess.Popen(words, cwd=case.folder, stderr=subprocess.PIPE, text=True)
        try:
            end = time.monotonic() + 30
            while "n0: limit 300 W" not in case.log:
                assert time.monotonic() < end
                time.sleep(0.05)
            for more in ([], ["--rollback"]):
                assert case.apply(*more) == 2
                assert f"(process {running.pid} on " in capsys.readouterr().err
            assert service.nodes["n0"].limit_w == 300
            running.send_signal(signal.SIGTERM)
            assert running.wait(timeout=20) == 130
        finally:
            running.kill()
            running.communicate()
        assert "--rollback undoes all changes" in case.log
        assert case.apply("--rollback") == 0
        assert service.nodes["n0"].limit_w is None


def test_emulator_without_power_limits_is_switched_and_reported(case, monkeypatch):
    app = emulator(dict.fromkeys(NAMES, "On"), case.folder, monkeypatch)
    serve = pytest.importorskip("werkzeug.serving")
    monkeypatch.setattr(logging.getLogger("werkzeug"), "level", logging.ERROR)
    server = serve.make_server("127.0.0.1", 0, app)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        case.reached(f"http://127.0.0.1:{server.port}")
        case.write([(-1, "n0", 0, "GracefulShutdown"), (1, "n0", 0, "On"), (1, "n1", 0, "GracefulShutdown")], 2)

        def powers():
            client = app.test_client()
            return [client.get(f"/redfish/v1/Systems/{name}").json["PowerState"] for name in ("n0", "n1")]

        assert case.apply("--idle-check", IDLE, "--give-up-s", "9") == 0
        assert powers() == ["On", "Off"]
        assert case.apply("--idle-check", IDLE, "--rollback", "--give-up-s", "9") == 0
        assert powers() == ["On", "On"]
        case.write([(-1, "n0", 300)], 1)
        assert case.apply() == 1
        assert "n0: failed (has neither Power nor EnvironmentMetrics" in case.log
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda case: case.write([(-50, "n0", 300)], -1), "its day ended at "),
        (lambda case: case.write([(0, "n0", 99)], 9), "[0]: a limit of 99 W; expected at least the 100 W that n0"),
        (lambda case: case.write([(0, "n0", 10**400)], 9), "W; expected at most 1000000000 W"),
        (lambda case: case.write([(0, "n9", 300)], 9), "requests[0]: node 'n9'; expected one of the 4 nodes"),
        (lambda case: case.write([(5, "n0", 300), (1, "n0", 300)], 9), "requests[1]: "),
        (lambda case: case.write([(0, "n0", 0, "ForceOff")], 9), "expected a PATCH of /redfish/v1/Chassis/n0/Power"),
        (lambda case: case.write([(0, "n0", 0, "GracefulShutdown")], 9), "without a check that they are idle"),
        (lambda case: case.write([], 9, version=2), "version: 2"),
        (lambda case: case.reached("https://bmc", '[nodes.login0]\nurl = "https://x"\n'), "login0 is not a node"),
        (lambda case: case.reached("https://bmc", '[nodes."n[0-"]\nurl = "https://x"\n'), "bracket"),
        (lambda case: case.reached("https://bmc", "tls = false\n"), "tls: unknown key"),
        (lambda case: case.reached("ftp://bmc"), "url 'ftp://bmc' of n0; expected https://HOST"),
        (lambda case: case.put("bmc.toml", 'url = "http://bmc"\n'), "plain_http = true"),
        (lambda case: case.put("bmc.toml", ""), "n0 has no controller"),
        (lambda case: case.reached("https://bmc", 'ca = "absent.pem"\n'), "is not a file"),
        (lambda case: (case.folder / "login.toml").chmod(0o640), "mode 0640"),
        (lambda case: case.put("login.toml", 'user = "a"\n'), "no password for n0"),
        (lambda case: (case.folder / "login.toml").unlink(), "cannot be read"),
        (lambda case: case.put("requests.json", "{"), "is not JSON"),
        (lambda case: case.write([], 9, caps=[{"time_unix_s": 9, "power_cap_w": -1}]), "cap"),
        (lambda case: case.write([], 9, caps=[{"power_cap_w": 3}]), "cap"),
        (lambda case: case.write([], 9, caps="335"), "cap"),
        (lambda _: ["--idle-check", "squeue"], "a command with {node} in it"),
        (lambda _: ["--idle-check", "a 'b {node}"], "No closing quotation"),
    ],
)  # fmt: skip
def test_errors_are_one_line_and_send_nothing(case, capsys, change, said):
    case.reached("https://127.0.0.1:1")
    case.write([(0, "n0", 300)], 9)
    assert case.apply(*(change(case) or ())) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert said in told
    assert PASSWORD not in told
    assert not (case.folder / "requests.json.state").exists()


def test_damaged_state_file_is_reported(case, capsys):
    case.reached("https://127.0.0.1:1")
    case.write([(0, "n0", 300)], 9)
    (case.folder / "requests.json.state").mkdir()
    strange = '{"format": "dardis-apply", "version": 1, "found": {}, "shut_down": ["n7"]}'
    for text, said in (("{", "is not JSON"), (strange, "node n7")):
        case.put("requests.json.state/found.json", text)
        assert case.apply() == 2
        assert said in capsys.readouterr().err


def test_a_cap_that_cannot_be_kept_stops_before_any_change(case, capsys) -> None:
    case.write([(0, "n0", 150), (0, "n1", 160)], 60, caps=[{"time_unix_s": case.now, "power_cap_w": 335.0}])
    case.reached("https://127.0.0.1:1")
    for options in ((), ("--dry-run",)):
        assert case.apply(*options) == 3
        told = capsys.readouterr().err
        assert "the cap of 335 W at 2023-11-14T22:13:20Z cannot be kept: the nodes can draw 775 W more" in told
        assert len(told.splitlines()) == 1
    assert not (case.folder / "requests.json.state").exists()
    caps = [{"time_unix_s": case.now, "power_cap_w": 600.0}, {"time_unix_s": case.now + 9, "power_cap_w": None}]
    case.write([(0, name, 150) for name in NAMES] + [(9, name, None) for name in NAMES], 60, caps=caps)
    assert case.apply("--dry-run") == 0
