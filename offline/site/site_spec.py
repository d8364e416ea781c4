"""Options for planning inputs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from dardis import __version__
from dardis.config import option_texts
from dardis.config.option import FILE, Option
from dardis.config.run_spec import CalendarSpec
from dardis.engine.clock import utc_now


class SiteSpec(CalendarSpec):
    """Options for planning inputs; None: as the platform states."""

    history: Annotated[
        Path, FILE, Option("Past jobs: SWF, job table, sacct, Eurora CSV, or DIR of dardis history --out.", "TRACE")
    ]
    platform: Annotated[Path, FILE, Option(option_texts.PLATFORM, "P.toml")]
    weather: Annotated[Path | None, FILE, Option("Outdoor temperature (default: the platform's).", "W.csv")] = None
    prices: Annotated[Path | None, FILE, Option("Price of energy (default: the platform's).", "PR.csv")] = None
    carbon: Annotated[Path | None, FILE, Option("CO2 intensity (default: the platform's, or none).", "C.csv")] = None
    cooling: Annotated[str | None, Option("Cooling plant (default: the platform's).", "air|hybrid|TABLE.csv")] = None
    strict: Annotated[bool, Option(option_texts.STRICT)] = False

    def record(self) -> dict[str, Any]:
        """Record for an output folder, with version and time."""
        stated = self.model_dump(mode="json", include={*SiteSpec.model_fields})
        return stated | {"dardis_version": __version__, "made_utc": utc_now()}
