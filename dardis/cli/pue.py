"""`dardis pue`: one number, the power usage effectiveness of a plant."""

from __future__ import annotations

from typing import Annotated

import typer


def pue(
    cooling: Annotated[
        str, typer.Option(metavar="air|hybrid|TABLE.csv", help="A modelled plant, or a measured one's table.")
    ],
    temperature: Annotated[float, typer.Option(metavar="C", help="Outdoor temperature in °C.")],
    it_w: Annotated[float, typer.Option("--it-w", metavar="W", help="Power of the machine in W.")],
    rows: Annotated[
        str, typer.Option(metavar="nearest|interpolate", help="How a table answers between two of its rows.")
    ] = "nearest",
    design_w: Annotated[
        float | None, typer.Option("--design-w", metavar="W", help="What a modelled plant was built for [107000].")
    ] = None,
) -> None:
    """Print PUE = (IT + cooling) / IT of a cooling plant."""
    from math import isfinite

    from dardis.metrics.facility import find_cooling
    from dardis.model.errors import InputError
    from dardis.power.cooling import Rows, beyond_calibration, pue_of

    if rows not in tuple(Rows):
        raise InputError("--rows", repr(rows), " or ".join(Rows))
    if not (isfinite(it_w) and it_w > 0):
        raise InputError("--it-w", f"{it_w:g}", "more than 0 W")
    if not -90 <= temperature <= 60:
        raise InputError("--temperature", f"{temperature:g}", "°C, from -90 to 60")
    if design_w is not None and not (isfinite(design_w) and design_w > 0):
        raise InputError("--design-w", f"{design_w:g}", "more than 0 W")
    plant = find_cooling(cooling, design_w, rows)
    answer = pue_of(plant, temperature, it_w)
    if beyond := beyond_calibration(plant, temperature, it_w):
        typer.echo(f"dardis: note: {beyond}", err=True)
    typer.echo(f"{answer:.6f}")
