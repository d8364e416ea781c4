"""Decides how kernels are compiled: machine code is cached on disk, in a folder named by the kernels' own sources.

Numba renews a cached kernel when its own file changes, but not when a file that it calls does, and takes a copy at
another place for another kernel; so machine code is found by what all sources hold, and by nothing else. Of the
processes of a machine one compiles and the others wait for it; whoever does either says so.
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
from numba.core import caching, event
from numba.core.registry import cpu_target

try:
    from dardis.kernels.loaded import KernelCache
except ImportError:  # a Numba that is made otherwise inside
    KernelCache = caching.FunctionCache  # type: ignore[misc]

Fields = tuple[Any, ...]
"""A named tuple's fields as a plain tuple."""
Function = TypeVar("Function", bound=Callable[..., Any])


CONSTANTS = ("asks", "blocks", "codes", "job", "offer_rows")
"""Modules beside these that are compiled in."""


_HERE: Final = os.path.dirname(__file__)  # noqa: PTH120 (as it is compared)
COMPILING: Final = "dardis: compiling kernels (once; a minute or two)"
WAITING: Final = "dardis: waiting for another process that compiles kernels"


@cache
def _version() -> str:
    """Names this version of the kernels, by their sources."""
    here = Path(__file__).resolve().parent
    sources = [*sorted(here.glob("*.py")), *(here.parent / "model" / f"{name}.py" for name in CONSTANTS)]
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]


def _cache_folder() -> Path:
    """The first folder that can be written, for this version of the kernels: beside them, the user's, or any."""
    here = Path(__file__).resolve().parent
    name = f"kernels-{_version()}"
    users = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")) / "dardis"
    for parent in (here / "__pycache__", users, Path(tempfile.gettempdir()) / f"dardis-{os.getuid()}"):
        try:
            folder = parent.expanduser() / name
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            owner = folder.stat().st_uid
        except (OSError, RuntimeError):  # not to be written, or a user without a home
            continue
        # Machine code is only taken from a folder that nobody else has made.
        if os.access(folder, os.W_OK) and owner in {os.getuid(), here.stat().st_uid}:
            return folder
    return Path(tempfile.mkdtemp(prefix="dardis-kernels-"))


class CacheLocator(caching.UserProvidedCacheLocator):
    """Tells Numba where a kernel of ours is cached, and by what it is known: its line, and the version of all."""

    def __init__(self, function: Callable[..., Any], file: str) -> None:  # noqa: ARG002 (wherever it lies)
        """Look in Numba's folder of the moment."""
        self._lineno = function.__code__.co_firstlineno
        self._cache_path = numba.config.CACHE_DIR  # type: ignore[attr-defined]

    def get_source_stamp(self) -> str:
        """What is compiled, by content."""
        return _version()

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> CacheLocator | None:
        """One for a kernel; None for what is somebody else's, and where nothing can be written."""
        ours = os.path.dirname(file) == _HERE  # noqa: PTH120 (asked 200 times before a run begins)
        return cls(function, file) if ours and _is_for_writing(numba.config.CACHE_DIR) else None  # type: ignore[attr-defined]


@cache
def _is_for_writing(folder: str) -> bool:
    """Whether it is a folder that can be written; made if there is none."""
    try:
        Path(folder).mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)


if "NUMBA_CACHE_DIR" not in os.environ:
    numba.config.CACHE_DIR = str(_cache_folder())  # type: ignore[attr-defined]
if not getattr(numba.config, "CACHE_LOCATOR_CLASSES", ""):  # who has set it knows why
    _others = [locator.__name__ for locator in caching.CacheImpl._locator_classes]  # noqa: SLF001 (nobody else tells)
    numba.config.CACHE_LOCATOR_CLASSES = ",".join([f"{__name__}.CacheLocator", *_others])  # type: ignore[attr-defined]


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


def _called_from_python(function: Function, **options: object) -> Function:
    """The same, cached on disk."""
    made = _compiled(function, **options)
    if hasattr(made, "enable_caching"):  # it is compiled
        made._cache = KernelCache(function)  # type: ignore[attr-defined]  # noqa: SLF001 (Numba has but one kind of cache to choose)
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
