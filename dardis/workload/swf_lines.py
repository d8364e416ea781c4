"""Cuts an SWF file, and keeps its lines and header as they are, byte for byte; a `; Note:` in the header tells of it.

What is written is read as just the jobs that were kept. Where submit times moved, field 2 of a line is another.
"""

from __future__ import annotations

import re
from pathlib import Path

from dardis.model.errors import InputError, one_line
from dardis.model.files import read_bytes, write_bytes
from dardis.workload.trace import Trace

_SUBMIT = re.compile(r"(\s*\S+\s+)(\S+)")
_LONGEST_NOTE = 1000


def is_of_lines(trace: Trace, source: Path) -> bool:
    """Whether the trace is of an SWF file that can be read once more (a pipe can't)."""
    return trace.line is not None and source.is_file()


def write_lines(trace: Trace, source: Path, path: Path, cut: str) -> None:
    """Write the lines of `source` that the trace's jobs are of, in their order, and all comments.

    `cut` is what the note says was done ("": nothing; then there is a note only where lines gave no job). InputError
    where the source has become another file.
    """
    assert trace.line is not None
    lines = read_bytes(source).decode(errors="surrogateescape").removeprefix("\ufeff").split("\n")
    if not lines[-1]:
        lines.pop()
    submit_of = dict(zip((trace.line - 1).tolist(), trace.submit.tolist(), strict=True))
    if max(submit_of) >= len(lines):
        raise InputError(source, "has changed since it was read", "a file that nobody writes to")
    jobs = {place for place, line in enumerate(lines) if line.strip() and not line.strip().startswith(";")}
    kept = [
        _moved(line, submit_of[place]) if place in submit_of else line
        for place, line in enumerate(lines)
        if place in submit_of or place not in jobs
    ]
    if cut or len(submit_of) < len(jobs):
        note = f"; Note: dardis trace convert{cut and ' ' + cut}: {len(submit_of)} of {len(jobs)} lines"
        note = one_line(note, _LONGEST_NOTE) + ("\r" if lines[0].endswith("\r") else "")
        kept.insert(min(jobs), note)
    write_bytes(path, "".join(line + "\n" for line in kept).encode(errors="surrogateescape"))


def _moved(line: str, submit: int) -> str:
    """The line with another submit time, if that is another."""
    found = _SUBMIT.match(line)
    assert found is not None
    if int(float(found[2])) == submit:
        return line
    return f"{found[1]}{submit}{line[found.end() :]}"
