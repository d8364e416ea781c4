"""Export formats, and the reader of plans."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Final

from dardis.model.errors import InputError
from offline.export.exporter import Export, Format
from offline.export.json_plan import export_csv, export_json, export_openmetrics, read_json_plan
from offline.export.redfish_export import export_redfish
from offline.export.slurm_export import export_slurm, mode_of
from offline.folder.plan_folder import PlanFolder, read_plan


def _slurm(plan: PlanFolder, names: list[str], mode: str | None = None) -> Export:
    return export_slurm(plan, names, mode=mode_of(plan, mode))


FORMATS: Final = {
    "slurm": Format(
        _slurm, "a bash program that keeps idle nodes on, or powers nodes down and up at fixed hours", True, True
    ),
    "redfish": Format(export_redfish, "Redfish requests by node and time: power limits, shut-down, power on"),
    "openmetrics": Format(export_openmetrics, "the profile as gauges with timestamps, for Prometheus"),
    "csv": Format(export_csv, "one table of the profile and the switching, in UTC, with units"),
    "json": Format(export_json, "the complete plan in one file, which this command also reads"),
}


def find_format(name: str, *, limits_only: bool = False, mode: str | None = None, check: bool = False) -> Format:
    """Find a format variant. Raises InputError for unsupported options."""
    if name not in FORMATS:
        raise InputError("--format", repr(name), "one of " + ", ".join(FORMATS))
    if limits_only and name != "redfish":
        raise InputError("--limits-only", f"--format {name} has no power limits of nodes", "--format redfish")
    if mode is not None and name != "slurm":
        raise InputError("--mode", f"--format {name} has no modes", "--format slurm")
    if check and not FORMATS[name].can_be_checked:
        raise InputError("--check", f"--format {name} cannot be simulated on other days", "--format slurm")
    if limits_only:
        return FORMATS[name]._replace(export=partial(export_redfish, limits_only=True))
    return FORMATS[name] if mode is None else FORMATS[name]._replace(export=partial(_slurm, mode=mode))


def load_plan(path: Path) -> PlanFolder:
    """Read a plan folder or a JSON export."""
    if not path.exists():
        raise InputError(path, "does not exist", "a folder of dardis plan")
    return read_json_plan(path) if path.is_file() else read_plan(path)
