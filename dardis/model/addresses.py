"""Whom messages are about, go to and come from: jobs, hosts and task managers, by numbers that are not mixed up.

They are numbers while the program runs; it is the type checker that tells them apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NewType, TypeGuard, cast

JobId = NewType("JobId", int)
"""The number of a job, as its trace has it."""
HostId = NewType("HostId", int)
"""Counted from 0."""
ManagerAddress = NewType("ManagerAddress", int)
"""Less than 0, so that no host has it."""
Address = HostId | ManagerAddress
"""Of a machine that takes messages."""

FIRST_HOST: Final = HostId(0)
"""The first host, or the only one."""


def all_hosts(count: int) -> Sequence[HostId]:
    """So many hosts."""
    return cast("Sequence[HostId]", range(count))


def address_of(manager: int) -> ManagerAddress:
    """The address of a task manager, counted from 0."""
    return ManagerAddress(-1 - manager)


def manager_at(address: ManagerAddress) -> int:
    """The task manager at an address, counted from 0."""
    return -1 - address


def is_manager(address: Address) -> TypeGuard[ManagerAddress]:
    """Whether a task manager has this address; else a host has it."""
    return address < 0


ONLY_MANAGER: Final = address_of(0)
"""The address of the task manager where there is one."""
