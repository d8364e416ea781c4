"""A live service of canned jobs, for tests of those who ask: HTTP over a Unix socket, by the contract of the API."""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingMixIn, UnixStreamServer
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

from dardis.live.job_option_texts import UNLIMITED_S, read_array
from dardis.live.job_request import JobRequest

STATES_OVER = {"completed", "failed", "timeout", "cancelled", "unknown"}
NO_METRICS = SimpleNamespace(on_request=lambda *_: None)
"""Metrics of a service that count nothing."""
ASKED = JobRequest(argv=("/bin/true",)).as_dict()


def job(number, state="waiting", **more):
    """A job as the service tells it."""
    over = state in STATES_OVER
    begun = over or state == "running"
    return {
        **ASKED, "id": number, "array": None, "index": None, "user": "me", "state": state, "why": "", "cwd": "/",
        "attempt": int(begun), "submitted_ms": 1_700_000_000_000, "started_ms": 1_700_000_060_000 if begun else None,
        "ended_ms": 1_700_000_160_000 if over else None, "code": 0 if state == "completed" else None, "signal": None,
        "host": "n1" if begun else "", "nodes": ["n1"] if begun else [], "node_count": 1, "lost": False,
        "allocated_cores": 0, "retried": 0, "array_size": 1, "uid": 0, "has_script": False,
        **more,
    }  # fmt: skip


def arrays_of(jobs):
    """Arrays of unfinished jobs as the service tells them."""
    groups = {}
    for one in jobs:
        groups.setdefault(one["array"] or one["id"], []).append(one)
    return [
        {
            **group[0], "last_id": group[-1]["id"], "last_index": group[-1]["index"],
            "states": Counter(one["state"] for one in group),
            "reasons": Counter(one["why"] for one in group if one["state"] != "running"),
        }
        for group in groups.values()
    ]  # fmt: skip


class FakeService:
    """What it has, and what it was asked."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.jobs = {}
        self.asked = []
        """(method, path with query, body) of every question that came whole."""
        self.keys = {}
        self.breaks = 0
        """So many questions are read, and their connections closed without an answer."""
        self.refuses = None
        """(status, line) that answers everything."""
        self.ends = {}
        """What becomes of a job while somebody waits for it."""
        self.cap, self.platform = None, {}
        """Answer to `/cap`, and the machine."""
        self.nodes = {
            "n1": {
                "name": "n1", "cores": 4, "memory_mib": 8192, "gpus": 1, "used_cores": 1, "state": "up", "jobs": [7],
                "why": "", "host": "n1", "silent": False,
            }
        }  # fmt: skip

    def add(self, *jobs):
        self.jobs.update({one["id"]: one for one in jobs})

    def answer(self, method, path, query, body):
        """Status and object."""
        if self.refuses:
            return self.refuses[0], {"error": self.refuses[1]}
        if (method, path) == ("POST", "/jobs"):
            return 200, self._submit(body)
        if (method, path) == ("GET", "/jobs"):
            over = {"open": [False], "over": [True], "all": [False, True]}[query.get("state", "open")]
            found = [one for one in self.jobs.values() if (one["state"] in STATES_OVER) in over]
            found = [one for one in found if query.get("user") in {None, one["user"]}]
            found = [one for one in found if (one["ended_ms"] or 0) >= int(query.get("since_ms", 0))]
            told = {"jobs": found[: int(query.get("limit", len(found)))]}
            if query.get("array") == "1":
                return 200, {"arrays": arrays_of(told["jobs"])}
            return 200, told | ({"next": None} if over != [False] else {})
        plain = {
            ("GET", "/nodes"): {"nodes": list(self.nodes.values())},
            ("GET", "/counts"): dict.fromkeys(STATES_OVER, 0) | {"held": 0, "waiting": 1, "running": 1, "failed": 1},
            ("GET", "/status"): {"max_time_s": UNLIMITED_S}, ("POST", "/stop"): {"running": 1},
        }  # fmt: skip
        if path in ("/cap", "/switching"):
            nothing = {"cap": None, "now": None, "measured_w": None, "programs": False}
            return 200, self.cap or nothing
        if path == "/platform":
            return 200, {"platform": self.platform}
        if (method, path) in plain:
            return 200, plain[method, path]
        if match := re.fullmatch(r"/jobs/(cancel|hold)", path):
            return 200, {"changed": self._change_range(body["first"], body["last"], match[1])}
        if match := re.fullmatch(r"/jobs/(\d+)(?:/(\w+))?", path):
            return self._of_job(method, int(match[1]), match[2], body)
        if (match := re.fullmatch(r"/nodes/([^/]+)/(drain|resume)", path)) and method == "POST":
            if match[1] not in self.nodes:
                return 404, {"error": f"there is no node {match[1]}"}
            self.nodes[match[1]].update(state="draining" if match[2] == "drain" else "up", why=body.get("why", ""))
            return 200, {"nodes": list(self.nodes.values())}
        return 404, {"error": f"nothing at {method} {path}"}

    def _submit(self, body):
        if body["key"] not in self.keys:
            array, first = body["jobs"]["array"], max(self.jobs, default=11) + 1
            count = 1 if array is None else len(read_array(array, "array").indices)
            ids = list(range(first, first + count))
            self.keys[body["key"]] = ids
            self.add(*(job(one, array=None if array is None else first, name=body["jobs"]["name"]) for one in ids))
        return {"ids": self.keys[body["key"]], "warnings": []}

    def _change_range(self, first, last, do):
        found = [number for number, one in self.jobs.items() if first <= number <= last]
        return sum(self._of_job("POST", number, do, {})[0] == 200 for number in found)

    def _of_job(self, method, number, do, body):
        if number not in self.jobs:
            return 404, {"error": f"there is no job {number}"}
        one = self.jobs[number]
        if method == "GET":
            if do == "wait":
                one.update(self.ends.get(number, {}))
            return 200, one
        if one["state"] in STATES_OVER and not (do == "retry" and one["state"] == "failed"):
            return 409, {"error": f"job {number} is {one['state']}: it can't be changed any more"}
        if do == "signal":
            one["signals"] = [*one.get("signals", []), body]
            return 200, {}
        one["state"] = {"cancel": "cancelled", "hold": "held", "release": "waiting", "retry": "waiting"}[do]
        return 200, one


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def _handle(self):
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or "null")
        fake = self.server.fake
        fake.asked.append((self.command, self.path, body))
        split = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(split.query).items()}
        with self.server.lock:
            status, value = fake.answer(self.command, split.path, query, body)
            broken = fake.breaks > 0
            fake.breaks -= broken
        self.close_connection = True
        if broken:
            return
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = _handle  # noqa: N815 (http.server looks for these names)

    def address_string(self):
        return "unix"

    def log_message(self, *_):
        pass


class _Server(ThreadingMixIn, UnixStreamServer):
    daemon_threads = True
    request_queue_size = 50


@contextmanager
def served(folder, *jobs):
    """A fake service in a folder, while the block lasts, that has these jobs from the beginning."""
    path = Path(folder) / "gateway.sock"
    path.unlink(missing_ok=True)
    server = _Server(str(path), _Handler)
    server.fake, server.lock = FakeService(folder), threading.Lock()
    server.fake.add(*jobs)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server.fake
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
