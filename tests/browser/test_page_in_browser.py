"""The page in a real browser."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from kit.browser import View, browser
from kit.live import Live
from kit.waiting import until

AXE = Path(__file__).parent / "axe.min.js"
POWER = "power = { idle_w = 100, core_w = 10, off_w = 5 }\n"
PLATFORM = f'name = "m"\n[[nodes]]\ncount = 4\nprefix = "n"\nresources = {{ cores = 4, memory = "4GiB" }}\n{POWER}'
VIEWS = ("/", "/jobs", "/jobs/1", "/nodes", "/nodes/n0", "/energy")


@pytest.fixture(scope="module")
def driver():
    with browser() as driver:
        yield driver


@pytest.fixture(scope="module")
def live(driver, tmp_path_factory):
    with Live(tmp_path_factory.mktemp("browser"), PLATFORM) as live:
        yield live.start("--page")


def link(live):
    return live.client.post("/page")["link"]


@pytest.fixture(scope="module")
def view(driver, live):
    return View(driver, link(live))


def test_there_is_no_access_without_a_link(live):
    """Also for another user of the machine, whose browser has no cookie, or a guess."""
    origin = link(live).partition("/open")[0]
    with browser() as other:
        for _ in ("no cookie", "a guess"):
            for path in ("/", "/events", "/api/energy"):
                other.get(origin + path)
                assert "No access." in other.page_source
                assert "dardis page" in other.page_source
            other.add_cookie({"name": "dardis", "value": "guess"})


def test_a_submitted_job_appears_runs_and_ends_without_a_reload(live, view):
    view.driver.execute_script("window.isSame = true")
    view.go("/jobs")
    (number,) = live.submit("while [ ! -e $RAN.go ]; do sleep 0.1; done", name="visible", walltime_s=100)
    shows = "row.innerText.includes('visible') && row.innerText.includes(arguments[0])"
    row = f"return [...document.querySelectorAll('#jobs-table tr')].some((row) => {shows})"
    view.wait(row, "running")
    Path(f"{live.ran}.go").touch()
    view.wait(row, "completed")
    view.go(f"/jobs/{number}")
    view.wait_text("#job-facts", "Exit code")
    assert view.driver.execute_script("return window.isSame")


def test_cancel_asks_first(live, view):
    (number,) = live.submit("sleep 100", walltime_s=200)
    view.go(f"/jobs/{number}")
    view.press("#job-actions", "Cancel")
    view.wait_text("#confirm-text", f"Cancel job {number}?")
    view.press("#confirm", "No")
    assert not view.driver.execute_script("return document.getElementById('confirm').open")
    assert live.job(number)["state"] in {"waiting", "running"}
    cancel, no = (f"document.querySelector('{where}').click(); " for where in ("#job-actions button", "#confirm-no"))
    view.driver.execute_script(cancel + no + cancel)  # the event of the first end comes when the second is open
    view.press("#confirm", "Yes")
    view.wait_text("#job-facts", "cancelled")
    assert live.ended(number)["state"] == "cancelled"


def test_names_and_output_remain_text(live, view, tmp_path):
    name = "<script>window.isBroken=1<img src=x onerror=window.isBroken=1>"
    command = r"printf '\033[31mred\033[0m \033]0;title\007\033[2J\b<b>bold</b>\n'"
    (number,) = live.submit(command, name=name, output=str(tmp_path / "out"))
    live.ended(number)
    view.go("/jobs")
    view.wait_text("#jobs-table", name)
    view.go(f"/jobs/{number}")
    view.wait_text("#job-facts", name)
    view.wait_text("#output", "<b>bold</b>")
    shown = view.driver.execute_script("return document.getElementById('output').textContent")
    assert shown == "red \ufffd]0;title\ufffd\ufffd[2J\ufffd<b>bold</b>\n"
    assert not view.driver.execute_script(
        "return window.isBroken || document.querySelector('main img, main b:not(.grid b)')"
    )
    assert view.driver.title.startswith("DARDIS")


def test_a_cap_of_the_command_line_is_a_step_and_use_stays_below(live, view):
    view.go("/")
    now = int(time.time())
    live.client.post("/cap", {"kind": "power", "hard": True, "steps": [[now, 520], [now + 3600, 450]]})
    numbers = live.submit("sleep 3", array="0-5", cpus=4, walltime_s=4)
    view.wait_text("#figures", "hard cap 520 W")
    for number in numbers:
        live.ended(number)
    caps = "app.samples.map((one) => one[3])"
    view.wait(f"return {caps}.includes(null) && {caps}.at(-1) === 520 && app.plan.cap[0][1] === 450")
    samples = view.driver.execute_script("return app.samples.filter((one) => one[3] !== null)")
    assert 440 <= max(sample[1] for sample in samples) <= 520, "three jobs of 40 W at a time on nodes of 400 W"
    assert view.driver.execute_script("return document.querySelectorAll('#power-chart canvas').length") == 1
    view.type("#cap-value", "1 potato")
    view.press("#cap-form", "Set")
    view.wait_text("#alert", "A cap is an amount with a unit")
    view.type("#cap-value", "600W")
    view.press("#cap-form", "Set")
    view.press("#confirm", "Yes")
    view.wait_text("#figures", "hard cap 600 W")
    view.press("#cap-form", "Remove")
    view.press("#confirm", "Yes")
    view.wait_text("#figures", "no cap")
    assert live.client.get("/cap")["cap"] is None


def test_the_page_reports_a_killed_service_and_goes_on(live, view):
    view.go("/jobs")
    (number,) = live.submit("sleep 100", name="survivor", walltime_s=200)
    view.wait_text("#jobs-table", "survivor")
    before = view.driver.execute_script("return app.jobs.size")
    live.kill("service")
    live.service.wait()
    view.wait_text("#status", "does not answer")
    assert len(view.rows()) == before, "what was there is still shown"
    live.start("--page")
    view.wait("return document.getElementById('status').textContent === 'Live'")
    view.wait("return app.isReady && app.coming === app.jobs")
    assert view.driver.execute_script("return app.jobs.size") == before
    numbers = [row[0] for row in view.rows()]
    assert len(numbers) == len(set(numbers)) == before
    live.client.post(f"/jobs/{number}/cancel")
    live.ended(number)


def test_what_has_not_changed_keeps_focus_and_selection(live, view):
    (number,) = live.submit("sleep 100", name="steady", walltime_s=200)
    view.go("/jobs")
    view.wait_text("#jobs-table", "steady")
    view.driver.execute_script("document.querySelector(`#jobs-table a[href='#/jobs/${arguments[0]}']`).focus()", number)
    drawn = "window.drawn = 0; const before = drawJobs; views.jobs = () => { before(); window.drawn += 1; }"
    view.driver.execute_script(drawn)
    view.wait("return window.drawn >= 3")
    assert view.driver.switch_to.active_element.text == str(number)
    view.go(f"/jobs/{number}")
    view.wait_text("#job-facts", "steady")
    chosen = "getSelection().selectAllChildren(document.querySelector('#job-facts dd:nth-of-type(2)'))"
    drawn = "window.drawn = 0; const before = drawJob; views.job = () => { before(); window.drawn += 1; }"
    view.driver.execute_script(f"{chosen}; {drawn}")
    view.wait("return window.drawn >= 3")
    assert view.driver.execute_script("return getSelection().toString()").strip() == "steady"
    live.client.post(f"/jobs/{number}/cancel")
    view.wait_text("#job-facts", "cancelled")


def test_signing_out_ends_the_session(live):
    with browser() as other:
        seen = View(other, link(live))
        seen.find("#sign-out").click()
        until(lambda: "No access." in other.page_source)
        other.get(seen.base)
        assert "No access." in other.page_source


def test_everything_is_reached_by_keyboard(view):
    view.go("/nodes")
    view.wait("return document.querySelectorAll('#nodes-grid a').length === 4")
    view.driver.execute_script("document.querySelector('#nodes-grid a').focus()")
    active = view.driver.switch_to.active_element
    active.send_keys("\ue014")  # arrow right
    view.wait("return document.activeElement.getAttribute('aria-label').startsWith('n1:')")
    view.driver.switch_to.active_element.send_keys("\ue007")  # enter
    view.wait_text("#node-head", "Node n1")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_no_serious_fault(live, view, theme):
    view.driver.execute_script("setTheme(arguments[0])", theme)
    view.driver.execute_script(AXE.read_text(encoding="utf-8"))
    for path in VIEWS:
        view.go(path)
        view.wait("return place().view && !isDrawing && !document.getElementById(place().view).hidden")
        found = view.driver.execute_async_script(
            "axe.run({resultTypes: ['violations']}).then(arguments[arguments.length - 1])"
        )
        serious = [one for one in found["violations"] if one["impact"] in ("serious", "critical")]
        told = [(one["id"], [node["html"] for node in one["nodes"][:3]]) for one in serious]
        assert not told, (path, json.dumps(told, indent=1))


def test_400_pixels_are_wide_enough(view):
    view.driver.set_window_size(500, 900)  # the least of Chromium's windows
    view.driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": 400, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    )
    try:
        for path in VIEWS:
            view.go(path)
            view.wait("return !isDrawing && !document.getElementById(place().view).hidden")
            wide = view.driver.execute_script("return document.documentElement.scrollWidth")
            assert wide <= 400, path
    finally:
        view.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_ten_thousand_jobs_are_filtered_and_sorted(live, view):
    numbers = live.submit("true", array="0-9999", hold=True, name="many")
    view.go("/jobs")
    view.wait("return app.jobs.size >= 10000")
    view.type("#search", "many")
    view.wait_text("#jobs-count", "10000 of")
    view.type("#search", str(numbers[1234]))
    view.wait("return document.querySelectorAll('#jobs-table tbody tr').length === 1")
    assert view.rows()[0][0] == str(numbers[1234])
    view.type("#search", "many")
    view.wait_text("#page-number", "page 1 of 200")
    view.driver.execute_script("document.querySelector('[data-key=id]').click()")
    view.wait("return document.querySelector('#jobs-table tbody td').innerText === arguments[0]", str(numbers[0]))
    assert "sort=id" in view.driver.current_url
    view.press(".pager", "Next")
    view.wait("return document.querySelector('#jobs-table tbody td').innerText === arguments[0]", str(numbers[50]))
    live.client.change_range(numbers[0], numbers[-1], "cancel")
    view.driver.execute_script(
        "const one = document.getElementById('state'); one.value = 'held'; one.dispatchEvent(new Event('input'))"
    )
    view.wait_text("#jobs-count", "0 of")


class _Evil(BaseHTTPRequestHandler):
    """Another user's server on this machine: remembers all cookies, and asks the page for data."""

    cookies: list[str] = []  # noqa: RUF012 (of the class, on purpose)
    target = ""

    def do_GET(self):
        self.cookies.append(self.headers.get("Cookie", ""))
        body = f"<script>fetch('{self.target}/api/energy', {{credentials: 'include'}}).then((one) => one.text()).then("
        body += "(text) => { document.title = 'read ' + text }, () => { document.title = 'refused' });"
        body += f"</script><form method=post action='{self.target}/api/cap'><button>x</button></form>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_):
        pass


def test_another_server_on_this_machine_gets_no_cookie_and_no_data(live, view):
    """Cookies ignore ports; so the page has a name of its own."""
    _Evil.target = view.base.rstrip("/")
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Evil)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        for name in ("localhost", "127.0.0.1", "evil.localhost"):
            view.driver.get(f"http://{name}:{server.server_port}/")
            until(lambda: view.driver.title == "refused")
            view.driver.execute_script("document.forms[0].submit()")
            until(lambda: "No access." in view.driver.page_source or "another page" in view.driver.page_source)
        assert set(_Evil.cookies) == {""}
        assert live.client.get("/cap")["cap"] is None
    finally:
        server.shutdown()
        server.server_close()
    view.driver.get(view.base)
    view.wait("return document.getElementById('status').textContent === 'Live'")
    assert not [line for line in view.mistakes() if ".js " in line]
