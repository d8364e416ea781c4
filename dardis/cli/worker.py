"""Starts processes that do commands of `dardis` one after the other, as it is told: what they need is loaded once.

Standard input is a socket (`dardis.comparison.nursery` says what goes over it). Each process is a fork of this one,
which has loaded what every run needs and has run nothing; the lines that it reads are a command's arguments as JSON,
and it answers each by the line of its exit status. It ends with its input, with what started it, and with an interrupt.
"""

from __future__ import annotations

from dardis.comparison.end_with_parent import end_with, end_with_parent

end_with_parent()

import gc  # noqa: E402 (the rest takes a while)
import json  # noqa: E402
import os  # noqa: E402
import signal  # noqa: E402
import socket  # noqa: E402
import sys  # noqa: E402
from collections.abc import Sequence  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Final  # noqa: E402

from dardis.cli.main import OBJECTS_BETWEEN_COLLECTIONS, run  # noqa: E402
from dardis.model.errors import INTERRUPTED  # noqa: E402
from dardis.runs import progress_file  # noqa: E402

_INTERRUPT: Final = (signal.SIGINT,)


def main() -> int:
    """Start what is asked for until nothing more is; in what is started, do its commands."""
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    _load()
    line, here = socket.socket(fileno=0), os.getpid()
    ended: dict[int, int] = {}
    while True:
        said, ends, _, _ = socket.recv_fds(line, 1 << 16, 3)
        if not said:
            os._exit(0)  # there is nothing to put in order, which would take Python a while
        number, about = json.loads(said)
        answer: int | None
        if ends:
            signal.pthread_sigmask(signal.SIG_BLOCK, _INTERRUPT)  # Python forgets one that meets it forking
            try:
                answer = os.fork()
            except OSError as error:
                answer = -(error.errno or 1)
            if answer == 0:
                line.detach()
                end_with(here)
                os.setsid()
                os.environ[progress_file.VARIABLE] = about
                return _do_commands(ends)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _INTERRUPT)
            ended.pop(answer, None)
            for end in ends:
                os.close(end)
        else:
            if about not in ended:
                found, status = os.waitpid(about, os.WNOHANG)
                ended |= {about: os.waitstatus_to_exitcode(status)} if found else {}
            answer = ended.get(about)
        line.send(json.dumps([number, answer]).encode())


def _load() -> None:
    """Have what every run needs, which is shared by all who are forked from here."""
    import dardis.runs.warm
    import dardis.runs.run  # noqa: F401

    gc.collect()
    gc.freeze()


def _do_commands(ends: Sequence[int]) -> int:
    """Do what is asked until nothing more is; `ends` are its input, output and standard error."""
    for place, end in enumerate(ends):
        os.dup2(end, place)
        os.close(end)
    with (
        os.fdopen(os.dup(0)) as commands, os.fdopen(os.dup(1), "w") as answers, Path(os.devnull).open("r+") as nowhere
    ):  # fmt: skip
        # What a run or its children read and print is nothing of this.
        os.dup2(nowhere.fileno(), 0)
        os.dup2(nowhere.fileno(), 1)
        try:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _INTERRUPT)
            for line in commands:
                status = run(json.loads(line))
                if status == INTERRUPTED:
                    return INTERRUPTED
                gc.collect()  # the next run lets what is there live for ever
                print(status, file=answers, flush=True)
        except KeyboardInterrupt:  # between two, or before the first
            return INTERRUPTED
    return 0


if __name__ == "__main__":
    sys.exit(main())
