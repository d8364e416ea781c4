"""Which formats there are, where a plan is read from, and how nodes are called."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Final

from dardis.model.errors import InputError
from offline.export.csv_plan import export_csv
from offline.export.exporter import Format
from offline.export.json_plan import export_json, read_json_plan
from offline.export.openmetrics import export_openmetrics
from offline.export.redfish import export_redfish
from offline.export.slurm import export_slurm
from offline.folder.plan import PlanFolder, read_plan

FORMATS: Final = {
    "slurm": Format(export_slurm, "a bash script that reserves nodes and powers them down and up with scontrol", True),
    "redfish": Format(export_redfish, "Redfish requests by node and time: power limits, shut-down, power on"),
    "openmetrics": Format(export_openmetrics, "the profile as gauges with timestamps, for Prometheus"),
    "csv": Format(export_csv, "one table of the profile and the switching, in UTC, with units"),
    "json": Format(export_json, "the whole plan in one file, which this command reads as well"),
}


def format_named(name: str, *, limits_only: bool = False) -> Format:
    """The format of this name, for Redfish without switching if it is so asked for. Raises InputError."""
    if name not in FORMATS:
        raise InputError("--format", repr(name), "one of " + ", ".join(FORMATS))
    if not limits_only:
        return FORMATS[name]
    if name != "redfish":
        raise InputError("--limits-only", f"--format {name} has no power limits of nodes", "--format redfish")
    return FORMATS[name]._replace(export=partial(export_redfish, limits_only=True))


def load_plan(path: Path) -> PlanFolder:
    """The plan in a folder that `dardis plan` made, or in a file that the JSON export made."""
    if not path.exists():
        raise InputError(path, "does not exist", "the folder that dardis plan made")
    return read_json_plan(path) if path.is_file() else read_plan(path)
