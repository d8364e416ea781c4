"""Loads kernels that lie on disk, without what only compiling needs.

Before Numba loads a kernel it gets everything ready that one may be compiled from, SciPy's linear algebra and Python's
texts among it, and it parses the intermediate code of each for those that will call it. That took 0.42 of the 1.3 CPU s
of a small run, which compiles nothing. Here it waits until something is compiled: whoever compiles gets all ready
then, whatever has been loaded before.
"""

from __future__ import annotations

from typing import Any

from numba.core.caching import FunctionCache
from numba.core.codegen import CPUCodegen, JITCodeLibrary, ll  # type: ignore[attr-defined]
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
        """Where it lies: asked for what is called from Python, which is there."""
        return self._codegen._engine.get_function_address(name)  # noqa: SLF001 (which is told no names of what it holds)


class KernelCache(FunctionCache):
    """The machine code of a kernel on disk."""

    def load_overload(self, sig: object, target_context: CPUContext) -> CompileResult | None:
        """The kernel for arguments of these types, if it is there."""
        rtsys.initialize(target_context)
        codegen = target_context.codegen()
        codegen._library_class = _Library  # noqa: SLF001 (while nobody else loads or compiles: Numba holds its lock)
        try:
            return self._load_overload(sig, target_context)
        finally:
            del codegen._library_class  # noqa: SLF001
