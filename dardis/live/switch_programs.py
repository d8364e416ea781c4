"""Programs that switch nodes off and on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dardis.live.gateway_orders import SwitchNodes
from dardis.live.job_option_texts import read_time
from dardis.live.node_switching import SwitchSettings
from dardis.live.time_limited_program import executable_program, run_program
from dardis.model.errors import InputError


@dataclass(frozen=True, slots=True)
class SwitchPrograms:
    """Programs, and when they run. Each gets node names as one word with commas."""

    off: Path | None
    on: Path | None
    settings: SwitchSettings

    async def run(self, switch: SwitchNodes) -> str:
        """Run a program. Return why it failed; empty: it did not."""
        program = self.on if switch.on else self.off
        assert program is not None
        try:
            await run_program(program, [",".join(switch.names)], self.settings.limit_s)
        except InputError as error:
            return f"{'boot' if switch.on else 'shutdown'} of {','.join(switch.names)[:200]}: {error}"
        return ""


NO_SWITCHING: Final = SwitchPrograms(None, None, SwitchSettings())


def switch_programs(
    off: Path | None, on: Path | None, spares: int | None, idle: str | None, limit: str | None
) -> SwitchPrograms:
    """Programs and settings of the options of `dardis serve`. Raises InputError."""
    if (off is None) != (on is None):
        raise InputError("--off-program, --on-program", "only one", "both, or neither")
    if off is None or on is None:
        for option, value in (("--spares", spares), ("--idle", idle), ("--switch-limit", limit)):
            if value is not None:
                raise InputError(option, "no programs", "--off-program and --on-program")
        return NO_SWITCHING
    settings = SwitchSettings(
        True, spares or 0, NO_SWITCHING.settings.idle_s if idle is None else read_time(idle, "--idle"),
        NO_SWITCHING.settings.limit_s if limit is None else read_time(limit, "--switch-limit"),
    )  # fmt: skip
    return SwitchPrograms(executable_program(off, "--off-program"), executable_program(on, "--on-program"), settings)
