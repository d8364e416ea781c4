"""Decides how files state amounts of resource kinds."""

from __future__ import annotations

from dardis.model.resources import KIND_NAME, parse_amount


def read_amounts(value: object) -> dict[str, int]:
    """Read `{ cores = 16, memory = "16GiB" }`; memory becomes MiB. ValueError for anything else."""
    if not isinstance(value, dict):
        raise ValueError(f"{value!r}; expected a table such as {{ cores = 16 }}")
    amounts = {}
    for kind, amount in value.items():
        if KIND_NAME.fullmatch(kind) is None:
            raise ValueError(f"{kind!r} is no resource kind; expected lower-case letters, digits and _")
        try:
            amounts[kind] = parse_amount(kind, amount)
        except ValueError as error:
            raise ValueError(f"{kind}: {error}; expected an amount such as 16, for memory also 16GiB") from None
    return amounts
