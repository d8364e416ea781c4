"""What a run is asked to be: its fields, the arguments that say so, and the record that tells two runs apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

from dardis import __version__
from dardis.config.cuts import Cut, Trim
from dardis.config.platform import load_platform
from dardis.model.choices import Overrun, Resources
from dardis.model.files import sha256_of
from dardis.model.platform import Platform
from dardis.registry import dispatcher_origin
from dardis.task_manager.setups import Reach

_OPTIONS: Final = {"start": "--from", "end": "--to", "settings": "--set"}
"""Options that are not called as their field."""
NO_BEARING: Final = frozenset({"out", "force", "save_instances"})
"""Fields that the outcome does not depend on."""


@dataclass(frozen=True)
class RunRequest:
    """The arguments of `dardis simulate`; times in s on the trace's clock."""

    trace: Path
    platform: Path
    dispatcher: str
    out: Path
    seed: int = 1
    jobs: int | None = None
    start: Cut | None = None
    end: Cut | None = None
    profile: Path | None = None
    deadlines: str | None = None
    settings: tuple[str, ...] = ()
    think_times: bool = False
    task_managers: int = 1
    trim: Trim | None = None
    strict: bool = False
    force: bool = False
    arity: int = 0
    """Children of a host in the tree that sums offers; 0: none does."""
    sample: int = 0
    """Nodes asked first for each unit; 0: all."""
    calendar_start: str | None = None
    """The UTC moment of the trace's first submission; None: what the platform says, or the trace."""
    events: Path | None = None
    """What happens at the site; None: nothing but jobs."""
    overrun: Overrun = Overrun.KILL
    """What becomes of jobs that run longer than their walltimes."""
    walltime_factor: float = 1.0
    """Where nobody states a walltime, it is the runtime times this."""
    resources: Resources = Resources.NODES
    """What `allocated_resources` of jobs.csv are: `nodes` or `cores`."""
    save_instances: Path | None = None
    """The folder for what models were asked; None: nobody keeps it."""

    @property
    def reach(self) -> Reach:
        """How task managers reach nodes."""
        return Reach(self.arity, self.sample)

    def arguments(self) -> list[str]:
        """The arguments of a `dardis simulate` that asks for just this."""
        said: list[str] = []
        for one in fields(self):
            value = getattr(self, one.name)
            if one.name != "trace" and value != one.default:
                said += _spelled(_OPTIONS.get(one.name, "--" + one.name.replace("_", "-")), value)
        return [*said, "--", str(self.trace)]

    def record(
        self, digest: Callable[[Path | None], str | None] = sha256_of, platform: Platform | None = None
    ) -> dict[str, Any]:
        """All that the outcome depends on, as plain JSON: files by their content, and the version of DARDIS.

        Two requests with the same record have the same outcome. `platform` is what the platform's file says, if it has
        been read. Raises InputError for what is no platform.
        """
        platform = platform or load_platform(self.platform)
        said = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in NO_BEARING}
        return (
            said
            | {
                "trace": digest(self.trace),
                "platform": digest(self.platform),
                "platform_files": [digest(Path(file)) for file in platform.facility.files],
                "profile": digest(self.profile),
                "events": digest(self.events),
                "deadlines": self.deadlines and (digest(Path(self.deadlines)) or self.deadlines),
                "settings": list(self.settings),
                "trim": self.trim and list(self.trim),
                "dardis_version": __version__,
            }
            | dispatcher_origin(self.dispatcher)
        )


def _spelled(option: str, value: object) -> list[str]:
    """An option with its value, as a command line says it."""
    match value:
        case True:
            return [option]
        case (first, second) if option == "--trim":
            return [f"{option}={first},{second}"]
        case tuple():
            return [f"{option}={one}" for one in value]
        case _:
            return [f"{option}={value}"]
