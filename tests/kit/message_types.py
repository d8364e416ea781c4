"""What the fields of messages hold, by their annotations: who or what a number names does not matter here."""

from typing import get_type_hints

from dardis.model.addresses import Address, HostId, JobId, ManagerAddress

NUMBERS = {int, JobId, HostId, ManagerAddress, Address}


def types_of(kind: type) -> dict[str, object]:
    """The type of each field, in order; names of numbers are numbers."""
    return {name: int if said in NUMBERS else said for name, said in get_type_hints(kind).items()}
