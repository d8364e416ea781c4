"""Runs `dardis export`, with an optional check."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dardis.config.node_fields import node_names
from dardis.model.errors import InputError
from dardis.model.files import write_text
from dardis.workload.trace import Trace
from offline.export.export_spec import ExportSpec
from offline.export.exporter import Format
from offline.export.formats import find_format
from offline.export.slurm_export import Mode, mode_of
from offline.folder.plan_folder import PlanFolder
from offline.loop.export_check import Check, check_export, prepare_mode


@dataclass(frozen=True)
class PlanExport:
    """Exported plan, with notes."""

    text: str
    notes: tuple[str, ...]
    check: Check | None

    def __repr__(self) -> str:
        lines = [f"<export of {len(self.text):,} characters>", *(f"  note: {note}" for note in self.notes)]
        return "\n".join([*lines, *(self.check.table if self.check is not None else ())])


def export_plan(
    spec: ExportSpec, load: Callable[[Path], PlanFolder], progress: Callable[[str], None] | None = None,
    checked: Callable[[Check, Mode], None] = lambda _check, _mode: None, history: Trace | None = None,
) -> PlanExport:  # fmt: skip
    """Export a plan, to `spec.out` if stated. Without a format, only check.

    `checked` receives check and mode. `history` replaces its file. Raises InputError, OSError, and LossError for a
    losing mode.
    """
    form = _format(spec)
    plan = load(spec.plan_dir)
    if plan.stale and not spec.accept_stale:
        stale = f"has a stale history ({plan.stale})"
        raise InputError(spec.plan_dir, stale, "another plan, or --accept-stale")
    names = node_names(plan.platform, spec.names)
    check = None
    if form.can_be_checked:
        mode = None if spec.mode is None else mode_of(plan, spec.mode)
        if spec.check:
            check = check_export(plan, spec.history, progress, spec.wait_price, history)
        mode = mode or (mode_of(plan, None) if check is None else check.best)
        if check is not None:
            checked(check, mode)
            if not spec.anyway:
                check.check_gain(mode)
        form = find_format("slurm", mode=mode)
        plan = prepare_mode(plan, mode, check)
    if spec.format is None:
        return PlanExport("", (), check)
    made = form.export(plan, names)
    notes = [*made.notes]
    if spec.names is None and (called := plan.settings.get("names")):
        notes.insert(0, f"nodes have the platform's names, but the plan was made with --names {called}")
    if form.can_be_checked and check is None:
        notes.append("the gain on earlier days is not checked (see --check)")
    if spec.out is not None:
        write_text(spec.out, made.text)
        if form.is_program and spec.out.suffix != ".gz":
            spec.out.chmod(spec.out.stat().st_mode | 0o111)
    return PlanExport(made.text, tuple(notes), check)


def _format(spec: ExportSpec) -> Format:
    if spec.format is None and not spec.check:
        raise InputError("dardis export", "no --format", "--format FORMAT, or --check")
    found = find_format(spec.format or "slurm", limits_only=spec.limits_only, mode=spec.mode, check=spec.check)
    of_checks = {"--history": spec.history, "--wait-price": spec.wait_price, "--anyway": spec.anyway or None}
    for option, value in of_checks.items():
        if value is not None and not spec.check:
            raise InputError(option, "given without --check", "--check")
    return found
