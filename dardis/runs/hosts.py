"""Node managers of hosts, and their plain data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dardis.model.addresses import HostId
from dardis.model.platform import Platform, platform_to_dict
from dardis.model.step_function import StepFunction
from dardis.model.target import DesiredProfile, Split

if TYPE_CHECKING:
    from dardis.node_manager import NodePool, RelayingHost


def even_bounds(nodes: int, hosts: int) -> tuple[int, ...]:
    """Split nodes evenly: host h has [bounds[h], bounds[h+1])."""
    return tuple(nodes * host // hosts for host in range(hosts + 1))


def host_plan(platform: Platform, desired: DesiredProfile | None, bounds: tuple[int, ...], seed: int) -> dict[str, Any]:
    """Data for every host."""
    wished = None
    if desired is not None:
        wished = {
            "split": str(desired.split),
            "machine": [[kind, f.times, f.values] for kind, f in desired.machine.items()],
            "nodes": [[node, kind, f.times, f.values] for (node, kind), f in desired.nodes.items()],
        }
    return {"platform": platform_to_dict(platform), "desired": wished, "bounds": list(bounds), "seed": seed}


def host_from_plan(plan: dict[str, Any], host: HostId, make_pool: Callable[..., NodePool]) -> RelayingHost:
    """Node managers of one host."""
    from dardis.config.platform_record import platform_from_dict

    platform = platform_from_dict(plan["platform"])
    desired = None
    if plan["desired"] is not None:
        wished = plan["desired"]
        desired = DesiredProfile(
            platform,
            {kind: StepFunction(times, values) for kind, times, values in wished["machine"]},
            {(node, kind): StepFunction(times, values) for node, kind, times, values in wished["nodes"]},
            Split(wished["split"]),
        )
    return host_of(platform, desired, plan["bounds"], host, plan["seed"], make_pool)


def host_of(
    platform: Platform, desired: DesiredProfile | None, bounds: Sequence[int], host: HostId, seed: int,
    make_pool: Callable[..., NodePool],
) -> RelayingHost:  # fmt: skip
    """Node managers of one host. `make_pool` has the signature of NodePool."""
    from dardis.node_manager import RelayingHost

    first, last = bounds[host : host + 2]
    return RelayingHost(make_pool(platform, first, last, desired=desired, host=host, seed=seed))
