"""What every dispatcher's set-up says, whatever else it says: settings that all have, and what may be asked of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dardis.config.settings import setting
from dardis.model.choices import EventOrder, Expecting, ProfileRule, UnitsPerNode
from dardis.model.platform import Platform
from dardis.model.target import Split

if TYPE_CHECKING:
    from typing import Self


@dataclass(frozen=True, slots=True, kw_only=True)
class AnySetUp:
    """The settings of a dispatcher. Field names are the keys of `--set`."""

    asks_nodes: ClassVar[bool] = False
    """Whether task managers ask node managers, which may be spread over ranks, and sum their offers up a tree."""
    samples: ClassVar[bool] = False
    """Whether jobs may ask some nodes first instead of all."""
    rounds: ClassVar[bool] = False
    """Whether a job asks and is answered by itself: then rounds may overlap, and `dardis scale` measures them."""
    switches: ClassVar[bool] = False
    """Whether nodes may be shut down and booted under it."""
    obeys_shapes: ClassVar[bool] = False
    """Whether jobs may have parts, exact or neighbouring nodes, or alternatives."""

    bears_failures: ClassVar[bool] = False
    """Whether nodes may fail, and reservations be made, while it decides."""

    units_per_node: UnitsPerNode = UnitsPerNode.PACK
    profile: ProfileRule = ProfileRule.SOFT
    profile_split: Split = Split.PROPORTIONAL
    event_order: EventOrder = EventOrder.BATCHED
    unit_cores: int = setting(
        0,
        zero="node",
        about="Cores of a unit of a job that asks for processors. `node`: as few units as the cores of its nodes"
        " allow.",
    )
    about: str = setting("", key=False)
    """What it does and where it comes from, in one line."""
    deadlines: str = setting("none", key=False)
    """The deadline rule when none is asked for (not a key of `--set`: see `--deadlines`)."""

    @property
    def expecting(self) -> Expecting | None:
        """Where the expected durations of jobs come from; None: nobody goes by them."""
        return None

    @property
    def needs_deadlines(self) -> bool:
        """Whether it goes by windows of all jobs."""
        return False

    @property
    def drawn(self) -> bool:
        """Whether start times are drawn: then nobody can say what another start would have been."""
        return False

    @property
    def seeded(self) -> bool:
        """Whether the seed has a say in its schedules: where it has none, several seeds are one run.

        Nobody knows better of a set-up that says nothing.
        """
        return True

    @property
    def checks_starts_only(self) -> bool:
        """Whether a hard desired profile may be exceeded by jobs that started before it fell (thesis 5.5)."""
        return False

    def checked(self) -> Self:
        """The set-up, if its settings go together. Raises InputError."""
        return self

    def check_platform(self, platform: Platform) -> None:
        """See that the machine has what the settings need. Raises InputError."""
