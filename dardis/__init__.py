"""DARDIS: a distributed scheduler for supercomputers, with a simulator and a planner.

Only the names in `__all__` are a stable interface. Each is imported on first use, so `import dardis` is cheap.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dardis.api.comparison import Comparison, compare
    from dardis.api.many_runs import simulate_many
    from dardis.api.planning import Hybrid, Plan, export, hybrid, plan
    from dardis.api.platforms import Platform, nodes, read_platform
    from dardis.api.simulations import Run, simulate
    from dardis.api.traces import Trace, read_trace
    from dardis.dispatch.rule import Rule
    from dardis.model.errors import DardisError, DardisWarning, InputError

__version__ = "0.1.0"
__all__ = [
    "Comparison", "DardisError", "DardisWarning", "Hybrid", "InputError", "Plan", "Platform", "Rule", "Run", "Trace",
    "__version__", "compare", "export", "hybrid", "nodes", "plan", "read_platform", "read_trace", "simulate",
    "simulate_many",
]  # fmt: skip
_HOMES = {
    "dardis.api.comparison": ("Comparison", "compare"),
    "dardis.api.many_runs": ("simulate_many",),
    "dardis.api.planning": ("Hybrid", "Plan", "export", "hybrid", "plan"),
    "dardis.api.platforms": ("Platform", "nodes", "read_platform"),
    "dardis.api.simulations": ("Run", "simulate"),
    "dardis.api.traces": ("Trace", "read_trace"),
    "dardis.dispatch.rule": ("Rule",),
    "dardis.model.errors": ("DardisError", "DardisWarning", "InputError"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


if not TYPE_CHECKING:  # type checkers would otherwise accept any name

    def __getattr__(name: str) -> Any:  # noqa: ANN401 (whatever has that name)
        if name not in _HOME_OF:
            raise AttributeError(f"module 'dardis' has no attribute {name!r}")
        found = globals()[name] = getattr(import_module(_HOME_OF[name]), name)
        return found


def __dir__() -> list[str]:
    return sorted(__all__)
