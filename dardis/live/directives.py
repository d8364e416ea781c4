"""Job options in `#DARDIS` and `#SBATCH` lines of a script, by precedence.

Lines count up to the first command.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from dardis.live.option_table import split_words
from dardis.live.sbatch_options import SBATCH
from dardis.live.slurm_translation import YES, OptionText, translate_options
from dardis.model.errors import InputError

VALUES: Final = (
    "array", "time", "cpus", "gpus", "mem", "nodes", "after", "export", "chdir", "output", "error", "name", "grace",
    "begin", "deadline", "signal", "open-mode", "comment", "priority", "nice", "tmp", "stdin", "watts",
    "retries", "retry-delay", "retry-codes",
)  # fmt: skip
FLAGS: Final = ("requeue", "hold", "wait", "exclusive")
"""Options without a value."""
MOST_BYTES: Final = 4 << 20
STDIN: Final = Path("-")
_OPTIONS: Final = {**dict.fromkeys(VALUES, True), **dict.fromkeys(FLAGS, False)}
_ALTERNATIVES: Final = (
    (("cpus",), ("ntasks", "ntasks-per-node", "cpus-per-task", "cpus-per-gpu", "mincpus")),
    (("gpus",), ("gpus-in-total",), ("gpus-per-task",)),
    (("mem",), ("mem-per-cpu",), ("mem-per-gpu",)),
)  # fmt: skip
"""Ways to state an amount, by precedence."""


@dataclass(slots=True)
class Directives:
    """Script's options, and warnings."""

    dardis: dict[str, OptionText] = field(default_factory=dict)
    slurm: dict[str, OptionText] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def merge_options(self, given: Mapping[str, OptionText]) -> dict[str, OptionText]:
        """All options: `given`, DARDIS lines, then Slurm lines."""
        said: dict[str, OptionText] = {}
        for better in (self.slurm, self.dardis, given):
            for ways in _ALTERNATIVES:
                if stated := [way for way in ways if not better.keys().isdisjoint(way)]:
                    for other in (name for way in ways if way not in stated for name in way):
                        said.pop(other, None)
            if "export" in better:
                said.pop("export-login", None)
            said |= better
        return said


def read_script(path: Path) -> tuple[str, list[str]]:
    """Script's text with LF line endings, and warnings; `STDIN`: standard input. Raises InputError."""
    try:
        data = sys.stdin.buffer.read(MOST_BYTES + 1) if path == STDIN else path.read_bytes()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise InputError(path, f"cannot be read ({why})", "a script; a command comes after --") from None
    if len(data) > MOST_BYTES:
        raise InputError(path, f"more than {MOST_BYTES} bytes", "a smaller script")
    if not data.startswith(b"#!"):
        raise InputError(path, "does not begin with #!", "a script such as #!/bin/sh; a command comes after --")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise InputError(path, "is no UTF-8 text", "a script; a command comes after --") from None
    if "\0" in text:
        raise InputError(path, "has zero bytes", "a script; a command comes after --")
    if "\r\n" not in text:
        return text, []
    return text.replace("\r\n", "\n"), [f"{path}: DOS line endings (CRLF) are read as LF"]


def read_directives(text: str, path: Path) -> Directives:
    """Read options in a script. Raises InputError for a bad line."""
    found = Directives()
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.lstrip()
        if stripped and not stripped.startswith("#"):
            break
        place = f"{path}:{number}"
        if line.startswith("#SBATCH"):
            words = split_words(line.removeprefix("#SBATCH"), place)
            options, warnings = translate_options(SBATCH.read(words, place), place)
            found.slurm |= options
            found.warnings += warnings
        elif line.split(maxsplit=1)[:1] == ["#DARDIS"]:
            for name, stated in _dardis_options(split_words(line.removeprefix("#DARDIS"), place), place):
                earlier = found.dardis.get(name) if name == "after" else None
                joined = stated if earlier is None else stated._replace(text=f"{earlier.text},{stated.text}")
                found.dardis[name] = joined
    return found


def _dardis_options(words: Sequence[str], place: str) -> Iterator[tuple[str, OptionText]]:
    left = [*reversed(words)]
    while left:
        word = left.pop()
        name, equals, value = word.removeprefix("--").partition("=")
        if not word.startswith("--"):
            raise InputError(place, f"{word!r}", "options such as --time=10")
        if name not in _OPTIONS:
            raise InputError(place, f"unknown option --{name}", ", ".join(f"--{one}" for one in _OPTIONS))
        if not _OPTIONS[name]:
            if equals:
                raise InputError(place, f"{word!r}", f"--{name} without a value")
            value = YES
        elif not equals:
            if not left:
                raise InputError(place, f"--{name} without a value", "a value")
            value = left.pop()
        yield name, OptionText(value, f"{place}: --{name}")
