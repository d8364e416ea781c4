"""A command of DARDIS: keywords become its options, and mistakes exceptions in its words."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Collection, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from io import StringIO
from os import PathLike, fspath
from subprocess import CompletedProcess
from typing import Final, NamedTuple

from dardis.api.plain import plain, setting_text
from dardis.comparison.nursery import same_modules
from dardis.model.errors import INTERRUPTED, DardisError, DardisWarning, InputError, LossError

_WARNING: Final = "warning: "
_ONE_AT_A_TIME: Final = threading.RLock()
"""Held by a command in this process: standard output and error are those of all threads."""


class Said(NamedTuple):
    """How a command ended that wrote what it was to write."""

    status: int
    output: str
    lines: list[str]
    """What it said on standard error beside warnings."""


def words_of(options: Mapping[str, object]) -> list[str]:
    """Keywords as options: `from_` is --from; True stands alone, None and False are left out; a list has commas."""
    words = []
    for name, value in options.items():
        option = "--" + name.rstrip("_").replace("_", "-")
        if isinstance(value, Mapping):
            words += [f"{option}={key}={setting_text(one)}" for key, one in value.items()]
        elif value is True:
            words.append(option)
        elif isinstance(value, str | PathLike):
            words.append(f"{option}={fspath(value)}")
        elif isinstance(value, Sequence):
            words.append(f"{option}={','.join(str(plain(one)) for one in value)}")
        elif value is not None and value is not False:
            words.append(f"{option}={plain(value)}")
    return words


def command(
    words: Sequence[str], *, may_fail: bool = False, stacklevel: int = 3, local: Collection[type] = ()
) -> Said:  # fmt: skip
    """Run `dardis` with these words and warn as it does; in this process if there are `local` dispatchers.

    Raises InputError and others of DARDIS with the line that it ends with; with `may_fail` a status of 1 is none.
    """
    done = _run_here(words, local) if local else _run(words)
    lines = [line.removeprefix("dardis: ") for line in done.stderr.splitlines() if line.strip()]
    for line in lines:
        if line.startswith(_WARNING):
            warnings.warn(line.removeprefix(_WARNING), DardisWarning, stacklevel=stacklevel)
    told = [line for line in lines if not line.startswith(_WARNING)]
    if done.returncode not in ((0, 1) if may_fail else (0,)):
        mistake = _raised(done.returncode, told[-1] if told else f"ended with exit status {done.returncode}")
        if not isinstance(mistake, InputError | LossError):
            mistake.add_note(done.stderr.rstrip())
        raise mistake
    return Said(done.returncode, done.stdout, told)


def _run(words: Sequence[str]) -> CompletedProcess[str]:
    """Run `dardis` in a process of its own. Raises InputError."""
    try:
        return subprocess.run(
            [sys.executable, "-m", "dardis", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
            errors="replace", check=False, env=os.environ | same_modules(),
        )  # fmt: skip
    except (ValueError, OSError) as error:
        raise InputError(
            f"dardis {words[0]}", f"can't be asked ({error})", "words that a command line can hold"
        ) from None


def _run_here(words: Sequence[str], local: Collection[type]) -> CompletedProcess[str]:
    """Run `dardis` in this process. Raises InputError for classes that are no dispatchers."""
    from dardis.registry import local_dispatchers

    run = import_module("dardis.cli.main").run  # by name, as `python -m` has it: no part of what is imported from here
    output, errors = StringIO(), StringIO()
    with _ONE_AT_A_TIME, local_dispatchers(local), redirect_stdout(output), redirect_stderr(errors):
        status = run([*words])
    return CompletedProcess([*words], status, output.getvalue(), errors.getvalue())


def _raised(status: int, line: str) -> BaseException:
    """What a command means that ends so."""
    if status in (INTERRUPTED, -2):
        return KeyboardInterrupt()
    for kind in (InputError, LossError):
        if status == kind.exit_status:
            return kind.told(line)
    return DardisError(line)
