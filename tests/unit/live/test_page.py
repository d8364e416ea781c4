"""The page's server: who gets in, what is shown to whom, and what changes reach it."""

import asyncio
import json
import os
import socket
import stat
import subprocess
import sys
import time
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from kit.live import Live, live_for_all
from kit.page_client import PageClient, Seen
from kit.waiting import in_loop, until, until_async

from dardis.live import page_server
from dardis.live.page_feed import Subscriber
from dardis.live.page_port import SOCKET
from dardis.live.page_server import FILE, MOST_STRANGERS, STATIC, PageServer
from dardis.live.socket_server import PeerUser

POWER = "power = { idle_w = 100, core_w = 10, off_w = 5 }\n"
NODES = f'[[nodes]]\ncount = 4\nprefix = "n"\nresources = {{ cores = 4, memory = "4GiB" }}\n{POWER}'
PLATFORM = f'name = "m"\nprices = 0.25\n{NODES}'
API = ("/api/jobs/1", "/api/jobs/1/output", "/api/forecast/1", "/api/nodes/n0", "/api/energy", "/events")
CHANGES = ("/api/jobs/1/cancel", "/api/jobs/1/hold", "/api/nodes/n0/drain", "/api/cap", "/close")


@pytest.fixture(scope="module")
def live(tmp_path_factory):
    with Live(tmp_path_factory.mktemp("page"), PLATFORM) as live:
        yield live.start("--page")


@pytest.fixture
def own(tmp_path):
    """A service that the test starts, and that no other test sees."""
    with Live(tmp_path, PLATFORM) as live:
        yield live


def new_page(live):
    return PageClient(live.client.post("/page")["link"])


@pytest.fixture(scope="module")
def page(live):
    return new_page(live)


def watch(page):
    return Seen(page.events()).ready()


def test_nothing_is_shown_without_a_cookie(live, page):
    nobody = PageClient(page.origin, opened=False)
    for path in (*API, *STATIC, "/other"):
        assert nobody.get(path)[0] == 401, path
        assert nobody.get(path, Cookie=f"{page.cookie.partition('=')[0]}=guess")[0] == 401
    for path in CHANGES:
        assert nobody.post(path)[0] == 401, path
    for path in (*API[4:5], *STATIC):
        assert page.get(path)[0] == 200, path


def test_a_link_works_once_and_looking_ahead_does_not_use_it_up(live):
    link = live.client.post("/page")["link"]
    nobody = PageClient(link, opened=False)
    path = f"/open?key={nobody.key}"
    for _ in range(2):
        assert nobody.get(path)[0] == 200
    assert nobody.get(f"/open.js?key={nobody.key}")[0] == 200
    assert PageClient(link).get("/")[0] == 200
    status, _, text = nobody.ask("POST", "/open", f"key={nobody.key}", content="form")
    assert status == 401
    assert "works once, within 5 minutes" in text
    assert nobody.get(path)[0] == 401
    assert nobody.get("/open?key=guess")[0] == 401


def test_requests_of_other_pages_and_names_are_refused(live, page):
    foreign = [
        {"Host": f"127.0.0.1:{page.port}"}, {"Host": f"localhost:{page.port}"}, {"Host": f"evil.example:{page.port}"},
        {"Origin": f"http://evil.localhost:{page.port}"}, {"Origin": f"http://{page.host}:1"}, {"Origin": "null"},
        {"Sec-Fetch-Site": "same-site"}, {"Sec-Fetch-Site": "cross-site"},
    ]  # fmt: skip
    for headers in foreign:
        assert page.ask("GET", "/api/energy", **headers)[0] == 403, headers
        assert page.ask("POST", "/api/cap", '{"off": true}', **headers)[0] == 403, headers
        assert page.ask("GET", "/api/energy", **headers)[1]["Access-Control-Allow-Origin"] is None


def test_only_post_changes_anything(live, page):
    for path in CHANGES:
        assert page.get(path)[0] in (404, 405), path
    assert page.get("/api/nodes/n0")[0] == 200
    assert live.client.get("/cap")["cap"] is None


def test_headers_forbid_scripts_of_others_and_frames(page):
    for path in ("/", "/page.js", "/api/energy", "/other"):
        _, headers, _ = page.ask("GET", path)
        rule = headers["Content-Security-Policy"]
        assert "default-src 'none'" in rule
        assert "script-src 'self';" in rule
        assert "unsafe" not in rule
        assert "frame-ancestors 'none'" in rule
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cache-Control"] == "no-store"
    text = page.get("/")[1]
    assert " style=" not in text
    assert "<style" not in text
    assert all(' src="/' in line for line in text.splitlines() if "<script" in line)


def test_the_file_of_sessions_is_private_and_has_no_cookie(live, page):
    path = live.folder / FILE
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert page.cookie.partition("=")[2] not in path.read_text()


def test_a_job_is_seen_from_its_submission_to_its_end(live, page):
    seen = watch(page)
    (number,) = live.submit("while [ ! -e $RAN.over ]; do sleep 0.1; done", walltime_s=60, name="a<b>", cpus=2)
    seen.take(lambda now: number in now.jobs)
    seen.take(lambda now: now.jobs[number]["state"] == "running" and now.jobs[number]["started_ms"] is not None)
    job = seen.jobs[number]
    assert (job["name"], job["cores"], job["watts"], job["walltime_s"]) == ("a<b>", 2, 20.0, 60)
    assert len(job["on"]) == 1
    seen.take(lambda now: now.hello["samples"][-1][1:3] == [420.0, 2])
    Path(f"{live.ran}.over").touch()
    seen.take(lambda now: now.jobs[number]["state"] == "completed")
    assert seen.jobs[number]["ended_ms"] >= seen.jobs[number]["started_ms"]
    seen.take(lambda now: now.hello["samples"][-1][1:3] == [400.0, 0])
    again = watch(page)
    assert again.jobs == seen.jobs, "a new page shows the same"


def test_nodes_and_the_cap_follow(live, page):
    seen = watch(page)
    live.client.change_node("n3", "drain", {"why": "test"})
    seen.take(lambda now: now.hello["node_states"][3][0] == "drained")
    assert page.post("/api/nodes/n3/resume")[0] == 200
    seen.take(lambda now: now.hello["node_states"][3][0] == "up")
    later = int(time.time()) + 3600
    steps = [[int(time.time()), 500], [later, 450]]
    assert page.post("/api/cap", {"kind": "power", "hard": True, "steps": steps, "source": "test"})[0] == 200
    seen.take(lambda now: now.use["cap"] is not None and now.hello["samples"][-1][3] == 500)
    assert seen.use["cap"] == {"kind": "power", "hard": True, "source": "test"}
    assert seen.use["plan"]["cap"] == [[later, 450]]
    assert page.post("/api/cap", {"off": True})[0] == 200
    seen.take(lambda now: now.use["cap"] is None and now.hello["samples"][-1][3] is None)
    status, told = page.post("/api/cap", {"kind": "power", "hard": True, "steps": [[1, 5]]})
    assert status == 400
    assert "below the power of the idle nodes" in told["error"]


def test_expected_starts_are_those_of_full_walltimes(live, page):
    first = live.submit("sleep 60", walltime_s=100, cpus=4, nodes=4)[0]
    until(lambda: live.job(first)["state"] == "running")
    second, third = (live.submit("true", walltime_s=100, cpus=4, nodes=nodes)[0] for nodes in (4, 1))
    until(lambda: page.json(f"/api/forecast/{third}")["expected_ms"] is not None, patience_s=60)
    started = live.job(first)["started_ms"]
    expected = {job: page.json(f"/api/forecast/{job}")["expected_ms"] for job in (second, third)}
    earlier, later = sorted(expected.values())
    for begun, after in ((started, earlier), (earlier, later)):
        assert 0 <= after - begun - 100_000 <= 45_000, "after the walltime, and what a kill may take"
    told = page.json("/api/nodes/n0")
    assert told["jobs"] == [first]
    assert {"id": second, "expected_ms": expected[second]} in told["reservations"]
    for job in (first, second, third):
        page.post(f"/api/jobs/{job}/cancel")
        live.ended(job)


def test_the_end_of_the_output(live, page, tmp_path):
    path = tmp_path / "out"
    (number,) = live.submit("yes line | head -n 30000; echo last", output=str(path))
    live.ended(number)
    told = page.json(f"/api/jobs/{number}/output")
    assert told["path"] == str(path)
    assert told["text"].endswith("line\nlast\n")
    assert len(told["text"]) == 1 << 16
    (number,) = live.submit("true", output=str(tmp_path / "missing" / "out"))
    live.ended(number)
    told = page.json(f"/api/jobs/{number}/output")
    assert (told["text"], "No such file" in told["why"]) == ("", True)


def test_energy_by_hour_and_user(live, page):
    (number,) = live.submit("sleep 1.2", walltime_s=60)
    live.ended(number)
    until(lambda: page.json("/api/energy")["users"])
    told = page.json("/api/energy")
    (user,) = told["users"]
    assert user[1] > 0
    assert user[3] == pytest.approx(user[2] * 0.25)
    assert all(hour[4] == pytest.approx(hour[3] * 0.25) for hour in told["hours"])
    assert all(400 <= hour[1] <= hour[2] <= 560 for hour in told["hours"])


def test_a_restart_keeps_link_name_port_session_and_use(own):
    own.start("--page")
    page = new_page(own)
    (number,) = own.submit("sleep 60", walltime_s=100)
    seen = watch(page).take(lambda now: number in now.jobs and now.jobs[number]["state"] == "running")
    own.kill("service")
    own.service.wait()
    with pytest.raises((StopIteration, ConnectionError)):
        seen.take(lambda _: False)
    own.start("--page")
    again = watch(page)
    assert again.jobs.keys() == {number}
    assert again.hello["samples"][0] == seen.hello["samples"][0]
    assert PageClient(own.client.post("/page")["link"]).origin == page.origin
    page.post("/close")
    assert page.get("/")[0] == 401


def test_a_service_without_a_page_says_so(own):
    own.start()
    told = subprocess.run(
        [sys.executable, "-m", "dardis", "page", "--folder", own.folder],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert told.returncode == 1
    assert told.stderr == "dardis: this service has no page: dardis serve --page\n"


def test_a_port_in_use_is_one_line(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        live = Live(tmp_path, PLATFORM)
        live.start("--page", "--page-port", str(port), wait=False)
        assert live.service.wait(120) == 2
    lines = [line for line in live.said().splitlines() if "compiling" not in line]
    assert lines == [f"dardis: --page-port: port {port}: Address already in use; expected a free port"]


def test_a_stopped_service_ends_all_sessions(own):
    """Nobody holds the port any more, so whoever has it next gets no cookie that still works."""
    page = new_page(own.start("--page"))
    own.end()
    assert not (own.folder / SOCKET).exists()
    again = new_page(own.start("--page"))
    assert again.host != page.host
    again.cookie, other = page.cookie, again.cookie
    assert again.get("/")[0] == 401
    again.cookie = other
    assert again.get("/")[0] == 200


def test_a_damaged_file_of_sessions_asks_for_new_links(own):
    page = new_page(own.start("--page"))
    own.kill("service")
    own.service.wait()
    (own.folder / FILE).write_text("[1")
    again = new_page(own.start("--page"))
    assert (again.host != page.host, again.port) == (True, page.port)
    assert again.get("/")[0] == 200


def test_nobody_else_can_have_the_port_on_either_address(own):
    page = new_page(own.start("--page"))
    addresses = [("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6)]
    for _ in ("served", "killed"):
        for host, family in addresses:
            with suppress(OSError), socket.socket(family) as other:
                other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                other.bind((host, page.port))
                other.listen()
                pytest.fail(f"somebody else listens at {host}")
        own.kill("service")
        own.service.wait()
    own.start("--page")
    assert page.get("/")[0] == 200


def test_connections_without_a_session_take_no_room(live, page):
    idle = [socket.create_connection(("127.0.0.1", page.port)) for _ in range(3 * MOST_STRANGERS)]
    try:
        assert page.get("/")[0] == 200
        first = idle[0]
        first.settimeout(60)
        assert first.recv(1) == b"", "the oldest is closed"
    except ConnectionResetError:
        pass
    finally:
        for one in idle:
            one.close()


def test_a_client_that_leaves_early_does_not_end_the_page(own):
    """Clients leave while the rows of many jobs are taken."""
    own.start("--page")
    numbers = own.submit("true", array="0-2999", hold=True)
    page = new_page(own)
    for _ in range(5):
        with closing(page.stream()) as stream:
            stream.recv(10)
    seen = watch(page)
    assert set(numbers) <= seen.jobs.keys()
    assert len(seen.hello["node_states"]) == 4
    (number,) = own.submit("true")
    seen.take(lambda now: number in now.jobs)


def patched(live, line):
    """Let the service run a line of Python first."""
    program = f"import sys; {line}; from dardis.cli.main import main; sys.argv[1:1] = ['serve']; main()"
    live.program = (sys.executable, "-c", program)
    return live


class Source:
    """Has endlessly much to send, or lets a client fall behind."""

    def __init__(self, *, behind):
        self.behind, self.left = behind, False

    @contextmanager
    def subscribe(self, uid):
        client = Subscriber(uid)
        client.is_slow = self.behind
        try:
            yield client
        finally:
            self.left = True

    async def first_events(self, _):
        while not self.behind:
            yield f"data: {'x' * (1 << 20)}\n\n"
        yield "data: all\n\n"


@pytest.mark.filterwarnings("ignore:It is recommended to use web.RequestKey")  # older aiohttp has none
@pytest.mark.parametrize("behind", [False, True])
@in_loop
async def test_a_client_that_is_too_slow_is_closed(monkeypatch, behind):
    """It takes nothing in time, or too many changes wait for it."""
    monkeypatch.setattr(page_server, "WRITE_S", 0.2)
    source = Source(behind=behind)
    server = PageServer(source, None, None, "again")
    async with server.serve([]):
        client = await asyncio.to_thread(PageClient, server.new_link(PeerUser(os.getuid(), os.getgid())))
        stream = await asyncio.to_thread(client.stream)
        await until_async(lambda: source.left)
        with closing(stream), suppress(ConnectionResetError):
            while await asyncio.to_thread(stream.recv, 1 << 20):
                pass


def test_a_day_of_very_many_jobs_shows_the_last(tmp_path):
    """The page has a bounded number of rows: what runs and waits, and the last that ended."""
    live = patched(Live(tmp_path, PLATFORM), "from dardis.live import page_feed; page_feed.MOST_ROWS = 50")
    try:
        live.start("--page")
        ended = live.submit("true", array="0-119", hold=True)
        live.client.change_range(ended[0], ended[-1], "cancel")
        (running,) = live.submit("sleep 60", walltime_s=100)
        page = new_page(live)
        seen = watch(page).take(lambda now: running in now.jobs and now.jobs[running]["state"] == "running")
        assert len(seen.jobs) == 50
        assert seen.jobs.keys() - {running} == set(ended[-49:])
        more = live.submit("true", array="0-99", hold=True)
        seen.take(lambda now: now.jobs.keys() == {running, *more[:49]})
        live.client.change_range(more[0], more[79], "cancel")
        seen.take(lambda now: now.jobs.keys() >= {running, *more[80:]})
        seen.take(lambda now: len(now.jobs) <= 50)
        assert page.json(f"/api/jobs/{ended[0]}")["state"] == "cancelled", "others are found by number"
    finally:
        live.end()


AS_ANOTHER = """
import os, sys
from pathlib import Path
from dardis.live.client import Client
client = Client(Path(sys.argv[1]))
os.setgroups([]); os.setgid(65534); os.setuid(65534)
print(client.post("/page")["link"])
body = {"jobs": {"argv": ["/bin/sh", "-c", "echo theirs; sleep 60"], "name": "theirs", "output": sys.argv[2]}}
print(client.post("/jobs", body | {"cwd": "/", "environment": {}, "script": ""})["ids"][0])
"""


@pytest.fixture(scope="module")
def shared():
    with live_for_all("page", PLATFORM, "--page") as live:
        secret, output = live.ran.parent / "secret", live.ran.parent / "theirs"
        secret.write_text("for root")
        secret.chmod(0o600)
        words = [sys.executable, "-c", AS_ANOTHER, live.folder, output]
        link, number = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
        until(lambda: output.exists() and output.read_text())
        output.unlink()
        output.symlink_to(secret)
        yield SimpleNamespace(live=live, theirs=PageClient(link), mine=new_page(live), number=int(number))


def test_details_of_other_users_stay_hidden(shared):
    (root,) = shared.live.submit("sleep 60", name="merger", walltime_s=100)
    theirs, mine = watch(shared.theirs), watch(shared.mine)
    for seen in (theirs, mine):
        seen.take(lambda now: {root, shared.number} <= now.jobs.keys())
    assert "merger" not in json.dumps([theirs.jobs, theirs.hello])
    assert mine.jobs[root]["name"] == "merger"
    assert theirs.jobs[shared.number]["name"] == mine.jobs[shared.number]["name"] == "theirs"
    assert not theirs.hello["operator"]
    assert mine.hello["operator"]
    assert shared.theirs.json(f"/api/jobs/{root}")["argv"] == []
    assert shared.theirs.get(f"/api/jobs/{root}/output")[0] == 403
    assert [row[0] for row in shared.theirs.json("/api/energy")["users"]] != ["root"]
    assert "root" not in [row[0] for row in shared.theirs.json("/api/energy")["users"]]


def test_other_users_change_only_their_own_jobs(shared):
    (root,) = shared.live.submit("sleep 60", walltime_s=100)
    for path in (f"/api/jobs/{root}/cancel", f"/api/jobs/{root}/hold", "/api/nodes/n0/drain", "/api/cap"):
        assert shared.theirs.post(path, {"off": True})[0] == 403, path
    assert shared.mine.post("/api/nodes/n3/drain")[0] == 200
    assert shared.mine.post("/api/nodes/n3/resume")[0] == 200


def test_output_is_read_with_the_rights_of_its_user(shared):
    """Their output is a link to a file of root."""
    told = shared.theirs.json(f"/api/jobs/{shared.number}/output")
    assert told["text"] == ""
    assert "Permission denied" in told["why"]
    assert shared.mine.json(f"/api/jobs/{shared.number}/output")["text"] == ""
    assert shared.theirs.post(f"/api/jobs/{shared.number}/cancel")[0] == 200


def test_a_stream_ends_with_its_client(live, page):
    for _ in range(40):  # more than a user may have at a time
        with closing(page.stream()) as stream:
            assert b"200 OK" in stream.recv(1000)
        with suppress(OSError):
            stream.shutdown(socket.SHUT_RDWR)
    until(lambda: page.get("/api/energy")[0] == 200)
