"""Decides how kernels are compiled: machine code is cached on disk, in a folder named by the kernels' own sources.

Numba renews a cached kernel when its own file changes, but not when a file that it calls does. Of the processes of a
machine one compiles and the others wait for it; whoever does either says so.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any, Final, Protocol, TypeVar, cast

import numba
from numba.core import event
from numba.core.registry import cpu_target

Fields = tuple[Any, ...]
"""A named tuple's fields as a plain tuple."""
Function = TypeVar("Function", bound=Callable[..., Any])


CONSTANTS = ("job", "offer_rows")
"""Modules beside these that are compiled in."""


COMPILING: Final = "dardis: compiling kernels (once; a minute or two)"
WAITING: Final = "dardis: waiting for another process that compiles kernels"


@cache
def _version() -> str:
    """Names this version of the kernels, by their sources."""
    here = Path(__file__).resolve().parent
    sources = [*sorted(here.glob("*.py")), *(here.parent / "model" / f"{name}.py" for name in CONSTANTS)]
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]


def _cache_folder() -> Path:
    """The first folder that can be written, for this version of the kernels: the stated one, or one of ours.

    Ours are beside the kernels, the user's, or temporary; machine code is only taken from one that nobody else made.
    """
    here, name = Path(__file__).resolve().parent, f"kernels-{_version()}"
    stated = os.environ.get("NUMBA_CACHE_DIR")
    if stated:
        parents = [Path(stated)]
    else:
        users = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")) / "dardis"
        parents = [here / "__pycache__", users, Path(tempfile.gettempdir()) / f"dardis-{os.getuid()}"]
    for parent in parents:
        try:
            folder = parent.expanduser() / name
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            owner = folder.stat().st_uid
        except (OSError, RuntimeError):  # not to be written, or a user without a home
            continue
        if os.access(folder, os.W_OK) and (stated or owner in {os.getuid(), here.stat().st_uid}):
            return folder
    return Path(tempfile.mkdtemp(prefix="dardis-kernels-"))


numba.config.CACHE_DIR = str(_cache_folder())  # type: ignore[attr-defined]


class Turn(Protocol):
    """A lock of threads or of processes: who gets it may speak, and keeps it."""

    def acquire(self, block: bool, /) -> bool:
        """Whether it was free."""


class Teller(event.Listener):
    """Says on standard error that kernels are compiled, or waited for: each once, and before it; `quiet`: never.

    `turns` has a lock for each line; processes that share them say it once together.
    """

    def __init__(self) -> None:
        self.quiet = False
        self.turns: Mapping[str, Turn] = {COMPILING: Lock(), WAITING: Lock()}

    def say(self, line: str) -> None:
        """Say one of the lines, unless that has been done."""
        if not self.quiet and self.turns[line].acquire(False):
            print(line, file=sys.stderr, flush=True)  # noqa: T201 (it goes to standard error)

    def on_start(self, event: event.Event) -> None:
        """Say it, of a kernel of ours that was not found on disk."""
        if event.data["dispatcher"].py_func.__module__.startswith("dardis."):
            self.say(COMPILING)

    def on_end(self, event: event.Event) -> None:
        """Say nothing more."""


TELLER: Final = Teller()
event.register("numba:compile", TELLER)


def compiles() -> bool:
    """Whether kernels are compiled at all: `NUMBA_DISABLE_JIT` lets Python interpret them."""
    return not numba.config.DISABLE_JIT  # type: ignore[attr-defined]


@contextmanager
def compiled_by_one(what: str) -> Iterator[bool]:
    """Let no other process of this machine compile `what` meanwhile; those that come later find it on disk: True.

    Whoever comes after it has been compiled once waits for nobody, nor does anybody where files can't be locked.
    """
    if not compiles():
        yield False
        return
    processor = cpu_target.target_context.codegen().magic_tuple()
    key = hashlib.sha256(f"{_version()}{processor}{numba.__version__}{sys.version}".encode()).hexdigest()[:16]
    done = Path(numba.config.CACHE_DIR) / f"{what}-{key}.done"  # type: ignore[attr-defined]
    with ExitStack() as held:
        if not done.exists():
            with suppress(OSError):
                done.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                lock = held.enter_context(done.with_suffix(".lock").open("w"))
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    TELLER.say(WAITING)
                    fcntl.flock(lock, fcntl.LOCK_EX)
            if done.exists():
                held.close()
        yield done.exists()
        with suppress(OSError):
            done.touch()


def _compiled(function: Function, **options: object) -> Function:
    """A kernel that nobody hands to C as a callback."""
    return cast("Function", numba.njit(error_model="numpy", no_cfunc_wrapper=True, **options)(function))


class _Loading:
    """Numba's cache of a kernel, which loads it without getting ready what only compiling needs.

    Numba gets that ready before it loads a kernel, SciPy's linear algebra among it: a third of the CPU time of a run of
    ten jobs. Whoever compiles gets it ready then. Where Numba is made otherwise inside, it loads as it does by itself.
    """

    def __init__(self, cache: Any) -> None:  # noqa: ANN401 (Numba says no types)
        self._cache = cache

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 (whatever it has)
        return getattr(self._cache, name)

    def load_overload(self, sig: object, target_context: object) -> Any:  # noqa: ANN401 (Numba says no types)
        """The kernel for arguments of these types, if it is on disk."""
        try:
            from numba.core.runtime.nrt import rtsys

            rtsys.initialize(target_context)
            return self._cache._load_overload(sig, target_context)  # noqa: SLF001 (the rest of `load_overload` is slow)
        except Exception:  # noqa: BLE001 (whatever is not as it is here)
            return self._cache.load_overload(sig, target_context)


def _called_from_python(function: Function, **options: object) -> Function:
    """The same, cached on disk."""
    made = _compiled(function, cache=True, **options)
    if hasattr(made, "_cache"):  # it is compiled
        made._cache = _Loading(made._cache)  # noqa: SLF001 (Numba has but one kind of cache to choose)
    return made


def kernel(function: Function) -> Function:
    """Compile a function, cached on disk."""
    return _called_from_python(function)


def bare(function: Function) -> Function:
    """Compile a function that makes no array: without counting references to those it is handed.

    Counting them took two thirds of the time of an ask (456 against 138 µs for 5,832 nodes of three breakpoints).
    """
    return _called_from_python(function, _nrt=False)


def inlined(function: Function) -> Function:
    """Compile a bare function into each that calls it: handing arrays over costs more than its work.

    That halved an ask once more (138 against 69 µs). It can't be called from Python: what unpacks its arguments would
    take as long to compile as it does.
    """
    return _compiled(function, cache=True, _nrt=False, forceinline=True, no_cpython_wrapper=True)


def folded(function: Function) -> Function:
    """Put a function into each that calls it before that is compiled, although it makes arrays.

    To hand many arrays on counts each of them; that took a third of the time of a central dispatcher's pass (0.84
    against 0.52 s for 63,000 of them). Compiled by itself, it would be compiled again with all that calls it.
    """
    return _compiled(function, inline="always")
