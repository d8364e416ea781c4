"""Jobs of a live service from Python."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from time import sleep
from types import MappingProxyType
from typing import Any, Final

from dardis.engine.clock import local_now, monotonic_s, unix_ms
from dardis.live import client as http
from dardis.live.directives import VALUES, Directives, read_directives
from dardis.live.random_keys import fresh_key
from dardis.live.slurm_translation import NO, YES, OptionText
from dardis.live.submit_request import body_of, submit_request
from dardis.model.errors import InputError

POLL_S: Final = 0.5
WAIT_S: Final = 1.0
NO_OPTIONS: Final[Mapping[str, str | float | bool]] = MappingProxyType({})


class Client:
    """Client of a live service in `folder`. It repeats requests without a second submission.

    Methods raise InputError for mistakes and DardisError if the service does not answer.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self.folder = http.service_folder(None if folder is None else Path(folder))
        self._service = http.Client(self.folder)

    def submit(
        self, command: str | Sequence[str] = (), *, script: str = "", environment: Mapping[str, str] | None = None,
        key: str | None = None, options: Mapping[str, str | float | bool] = NO_OPTIONS,
    ) -> list[int]:  # fmt: skip
        """Submit a command (words, or a line split as by a shell) or a script's text. Returns job numbers.

        `options` are those of `dardis submit`, such as `{"time": "2h", "array": "0-9", "hold": True}`. A repeated `key`
        returns the same numbers.
        """
        try:
            argv = shlex.split(command) if isinstance(command, str) else list(command)
        except ValueError as error:
            raise InputError("submit", f"{command!r} ({error})", "closed quotes") from None
        if not argv and not script:
            raise InputError("submit", "no command", "a command, or script=TEXT")
        stated = read_directives(script, Path("script")) if script else Directives()
        said = stated.merge_options(_texts(options))
        present = os.environ if environment is None else environment
        name = Path(argv[0]).name if argv and not script else "job"
        asked = submit_request(said, argv, name, present, local_now())
        ids: list[int] = self._service.submit(body_of(asked, script, key or fresh_key()))["ids"]
        return ids

    def job(self, number: int) -> dict[str, Any]:
        """All facts about a job, as `dardis show --json` prints them."""
        return self._service.job(number)

    def jobs(self) -> list[dict[str, Any]]:
        """Unfinished jobs."""
        found: list[dict[str, Any]] = self._service.get("/jobs", state="open")["jobs"]
        return found

    def nodes(self) -> list[dict[str, Any]]:
        """Service's nodes."""
        found: list[dict[str, Any]] = self._service.get("/nodes")["nodes"]
        return found

    def wait(self, numbers: int | Iterable[int], timeout: float | None = None) -> list[dict[str, Any]]:
        """Wait for the end of jobs, and return them. Raises TimeoutError after `timeout` s."""
        until_s = None if timeout is None else monotonic_s() + timeout
        found = []
        for number in [numbers] if isinstance(numbers, int) else numbers:
            if until_s is None:
                found.append(self._service.wait_for_end(number))
                continue
            while not http.is_over(job := self._wait(number, until_s)):
                if monotonic_s() >= until_s:
                    raise TimeoutError(f"job {number} is {job['state']}")
            found.append(job)
        return found

    def _wait(self, number: int, until_s: float) -> dict[str, Any]:
        left_s = min(max(until_s - monotonic_s(), 0.0), WAIT_S)  # a restarted service is asked for the whole time again
        return self._service.get(f"/jobs/{number}/wait", patience_s=left_s, timeout=f"{left_s:.3f}")

    def cancel(self, numbers: int | Iterable[int]) -> None:
        """Cancel jobs."""
        for number in [numbers] if isinstance(numbers, int) else numbers:
            self._service.change_job(number, "cancel")

    def events(self) -> Iterator[dict[str, Any]]:
        """Yield jobs after changes of state, from now on."""
        states = {job["id"]: job["state"] for job in self.jobs()}
        since_ms = unix_ms()
        while True:
            sleep(POLL_S)
            now_ms = unix_ms()
            ended = self._service.history(state="over", since_ms=since_ms - 2000)
            for job in sorted([*self.jobs(), *ended], key=lambda one: int(one["id"])):
                if states.get(job["id"]) != job["state"]:
                    states[job["id"]] = job["state"]
                    yield job
            since_ms = now_ms


def _texts(options: Mapping[str, str | float | bool]) -> dict[str, OptionText]:
    found = {}
    for name, value in options.items():
        option = name.replace("_", "-")
        if option not in VALUES and not isinstance(value, bool):
            raise InputError(name, "is no option", ", ".join(one.replace("-", "_") for one in VALUES))
        text = (YES if value else NO) if isinstance(value, bool) else str(value)
        found[option] = OptionText(text, name)
    return found
