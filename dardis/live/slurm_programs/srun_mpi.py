"""MPI programs of `srun`, started by their library's `mpirun`; else each task would have one rank."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from dardis.model.errors import InputError

_LIBRARY: Final = re.compile(r"\blibmpi(?:ch|fort|cxx|_\w+)?\.so\S* => (\S+)")
_PYTHON: Final = re.compile(rb"\bmpi4py\b")
_ELF: Final = b"\x7fELF"
_MOST_BYTES: Final = 1 << 20


def mpi_library(command: Sequence[str]) -> Path | None:
    """MPI library of a command: a path without folder if only its use is known; None: no MPI program."""
    found = shutil.which(command[0])
    if found is None:
        return None
    try:
        with Path(found).open("rb") as file:
            head = file.read(_MOST_BYTES)
    except PermissionError:  # a program may be executable only
        return None
    if not head.startswith(_ELF):
        return Path("mpi4py") if _PYTHON.search(head) else None
    said = subprocess.run(["ldd", found], capture_output=True, text=True, check=False)  # noqa: S607 (of the system)
    if (library := _LIBRARY.search(said.stdout)) is not None:
        return Path(library[1])
    if Path(found).name.startswith("python") and _is_python_of_mpi(command[1:]):
        return Path("mpi4py")
    return None


def _is_python_of_mpi(words: Sequence[str]) -> bool:
    for place, word in enumerate(words):
        if word in {"-c", "-m"}:
            return _PYTHON.search(" ".join(words[place + 1 : place + 2]).encode(errors="replace")) is not None
        if not word.startswith("-"):
            path = Path(word)
            with suppress(OSError), path.open("rb") as file:
                return _PYTHON.search(file.read(_MOST_BYTES)) is not None
            return False
    return False


def mpirun_command(library: Path, command: Sequence[str], tasks: int, cpus: int) -> list[str]:
    """Command with the `mpirun` of a library, else of PATH. Raises InputError for none."""
    near = library.parent.parent / "bin" / "mpirun" if library.is_absolute() else None
    mpirun = str(near) if near is not None and os.access(near, os.X_OK) else shutil.which("mpirun")
    if mpirun is None:
        raise InputError("srun", f"{command[0]} is an MPI program, and there is no mpirun on PATH", "mpirun on PATH")
    said = subprocess.run([mpirun, "--version"], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    binding = (
        ["--map-by", f"slot:PE={cpus}"] if cpus > 1 and re.search("open mpi|prte", said.stdout, re.IGNORECASE) else []
    )
    return [mpirun, "-n", str(tasks), *binding, *command]
