"""Whom messages go to and answers come back to: hosts are numbered from 0 on, task managers lie below them."""

from __future__ import annotations

from typing import Final, NewType

ManagerAddress = NewType("ManagerAddress", int)
"""Less than 0, so that no host has it."""


def address_of(manager: int) -> ManagerAddress:
    """The address of a task manager, counted from 0."""
    return ManagerAddress(-1 - manager)


def manager_at(address: int) -> int:
    """The task manager at an address less than 0, counted from 0."""
    return -1 - address


ONLY_MANAGER: Final = address_of(0)
"""The address of the task manager where there is one."""
