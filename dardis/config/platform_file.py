"""Platform files, read and checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from dardis.config.facility import FacilityKeys, facility_of
from dardis.config.node_fields import clash_of, node_numbers, read_amounts
from dardis.config.queue_fields import (
    PrimeTable,
    QueueTable,
    ReservationTable,
    check_reservations,
    places_of,
    queues_of,
    reservations_of,
)
from dardis.config.toml_file import Moment, Table, checked_content, read_toml
from dardis.model.errors import InputError
from dardis.model.files import Read
from dardis.model.platform import Maintenance, NodeGroup, NodePower, Platform
from dardis.model.resources import (
    CORES,
    LARGEST_AMOUNT,
    LARGEST_CORES,
    MAX_GROUPS,
    MEMORY,
    MOST_NODES,
    POWER,
    Above0,
    Amount,
    Seconds,
    Text,
    Time,
    Watts,
)


def check_amounts(amounts: dict[str, int]) -> dict[str, int]:
    """Check amounts of a node. Raises ValueError."""
    for kind, amount in amounts.items():
        limit = LARGEST_CORES if kind == CORES else LARGEST_AMOUNT
        if amount > limit:
            raise ValueError(f"{kind}: {amount} is too much; expected at most {limit}")
    if amounts.get(CORES, 0) < 1:
        raise ValueError("no cores; expected at least 1 core a node")
    return amounts


class DeviceTable(Table):
    """Device power; idle power adds to the node's."""

    idle_w: Watts = Field(0.0, description="W of an idle device, in addition to the node's `idle_w`.")
    busy_w: Watts = Field(description="W of a busy device.")

    @model_validator(mode="after")
    def _busy_is_more(self) -> DeviceTable:
        if self.busy_w < self.idle_w:
            raise ValueError(f"busy_w {self.busy_w:g} is below idle_w {self.idle_w:g}")
        return self


class PowerTable(Table):
    """Node power. Defaults are from the thesis."""

    idle_w: Watts = Field(NodePower().idle_w, description="W of a node that is on.")
    core_w: Watts = Field(NodePower().core_w, description="W that a busy core adds.")
    off_w: Watts = Field(NodePower().off_w, description="W of a node that is off, its devices included.")
    boot_s: Seconds = Field(NodePower().boot_s, description="Time of booting, s.")
    boot_w: Watts = Field(NodePower().boot_w, description="W while it boots.")
    shutdown_s: Seconds = Field(NodePower().shutdown_s, description="Time of shutting down, s.")
    shutdown_w: Watts = Field(NodePower().shutdown_w, description="W while it shuts down.")
    devices: dict[str, DeviceTable] = Field(
        default_factory=dict,
        description="Power of the devices of a kind that the node has: `{ gpu = { idle_w = 50, busy_w = 300 } }`.",
    )

    def power(self, place: str, resources: Mapping[str, int]) -> NodePower:
        """Power of a node with these resources and idle devices. Raises InputError."""
        for kind in self.devices:
            if kind in {CORES, MEMORY, POWER} or not resources.get(kind):
                known = [one for one in resources if one not in {CORES, MEMORY, POWER}]
                raise InputError(
                    f"{place}.power.devices", f"{kind!r}, of which a node has none", ", ".join(known) or "none"
                )
        figures = self.model_dump(exclude={"devices"})
        figures["idle_w"] += sum(resources[kind] * device.idle_w for kind, device in self.devices.items())
        added = {kind: device.busy_w - device.idle_w for kind, device in self.devices.items()}
        return NodePower(**figures, device_w=added)


class NodesTable(Table):
    """`[[nodes]]`: a group of equal nodes."""

    count: Annotated[int, Field(ge=1, le=MOST_NODES)] = Field(description="Number of nodes.")
    prefix: Annotated[str, Field(min_length=1, pattern=r"^\S+$")] = Field(
        description="Beginning of the names: `n` makes n0, n1, …. All node names must differ.",
    )
    resources: Annotated[dict[str, int], BeforeValidator(read_amounts), AfterValidator(check_amounts)] = Field(
        description="Resources of each node: `cores`, at least 1, and any other kind by name.",
    )
    power: PowerTable | None = Field(None, description="Power of each node, see below.")
    always_on: bool = Field(False, description="Whether the nodes always stay on.")


class MaintenanceTable(Table):
    """`[[maintenance]]`: nodes unavailable during a span."""

    nodes: Annotated[list[int], BeforeValidator(node_numbers)] = Field(
        description='Nodes that run no jobs during the span, as `"0-3 7"` or `[0, 1, 2, 3, 7]`.',
    )
    start_s: Time | None = Field(None, description="Start of the span, s on the trace's clock.")
    end_s: Time | None = Field(None, description="End of the span: the first second after it.")
    start_utc: Moment | None = Field(
        None,
        description="Start as a date, UTC without an offset. Then the trace needs a start date.",
    )
    end_utc: Moment | None = Field(
        None,
        description="End as a date. A span has either two dates or two times.",
    )

    @model_validator(mode="after")
    def _is_one_span(self) -> MaintenanceTable:
        stated = [key for key in ("start_s", "end_s", "start_utc", "end_utc") if getattr(self, key) is not None]
        if stated not in (["start_s", "end_s"], ["start_utc", "end_utc"]):
            raise ValueError(f"{', '.join(stated) or 'no times'}; expected start_s and end_s, or start_utc and end_utc")
        start, end = self.span
        if end <= start:
            raise ValueError(f"{stated[1]} {end} is not after {stated[0]} {start}")
        return self

    @property
    def is_dated(self) -> bool:
        """Whether the span is in Unix s."""
        return self.start_utc is not None

    @property
    def span(self) -> tuple[int, int]:
        """Start and end."""
        start, end = (self.start_utc, self.end_utc) if self.is_dated else (self.start_s, self.end_s)
        assert start is not None
        assert end is not None
        return start, end


class PlatformFile(FacilityKeys):
    """Platform file."""

    name: Text = Field(description="Name of the machine.")
    nodes: Annotated[list[NodesTable], Field(min_length=1, max_length=MAX_GROUPS)] = Field(
        description=f"Groups of equal nodes, numbered from 0 in the order of the file: 1 to {MAX_GROUPS:,}.",
    )
    partitions: dict[str, Annotated[list[str], Field(min_length=1)]] = Field(
        default_factory=dict,
        description="Node groups (prefixes) that the jobs of a partition of the trace may use. Jobs of a partition"
        " that is not listed may use all.",
    )
    maintenance: list[MaintenanceTable] = Field(default_factory=list, description="Spans in which nodes run no jobs.")
    currency: Text = Field("EUR", description="Currency of all amounts.")
    exchange: dict[Annotated[str, Field(pattern="^[A-Z]{3}$")], Above0] = Field(
        default_factory=dict,
        description="Value of one unit of another currency: `{ USD = 0.92 }`. Other currencies are rejected.",
    )
    flop_per_s: Above0 | None = Field(
        None,
        description="Operations per second of a core, only for Batsim's computing jobs.",
    )
    income_eur_per_core_h: Amount = Field(0.013, description="Income of a core-hour.")
    income_by_queue: dict[str, Amount] = Field(
        default_factory=dict,
        description="Income of a core-hour of jobs of these queues.",
    )
    queues: list[QueueTable] = Field(
        default_factory=list,
        description="[Queues](#queues). Without any, all queue names are valid.",
    )
    prime: PrimeTable | None = Field(None, description="Hours of the working day, for `hours` of queues.")
    reservations: list[ReservationTable] = Field(
        default_factory=list,
        description="[Reservations](#reservations): capacity for the jobs of one queue.",
    )


def load_platform(path: Path, read: Read = Path.read_bytes) -> Platform:
    """Read a platform file (see docs/formats.md). Raises InputError."""
    return _platform(path, read_toml(path, PlatformFile, read))


def stated_platform(place: Path, content: dict[str, Any]) -> Platform:
    """Platform of this content, as if from `place`. Raises InputError."""
    return _platform(place, checked_content(place, content, PlatformFile))


def _platform(path: Path, table: PlatformFile) -> Platform:
    groups = tuple(
        NodeGroup(
            prefix=nodes.prefix,
            count=nodes.count,
            resources=nodes.resources,
            power=nodes.power.power(f"{path}: nodes[{index}]", nodes.resources) if nodes.power else None,
            always_on=nodes.always_on,
        )
        for index, nodes in enumerate(table.nodes)
    )
    group_of = {group.prefix: index for index, group in enumerate(groups)}
    kinds = dict.fromkeys(kind for group in groups for kind in group.resources)
    platform = Platform(
        name=table.name,
        groups=groups,
        partitions=_partitions(path, table, group_of),
        maintenance=tuple(Maintenance(tuple(m.nodes), *m.span) for m in table.maintenance if not m.is_dated),
        dated=tuple(Maintenance(tuple(m.nodes), *m.span) for m in table.maintenance if m.is_dated),
        currency=table.currency,
        exchange=dict(table.exchange),
        flop_per_s=table.flop_per_s,
        income_per_core_h=table.income_eur_per_core_h,
        income_by_queue=dict(table.income_by_queue),
        states_income="income_eur_per_core_h" in table.model_fields_set,
        facility=facility_of(path, table),
        queues=queues_of(f"{path}: queues", table.queues, group_of, kinds, prime=table.prime is not None),
        prime=None if table.prime is None else table.prime.prime(),
        reservations=reservations_of(f"{path}: reservations", table.reservations),
    )
    for index, closed in enumerate(table.maintenance):
        _check_nodes(f"{path}: maintenance[{index}].nodes", closed.nodes, platform)
    check_platform(platform, f"{path}: nodes", f"{path}: maintenance")
    check_reservations(platform, places_of(f"{path}: reservations", platform))
    return platform


def check_platform(platform: Platform, groups: str, maintenance: str) -> None:
    """Check a machine. `groups` and `maintenance` are places for messages."""
    _check_names(groups, platform.groups)
    if platform.node_count > MOST_NODES:
        raise InputError(groups, f"{platform.node_count} nodes", f"at most {MOST_NODES}")
    for index, window in enumerate(platform.maintenance):
        _check_nodes(f"{maintenance}[{index}].nodes", window.nodes, platform)


def _check_nodes(place: str, nodes: Sequence[int], platform: Platform) -> None:
    if max(nodes) >= platform.node_count:
        raise InputError(place, f"unknown node {max(nodes)}", f"numbers from 0 to {platform.node_count - 1}")


def _check_names(place: str, groups: tuple[NodeGroup, ...]) -> None:
    if (clash := clash_of([group.prefix for group in groups])) is not None:
        index, other = clash
        found = f"{groups[index].prefix!r} gives the same node names as {other!r}"
        raise InputError(f"{place}[{index}].prefix", found, "distinct prefixes")


def _partitions(path: Path, table: PlatformFile, group_of: dict[str, int]) -> dict[str, tuple[int, ...]]:
    for partition, prefixes in table.partitions.items():
        for prefix in prefixes:
            if prefix not in group_of:
                place = f"{path}: partitions.{partition}"
                raise InputError(place, f"unknown node group {prefix!r}", "one of " + ", ".join(group_of))
    return {name: tuple(sorted({group_of[p] for p in prefixes})) for name, prefixes in table.partitions.items()}
