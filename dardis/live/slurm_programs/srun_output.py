"""Output of the tasks of `srun`: labels, whole lines, and files named by patterns."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Final

from dardis.live.option_table import GivenOption
from dardis.model.errors import InputError

_PATTERN: Final = re.compile(r"%(\d{0,2})(.?)", re.ASCII | re.DOTALL)
_PATTERNS: Final = "%j, %J, %s, %t, %n, %N, %x, %u, %A, %a or %%"


class TaskOutput:
    """Output of tasks, in whole lines, to this process's streams or to files."""

    def __init__(self, said: Mapping[str, GivenOption], tasks: int, job: int, stack: ExitStack) -> None:
        self._said, self._job, self._stack = said, job, stack
        self._label = len(str(tasks - 1)) if "label" in said else None
        self._raw = "unbuffered" in said and self._label is None
        self._left: dict[tuple[int, str], bytes] = {}
        self._files: dict[str, IO[bytes]] = {}
        self._nodes: Sequence[str] = ()
        self._step = 0
        mode = said.get("open-mode")
        if mode is not None and mode.value not in {"append", "truncate"}:
            raise InputError(mode.written, repr(mode.value), "append or truncate")
        self._mode = "ab" if mode is not None and mode.value == "append" else "wb"
        for option in ("output", "error"):
            for match in _PATTERN.finditer(said[option].value) if option in said else ():
                if match[2] not in set("AaJjNnstux%"):
                    raise InputError(said[option].written, repr(said[option].value), _PATTERNS)

    def begin(self, nodes: Sequence[str], step: int) -> None:
        """Set the nodes by rank, and the number of the step."""
        self._nodes, self._step = nodes, step

    def write(self, rank: int, stream: str, data: bytes) -> None:
        """Write output of a task."""
        key = rank, stream
        *lines, left = [data] if self._raw else (self._left.pop(key, b"") + data).splitlines(keepends=True) or [b""]
        if self._raw or left.endswith(b"\n"):
            lines, left = [*lines, left], b""
        if left:
            self._left[key] = left
        if lines:
            self._put(rank, stream, lines)

    def end(self, rank: int) -> None:
        """Write what is left of a task that has ended."""
        for stream in ("out", "err"):
            if left := self._left.pop((rank, stream), b""):
                self._put(rank, stream, [left + (b"\n" if self._label is not None else b"")])

    def _put(self, rank: int, stream: str, lines: Sequence[bytes]) -> None:
        if (file := self._file(rank, stream)) is None:
            return
        label = b"" if self._label is None else f"{rank:{self._label}}: ".encode()
        file.write(b"".join(label + line for line in lines))
        file.flush()

    def _file(self, rank: int, stream: str) -> IO[bytes] | None:
        option = self._said.get("error") if stream == "err" else None
        option = option or self._said.get("output")
        if option is None or option.value == "all":
            return sys.stdout.buffer if stream == "out" else sys.stderr.buffer
        if option.value.lower() == "none":
            return None
        path = self._path(option.value, rank)
        if path not in self._files:
            try:
                self._files[path] = self._stack.enter_context(Path(path).open(self._mode))  # noqa: SIM115 (the stack closes it)
            except OSError as error:
                raise InputError(option.written, f"{path}: {error.strerror}", "a file that can be written") from None
        return self._files[path]

    def _path(self, pattern: str, rank: int) -> str:
        names = list(dict.fromkeys(self._nodes))
        environment, name = os.environ, self._said.get("job-name")
        values: Mapping[str, Callable[[], object]] = {
            "j": lambda: self._job, "J": lambda: f"{self._job}.{self._step}", "s": lambda: self._step,
            "t": lambda: rank,
            "n": lambda: names.index(self._nodes[rank]), "N": lambda: self._nodes[rank],
            "A": lambda: environment.get("SLURM_ARRAY_JOB_ID", self._job),
            "a": lambda: environment.get("SLURM_ARRAY_TASK_ID", 0), "u": lambda: environment.get("SLURM_JOB_USER", ""),
            "x": lambda: name.value if name is not None else environment.get("SLURM_JOB_NAME", ""),
            "%": lambda: "%",
        }  # fmt: skip

        def value(match: re.Match[str]) -> str:
            text = str(values[match[2]]())
            return text.zfill(int(match[1] or 0)) if text.isdecimal() else text

        return _PATTERN.sub(value, pattern)
