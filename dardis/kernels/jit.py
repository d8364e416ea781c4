"""Compilation of kernels, cached in a folder named by the sources.

Numba checks only a kernel's own file. One process of a machine compiles; others wait.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any, Final, Protocol, TypeVar, cast

import numba
from numba import types
from numba.core import event
from numba.core.registry import cpu_target
from numba.extending import overload

Fields = tuple[Any, ...]
Function = TypeVar("Function", bound=Callable[..., Any])


CONSTANTS = ("job", "offer_rows")
"""Modules of dardis.model."""


COMPILING: Final = "dardis: compiling kernels (once; a minute or two)"
WAITING: Final = "dardis: waiting for another process that compiles kernels"


@cache
def _version() -> str:
    here = Path(__file__).resolve().parent
    sources = [*sorted(here.glob("*.py")), *(here.parent / "model" / f"{name}.py" for name in CONSTANTS)]
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]


def _cache_folder() -> Path:
    """First writable folder: `NUMBA_CACHE_DIR`, or DARDIS' own.

    Another user's folder is never used.
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
        except (OSError, RuntimeError):  # not writable, or a user without a home
            continue
        if os.access(folder, os.W_OK) and (stated or owner in {os.getuid(), here.stat().st_uid}):
            return folder
    return Path(tempfile.mkdtemp(prefix="dardis-kernels-"))


numba.config.CACHE_DIR = str(_cache_folder())  # type: ignore[attr-defined]


class CompileLock(Protocol):
    """Lock; its holder prints the line."""

    def acquire(self, block: bool, /) -> bool:
        """Whether the lock was free."""


class CompileListener(event.Listener):
    """Prints a line before kernels are compiled or waited for; `quiet`: never.

    `turns` has a lock per line; processes may share the locks.
    """

    def __init__(self) -> None:
        self.quiet = False
        self.turns: Mapping[str, CompileLock] = {COMPILING: Lock(), WAITING: Lock()}

    def print_once(self, line: str) -> None:
        """Print a line once."""
        if not self.quiet and self.turns[line].acquire(False):
            print(line, file=sys.stderr, flush=True)  # noqa: T201 (it goes to standard error)

    def on_start(self, event: event.Event) -> None:
        """Report a kernel compiled anew."""
        if event.data["dispatcher"].py_func.__module__.startswith("dardis."):
            self.print_once(COMPILING)

    def on_end(self, event: event.Event) -> None:
        """Print nothing."""


COMPILE_LISTENER: Final = CompileListener()
event.register("numba:compile", COMPILE_LISTENER)


def compiles() -> bool:
    """Whether `NUMBA_DISABLE_JIT` is unset."""
    return not numba.config.DISABLE_JIT  # type: ignore[attr-defined]


@contextmanager
def lock_compilation(what: str) -> Iterator[bool]:
    """Let one process of a machine compile `what`; yield True if on disk."""
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
                    COMPILE_LISTENER.print_once(WAITING)
                    fcntl.flock(lock, fcntl.LOCK_EX)
            if done.exists():
                held.close()
        yield done.exists()
        with suppress(OSError):
            done.touch()


def _compiled(function: Function, **options: object) -> Function:
    return cast("Function", numba.njit(error_model="numpy", no_cfunc_wrapper=True, **options)(function))


_clock_gettime = types.ExternalFunction("clock_gettime", types.int32(types.int32, types.CPointer(types.int64)))
_STEADY: Final = time.CLOCK_MONOTONIC


def elapsed_ns(space: Any) -> int:  # noqa: ANN401, ARG001 (an array of two, for the compiled form)
    """Steady clock, ns."""
    return time.monotonic_ns()  # noqa: TID251 (kernels know no engine)


@overload(elapsed_ns)
def _elapsed_ns(space: Any) -> Any:  # noqa: ANN401, ARG001 (types of Numba)
    def read(space: Any) -> int:  # noqa: ANN401 (an array)
        _clock_gettime(_STEADY, space.ctypes)
        return space[0] * 1_000_000_000 + space[1]

    return read


class _Loading:
    """Numba's kernel cache, without preparing to compile."""

    # Numba would prepare SciPy's linear algebra: a third of the CPU time of a run of ten jobs. If Numba's internals
    # differ, Numba loads as usual.

    def __init__(self, cache: Any) -> None:  # noqa: ANN401 (Numba says no types)
        self._cache = cache

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 (whatever it has)
        return getattr(self._cache, name)

    def load_overload(self, sig: object, target_context: object) -> Any:  # noqa: ANN401 (Numba says no types)
        try:
            from numba.core.runtime.nrt import rtsys

            rtsys.initialize(target_context)
            return self._cache._load_overload(sig, target_context)  # noqa: SLF001 (the rest of `load_overload` is slow)
        except Exception:  # noqa: BLE001 (whatever is not as it is here)
            return self._cache.load_overload(sig, target_context)


def _called_from_python(function: Function, **options: object) -> Function:
    made = _compiled(function, cache=True, **options)
    if hasattr(made, "_cache"):  # compiled, not interpreted
        made._cache = _Loading(made._cache)  # noqa: SLF001 (Numba has but one kind of cache to choose)
    return made


def kernel(function: Function) -> Function:
    """Compile a function, cached on disk."""
    return _called_from_python(function)


def bare(function: Function) -> Function:
    """Compile a function that makes no array, without reference counting."""
    # Counting took two thirds of an ask (456 against 138 µs for 5,832 nodes of three breakpoints).
    return _called_from_python(function, _nrt=False)


def inlined(function: Function) -> Function:
    """Compile a bare function into its callers; Python cannot call it."""
    # Passing arrays cost half of an ask (138 against 69 µs). Unpacking for Python would double the compile time.
    return _compiled(function, cache=True, _nrt=False, forceinline=True, no_cpython_wrapper=True)


def folded(function: Function) -> Function:
    """Insert a function into its callers before compilation, though it makes arrays."""
    # Passing arrays counts references: a third of a central dispatcher's pass (0.84 against 0.52 s for 63,000).
    return _compiled(function, inline="always")
