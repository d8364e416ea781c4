"""A platform as plain data that JSON can hold, and back: what comes back equals what went in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, fields, replace
from typing import Any, TypeVar

from dardis.model.platform import Facility, GridLimit, Maintenance, NodeGroup, NodePower, Platform
from dardis.model.queues import Hours, PrimeTime, Queue
from dardis.model.reservations import Reservation

T = TypeVar("T")


def platform_to_dict(platform: Platform) -> dict[str, Any]:
    """Every field of the platform on a trace's clock, nested ones too."""
    told = asdict(replace(platform, groups=()))
    told["groups"] = tuple(map(_of_group, platform.groups))
    del told["dated"]
    if not platform.more_sets:
        del told["more_sets"]
    return told


def _of_group(group: NodeGroup) -> dict[str, Any]:
    """The same of a group. To let `asdict` copy thousands of groups takes a tenth of a second."""
    told = {one.name: getattr(group, one.name) for one in fields(NodeGroup)}
    return told | {"resources": dict(group.resources), "power": group.power and asdict(group.power)}


def platform_from_dict(data: dict[str, Any]) -> Platform:
    """The platform that `platform_to_dict` described. Raises ValueError when it is no such description."""
    try:
        groups = tuple(
            _build(NodeGroup, group | {"power": _build(NodePower, group["power"]) if group.get("power") else None})
            for group in data["groups"]
        )
        closed = tuple(_build(Maintenance, window | _tuples(window, "nodes", "less")) for window in data["maintenance"])
        partitions = {name: tuple(indices) for name, indices in data["partitions"].items()}
        around = data.get("facility") or {}
        limits = tuple(_build(GridLimit, limit) for limit in around.get("limits", ()))
        facility = _build(Facility, around | {"limits": limits})
        prime = data.get("prime")
        built: dict[str, Any] = {
            "queues": tuple(_queue(queue) for queue in data.get("queues", ())),
            "reservations": tuple(_reservation(one) for one in data.get("reservations", ())),
            "more_sets": tuple(map(tuple, data.get("more_sets", ()))),
            "prime": prime and _build(PrimeTime, prime | {"days": tuple(prime["days"])}),
        }
        built |= {"groups": groups, "maintenance": closed, "partitions": partitions, "facility": facility}
        return _build(Platform, data | built)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"is no description of a platform ({error})") from None


def _queue(data: dict[str, Any]) -> Queue:
    tuples = _tuples(data, "groups") | {"stopped": _spans(data["stopped"])}
    return _build(Queue, data | tuples | {"hours": Hours(data["hours"])})


def _reservation(data: dict[str, Any]) -> Reservation:
    return _build(Reservation, data | _tuples(data, "nodes", "users") | {"spans": _spans(data["spans"])})


def _spans(spans: Iterable[Iterable[int]]) -> tuple[tuple[int, int], ...]:
    return tuple((start, end) for start, end in spans)


def _tuples(data: dict[str, Any], *keys: str) -> dict[str, Any]:
    """Of these keys, what is there as tuples."""
    return {key: tuple(data[key]) for key in keys if data.get(key) is not None}


def _build(what: type[T], values: dict[str, Any]) -> T:
    """An instance from its fields; keys that are no field are a newer version's and are left out."""
    names = {field.name for field in fields(what)}  # type: ignore[arg-type]
    return what(**{key: value for key, value in values.items() if key in names})
