"""Loads kernels that lie on disk, without what only compiling needs.

Before Numba loads a kernel it gets everything ready that one may be compiled from, SciPy's linear algebra and Python's
texts among it, and it parses the intermediate code of each for those that will call it. That took 0.42 of the 1.3 CPU s
of a small run, which compiles nothing. Here it waits until something is compiled: whoever compiles gets all ready
then, whatever has been loaded before. A Numba that is made otherwise inside loads kernels as it does by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core.caching import FunctionCache
from numba.core.codegen import CPUCodegen, CPUCodeLibrary, JITCodeLibrary, ll  # type: ignore[attr-defined]
from numba.core.compiler import CompileResult
from numba.core.cpu import CPUContext
from numba.core.runtime.nrt import rtsys


class _Library(JITCodeLibrary):
    """Machine code of a function that Python calls; its intermediate code is parsed when a caller is compiled."""

    _intermediate: bytes

    @classmethod
    def _unserialize(cls, codegen: CPUCodegen, state: tuple[str, str, tuple[bytes, bytes]]) -> _Library:
        name, _, (machine_code, intermediate) = state
        self = cls(codegen, name)
        self._intermediate = intermediate
        self.enable_object_caching()
        self._set_compiled_object(machine_code)
        self._finalize_final_module()
        return self

    def _get_module_for_linking(self) -> Any:  # noqa: ANN401 (LLVM says no types)
        if self._shared_module is None:
            self._shared_module = ll.parse_bitcode(self._intermediate)
        return self._shared_module

    def get_pointer_to_function(self, name: str) -> int:
        """Where it lies. Raises ValueError where it is not: what Python calls is."""
        address: int = self._codegen._engine.get_function_address(name)  # noqa: SLF001 (it has not been told the names)
        if not address:
            raise ValueError(f"{self.name} holds no {name}")
        return address


@contextmanager
def _loading_into(codegen: CPUCodegen, library: type[CPUCodeLibrary]) -> Iterator[None]:
    """Let what is loaded meanwhile become such a library; nobody compiles then, as whoever loads holds Numba's lock."""
    codegen._library_class = library  # type: ignore[attr-defined]  # noqa: SLF001 (that of its class stays)
    try:
        yield
    finally:
        del codegen._library_class  # type: ignore[attr-defined]  # noqa: SLF001


class KernelCache(FunctionCache):
    """The machine code of a kernel on disk."""

    def load_overload(self, sig: object, target_context: CPUContext) -> CompileResult | None:
        """The kernel for arguments of these types, if it is there."""
        try:
            rtsys.initialize(target_context)
            with _loading_into(target_context.codegen(), _Library):
                return self._load_overload(sig, target_context)
        except Exception:  # noqa: BLE001 (whatever is not as it is here)
            return super().load_overload(sig, target_context)
