"""A browser's requests to the page, without a browser."""

import json
import re
import socket
import time
from contextlib import closing
from http.client import HTTPConnection
from urllib.parse import urlencode, urlsplit

from kit.waiting import PATIENCE_S


class PageClient:
    """Requests with the cookie of a link. `host` and `port` are those of the page."""

    def __init__(self, link, *, opened=True):
        parts = urlsplit(link)
        self.host, self.port, self.key = parts.hostname, parts.port, parts.query.partition("=")[2]
        self.origin, self.cookie = f"http://{self.host}:{self.port}", None
        if opened:
            status, headers, _ = self.ask("POST", "/open", urlencode({"key": self.key}), content="form")
            assert (status, headers["Location"]) == (303, "/")
            self.cookie = headers["Set-Cookie"].partition(";")[0]
            assert re.search("HttpOnly", headers["Set-Cookie"])
            assert re.search("SameSite=Strict", headers["Set-Cookie"])

    def ask(self, method, path, body=None, *, content="json", **headers):
        """Status, headers and body of an answer."""
        kinds = {"json": "application/json", "form": "application/x-www-form-urlencoded"}
        usual = {"Host": f"{self.host}:{self.port}"}
        if method == "POST":
            usual |= {"Origin": self.origin, "Content-Type": kinds[content]}
        if self.cookie is not None:
            usual["Cookie"] = self.cookie
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=60)) as connection:
            connection.putrequest(method, path, skip_host=True)
            data = (body or "").encode()
            for name, value in (usual | {"Content-Length": str(len(data))} | headers).items():
                connection.putheader(name, value)
            connection.endheaders(data)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read().decode()

    def get(self, path, **headers):
        status, _, text = self.ask("GET", path, **headers)
        return status, text

    def json(self, path):
        status, text = self.get(path)
        assert status == 200, text
        return json.loads(text)

    def post(self, path, body=None, **headers):
        status, _, text = self.ask("POST", path, json.dumps(body or {}), **headers)
        return status, json.loads(text) if text.startswith("{") else text

    def stream(self, received=None):
        """A socket that has asked for the events. `received`: bytes of its buffer."""
        connection = socket.socket()
        connection.settimeout(60)
        if received is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, received)
        connection.connect(("127.0.0.1", self.port))
        connection.sendall(
            f"GET /events HTTP/1.1\r\nHost: {self.host}:{self.port}\r\nCookie: {self.cookie}\r\n\r\n".encode()
        )
        return connection

    def events(self):
        """Yield name and value of each event, until the server ends."""
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=60)) as connection:
            connection.putrequest("GET", "/events", skip_host=True)
            connection.putheader("Host", f"{self.host}:{self.port}")
            connection.putheader("Cookie", self.cookie)
            connection.endheaders()
            answer = connection.getresponse()
            assert answer.status == 200
            name = ""
            while line := answer.readline().decode():
                if line.startswith("event: "):
                    name = line[7:].strip()
                elif line.startswith("data: "):
                    yield name, json.loads(line[6:])


class Seen:
    """What a page knows after some events."""

    def __init__(self, events):
        self.events, self.jobs, self.hello, self.use = events, {}, None, {}

    def take(self, holds):
        """Take events until something holds."""
        end = time.monotonic() + PATIENCE_S
        while not holds(self):
            assert time.monotonic() < end, (sorted(self.jobs), self.use)
            name, told = next(self.events)
            if name == "hello":
                self.hello = self.use = told
                self.jobs = {}
            elif name in ("jobs", "change"):
                for row in told["jobs"]:
                    job = dict(zip(self.hello["columns"], row, strict=True))
                    self.jobs[job["id"]] = job
            if name == "change":
                self.use = self.use | told
                for gone in told["gone"]:
                    self.jobs.pop(gone, None)  # perhaps never shown
                for place, *node in told["node_states"]:
                    self.hello["node_states"][place] = node
                self.hello["samples"] += told["samples"]
            self.last = name
        return self

    def ready(self):
        return self.take(lambda seen: getattr(seen, "last", "") == "ready")
